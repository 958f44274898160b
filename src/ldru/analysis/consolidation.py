"""Train an LDRU further, so that its states gather at those of the machine that it already is.

A trained network's nodes lie around the states of its exact machine, some near, some half-way to
the next one. Consolidation leaves what it computes as it is and draws the nodes in: every entry of
the machine's tables is a training example, and the slope of the maps there is held down in the
direction in which it is steepest. No word and no label is used, only the tables of the machine.
"""

import copy
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from ldru.analysis.algebra import Algebra
from ldru.analysis.extraction import Extraction
from ldru.analysis.trained_ldru import check_ldru
from ldru.base.errors import LdruError
from ldru.models.ldru import LDRUClassifier

STEPS = 4000
PAIRS, RISES = 256, 128
"""Entries of the tables in a step."""

VISITS = 50
"""How often every pair of a large table is visited at least."""

RATE = 2e-3
NEAREST, FARTHEST = 0.03, 1.0
"""How far from a state slopes are taken, all scales alike; states of width 64 have length 8."""

CLOSENESS = 30.0
"""Of a squared distance from where it belongs, beside a squared slope."""

SMALL = 0.1
"""Of the distance at which a slope is taken, where the steepest direction is looked for."""


def consolidate(
    model: LDRUClassifier,
    found: Extraction,
    *,
    steps: int | None = None,
    seed: int = 0,
    on_step: Callable[[int], None] | None = None,
) -> LDRUClassifier:
    """A copy of an LDRU whose states lie close to those of its machine, which `extract` found.

    steps: by default 4,000, and more for tables of more than 20,000 pairs.
    on_step: is told of every step.

    >>> run = ldru.Run.open("parity_check")
    >>> found = ldru.extract(run.model, run.task, tolerances=[0.5])
    >>> closer = ldru.consolidate(run.model, found, steps=200)
    >>> again = ldru.extract(closer, run.task, tolerances=[0.5])
    >>> again.summary, again.chosen.spread < found.chosen.spread / 4
    ('correct at every length', True)
    """
    tables = found.algebra
    if steps is None:
        steps = usual_steps(tables)
    if steps < 1:
        raise LdruError(f"steps must be at least 1, got {steps}")
    model = copy.deepcopy(check_ldru(model))
    encoder, weight = model.encoder, model.embedding.weight
    assert found.chosen is not None
    states = found.chosen.states.detach().to(weight)
    left, right, joined, rising, risen, leaf, answer = (
        torch.from_numpy(table).to(weight.device)
        for table in (*tables.moves, tables.leaf, tables.answer)
    )
    generator = torch.Generator().manual_seed(seed)
    pairs = Slopes(
        lambda x: encoder.block(encoder.operator(x[:, 0], x[:, 1])),
        torch.stack([states[left], states[right]], dim=1),
        states[joined],
        generator=generator,
    )
    rises = Slopes(
        lambda x: encoder.block(x[:, 0]), states[rising, None], states[risen], generator=generator
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=RATE, total_steps=steps)
    for step in range(1, steps + 1):
        loss = (
            pairs.loss(PAIRS)
            + rises.loss(RISES)
            + CLOSENESS * _squared(model.symbol_leaves() - states[leaf]).mean()
            + functional.cross_entropy(model.head(states), answer)
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if on_step is not None:
            on_step(step)
    return model.eval()


def usual_steps(tables: Algebra) -> int:
    """The steps of a consolidation, by the number of entries."""
    return max(STEPS, VISITS * len(tables.moves.left) // PAIRS)


class Slopes:
    """Entries of a table: inputs [entries, places, dim], and targets [entries, dim].

    For each entry the direction is kept in which the map is steepest, as far as it is known: every
    visit improves it by one step of the power iteration.
    """

    def __init__(
        self,
        apply: Callable[[Tensor], Tensor],
        inputs: Tensor,
        targets: Tensor,
        *,
        generator: torch.Generator,
    ) -> None:
        self.apply, self.inputs, self.targets = apply, inputs, targets
        self.generator = generator
        drawn = torch.randn(inputs.shape, generator=generator, dtype=inputs.dtype)
        self.directions = _unit(drawn.to(inputs.device))

    def loss(self, count: int) -> Tensor:
        """Of some entries: squared distances from the targets, and squared slopes."""
        rows, share = self._drawn(count)
        inputs, targets = self.inputs[rows], self.targets[rows]
        reached = self.apply(inputs)
        distance = (NEAREST * (FARTHEST / NEAREST) ** share)[:, None, None]
        step = (SMALL * distance * self.directions[rows]).requires_grad_()
        moved = _squared(self.apply(inputs + step) - reached.detach()).sum()
        (steepest,) = torch.autograd.grad(moved, step)
        self.directions[rows] = _unit(steepest)
        there = self.apply(inputs + distance * self.directions[rows])
        slope = _squared(there - reached) / distance[:, 0, 0].square()
        # The square again: what counts in the end is the steepest entry of all.
        return CLOSENESS * _squared(reached - targets).mean() + (slope + slope.square()).mean()

    def _drawn(self, count: int) -> tuple[Tensor, Tensor]:
        """Entries by number, and numbers in [0, 1): [count] each."""
        rows = torch.randint(len(self.inputs), (count,), generator=self.generator)
        share = torch.rand(count, generator=self.generator, dtype=self.inputs.dtype)
        return rows.to(self.inputs.device), share.to(self.inputs.device)


def _squared(x: Tensor) -> Tensor:
    """[..., dim] -> [...]."""
    return x.square().sum(dim=-1)


def _unit(x: Tensor) -> Tensor:
    """Vectors of length one; zero stays zero."""
    return x / x.norm(dim=-1, keepdim=True).clamp_min(torch.finfo(x.dtype).tiny ** 0.5)
