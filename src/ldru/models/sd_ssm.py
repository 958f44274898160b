"""The selective dense state-space model: every symbol chooses its transition matrix."""

import torch
from torch import Tensor, nn

from ldru.base.errors import LdruError
from ldru.base.limits import check_sizes
from ldru.layers.embedding import OneHotLinear
from ldru.layers.linear import Linear
from ldru.layers.recurrence import can_fuse, last_output
from ldru.models.words import align_right, carry_finished, check_words


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
        empty, *of_symbols = self.symbol_transitions().unbind()
        # All symbols in one product, [A_1; A_2; ...] times h, of which a word takes its symbol's
        # part: a matrix for every word and place would be too much to move.
        stacked = torch.cat(of_symbols)  # [symbols * dim, dim]
        if can_fuse(self.inputs.weight):
            aligned = align_right(tokens, lengths, before=-1)
            state = last_output(self.inputs.weight, stacked, aligned, kind="select")
        else:
            state = self._last_state(stacked, tokens, lengths)
        return self.head(self.norm(state @ empty.T + self.inputs.of_empty()))

    def _last_state(self, stacked: Tensor, tokens: Tensor, lengths: Tensor | None) -> Tensor:
        """The state behind every word: [batch, length] -> [batch, dim]."""
        state = stacked.new_zeros(len(tokens), self.dim)
        for place, given in enumerate(self.inputs(tokens).unbind(dim=1)):
            moved = (state @ stacked.T).unflatten(1, (-1, self.dim))
            new = moved.take_along_dim(tokens[:, place, None, None], dim=1)[:, 0] + given
            state = carry_finished(new, state, lengths, place=place)
        return state

    def symbol_transitions(self) -> Tensor:
        """The matrix of the empty input, then of every symbol: [1 + symbols, dim, dim]."""
        symbols = torch.arange(self.vocab_size, device=self.transitions.device)
        scores = torch.cat([self.choice.of_empty(), self.choice(symbols)])
        mixed = torch.einsum("sk,kij->sij", scores.softmax(dim=-1), self.transitions)
        return unit_columns(mixed, order=self.norm_order)


def unit_columns(matrices: Tensor, *, order: float) -> Tensor:
    """Divide every column by its L_p norm: [..., dim, dim] -> [..., dim, dim]."""
    return matrices / torch.linalg.vector_norm(matrices, ord=order, dim=-2, keepdim=True)
