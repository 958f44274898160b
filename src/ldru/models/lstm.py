"""The long short-term memory, one symbol at a time."""

import torch
from torch import Tensor, nn

from ldru.kernels.support import apply_to_all, can_run
from ldru.layers.embedding import OneHotLinear
from ldru.layers.linear import Linear
from ldru.models.words import carry_finished, check_sizes, check_words


class LSTMClassifier(nn.Module):
    """Classify token sequences: LSTM over one-hot symbols, linear head.

    [i; f; u; o] = W_x x_t + b + W_h h_{t-1}
    c_t = sigmoid(f + 1) * c_{t-1} + sigmoid(i) * tanh(u),  c_0 = 0
    h_t = sigmoid(o) * tanh(c_t),  h_0 = 0

    The head reads relu(h) after one empty input behind the word, which is a symbol of its own.
    """

    def __init__(self, *, vocab_size: int, num_classes: int, dim: int = 256) -> None:
        super().__init__()
        check_sizes(vocab_size=vocab_size, num_classes=num_classes, dim=dim)
        self.vocab_size, self.num_classes, self.dim = vocab_size, num_classes, dim
        self.inputs = OneHotLinear(vocab_size, 4 * dim, with_empty=True)
        self.recurrent = Linear(dim, 4 * dim, bias=False)
        self.head = Linear(dim, num_classes)
        # The two are halves of one layer that reads [x; h], and start with its deviation.
        std = (vocab_size + 1 + dim) ** -0.5
        self.inputs.start(std=std)
        nn.init.trunc_normal_(self.recurrent.weight, std=std, a=-2 * std, b=2 * std)

    def forward(self, tokens: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Score the classes: [batch, length] -> [batch, classes]."""
        inputs = self.inputs(check_words(tokens, lengths))
        # Output and cell side by side, so that finished words are carried by one selection.
        state = inputs.new_zeros(len(tokens), 2 * self.dim)
        for place, given in enumerate(inputs.unbind(dim=1)):
            state = carry_finished(self._step(given, state), state, lengths, place=place)
        output, _ = self._step(self.inputs.of_empty(), state).chunk(2, dim=-1)
        return self.head(output.relu())

    def _step(self, given: Tensor, state: Tensor) -> Tensor:
        output, cell = state.chunk(2, dim=-1)
        recurrent = self.recurrent(output)
        if not can_run(recurrent):
            return plain_gates(given, recurrent, cell)
        given = given.expand_as(recurrent)
        return Gates.apply(given[None], recurrent[None], cell[None])[0]


def plain_gates(given: Tensor, recurrent: Tensor, cell: Tensor) -> Tensor:
    """Output and cell side by side: [..., 4 dim] twice, [..., dim] -> [..., 2 dim]."""
    enter, keep, update, show = (given + recurrent).chunk(4, dim=-1)
    cell = (keep + 1).sigmoid() * cell + enter.sigmoid() * update.tanh()
    return torch.cat([show.sigmoid() * cell.tanh(), cell], dim=-1)


class Gates(torch.autograd.Function):
    """`plain_gates` of each member: [members, words, channels] all."""

    @staticmethod
    def forward(given: Tensor, recurrent: Tensor, cell: Tensor) -> Tensor:
        from ldru.kernels.lstm import gates

        return gates(given, recurrent, cell)

    @staticmethod
    def setup_context(ctx, inputs: tuple, output: Tensor) -> None:  # type: ignore[no-untyped-def]
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:  # type: ignore[no-untyped-def]
        from ldru.kernels.lstm import gates_gradient

        given, recurrent, cell = ctx.saved_tensors
        of_gates, of_cell = gates_gradient(given, recurrent, cell, gradient)
        return of_gates, of_gates, of_cell

    @staticmethod
    def vmap(info, in_dims: tuple, *inputs: Tensor) -> tuple[Tensor, int]:  # type: ignore[no-untyped-def]
        return apply_to_all(Gates, info, in_dims, *inputs)
