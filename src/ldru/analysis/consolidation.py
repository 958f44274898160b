"""Train an LDRU further, so that its states gather at those of the machine that it already is.

A trained network's nodes lie around the states of its exact machine, some near, some half-way to
the next one. Consolidation leaves what it computes as it is and draws the nodes in: each state has
a point, every entry of the machine's tables is a training example that leads from points to a
point, and the slope of the maps there is held down in the direction in which it is steepest. The
points are learned with the weights, so that they lie where the network can take its nodes. No word
and no label is used, only the tables of the machine.
"""

import copy
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from ldru.analysis.algebra import Algebra
from ldru.analysis.extraction import Extraction
from ldru.analysis.points import points_of
from ldru.analysis.table_training import EntryDraws, TableOptimizer
from ldru.analysis.trained_ldru import check_ldru
from ldru.base.errors import LdruError
from ldru.models.ldru import LDRUClassifier

STEPS = 1000
PAIRS, RISES = 256, 128
"""Entries of the tables in a step."""

VISITS = 50
"""How often every pair of a large table is visited at least."""

MATRIX_RATE, RATE, POINT_RATE = 2e-2, 5e-3, 1e-1
"""Of the encoder's matrices, of its other weights, and of the points."""

NEAREST, FARTHEST = 0.03, 1.0
"""How far from a state slopes are taken, all scales alike; states of width 64 have length 8."""

CLOSENESS = 10.0
"""Of a squared distance from where it belongs, beside a squared slope."""

RISING = 4.0
"""Of an entry that rises alone, beside a pair: the block by itself has the steeper slopes."""

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

    steps: by default 1,000, and more for tables of more than 5,000 pairs.
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
    model = copy.deepcopy(check_ldru(model)).eval()
    encoder = model.encoder
    points = nn.Parameter(points_of(model, tables))
    left, right, joined, rising, risen, leaf, answer = (
        torch.from_numpy(table).to(points.device)
        for table in (*tables.moves, tables.leaf, tables.answer)
    )
    generator = torch.Generator().manual_seed(seed)
    pairs = Slopes(
        lambda x: encoder.block(encoder.operator(x[:, 0], x[:, 1])),
        torch.stack([left, right], dim=1),
        joined,
        like=points,
        generator=generator,
    )
    rises = Slopes(
        lambda x: encoder.block(x[:, 0]),
        rising[:, None],
        risen,
        like=points,
        generator=generator,
    )
    optimizer = TableOptimizer(
        model, steps=steps, matrix_rate=MATRIX_RATE, rate=RATE, others={POINT_RATE: [points]}
    )
    for step in range(1, steps + 1):
        optimizer.step(
            pairs.loss(points, PAIRS)
            + RISING * rises.loss(points, RISES)
            + CLOSENESS * _squared(model.symbol_leaves() - points[leaf]).mean()
            + functional.cross_entropy(model.head(points), answer)
        )
        if on_step is not None:
            on_step(step)
    return model


def usual_steps(tables: Algebra) -> int:
    """The steps of a consolidation, by the number of entries."""
    return max(STEPS, VISITS * len(tables.moves.left) // PAIRS)


class Slopes:
    """Entries of a table, states by number: inputs [entries, places], and results [entries].

    For each entry the direction is kept in which the map is steepest, as far as it is known: every
    visit improves it by one step of the power iteration.
    """

    def __init__(
        self,
        apply: Callable[[Tensor], Tensor],
        inputs: Tensor,
        results: Tensor,
        *,
        like: Tensor,
        generator: torch.Generator,
    ) -> None:
        self.apply, self.inputs, self.results = apply, inputs, results
        self.draws = EntryDraws(results, generator=generator)
        drawn = torch.randn(*inputs.shape, like.shape[1], generator=generator, dtype=like.dtype)
        self.directions = _unit(drawn.to(like.device))

    def loss(self, points: Tensor, count: int) -> Tensor:
        """Of some entries: squared distances from the results' points, and squared slopes."""
        rows = self.draws.draw(count)
        share = torch.rand(count, generator=self.draws.generator, dtype=points.dtype)
        inputs = points[self.inputs[rows]]
        reached = self.apply(inputs)
        scale = (FARTHEST / NEAREST) ** share.to(points.device)
        distance = (NEAREST * scale)[:, None, None]
        step = (SMALL * distance * self.directions[rows]).requires_grad_()
        moved = _squared(self.apply(inputs.detach() + step) - reached.detach()).sum()
        (steepest,) = torch.autograd.grad(moved, step)
        self.directions[rows] = _unit(steepest)
        there = self.apply(inputs + distance * self.directions[rows])
        slope = _squared(there - reached) / distance[:, 0, 0].square()
        off = _squared(reached - points[self.results[rows]])
        # The square again: what counts in the end is the steepest entry of all.
        return CLOSENESS * off.mean() + (slope + slope.square()).mean()


def _squared(x: Tensor) -> Tensor:
    """[..., dim] -> [...]."""
    return x.square().sum(dim=-1)


def _unit(x: Tensor) -> Tensor:
    """Vectors of length one; zero stays zero."""
    return x / x.norm(dim=-1, keepdim=True).clamp_min(torch.finfo(x.dtype).tiny ** 0.5)
