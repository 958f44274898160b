"""The plain recurrent network, one symbol at a time."""

from torch import Tensor, nn

from ldru.base.limits import check_sizes
from ldru.layers.embedding import OneHotLinear
from ldru.layers.linear import Linear
from ldru.layers.recurrence import can_fuse, last_output
from ldru.models.words import align_right, carry_finished, check_words, with_empty


class RNNClassifier(nn.Module):
    """Classify token sequences: ReLU recurrence over one-hot symbols, linear head.

    h_t = relu(W_x x_t + b_x + W_h h_{t-1} + b_h),  h_0 = 0

    The head reads the state after one empty input behind the word, which is a symbol of its own.
    """

    def __init__(self, *, vocab_size: int, num_classes: int, dim: int = 256) -> None:
        super().__init__()
        check_sizes(vocab_size=vocab_size, num_classes=num_classes, dim=dim)
        self.vocab_size, self.num_classes, self.dim = vocab_size, num_classes, dim
        self.inputs = OneHotLinear(vocab_size, dim, with_empty=True)
        self.recurrent = Linear(dim, dim)
        self.head = Linear(dim, num_classes)

    def forward(self, tokens: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Score the classes: [batch, length] -> [batch, classes]."""
        tokens = check_words(tokens, lengths)
        table = self.inputs.table()
        if can_fuse(table):
            tokens = with_empty(align_right(tokens, lengths, before=-1), symbol=self.vocab_size)
            table = table + self.recurrent.bias
            return self.head(last_output(table, self.recurrent.weight, tokens, kind="relu"))
        state = table.new_zeros(len(tokens), self.dim)
        for place, given in enumerate(self.inputs(tokens).unbind(dim=1)):
            state = carry_finished(self._step(given, state), state, lengths, place=place)
        return self.head(self._step(table[-1:], state))

    def _step(self, given: Tensor, state: Tensor) -> Tensor:
        return (given + self.recurrent(state)).relu()
