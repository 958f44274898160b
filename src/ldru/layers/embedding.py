"""Token embeddings."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from ldru.kernels.support import apply_to_all, can_run

SMALL_VOCABULARY = 64


class Embedding(nn.Embedding):
    """Token embedding; normal of deviation `std` at the start.

    On a GPU a small vocabulary goes through kernels of our own: the gradient of PyTorch's sorts the
    tokens, and adds in an order that differs from run to run.
    """

    def __init__(self, vocab_size: int, dim: int, *, std: float = 0.02) -> None:
        self.std = std  # before the parent, which draws the weight
        super().__init__(vocab_size, dim)

    def reset_parameters(self) -> None:
        nn.init.normal_(self.weight, std=self.std)

    def forward(self, tokens: Tensor) -> Tensor:
        return look_up(self.weight, tokens)


class OneHotLinear(Embedding):
    """Linear layer on one-hot vectors of tokens, by look-up: [...] -> [..., dim].

    The weight is [symbols, dim], truncated normal of deviation 1/sqrt(symbols), the bias zero.

    with_empty: one symbol more, the empty input behind a word. Its row stands apart, since in a
        fleet the vocabulary may be padded to a larger member's.
    """

    def __init__(
        self, vocab_size: int, dim: int, *, bias: bool = True, with_empty: bool = False
    ) -> None:
        super().__init__(vocab_size, dim)
        self.bias = nn.Parameter(torch.zeros(dim)) if bias else None
        self.empty = nn.Parameter(torch.zeros(1, dim)) if with_empty else None
        self.start(std=(vocab_size + with_empty) ** -0.5)

    def start(self, *, std: float) -> None:
        """Draw the rows of all symbols with this deviation."""
        for rows in (self.weight, self.empty):
            if rows is not None:
                nn.init.trunc_normal_(rows, std=std, a=-2 * std, b=2 * std)

    def forward(self, tokens: Tensor) -> Tensor:
        rows = super().forward(tokens)
        return rows if self.bias is None else rows + self.bias

    def of_empty(self) -> Tensor:
        """Of the empty input: -> [1, dim]."""
        assert self.empty is not None
        return self.empty if self.bias is None else self.empty + self.bias

    def table(self) -> Tensor:
        """Of every symbol, then of the empty input: -> [symbols + 1, dim]."""
        rows = self.weight if self.bias is None else self.weight + self.bias
        return torch.cat([rows, self.of_empty()])


def look_up(rows: Tensor, tokens: Tensor) -> Tensor:
    """Rows by number: [vocabulary, dim], [...] -> [..., dim]."""
    if not can_fuse(rows):
        return functional.embedding(tokens, rows)
    found = LookUp.apply(rows[None], tokens.flatten()[None]).squeeze(0)
    return found.unflatten(0, tokens.shape)


def can_fuse(rows: Tensor) -> bool:
    """Whether our kernels look these rows up."""
    return len(rows) <= SMALL_VOCABULARY and can_run(rows)


class LookUp(torch.autograd.Function):
    """Rows by number of each member: [members, vocabulary, dim], [members, count] -> [..., dim]."""

    @staticmethod
    def forward(weight: Tensor, tokens: Tensor) -> Tensor:
        from ldru.kernels import look_up as kernels

        return kernels.look_up(weight, tokens)

    @staticmethod
    def setup_context(ctx, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:  # type: ignore[no-untyped-def]
        weight, tokens = inputs
        ctx.save_for_backward(tokens)
        ctx.vocabulary = weight.shape[1]

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, None]:  # type: ignore[no-untyped-def]
        from ldru.kernels.look_up import look_up_gradient

        (tokens,) = ctx.saved_tensors
        return look_up_gradient(gradient, tokens, vocabulary=ctx.vocabulary), None

    @staticmethod
    def vmap(info, in_dims: tuple, *inputs: Tensor) -> tuple[Tensor, int]:  # type: ignore[no-untyped-def]
        return apply_to_all(LookUp, info, in_dims, *inputs)
