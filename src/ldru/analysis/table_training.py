"""Steps of a network that learns tables, not words: what it is shown, and how its weights move."""

import math
from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

from ldru.models.ldru import LDRUClassifier
from ldru.training.muon import MatrixMuon

WARMUP = 0.05
"""The share of the steps over which rates rise; then they fall along a cosine."""


class EntryDraws:
    """Entries of a table by number: half of them any, half by the state they give, each alike.

    Most entries of a large table give few of its states; the others would hardly be met.

    states: that the entries give [entries].
    """

    def __init__(self, states: Tensor, *, generator: torch.Generator) -> None:
        self.generator = generator
        self.by_state = states.argsort(stable=True)
        ways = torch.bincount(states)
        self.ways = ways[ways > 0]
        self.first_way = self.ways.cumsum(0) - self.ways

    def draw(self, count: int) -> Tensor:
        """So many entries."""
        some = self._below(len(self.ways), count // 2)
        share = torch.rand(len(some), generator=self.generator, dtype=torch.float64)
        way = (share.to(some.device) * self.ways[some]).long()
        entries = self._below(len(self.by_state), count - len(some))
        return torch.cat([entries, self.by_state[self.first_way[some] + way]])

    def _below(self, bound: int, count: int) -> Tensor:
        drawn = torch.randint(bound, (count,), generator=self.generator)
        return drawn.to(self.by_state.device)


class TableOptimizer:
    """Muon for the encoder's matrices, which learn tables several times as fast by it; Adam for all
    else.

    matrix_rate, rate: of the encoder's matrices, and of the model's other parameters.
    others: parameters besides the model's, by their rate.
    """

    def __init__(
        self,
        model: LDRUClassifier,
        *,
        steps: int,
        matrix_rate: float,
        rate: float,
        others: Mapping[float, Iterable[Tensor]],
    ) -> None:
        matrices = [weight for weight in model.encoder.parameters() if weight.ndim == 2]
        known = set(matrices)
        rest = [weight for weight in model.parameters() if weight not in known]
        groups = [{"params": rest, "lr": rate}]
        groups += [{"params": list(some), "lr": own} for own, some in others.items()]
        self.optimizers = [MatrixMuon(matrices, lr=matrix_rate), torch.optim.Adam(groups)]
        self.schedules = [
            torch.optim.lr_scheduler.LambdaLR(each, lambda step: _share(step / steps))
            for each in self.optimizers
        ]

    def step(self, loss: Tensor) -> None:
        """One step down a loss."""
        for optimizer in self.optimizers:
            optimizer.zero_grad()
        loss.backward()
        for optimizer, schedule in zip(self.optimizers, self.schedules, strict=True):
            optimizer.step()
            schedule.step()


def _share(progress: float) -> float:
    """Of the rates, after a share of the steps."""
    return min(1.0, progress / WARMUP) * (1 + math.cos(math.pi * progress)) / 2
