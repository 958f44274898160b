"""Words of regular languages, drawn on the device: every step has words of one length."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from ldru.base.randomness import Stream, below, fold, seed_key
from ldru.tasks.batch import PaddedBatch
from ldru.tasks.regular_task import RegularTask, Split
from ldru.training.draws.base import Draws
from ldru.training.spec import TrainSpec


class RegularDraws(Draws):
    """Draws for the members of a fleet, each with its own language and seed."""

    def __init__(
        self, tasks: Sequence[RegularTask], seeds: Sequence[int], *, device: torch.device
    ) -> None:
        super().__init__(seeds, device=device)
        self.tasks = list(tasks)
        self._word_lengths: dict[int, Tensor] = {}
        rows: dict[object, list[int]] = {}
        for index, task in enumerate(tasks):
            rows.setdefault(task.spec, []).append(index)
        self.groups = [
            (tasks[group[0]], torch.tensor(group, device=device)) for group in rows.values()
        ]

    def plan(self, begin: int, end: int, settings: TrainSpec) -> list[int]:
        return training_lengths(begin, end, max_length=settings.max_length)

    def training(self, step: Tensor, length: int, settings: TrainSpec) -> PaddedBatch:
        return self.words(Stream.TOKENS, step, batch_size=settings.batch_size, length=length)

    def validation(self, settings: TrainSpec) -> list[PaddedBatch]:
        batch = self.words(
            Stream.VALIDATION,
            None,
            batch_size=settings.validation_words,
            length=settings.validation_length,
            split="test",
        )
        return [batch]

    def longest(self, settings: TrainSpec) -> int:
        return settings.max_length

    def words(
        self,
        stream: Stream,
        step: Tensor | None,
        *,
        batch_size: int,
        length: int,
        split: Split = "train",
    ) -> PaddedBatch:
        """Words of (up to) a length of every member's own task; step: [], None for no step's."""
        word_lengths = [task.word_length(length) for task in self.tasks]
        tokens, labels = self._draw(stream, step, batch_size=batch_size, length=length, split=split)
        if min(word_lengths) == tokens.shape[-1]:
            return PaddedBatch(tokens, labels, None)
        if length not in self._word_lengths:  # kept: a captured step cannot copy from the host
            self._word_lengths[length] = torch.tensor(word_lengths, device=self.device)
        lengths = self._word_lengths[length][:, None].expand(labels.shape)
        return PaddedBatch(tokens, labels, lengths)

    def label_prefixes(self, tokens: Tensor) -> Tensor:
        """The labels of all prefixes, -1 where there is none: [members, batch, length] -> same."""
        starts, ways, labels = self._machines
        places, found = starts[:, None].expand(tokens.shape[:2]), []
        for column in tokens.unbind(dim=-1):
            places = ways[places + column]
            found.append(labels[places])
        return torch.stack(found, dim=-1)

    def label_factors(self, tokens: Tensor, begin: Tensor, end: Tensor) -> Tensor:
        return self._ends_of(tokens, begin, end, *self._machines)

    def classify_factors(self, tokens: Tensor, begin: Tensor, end: Tensor) -> Tensor:
        """Their classes in the monoids."""
        return self._ends_of(tokens, begin, end, *self._monoids)

    def _ends_of(self, tokens: Tensor, begin: Tensor, end: Tensor, *machines: Tensor) -> Tensor:
        """The labels of the states that stretches lead machines to; see `_in_a_row`."""
        starts, ways, labels = machines
        flat = tokens.flatten(1)
        places = starts[:, None].expand(begin.shape)
        for offset in range(tokens.shape[2]):
            place = begin + offset
            column = flat.gather(1, place.clamp(max=flat.shape[1] - 1))
            places = torch.where(place < end, ways[places + column], places)
        return torch.where(begin < end, labels[places], -1)

    @cached_property
    def _machines(self) -> tuple[Tensor, Tensor, Tensor]:
        """The machines of all members; see `_in_a_row`."""
        machines = [task.machine for task in self.tasks]
        return self._in_a_row([(m.start, m.delta, m.output) for m in machines])

    @cached_property
    def _monoids(self) -> tuple[Tensor, Tensor, Tensor]:
        """Machines whose states are the classes of the members' monoids, and their own labels."""
        found = [task.monoid for task in self.tasks]
        return self._in_a_row([(0, each.step, np.arange(each.size)) for each in found])

    def _in_a_row(
        self, machines: Sequence[tuple[int, np.ndarray, np.ndarray]]
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Machines in one row of numbers, by state and symbol, from (start, delta, output).

        From which place each starts, where a symbol leads, and the label of a place.
        """
        starts, ways, labels, begin = [], [], [], 0
        for start, delta, output in machines:
            symbols = delta.shape[1]
            starts.append(begin + start * symbols)
            ways.append(begin + delta.ravel() * symbols)
            labels.append(np.repeat(output, symbols))
            begin += delta.size
        device = self.device
        return (
            torch.tensor(starts, device=device),
            torch.from_numpy(np.concatenate(ways)).to(device),
            torch.from_numpy(np.concatenate(labels)).to(device),
        )

    def _draw(
        self, stream: Stream, step: Tensor | None, *, batch_size: int, length: int, split: Split
    ) -> tuple[Tensor, Tensor]:
        """Tokens padded with zeros, and labels."""
        keys = self.keys[stream] if step is None else fold(self.keys[stream], step)
        longest = max(task.word_length(length) for task in self.tasks)
        shape = (len(self.tasks), batch_size)
        tokens = torch.zeros(*shape, longest, dtype=torch.int64, device=self.device)
        labels = torch.zeros(shape, dtype=torch.int64, device=self.device)
        for task, rows in self.groups:
            batch = task.draw(keys[rows], batch_size=batch_size, length=length, split=split)
            tokens[rows, :, : batch.tokens.shape[-1]] = batch.tokens
            labels[rows] = batch.labels
        return tokens, labels


def training_lengths(begin: int, end: int, *, max_length: int) -> list[int]:
    """The word lengths of steps begin..end - 1: uniform on 1..max_length, the same for everyone."""
    keys = fold(fold(seed_key(0), Stream.LENGTH)[None], torch.arange(begin, end))
    return (1 + below(keys, max_length, (1,))).flatten().tolist()
