"""The long short-term memory, one symbol at a time."""

import torch
from torch import Tensor, nn

from ldru.base.limits import check_sizes
from ldru.layers.embedding import OneHotLinear
from ldru.layers.linear import Linear
from ldru.layers.recurrence import can_fuse, last_output
from ldru.models.words import align_right, carry_finished, check_words, with_empty


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
        tokens = check_words(tokens, lengths)
        table = self.inputs.table()
        if can_fuse(table):
            tokens = with_empty(align_right(tokens, lengths, before=-1), symbol=self.vocab_size)
            output = last_output(table, self.recurrent.weight, tokens, kind="gates")
            return self.head(output.relu())
        # Output and cell side by side, so that finished words are carried by one selection.
        state = table.new_zeros(len(tokens), 2 * self.dim)
        for place, given in enumerate(self.inputs(tokens).unbind(dim=1)):
            state = carry_finished(self._step(given, state), state, lengths, place=place)
        output, _ = self._step(table[-1:], state).chunk(2, dim=-1)
        return self.head(output.relu())

    def _step(self, given: Tensor, state: Tensor) -> Tensor:
        output, cell = state.chunk(2, dim=-1)
        enter, keep, update, show = (given + self.recurrent(output)).chunk(4, dim=-1)
        cell = (keep + 1).sigmoid() * cell + enter.sigmoid() * update.tanh()
        return torch.cat([show.sigmoid() * cell.tanh(), cell], dim=-1)
