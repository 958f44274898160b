"""The selective dense state-space model: every symbol chooses its transition matrix."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from ldru.base.errors import LdruError
from ldru.base.limits import check_sizes
from ldru.layers.embedding import OneHotLinear
from ldru.layers.linear import Linear
from ldru.layers.recurrence import can_fuse, last_output
from ldru.models.words import align_right, carry_finished, check_words

Move = Callable[[Tensor, Tensor], Tensor]
"""States [words, dim] and the next symbol of each [words] -> A(x) h [words, dim]."""


class SDSSMClassifier(nn.Module):
    """Classify token sequences: linear recurrence with dense transitions, layer norm, linear head.

    s_t = softmax(W_s x_t + b_s)                        over the transition matrices A_k
    A(x_t) = sum_k s_tk A_k, each column divided by its L_p norm
    h_t = A(x_t) h_{t-1} + B x_t,  h_0 = 0

    The head reads the state after one empty input behind the word, which is a symbol of its own.
    """

    def __init__(
        self,
        *,
        vocab_size: int,
        num_classes: int,
        dim: int = 256,
        num_transitions: int = 8,
        norm_order: float = 1.2,
    ) -> None:
        super().__init__()
        check_sizes(
            vocab_size=vocab_size,
            num_classes=num_classes,
            dim=dim,
            num_transitions=num_transitions,
        )
        if norm_order < 1:
            raise LdruError(f"norm_order must be at least 1, got {norm_order}")
        self.vocab_size, self.num_classes, self.dim = vocab_size, num_classes, dim
        self.num_transitions, self.norm_order = num_transitions, norm_order
        self.inputs = OneHotLinear(vocab_size, dim, bias=False, with_empty=True)
        self.choice = OneHotLinear(vocab_size, num_transitions, with_empty=True)
        self.transitions = nn.Parameter(torch.empty(num_transitions, dim, dim))
        bound = (6 / (2 * dim)) ** 0.5
        nn.init.uniform_(self.transitions, -bound, bound)
        self.norm = nn.LayerNorm(dim)
        self.head = Linear(dim, num_classes)

    def forward(self, tokens: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Score the classes: [batch, length] -> [batch, classes]."""
        tokens = check_words(tokens, lengths)
        shares = self._shares()
        mixed = self._mix(shares)
        norms = column_norms(mixed, order=self.norm_order)
        matrices = mixed / norms[:, None]
        if can_fuse(self.inputs.weight):
            aligned = align_right(tokens, lengths, before=-1)
            stacked = matrices[1:].flatten(0, 1)  # [symbols * dim, dim]
            state = last_output(self.inputs.weight, stacked, aligned, kind="select")
        else:
            has_few = len(shares) - 1 <= self.num_transitions
            few, many = by_symbol(matrices[1:]), by_share(self.transitions, shares[1:], norms[1:])
            state = self._last_state(tokens, lengths, few if has_few else many)
        return self.head(self.norm(state @ matrices[0].T + self.inputs.of_empty()))

    def _last_state(self, tokens: Tensor, lengths: Tensor | None, move: Move) -> Tensor:
        """The state behind every word: [batch, length] -> [batch, dim]."""
        state = self.transitions.new_zeros(len(tokens), self.dim)
        for place, given in enumerate(self.inputs(tokens).unbind(dim=1)):
            new = move(state, tokens[:, place]) + given
            state = carry_finished(new, state, lengths, place=place)
        return state

    def symbol_transitions(self) -> Tensor:
        """The matrix of the empty input, then of every symbol: [1 + symbols, dim, dim]."""
        return unit_columns(self._mix(self._shares()), order=self.norm_order)

    def _shares(self) -> Tensor:
        """s of the empty input, then of every symbol: [1 + symbols, transitions]."""
        symbols = torch.arange(len(self.choice.weight), device=self.transitions.device)
        return torch.cat([self.choice.of_empty(), self.choice(symbols)]).softmax(dim=-1)

    def _mix(self, shares: Tensor) -> Tensor:
        """[symbols, transitions] -> a matrix for each symbol, its columns as they come."""
        return torch.einsum("sk,kij->sij", shares, self.transitions)


# A matrix for every word would be too much to move. So all states go through several matrices in
# one product, [A_1; A_2; ...] times h, of which a word takes what its symbol needs.


def by_symbol(matrices: Tensor) -> Move:
    """A(x) h through the matrices of all symbols [symbols, dim, dim]."""
    stacked = matrices.flatten(0, 1)

    def move(state: Tensor, symbols: Tensor) -> Tensor:
        moved = (state @ stacked.T).unflatten(1, matrices.shape[:2])
        return moved.take_along_dim(symbols[:, None, None], dim=1)[:, 0]

    return move


def by_share(transitions: Tensor, shares: Tensor, norms: Tensor) -> Move:
    """A(x) h through what the matrices are mixed of, where symbols are many.

    norms: what each symbol's columns are divided by [symbols, dim].
    """
    stacked = transitions.flatten(0, 1)

    def move(state: Tensor, symbols: Tensor) -> Tensor:
        moved = ((state / norms[symbols]) @ stacked.T).unflatten(1, transitions.shape[:2])
        return (shares[symbols][:, None] @ moved).squeeze(1)

    return move


def unit_columns(matrices: Tensor, *, order: float) -> Tensor:
    """Divide every column by its L_p norm: [..., dim, dim] -> [..., dim, dim]."""
    return matrices / column_norms(matrices, order=order)[..., None, :]


def column_norms(matrices: Tensor, *, order: float) -> Tensor:
    """The L_p norm of every column: [..., rows, columns] -> [..., columns]."""
    return torch.linalg.vector_norm(matrices, ord=order, dim=-2)
