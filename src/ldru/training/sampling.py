"""What is drawn anew at every step of a fleet: words, and the keys of random layers.

All of it is a function of (member seed, stream, step, index), so a member's draws do not depend on
who else is in the fleet.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ldru.randomness import Stream, below, fold, seed_key
from ldru.tasks import Split, Task
from ldru.training.spec import TrainSpec


class FleetBatch(NamedTuple):
    """Words for every member: tokens [members, batch, length], labels [members, batch].

    lengths: [members, batch] where words differ in length, else None.
    """

    tokens: Tensor
    labels: Tensor
    lengths: Tensor | None


class Draws(ABC):
    """Where the members of a fleet have their words and keys from."""

    def __init__(self, seeds: Sequence[int], *, device: torch.device) -> None:
        self.device = device
        root = seed_key(seeds, device=device)
        self.keys = {stream: fold(root, stream) for stream in Stream}

    @abstractmethod
    def plan(self, begin: int, end: int, settings: TrainSpec) -> list[int]:
        """Make ready for steps begin..end - 1: the length that each one's words are padded to."""

    @abstractmethod
    def training(self, step: Tensor, length: int, settings: TrainSpec) -> FleetBatch:
        """The words of a step [], padded to the length that was planned for it."""

    @abstractmethod
    def validation(self, settings: TrainSpec) -> list[FleetBatch]:
        """The validation words of every member, in one batch or several."""

    @abstractmethod
    def longest(self, settings: TrainSpec) -> int:
        """The greatest length that can be planned."""

    def row_keys(self, step: Tensor, *, num_layers: int, batch_size: int) -> Tensor:
        """A key for each row of each random layer: [layers, members, batch, 2]."""
        layers = torch.arange(num_layers, device=self.device)[:, None]
        rows = torch.arange(batch_size, device=self.device)
        key = fold(self.keys[Stream.DROPOUT], step)
        return fold(fold(key, layers)[:, :, None], rows)


class Sampler(Draws):
    """Draws for the members of a fleet, each with its own task and seed; one length a step."""

    def __init__(
        self, tasks: Sequence[Task], seeds: Sequence[int], *, device: torch.device
    ) -> None:
        super().__init__(seeds, device=device)
        self.tasks = list(tasks)
        self._word_lengths: dict[int, Tensor] = {}
        rows: dict[object, list[int]] = {}
        for index, task in enumerate(tasks):
            rows.setdefault(task.spec, []).append(index)
        self._groups = [
            (tasks[group[0]], torch.tensor(group, device=device)) for group in rows.values()
        ]

    def plan(self, begin: int, end: int, settings: TrainSpec) -> list[int]:
        return training_lengths(begin, end, max_length=settings.max_length)

    def training(self, step: Tensor, length: int, settings: TrainSpec) -> FleetBatch:
        return self.words(Stream.TOKENS, step, batch_size=settings.batch_size, length=length)

    def validation(self, settings: TrainSpec) -> list[FleetBatch]:
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
    ) -> FleetBatch:
        """Words of (up to) a length of every member's own task; step: [], None for no step's."""
        word_lengths = [task.word_length(length) for task in self.tasks]
        tokens, labels = self._draw(stream, step, batch_size=batch_size, length=length, split=split)
        if min(word_lengths) == tokens.shape[-1]:
            return FleetBatch(tokens, labels, None)
        if length not in self._word_lengths:  # kept: a captured step cannot copy from the host
            self._word_lengths[length] = torch.tensor(word_lengths, device=self.device)
        lengths = self._word_lengths[length][:, None].expand(labels.shape)
        return FleetBatch(tokens, labels, lengths)

    def _draw(
        self, stream: Stream, step: Tensor | None, *, batch_size: int, length: int, split: Split
    ) -> tuple[Tensor, Tensor]:
        """Tokens padded with zeros, and labels."""
        keys = self.keys[stream] if step is None else fold(self.keys[stream], step)
        longest = max(task.word_length(length) for task in self.tasks)
        shape = (len(self.tasks), batch_size)
        tokens = torch.zeros(*shape, longest, dtype=torch.int64, device=self.device)
        labels = torch.zeros(shape, dtype=torch.int64, device=self.device)
        for task, rows in self._groups:
            batch = task.draw(keys[rows], batch_size=batch_size, length=length, split=split)
            tokens[rows, :, : batch.tokens.shape[-1]] = batch.tokens
            labels[rows] = batch.labels
        return tokens, labels


def training_lengths(begin: int, end: int, *, max_length: int) -> list[int]:
    """The word lengths of steps begin..end - 1: uniform on 1..max_length, the same for everyone."""
    keys = fold(fold(seed_key(0), Stream.LENGTH)[None], torch.arange(begin, end))
    return (1 + below(keys, max_length, (1,))).flatten().tolist()
