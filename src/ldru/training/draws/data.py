"""The words of data sets in epochs: batches of like lengths, on the device.

Every member goes through its data set in its own order, a function of (seed, epoch); each epoch has
every word once. Of this stream of words, each pool of 16 batches is sorted by length and cut into
batches, so that words of a batch are about as long and padding costs little. The batches of a pool
are then shuffled, for all members alike: at a step all have words of about the same length, and
the longest decides what they are padded to. (By the law of padding no member's result depends on
it.)
"""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ldru.base.errors import LdruError
from ldru.base.randomness import Stream, bits, fold, seed_key
from ldru.kernels import support
from ldru.tasks.batch import PaddedBatch
from ldru.tasks.data_task import TRAIN, VALIDATION, DataTask
from ldru.tasks.padded import DeviceWords, padded_length
from ldru.tasks.word_set import WordSet
from ldru.training.draws.base import Draws
from ldru.training.spec import TrainSpec

POOL = 16
"""Batches sorted at once: more would waste less on padding, and mix lengths less."""

PLANNED = 64
"""The most steps planned at once."""

VALIDATED_WORDS = 256
"""Validation words of a batch."""


class Own(NamedTuple):
    """A member's set of words, and the number of its first word among those of all."""

    words: WordSet
    first: int


class Order:
    """One member's way through its data set.

    key: of its seed [2].
    """

    def __init__(self, lengths: NDArray[np.int64], key: Tensor, *, batch_size: int) -> None:
        self.lengths, self.key, self.batch_size = lengths, key, batch_size
        self._epochs: dict[int, NDArray[np.int64]] = {}

    def pool(self, number: int) -> NDArray[np.int64]:
        """The words of a pool, batches in order of length: [POOL, batch]."""
        size, count = POOL * self.batch_size, len(self.lengths)
        place, end = number * size, (number + 1) * size
        parts = []
        while place < end:
            epoch, first = divmod(place, count)
            parts.append(self._epoch(epoch)[first : first + end - place])
            place += len(parts[-1])
        rows = np.concatenate(parts)
        return rows[np.argsort(self.lengths[rows], kind="stable")].reshape(POOL, -1)

    def _epoch(self, epoch: int) -> NDArray[np.int64]:
        """All words, shuffled; the last one asked for is kept."""
        if epoch not in self._epochs:
            self._epochs = {epoch: _shuffled(fold(self.key, epoch), len(self.lengths))}
        return self._epochs[epoch]


class DataDraws(Draws):
    """Words for the members of a fleet, each with its own data set and seed."""

    def __init__(
        self,
        tasks: Sequence[DataTask],
        seeds: Sequence[int],
        *,
        batch_size: int,
        device: torch.device,
    ) -> None:
        super().__init__(seeds, device=device)
        self.tasks, self.batch_size = list(tasks), batch_size
        self._order_keys = fold(seed_key(seeds), Stream.ORDER)
        self._turn_key = fold(seed_key(0), Stream.ORDER)
        # A captured step reads the plan here, by its number.
        self._plan = torch.zeros(len(tasks), PLANNED, batch_size, dtype=torch.int64, device=device)
        self._validation: list[PaddedBatch] | None = None

    @cached_property
    def _trained(self) -> tuple[DeviceWords, list[Own]]:
        """The training words; a fleet that only answers does without."""
        return _on_device(self.tasks, TRAIN, device=self.device)

    @cached_property
    def _orders(self) -> list[Order]:
        _, own = self._trained
        return [
            Order(words.lengths, key, batch_size=self.batch_size)
            for (words, _), key in zip(own, self._order_keys, strict=True)
        ]

    def plan(self, begin: int, end: int, settings: TrainSpec) -> list[int]:
        if end - begin > PLANNED:
            raise LdruError(f"at most {PLANNED} steps are planned at once, got {end - begin}")
        planned, lengths = [], []
        for number in range(begin // POOL, (end - 1) // POOL + 1):
            steps = np.arange(max(begin, number * POOL), min(end, (number + 1) * POOL))
            turns = _shuffled(fold(self._turn_key, number), POOL)[steps % POOL]
            batches = [order.pool(number)[turns] for order in self._orders]
            firsts = [own.first for own in self._trained[1]]
            planned.append(np.stack([b + first for b, first in zip(batches, firsts, strict=True)]))
            # A pool is in order of length, so the last word of a batch is its longest.
            last = [o.lengths[b[:, -1]] for o, b in zip(self._orders, batches, strict=True)]
            lengths += np.max(last, axis=0).tolist()
        rows = torch.from_numpy(np.concatenate(planned, axis=1)).to(self.device)
        self._plan[:, torch.arange(begin, end, device=self.device) % PLANNED] = rows
        return [padded_length(length) for length in lengths]

    def training(self, step: Tensor, length: int, settings: TrainSpec) -> PaddedBatch:
        rows = self._plan.index_select(1, (step % PLANNED)[None]).squeeze(1)
        return self._trained[0].padded(rows, length=length)

    def validation(self, settings: TrainSpec) -> list[PaddedBatch]:
        if self._validation is None:
            self._validation = self._validation_batches(settings.validation_words)
        return self._validation

    def longest(self, settings: TrainSpec) -> int:
        return max(padded_length(int(words.lengths.max())) for words, _ in self._trained[1])

    def label_factors(self, tokens: Tensor, begin: Tensor, end: Tensor) -> Tensor:
        label = self.tasks[0].label_stretches
        assert label is not None, "labels of factors were checked before"
        return label(tokens, begin, end)

    def classify_factors(self, tokens: Tensor, begin: Tensor, end: Tensor) -> Tensor:
        return self.label_factors(tokens, begin, end)

    def row_keys(self, step: Tensor, *, num_layers: int, batch_size: int) -> Tensor:
        if support.why_not(self.device):
            return super().row_keys(step, num_layers=num_layers, batch_size=batch_size)
        from ldru.kernels import sampling

        key = self.keys[Stream.DROPOUT]
        return sampling.row_keys(key, step, num_layers=num_layers, batch_size=batch_size)

    def _validation_batches(self, most: int) -> list[PaddedBatch]:
        """Up to so many words of every member's validation set, in batches of like lengths."""
        on_device, sets = _on_device(self.tasks, VALIDATION, device=self.device)
        sizes = sorted({min(most, len(words)) for words, _ in sets})
        if len(sizes) > 1:
            raise LdruError(
                f"members of a fleet share the number of validation words, these have "
                f"{' and '.join(map(str, sizes))}; train them in several calls"
            )
        orders = [np.argsort(words.lengths[: sizes[0]], kind="stable") for words, _ in sets]
        lengths = np.max([w.lengths[o] for (w, _), o in zip(sets, orders, strict=True)], axis=0)
        rows = torch.from_numpy(
            np.stack([order + first for order, (_, first) in zip(orders, sets, strict=True)])
        ).to(self.device)
        batches = []
        for begin in range(0, sizes[0], VALIDATED_WORDS):
            end = min(begin + VALIDATED_WORDS, sizes[0])
            longest = int(lengths[begin:end].max())
            batches.append(on_device.padded(rows[:, begin:end], length=longest))
        return batches


def _on_device(
    tasks: Sequence[DataTask], name: str, *, device: torch.device
) -> tuple[DeviceWords, list[Own]]:
    """Sets of words by name, each set once, and what of it is every task's own."""
    by_spec = {task.spec: task.words(name) for task in tasks}
    words = DeviceWords(list(by_spec.values()), device=device)
    firsts = dict(zip(by_spec, words.first, strict=True))
    return words, [Own(by_spec[task.spec], firsts[task.spec]) for task in tasks]


def _shuffled(key: Tensor, count: int) -> NDArray[np.int64]:
    """The numbers below `count` in an order that a key decides."""
    return np.argsort(bits(key, count).numpy(), kind="stable")
