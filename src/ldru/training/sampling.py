"""What is drawn anew at every step of a fleet: words, and the keys of random layers.

All of it is a function of (member seed, stream, step, index), so a member's draws do not depend on
who else is in the fleet.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ldru.randomness import Stream, fold, seed_key
from ldru.tasks import Split, Task


class FleetBatch(NamedTuple):
    """Words for every member: tokens [members, batch, length], labels [members, batch].

    lengths: [members, batch] where members' words differ in length, else None.
    """

    tokens: Tensor
    labels: Tensor
    lengths: Tensor | None


class Sampler:
    """Draws for the members of a fleet, each with its own task and seed."""

    def __init__(
        self, tasks: Sequence[Task], seeds: Sequence[int], *, device: torch.device
    ) -> None:
        self.tasks, self.device = list(tasks), device
        root = seed_key(seeds, device=device)
        self.keys = {stream: fold(root, stream) for stream in Stream}
        self._word_lengths: dict[int, Tensor] = {}
        rows: dict[object, list[int]] = {}
        for index, task in enumerate(tasks):
            rows.setdefault(task.spec, []).append(index)
        self._groups = [
            (tasks[group[0]], torch.tensor(group, device=device)) for group in rows.values()
        ]

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

    def row_keys(self, step: Tensor, *, num_layers: int, batch_size: int) -> Tensor:
        """A key for each row of each random layer: [layers, members, batch, 2]."""
        layers = torch.arange(num_layers, device=self.device)[:, None]
        rows = torch.arange(batch_size, device=self.device)
        key = fold(self.keys[Stream.DROPOUT], step)
        return fold(fold(key, layers)[:, :, None], rows)

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
