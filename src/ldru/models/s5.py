"""The simplified state-space model S5: a diagonal linear recurrence, scanned in parallel."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from ldru.base.errors import LdruError
from ldru.base.limits import check_limit, check_sizes
from ldru.kernels.support import apply_to_all, can_run
from ldru.layers.embedding import OneHotLinear
from ldru.layers.linear import Linear
from ldru.layers.norm import AddNorm
from ldru.models.words import check_words, is_word

SLOWEST_DECAY = -1e-4
"""The largest real part an eigenvalue may have."""
STEP_RANGE = (1e-3, 0.1)


class StateSpace(nn.Module):
    """A continuous linear system with a diagonal complex state, sampled with a learned step.

    x'(t) = Lambda x(t) + B u(t),  y(t) = 2 Re(C x(t)) + D u(t)
    x_t = Abar x_{t-1} + Bbar u_t,  Abar = exp(Lambda dt),  Bbar = Lambda^-1 (Abar - 1) B

    Of each conjugate pair of the state one is kept, hence the 2 Re. Real and imaginary parts are
    parameters of their own: of Lambda as two vectors, of B and C as a last axis.
    """

    def __init__(self, *, dim: int, state_dim: int, num_blocks: int) -> None:
        super().__init__()
        if state_dim % (2 * num_blocks):
            raise LdruError(
                f"state_dim must be a multiple of 2 * num_blocks, the conjugate pairs of "
                f"{num_blocks} blocks, got {state_dim}"
            )
        self.dim, self.state_dim, self.num_blocks = dim, state_dim, num_blocks
        eigenvalues, basis = hippo_eigenvalues(state_dim, num_blocks=num_blocks)
        # Maps of a real state, written in the basis that makes the system diagonal.
        into = Linear(dim, state_dim).weight.detach().to(basis.dtype)
        out_of = Linear(state_dim, dim).weight.detach().to(basis.dtype)
        into_basis, out_of_basis = basis.mH @ into, out_of @ basis
        dtype = torch.get_default_dtype()
        self.decay_rate = nn.Parameter(eigenvalues.real.to(dtype))
        self.frequency = nn.Parameter(eigenvalues.imag.to(dtype))
        self.enter = nn.Parameter(torch.view_as_real(into_basis).to(dtype))  # [states, dim, 2]
        self.leave = nn.Parameter(torch.view_as_real(out_of_basis).to(dtype))  # [dim, states, 2]
        self.skip = nn.Parameter(torch.randn(dim))
        shortest, longest = torch.tensor(STEP_RANGE).log()
        self.log_step = nn.Parameter(shortest + (longest - shortest) * torch.rand(len(eigenvalues)))

    def forward(self, u: Tensor) -> Tensor:
        """Filter: [batch, length, dim] -> [batch, length, dim]."""
        decay, gain = self.discretised()
        enter = torch.view_as_real(gain[:, None] * torch.complex(*self.enter.unbind(dim=-1)))
        real, imaginary = self.leave.unbind(dim=-1)
        leave = 2 * torch.stack([real, -imaginary], dim=-1)
        # With real vectors on the other side, a complex product is a real one of twice the width.
        driven = (u @ enter.transpose(0, 1).flatten(start_dim=1)).unflatten(-1, (-1, 2))
        x = linear_scan(decay, torch.view_as_complex(driven))
        return torch.view_as_real(x).flatten(-2) @ leave.flatten(start_dim=1).T + self.skip * u

    def discretised(self) -> tuple[Tensor, Tensor]:
        """Abar and Lambda^-1 (Abar - 1), by zero-order hold: complex [states], [states]."""
        eigenvalues = torch.complex(self.decay_rate.clamp(max=SLOWEST_DECAY), self.frequency)
        exponent = eigenvalues * self.log_step.exp()
        return exponent.exp(), exponent.expm1() / eigenvalues


class S5Block(nn.Module):
    """u <- LayerNorm(u + GELU(SSM(u)))."""

    def __init__(self, *, dim: int, state_dim: int, num_blocks: int) -> None:
        super().__init__()
        self.system = StateSpace(dim=dim, state_dim=state_dim, num_blocks=num_blocks)
        self.norm = AddNorm(dim)

    def forward(self, u: Tensor) -> Tensor:
        """Refine: [batch, length, dim] -> [batch, length, dim]."""
        return self.norm(u, functional.gelu(self.system(u)))


class S5Classifier(nn.Module):
    """Classify token sequences: linear encoder, S5 blocks, mean over the word, linear head.

    The mean is over the word's own places; there is no place to read from, so no empty input is
    put behind the word.
    """

    def __init__(
        self,
        *,
        vocab_size: int,
        num_classes: int,
        dim: int = 256,
        state_dim: int = 256,
        num_layers: int = 2,
        num_blocks: int = 8,
    ) -> None:
        super().__init__()
        check_sizes(
            vocab_size=vocab_size,
            num_classes=num_classes,
            dim=dim,
            state_dim=state_dim,
            num_layers=num_layers,
            num_blocks=num_blocks,
        )
        self.vocab_size, self.num_classes = vocab_size, num_classes
        self.inputs = OneHotLinear(vocab_size, dim)
        self.layers = nn.Sequential(
            *(
                S5Block(dim=dim, state_dim=state_dim, num_blocks=num_blocks)
                for _ in range(num_layers)
            )
        )
        self.head = Linear(dim, num_classes)

    def forward(self, tokens: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Score the classes: [batch, length] -> [batch, classes]."""
        features = self.layers(self.inputs(check_words(tokens, lengths)))
        if lengths is None:
            return self.head(features.mean(dim=1))
        inside = is_word(lengths, length=tokens.shape[1])[..., None]
        return self.head(torch.where(inside, features, 0).sum(dim=1) / lengths[:, None])


def linear_scan(decay: Tensor, driven: Tensor) -> Tensor:
    """All x_t = decay x_{t-1} + driven_t with x_0 = 0: [states], [batch, length, states] -> same.

    On a GPU a kernel goes from place to place, all words at once. Elsewhere neighbours are joined
    to one step of twice the span, the half as long sequence is scanned, and the places between are
    filled in: depth 2 log2(length), work linear in the length.
    """
    if can_run(torch.view_as_real(driven)):
        parts = (torch.view_as_real(part)[None] for part in (decay, driven))
        return torch.view_as_complex(Scan.apply(*parts).squeeze(0))
    length = driven.shape[-2]
    if length == 1:
        return driven
    first, second = driven[..., 0::2, :], driven[..., 1::2, :]
    pairs = second.shape[-2]
    after_pairs = linear_scan(decay * decay, decay * first[..., :pairs, :] + second)
    between = first[..., 1:, :] + decay * after_pairs[..., : first.shape[-2] - 1, :]
    after_first = torch.cat([first[..., :1, :], between], dim=-2)
    woven = torch.stack([after_first[..., :pairs, :], after_pairs], dim=-2).flatten(-3, -2)
    return torch.cat([woven, after_first[..., pairs:, :]], dim=-2) if length % 2 else woven


class Scan(torch.autograd.Function):
    """`linear_scan` of each member: [members, states, 2], [members, words, length, states, 2]."""

    @staticmethod
    def forward(decay: Tensor, driven: Tensor) -> Tensor:
        from ldru.kernels.scan import scan

        return scan(decay, driven)

    @staticmethod
    def setup_context(ctx, inputs: tuple, output: Tensor) -> None:  # type: ignore[no-untyped-def]
        ctx.save_for_backward(inputs[0], output)

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[no-untyped-def]
        from ldru.kernels.scan import scan_gradient

        decay, output = ctx.saved_tensors
        return scan_gradient(decay, output, gradient)

    @staticmethod
    def vmap(info, in_dims: tuple, *inputs: Tensor) -> tuple[Tensor, int]:  # type: ignore[no-untyped-def]
        return apply_to_all(Scan, info, in_dims, *inputs)


def hippo_eigenvalues(state_dim: int, *, num_blocks: int) -> tuple[Tensor, Tensor]:
    """Eigenvalues with positive imaginary part, and eigenvectors, of the normal HiPPO matrix.

    state_dim, num_blocks -> complex [states], complex [state_dim, states]; states is half of
    state_dim. The matrix is block diagonal with equal blocks -I/2 + K, where K is skew-symmetric
    with K[n, m] = -sqrt((2n + 1)(2m + 1)) / 2 for n > m.
    """
    size = state_dim // num_blocks
    check_limit("hippo_width", size, "a block of S5's state")
    root = (2 * torch.arange(size, dtype=torch.double) + 1).sqrt()
    lower = (root[:, None] * root).tril(diagonal=-1) / 2
    # i times a skew-symmetric matrix is Hermitian, and has the same eigenvectors.
    frequencies, vectors = torch.linalg.eigh(1j * (lower - lower.T))
    frequencies, vectors = frequencies[size // 2 :], vectors[:, size // 2 :]  # ascending order
    # Any phase will do, but the same on every machine; no first entry is zero.
    vectors = vectors * vectors[0].conj() / vectors[0].abs()
    eigenvalues = torch.complex(torch.full_like(frequencies, -0.5), frequencies)
    return eigenvalues.repeat(num_blocks), torch.block_diag(*[vectors] * num_blocks)
