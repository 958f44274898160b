"""Words of two stretches of any two classes, drawn anew now and then while a fleet trains."""

import torch
from torch import Tensor

from ldru.base.errors import LdruError
from ldru.base.randomness import Stream, fold
from ldru.tasks.compositions import compositions_of
from ldru.training.draws.regular import RegularDraws
from ldru.training.spec import POOL_SIZE
from ldru.training.word_pool import WordPool

DRAWN_EVERY = 1000
"""Steps after which a pool is drawn anew: a multiple of those that are planned at once."""


class ComposedWords(WordPool):
    """A pool of compositions (see `ldru.tasks.compositions`), a function of the seed and step."""

    stream = Stream.COMPOSED

    def __init__(self, draws: RegularDraws, *, share: float, max_length: int) -> None:
        super().__init__(draws, share=share, max_length=max_length)
        self._drawn: int | None = None
        self._compositions = []
        for task, _ in draws.groups:
            try:
                found = compositions_of(
                    task.machine, max_length=self.longest, device=self.tokens.device
                )
            except LdruError as problem:
                raise LdruError(
                    f"{task.name!r} has no compositions to draw, since {problem}; train it with "
                    "compositions=0"
                ) from problem
            self._compositions.append(found)

    @torch.no_grad()
    def draw(self, step: int) -> None:
        """Have the words of a step ready."""
        number = step // DRAWN_EVERY
        if number == self._drawn:
            return
        self._drawn = number
        # Apart from the keys of `mix`, which are folded with a step alone.
        keys = fold(fold(self.draws.keys[Stream.COMPOSED], number), 1)
        for (_, rows), compositions in zip(self.draws.groups, self._compositions, strict=True):
            lengths = self._lengths[rows[0]]
            words = compositions.draw(keys[rows], lengths=lengths, count=POOL_SIZE)
            self.tokens[rows, ..., : words.shape[-1]] = words.to(self.tokens.dtype)
        for length in range(1, self._lengths.shape[1] + 1):
            labels = self._label(self.tokens[:, length - 1].long(), length)
            self.labels[:, length - 1] = labels.to(self.labels.dtype)

    def _places(self, count: int, rows: int) -> Tensor:
        """From the end, so that hard words keep their own places."""
        return rows - 1 - super()._places(count, rows)
