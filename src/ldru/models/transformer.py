"""The transformer encoder of the length-generalisation benchmark, with four position encodings."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from ldru.base.errors import LdruError
from ldru.base.limits import check_sizes
from ldru.kernels.support import apply_to_all, can_run, merged
from ldru.layers.dropout import Dropout
from ldru.layers.embedding import Embedding
from ldru.layers.feed_forward import feed_forward
from ldru.layers.linear import Linear
from ldru.layers.norm import AddNorm
from ldru.models.positions import (
    NoPositions,
    Positions,
    rotate,
)
from ldru.models.words import check_words, is_word, last_of

SCORES = 2**28
"""How many scores of attention may be held at once where each word has its own bias."""

SHORT, NARROW = 64, 64
"""The longest words whose gradients our kernels compute, and the widest heads they take."""


class TransformerClassifier(nn.Module):
    """Encode a word and one empty token behind it, and score the classes from the empty token.

    x = sqrt(dim) embedding, then in each block
    x <- LayerNorm(x + Attention(x))
    x <- LayerNorm(x + FFN(x))                                 FFN: d -> 4d -> d, ReLU

    The paper's table says "Pre-norm & Post-norm". That is read as this block, which the benchmark
    has: one norm stands before the FFN and one behind it, both on the sum of a residual branch.

    dropout: rate on the outputs of attention and FFN, before they are added.
    positions: the class of the position encoding; variant: see there.
    """

    def __init__(
        self,
        *,
        vocab_size: int,
        num_classes: int,
        dim: int = 64,
        num_heads: int = 8,
        num_blocks: int = 5,
        dropout: float = 0.0,
        positions: type[Positions] = NoPositions,
        variant: str = "benchmark",
    ) -> None:
        super().__init__()
        check_sizes(
            vocab_size=vocab_size,
            num_classes=num_classes,
            dim=dim,
            num_heads=num_heads,
            num_blocks=num_blocks,
        )
        if dim % num_heads:
            raise LdruError(f"dim must be a multiple of num_heads, got {dim} and {num_heads}")
        self.vocab_size, self.num_classes, self.dim = vocab_size, num_classes, dim
        self.embedding = Embedding(vocab_size, dim)
        # A table of its own: in a fleet, the vocabulary may be padded to a larger member's.
        self.empty = Embedding(1, dim)
        self.positions = positions(
            num_blocks=num_blocks, num_heads=num_heads, width=dim // num_heads, variant=variant
        )
        self.blocks = nn.ModuleList(Block(dim=dim, num_heads=num_heads) for _ in range(num_blocks))
        self.dropout = Dropout(rate=dropout)
        self.head = Linear(dim, num_classes)

    def forward(self, tokens: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Score the classes: [batch, length] -> [batch, classes]."""
        tokens = check_words(tokens, lengths)
        real = None if lengths is None else lengths + 1
        x = self.positions.embed(self._embed(tokens, lengths), real)
        if self.positions.is_added:
            x = self.dropout(x, 2 * len(self.blocks))
        bias = self.positions.bias(x)
        is_seen = None if real is None else is_word(real, length=x.shape[1])[:, None, None]
        for number, block in enumerate(self.blocks):
            view = View(bias, is_seen, self.positions.angles(x, real, block=number))
            is_last = number == len(self.blocks) - 1
            # Of the last block one token is read: the last one, unless words are padded.
            asks = 1 if is_last and lengths is None and not self.dropout.is_on else x.shape[1]
            x = block(x, view, self.dropout, call=2 * number, asks=asks)
        if lengths is None:
            return self.head(x[:, -1])
        return self.head(x.take_along_dim(lengths[:, None, None].long(), dim=1)[:, 0])

    def _embed(self, tokens: Tensor, lengths: Tensor | None) -> Tensor:
        """Embeddings of the words, the empty token behind each: -> [batch, length + 1, dim]."""
        empty = self.empty.weight
        x = torch.cat([self.embedding(tokens), empty.expand(len(tokens), 1, -1)], dim=1)
        if lengths is not None:
            is_end = torch.arange(x.shape[1], device=x.device) == lengths[:, None]
            x = torch.where(is_end[..., None], empty, x)
        return x * self.dim**0.5


class View(NamedTuple):
    """How the tokens of a block look at each other.

    bias: added to the scores [heads, length, length], asking tokens first; None adds nothing.
    is_seen: whether a token is no padding [batch, 1, 1, length]; None if there is no padding.
    angles: by which queries and keys turn [batch or 1, length, width / 2]; None turns nothing.
    """

    bias: Tensor | None
    is_seen: Tensor | None
    angles: Tensor | None


class Block(nn.Module):
    """Attention and FFN, each a residual branch with a layer norm on the sum."""

    def __init__(self, *, dim: int, num_heads: int) -> None:
        super().__init__()
        self.attention = Attention(dim=dim, num_heads=num_heads)
        self.attention_norm = AddNorm(dim)
        self.up = Linear(dim, 4 * dim)
        self.down = Linear(4 * dim, dim)
        self.norm = AddNorm(dim)

    def forward(self, x: Tensor, view: View, dropout: Dropout, *, call: int, asks: int) -> Tensor:
        """Refine the last tokens of words: [batch, length, dim] -> [batch, asks, dim].

        call: the number of the first of two calls of dropout.
        asks: how many tokens.
        """
        update = dropout(self.attention(x, view, asks=asks), call)
        x = self.attention_norm(last_of(x, asks), update)
        update = feed_forward(x, self.up, self.down)
        return self.norm(x, dropout(update, call + 1))


class Attention(nn.Module):
    """Tokens look at every token of their word, in several heads; no biases in the layers."""

    def __init__(self, *, dim: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.query = Linear(dim, dim, bias=False)
        self.key = Linear(dim, dim, bias=False)
        self.value = Linear(dim, dim, bias=False)
        self.out = Linear(dim, dim, bias=False)

    def forward(self, x: Tensor, view: View, *, asks: int) -> Tensor:
        """Mix the tokens of words for the last ones: [batch, length, dim] -> [batch, asks, dim]."""
        bias = None if view.bias is None else view.bias[:, -asks:].to(x.dtype)
        if asks == x.shape[1] and self._can_pack(x):
            # One product: x is read once, and its gradient is written once.
            weight = torch.cat([self.query.weight, self.key.weight, self.value.weight])
            packed = functional.linear(x.flatten(0, 1), weight)
            packed = packed.reshape(*x.shape[:2], 3, self.num_heads, -1)
            if view.angles is not None:
                packed = PackedRotation.apply(packed, view.angles)
            mixed = PackedAttention.apply(packed, bias, view.is_seen)
            return self.out(mixed.flatten(start_dim=2))
        query, key, value = (
            project(part).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for project, part in ((self.query, last_of(x, asks)), (self.key, x), (self.value, x))
        )  # [batch, heads, asks or length, width]
        if view.angles is not None:
            query, key = rotate(query, view.angles[:, -asks:]), rotate(key, view.angles)
        mixed = DotProductAttention.apply(query, key, value, bias, view.is_seen)
        return self.out(mixed.transpose(1, 2).flatten(start_dim=2))

    def _can_pack(self, x: Tensor) -> bool:
        is_short = x.shape[1] <= SHORT or not torch.is_grad_enabled()
        return is_short and can_fuse(x.unflatten(-1, (self.num_heads, -1)))


class PackedAttention(torch.autograd.Function):
    """`DotProductAttention` of tokens that all ask, in our kernels; gradients of short words.

    packed: queries, keys and values side by side [batch, length, 3, heads, width]
    -> [batch, length, heads, width]
    """

    @staticmethod
    def forward(packed: Tensor, bias: Tensor | None, is_seen: Tensor | None) -> Tensor:
        from ldru.kernels.attention import packed_attention

        return packed_attention(packed, bias, _places(is_seen))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor | None, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        from ldru.kernels.attention import packed_attention_gradient

        packed, bias, is_seen = ctx.saved_tensors
        return packed_attention_gradient(packed, bias, _places(is_seen), gradient), None, None

    @staticmethod
    def vmap(
        info: Any, in_dims: Sequence[int | None], *tensors: Tensor | None
    ) -> tuple[Tensor, int]:
        packed, bias, is_seen = tensors
        assert in_dims[1] is None, "the bias knows places alone, so members share it"
        packed, is_seen = (
            None if part is None else merged(part, axis, info.batch_size)
            for part, axis in ((packed, in_dims[0]), (is_seen, in_dims[2]))
        )
        mixed = PackedAttention.apply(packed, bias, is_seen)
        return mixed.unflatten(0, (info.batch_size, -1)), 0


class PackedRotation(torch.autograd.Function):
    """`rotate` of queries and keys that lie beside their values, in our kernel.

    packed: [batch, length, 3, heads, width], angles: [batch or 1, length, width / 2] -> as packed
    """

    @staticmethod
    def forward(packed: Tensor, angles: Tensor) -> Tensor:
        from ldru.kernels.rotation import turn

        return turn(packed, angles)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(inputs[1])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        from ldru.kernels.rotation import turn

        (angles,) = ctx.saved_tensors
        return turn(gradient, -angles), None

    @staticmethod
    def vmap(info: Any, in_dims: tuple, packed: Tensor, angles: Tensor) -> tuple[Tensor, int]:
        return apply_to_all(PackedRotation, info, in_dims, packed, angles)


class DotProductAttention(torch.autograd.Function):
    """softmax(q k^T / sqrt(width) + bias) v over what is seen, in fused kernels.

    They are our own for narrow heads on a GPU, and PyTorch's elsewhere. Under `vmap` the members
    are counted into the batch; PyTorch has no rule for that on CPUs. For long words the backward
    pass is written out, since what PyTorch's kernels keep for theirs is not public; it holds the
    scores of one block at a time.
    """

    @staticmethod
    def forward(
        query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, is_seen: Tensor | None
    ) -> Tensor:
        """Mix values: [batch, heads, asks, width], keys and values of all tokens -> query's."""
        if can_fuse(query):
            from ldru.kernels.attention import attention

            query, key, value = _by_place(query, key, value)
            return attention(query, key, value, bias, _places(is_seen)).transpose(1, 2)
        attend = functional.scaled_dot_product_attention
        if bias is None or is_seen is None:
            mask = bias if is_seen is None else is_seen
            return attend(query, key, value, attn_mask=mask)
        words = max(1, SCORES // bias.numel())
        parts = zip(*(tensor.split(words) for tensor in (query, key, value, is_seen)), strict=True)
        return torch.cat(
            [attend(q, k, v, attn_mask=torch.where(s, bias, -torch.inf)) for q, k, v, s in parts]
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor | None, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        query, key, value, bias, is_seen = ctx.saved_tensors
        if can_fuse(query) and key.shape[-2] <= SHORT:
            from ldru.kernels.attention import attention_gradient

            query, key, value, gradient = _by_place(query, key, value, gradient)
            found = attention_gradient(query, key, value, bias, _places(is_seen), gradient)
            of_query, of_key, of_value = _by_place(*found)
            return of_query, of_key, of_value, None, None
        scale = query.shape[-1] ** -0.5
        scores = scale * (query @ key.mT)
        if bias is not None:
            scores = scores + bias
        if is_seen is not None:
            scores = torch.where(is_seen, scores, -torch.inf)
        weights = scores.softmax(dim=-1)
        of_weights = gradient @ value.mT
        mean = (of_weights * weights).sum(dim=-1, keepdim=True)
        of_products = scale * weights * (of_weights - mean)
        return of_products @ key, of_products.mT @ query, weights.mT @ gradient, None, None

    @staticmethod
    def vmap(
        info: Any, in_dims: Sequence[int | None], *tensors: Tensor | None
    ) -> tuple[Tensor, int]:
        query, key, value, bias, is_seen = tensors
        assert in_dims[3] is None, "the bias knows places alone, so members share it"
        query, key, value, is_seen = (
            None if part is None else merged(part, axis, info.batch_size)
            for part, axis in zip(
                (query, key, value, is_seen), (*in_dims[:3], in_dims[4]), strict=True
            )
        )
        mixed = DotProductAttention.apply(query, key, value, bias, is_seen)
        return mixed.unflatten(0, (info.batch_size, -1)), 0


def can_fuse(query: Tensor) -> bool:
    """Whether our kernels attend, with queries [..., width]."""
    return query.shape[-1] <= NARROW and can_run(query)


def _by_place(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Heads behind places, or places behind heads: projections lie that way."""
    return tuple(tensor.transpose(1, 2) for tensor in tensors)


def _places(is_seen: Tensor | None) -> Tensor | None:
    return None if is_seen is None else is_seen[:, 0, 0]
