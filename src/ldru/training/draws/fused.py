"""Words of regular languages drawn by one kernel, for fleets on a GPU."""

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from ldru.base.randomness import Stream
from ldru.kernels import support
from ldru.tasks.regular_task import RegularTask, Split
from ldru.tasks.walk import quantiles
from ldru.training.draws.regular import RegularDraws


class FusedDraws(RegularDraws):
    """`RegularDraws` by `ldru.kernels.sampling`."""

    def __init__(
        self, tasks: Sequence[RegularTask], seeds: Sequence[int], *, device: torch.device
    ) -> None:
        super().__init__(tasks, seeds, device=device)
        self._plans: dict[tuple[int, int, Split], _Plan] = {}

    def row_keys(self, step: Tensor, *, num_layers: int, batch_size: int) -> Tensor:
        from ldru.kernels import sampling

        key = self.keys[Stream.DROPOUT]
        return sampling.row_keys(key, step, num_layers=num_layers, batch_size=batch_size)

    def _ends_of(self, tokens: Tensor, begin: Tensor, end: Tensor, *machines: Tensor) -> Tensor:
        from ldru.kernels import sampling

        return sampling.label_factors(tokens, begin, end, *machines)

    def _draw(
        self, stream: Stream, step: Tensor | None, *, batch_size: int, length: int, split: Split
    ) -> tuple[Tensor, Tensor]:
        from ldru.kernels import sampling

        asked = (batch_size, length, split)
        if asked not in self._plans:  # kept for good: a captured step goes on reading it
            self._plans[asked] = _Plan(self.tasks, *asked, device=self.device)
        plan = self._plans[asked]
        return sampling.draw(
            self.keys[stream],
            step,
            plan.table,
            plan.numbers,
            quantiles(self.device),
            batch_size=batch_size,
            longest=plan.longest,
            most_candidates=plan.most_candidates,
        )


class _Plan:
    """The input of `draw_kernel`: a row for each share of each member, and shared numbers."""

    def __init__(
        self,
        tasks: Sequence[RegularTask],
        batch_size: int,
        length: int,
        split: Split,
        *,
        device: torch.device,
    ) -> None:
        self._numbers: list[np.ndarray] = []
        self._size = 0
        known: dict[object, list[tuple[int, ...]]] = {}
        rows = []
        for member, task in enumerate(tasks):
            if task.spec not in known:
                known[task.spec] = self._rows(task, batch_size, length, split)
            rows += [(member, *row) for row in known[task.spec]]
        self.longest = max(task.word_length(length) for task in tasks)
        self.most_candidates = max(row[2] for row in rows)
        self.table = torch.tensor(rows, device=device)
        self.numbers = torch.from_numpy(np.concatenate(self._numbers)).to(device)

    def _rows(
        self, task: RegularTask, batch_size: int, length: int, split: Split
    ) -> list[tuple[int, ...]]:
        """The shares of a task, without the member."""
        machine, begin = task.machine, 0
        rows: list[tuple[int, ...]] = []
        length = task.word_length(length)
        delta, output = self._add(machine.delta), self._add(machine.output)
        for number, (share, count) in enumerate(task.shares(batch_size, length, split)):
            candidates = math.ceil(share.oversample * count)
            wanted = -1 if share.wanted is None or candidates == count else share.wanted
            cuts, noise = share.walk.cuts(length), np.zeros((1, 1), dtype=np.int64)
            if share.walk.noise is not None:
                noise = share.walk.noise(length)
            rows.append(
                (
                    number, candidates, count, begin, wanted, length,
                    machine.num_symbols, machine.start, delta, output,
                    self._add(cuts), *_strides(cuts),
                    self._add(noise) if share.walk.noise is not None else -1, *_strides(noise),
                )
            )  # fmt: skip
            begin += count
        return rows

    def _add(self, numbers: np.ndarray) -> int:
        """Where an array begins among the numbers."""
        begin = self._size
        self._numbers.append(numbers.astype(np.int64).ravel())
        self._size += numbers.size
        return begin


def _strides(table: np.ndarray) -> tuple[int, int, int]:
    """The last row of a table [rows, states, ...], and numbers of a row and of a state.

    One row, or one state, stands for all.
    """
    rows, states = table.shape[:2]
    return rows - 1, table[0].size, table[0, 0].size if states > 1 else 0


def make_regular_draws(
    tasks: Sequence[RegularTask], seeds: Sequence[int], *, device: torch.device
) -> RegularDraws:
    """The fastest draws that can run on a device."""
    kind = RegularDraws if support.why_not(device) else FusedDraws
    return kind(tasks, seeds, device=device)
