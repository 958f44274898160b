"""Gated DeltaNet: a matrix memory, corrected by the delta rule and faded by a gate."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from ldru.base.limits import check_sizes
from ldru.kernels.support import apply_to_all, can_run
from ldru.layers.embedding import OneHotLinear
from ldru.layers.feed_forward import silu_product
from ldru.layers.linear import Linear
from ldru.layers.norm import RMSNorm
from ldru.models.words import check_words, is_word, last_of

CHUNK = 64
"""How many places of a word are computed at once."""
WIDEST = 64
"""Keys and values for which our kernels have room."""
SMALL = 1e-6
"""Keeps norms away from zero."""


class CausalConvolution(nn.Module):
    """Each channel by itself: y_t = sum_i w_i x_{t-i}, then SiLU; the weight is [width, dim]."""

    def __init__(self, *, dim: int, width: int) -> None:
        super().__init__()
        self.width = width
        self.weight = nn.Parameter(torch.empty(width, dim))
        std = width**-0.5
        nn.init.trunc_normal_(self.weight, std=std, a=-2 * std, b=2 * std)

    def forward(self, x: Tensor) -> Tensor:
        """Mix with the places before: [batch, length, dim] -> [batch, length, dim]."""
        if can_run(x):
            return Convolution.apply(x[None], self.weight[None]).squeeze(0)
        length = x.shape[1]
        padded = functional.pad(x, (0, 0, self.width - 1, 0))
        begins = range(self.width - 1, -1, -1)
        windows = [padded[:, begin : begin + length] for begin in begins]
        return functional.silu(sum(w * x for w, x in zip(self.weight, windows, strict=True)))


class Convolution(torch.autograd.Function):
    """Of each member: x [members, batch, length, dim], weight [members, width, dim]."""

    @staticmethod
    def forward(x: Tensor, weight: Tensor) -> Tensor:
        from ldru.kernels.convolution import convolution

        return convolution(x, weight)

    @staticmethod
    def setup_context(ctx, inputs: tuple, output: Tensor) -> None:  # type: ignore[no-untyped-def]
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[no-untyped-def]
        from ldru.kernels.convolution import convolution_gradient

        x, weight = ctx.saved_tensors
        return convolution_gradient(x, weight, gradient)

    @staticmethod
    def vmap(info, in_dims: tuple, *inputs: Tensor) -> tuple[Tensor, int]:  # type: ignore[no-untyped-def]
        return apply_to_all(Convolution, info, in_dims, *inputs)


class DeltaMixer(nn.Module):
    """Every head keeps a matrix S that maps keys to values (see `delta_rule`).

    q, k, v = SiLU(conv(W x)), q and k of length 1
    beta = 2 sigmoid(W_b x)                             up to 2: negative eigenvalues of the update
    log alpha = -exp(a) softplus(W_a x + dt)
    out = W_o (RMSNorm(S q) * SiLU(W_g x))              no layer has a bias
    """

    def __init__(
        self, *, dim: int, num_heads: int, head_dim: int, value_expansion: int, conv_width: int
    ) -> None:
        super().__init__()
        self.num_heads, self.head_dim = num_heads, head_dim
        key_dim, value_dim = num_heads * head_dim, num_heads * head_dim * value_expansion
        self.query = Linear(dim, key_dim, bias=False)
        self.key = Linear(dim, key_dim, bias=False)
        self.value = Linear(dim, value_dim, bias=False)
        self.query_conv = CausalConvolution(dim=key_dim, width=conv_width)
        self.key_conv = CausalConvolution(dim=key_dim, width=conv_width)
        self.value_conv = CausalConvolution(dim=value_dim, width=conv_width)
        self.strength = Linear(dim, num_heads, bias=False)
        self.fading = Linear(dim, num_heads, bias=False)
        self.fading_rate = nn.Parameter((16 * (1 - torch.rand(num_heads))).log())  # never log 0
        self.fading_bias = nn.Parameter(_inverse_softplus(_log_uniform(num_heads, 1e-3, 0.1)))
        self.norm = RMSNorm(head_dim * value_expansion)
        self.gate = Linear(dim, value_dim, bias=False)
        self.out = Linear(value_dim, dim, bias=False)

    def forward(self, x: Tensor, *, asks: int) -> Tensor:
        """Mix the places of words for the last ones: [batch, length, dim] -> [batch, asks, dim]."""
        query = _normalised(self._heads(self.query_conv(self.query(x))))
        key = _normalised(self._heads(self.key_conv(self.key(x))))
        value = self._heads(self.value_conv(self.value(x)))
        beta = 2 * self.strength(x).sigmoid()  # [batch, length, heads]
        rate = functional.softplus(self.fading(x) + self.fading_bias)
        log_alpha = -self.fading_rate.exp() * rate
        read = delta_rule(query * self.head_dim**-0.5, key, value, beta, log_alpha)
        gated = silu_product(
            self._heads(self.gate(last_of(x, asks))), self.norm(last_of(read, asks))
        )
        return self.out(gated.flatten(start_dim=2))

    def _heads(self, x: Tensor) -> Tensor:
        """[batch, length, dim] -> [batch, length, heads, head_dim]."""
        return x.unflatten(-1, (self.num_heads, -1))


class SwiGLU(nn.Module):
    """W_down (SiLU(W_gate x) * W_up x), without biases."""

    def __init__(self, *, dim: int, hidden: int) -> None:
        super().__init__()
        self.gate = Linear(dim, hidden, bias=False)
        self.up = Linear(dim, hidden, bias=False)
        self.down = Linear(hidden, dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Transform each place: [..., dim] -> [..., dim]."""
        return self.down(silu_product(self.gate(x), self.up(x)))


class GatedDeltaNetBlock(nn.Module):
    """x <- x + mixer(RMSNorm(x)), then x <- x + SwiGLU(RMSNorm(x))."""

    def __init__(
        self,
        *,
        dim: int,
        num_heads: int,
        head_dim: int,
        value_expansion: int,
        conv_width: int,
        hidden: int,
    ) -> None:
        super().__init__()
        self.mixer_norm = RMSNorm(dim)
        self.mixer = DeltaMixer(
            dim=dim,
            num_heads=num_heads,
            head_dim=head_dim,
            value_expansion=value_expansion,
            conv_width=conv_width,
        )
        self.mlp_norm = RMSNorm(dim)
        self.mlp = SwiGLU(dim=dim, hidden=hidden)

    def forward(self, x: Tensor, *, asks: int) -> Tensor:
        """Refine the last places of words: [batch, length, dim] -> [batch, asks, dim]."""
        x = last_of(x, asks) + self.mixer(self.mixer_norm(x), asks=asks)
        return x + self.mlp(self.mlp_norm(x))


class GatedDeltaNetClassifier(nn.Module):
    """Classify token sequences: linear encoder, Gated DeltaNet blocks, RMS norm, linear head.

    The head reads the features at one empty input behind the word. It is a symbol of its own: of
    zeros these layers, having no biases, would make zeros whatever the word.
    """

    def __init__(
        self,
        *,
        vocab_size: int,
        num_classes: int,
        dim: int = 64,
        num_layers: int = 3,
        num_heads: int = 4,
        head_dim: int = 12,
        value_expansion: int = 2,
        conv_width: int = 4,
        hidden: int = 256,
    ) -> None:
        super().__init__()
        sizes = {
            "dim": dim,
            "num_heads": num_heads,
            "head_dim": head_dim,
            "value_expansion": value_expansion,
            "conv_width": conv_width,
            "hidden": hidden,
        }
        check_sizes(vocab_size=vocab_size, num_classes=num_classes, num_layers=num_layers, **sizes)
        self.vocab_size, self.num_classes = vocab_size, num_classes
        self.inputs = OneHotLinear(vocab_size, dim, bias=False)
        # Apart from the symbols: in a fleet, their table may be padded to a larger member's.
        self.empty = nn.Parameter(torch.empty(1, dim))
        std = (vocab_size + 1) ** -0.5
        for rows in (self.inputs.weight, self.empty):
            nn.init.trunc_normal_(rows, std=std, a=-2 * std, b=2 * std)
        self.layers = nn.ModuleList(GatedDeltaNetBlock(**sizes) for _ in range(num_layers))
        self.norm = RMSNorm(dim)
        self.head = Linear(dim, num_classes)

    def forward(self, tokens: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Score the classes: [batch, length] -> [batch, classes]."""
        x = self.inputs(check_words(tokens, lengths))
        x = torch.cat([x, self.empty.expand(len(tokens), 1, -1)], dim=1)
        if lengths is not None:
            # Nothing looks ahead, so what lies behind the first empty input does not matter.
            x = torch.where(is_word(lengths, length=x.shape[1])[..., None], x, self.empty)
        *others, last = self.layers
        for layer in others:
            x = layer(x, asks=x.shape[1])
        if lengths is None:
            features = last(x, asks=1)[:, 0]
        else:
            x = last(x, asks=x.shape[1])
            features = x.take_along_dim(lengths[:, None, None].long(), dim=1)[:, 0]
        return self.head(self.norm(features))


def delta_rule(
    query: Tensor, key: Tensor, value: Tensor, beta: Tensor, log_alpha: Tensor
) -> Tensor:
    """Read from the memories of heads at every place, after the place was written into them.

    S_t = alpha_t S_{t-1} (I - beta_t k_t k_t^T) + beta_t v_t k_t^T,  S_0 = 0,  out_t = S_t q_t

    query, key [batch, length, heads, dim], value [batch, length, heads, values],
    beta, log_alpha [batch, length, heads] -> [batch, length, heads, values]
    """
    if can_fuse(key, value):
        inputs = (part[None] for part in (query, key, value, beta, log_alpha))
        read, _ = DeltaRule.apply(*inputs, torch.is_grad_enabled())
        return read.squeeze(0)
    by_head = (part.transpose(1, 2) for part in (query, key, value, beta, log_alpha))
    return chunked_delta_rule(*by_head).transpose(1, 2)


def chunked_delta_rule(
    query: Tensor, key: Tensor, value: Tensor, beta: Tensor, log_alpha: Tensor
) -> Tensor:
    """`delta_rule` with heads before places: everything inside a chunk at once.

    Inside a chunk that starts from S, with c_i the product of the alphas up to i, the memory is
    S_i = c_i S + sum_{j <= i} (c_i / c_j) u_j k_j^T. Its corrections u_i solve a triangular system,
    u_i + beta_i sum_{j < i} (c_i / c_j) (k_i . k_j) u_j = beta_i (v_i - c_i S k_i).
    """
    length = key.shape[-2]
    query, key, value = (_chunks(x, at=-2) for x in (query, key, value))
    beta, log_alpha = (_chunks(x, at=-1) for x in (beta, log_alpha))

    log_fading = log_alpha.cumsum(dim=-1)  # log c [..., chunks, chunk]
    places = torch.arange(key.shape[-2], device=key.device)
    is_ahead = places > places[:, None]
    # Masked before exp: ahead of a place the quotient c_i / c_j may overflow.
    difference = log_fading[..., :, None] - log_fading[..., None, :]
    quotient = difference.masked_fill(is_ahead, -torch.inf).exp()
    fading = log_fading.exp()[..., None]

    # The diagonal is taken for ones and not read.
    system = beta[..., None] * quotient * (key @ key.mT)
    sides = beta[..., None] * torch.cat([value, fading * key], dim=-1)
    solved = torch.linalg.solve_triangular(system, sides, upper=False, unitriangular=True)
    # u = own - seen S^T, so that all chunks are solved before S is known.
    own, seen = solved.split([value.shape[-1], key.shape[-1]], dim=-1)

    scores = quotient * (query @ key.mT)
    kept_key = quotient[..., -1, :, None] * key  # (c_end / c_j) k_j
    kept_memory = fading[..., -1:, :]
    chunks = (own, seen, fading * query, scores, kept_key, kept_memory)
    memory = key.new_zeros(*key.shape[:-3], key.shape[-1], value.shape[-1])  # S^T
    read = []
    for own, seen, query, scores, kept_key, kept_memory in zip(
        *(x.unbind(dim=-3) for x in chunks), strict=True
    ):
        update = own - seen @ memory
        read.append(query @ memory + scores @ update)
        memory = kept_memory * memory + kept_key.mT @ update
    return torch.cat(read, dim=-2)[..., :length, :]


def can_fuse(key: Tensor, value: Tensor) -> bool:
    """Whether our kernels apply the rule: to narrow heads."""
    return max(key.shape[-1], value.shape[-1]) <= WIDEST and can_run(key)


class DeltaRule(torch.autograd.Function):
    """`delta_rule` of each member: all [members, batch, ...].

    keeps: the memories that the backward pass needs. -> what is read, and these memories.
    """

    @staticmethod
    def forward(*inputs: Any) -> tuple[Tensor, Tensor]:
        from ldru.kernels import delta_rule as kernels

        *tensors, keeps = inputs
        found = kernels.delta_rule(*(part.flatten(0, 1) for part in tensors), keeps=keeps)
        read, memories = (part.unflatten(0, tensors[0].shape[:2]) for part in found)
        return read, memories

    @staticmethod
    def setup_context(ctx, inputs: tuple, output: tuple) -> None:  # type: ignore[no-untyped-def]
        _, memories = output
        ctx.mark_non_differentiable(memories)
        ctx.save_for_backward(*inputs[:-1], memories)

    @staticmethod
    def backward(ctx, gradient: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[no-untyped-def]
        from ldru.kernels.delta_rule import delta_rule_gradient

        tensors = ctx.saved_tensors
        found = delta_rule_gradient(*(part.flatten(0, 1) for part in (*tensors, gradient)))
        return *(part.unflatten(0, gradient.shape[:2]) for part in found), None

    @staticmethod
    def vmap(info, in_dims: tuple, *inputs) -> tuple[tuple[Tensor, ...], int]:  # type: ignore[no-untyped-def]
        return apply_to_all(DeltaRule, info, in_dims, *inputs)


def _chunks(x: Tensor, *, at: int) -> Tensor:
    """Cut the axis `at` into chunks of equal length; zeros fill up the last and change nothing."""
    length = x.shape[at]
    chunk = min(CHUNK, length)
    padding = [0, 0] * (-at - 1) + [0, -length % chunk]
    return functional.pad(x, padding).unflatten(at, (-1, chunk))


def _normalised(x: Tensor) -> Tensor:
    """Scale vectors to length 1; one that is next to zero stays so: [..., dim] -> [..., dim]."""
    return x * (x.square().sum(dim=-1, keepdim=True) + SMALL).rsqrt()


def _log_uniform(count: int, low: float, high: float) -> Tensor:
    return low * (high / low) ** torch.rand(count)


def _inverse_softplus(x: Tensor) -> Tensor:
    return x + (-torch.expm1(-x)).log()
