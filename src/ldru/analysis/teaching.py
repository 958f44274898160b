"""Teach an LDRU a language without a word of it: by the products of the language's monoid.

A tree is right on every word if its operator takes any two nodes to one of the right class, however
deep they lie. Words show most products of classes hardly ever. Here each class has a point, which
stands for its nodes, and each product of two classes is an example: from the points of the two,
moved a little, the network is to make a node that is told from those of other classes and lies near
the point of its own.

Points are learned with the weights. They begin in random places, far from each other, and come to
lie where the network can make them. In the course of a teaching nodes are drawn to their points
more and more, and points are moved farther and farther before they are joined; in the second half
some are moved by as much as nodes of the class were lately off. So the operator learns to take
nodes that are a little off to nodes that are less so, and errors do not grow with the tree.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from ldru.analysis.algebra import UNMET, Algebra
from ldru.analysis.table_training import EntryDraws, TableOptimizer
from ldru.automata.machine import UNLABELLED, MooreMachine
from ldru.automata.monoid import monoid
from ldru.models.ldru import LDRUClassifier

STEPS, STEPS_PER_STATE = 2000, 32
"""Of a small monoid, and of a large one."""

PRODUCTS, RISES = 384, 64
"""Examples of a step: joins of two nodes, and nodes that rise alone. Leaves are met in each."""

RATE, POINT_RATE = 1e-2, 1e-1
"""Of the network's weights, and of points."""

PULL = 30.0
"""In the end, of a node's squared distance from its point, over the dimension."""

NOISE, TOWARDS = 0.15, 0.06
"""In the end, the farthest that the points in a product are moved: in any direction, over their
length, and towards another class's point, over the distance to it."""

REPLAYED_FROM, REPLAYS = 0.5, 8
"""The share of the steps from which half of the points are moved as real nodes are off, too; how
many such nodes of a class are remembered."""


GATHERED_TOLERANCES = (0.5, 0.4, 0.32, 0.25, 0.2)
"""At which to merge the states of a taught network: they gather, and keep far apart."""


def teach_products(
    model: LDRUClassifier,
    tables: Algebra,
    *,
    steps: int,
    generator: torch.Generator,
    on_step: Callable[[int], None] | None = None,
) -> Tensor:
    """Teach a network all entries of an algebra's tables, and give the points of its states.

    on_step: is told of every step.
    """
    teaching = Teaching(model, tables, steps=steps, generator=generator)
    for number in range(steps):
        teaching.step(number / steps)
        if on_step is not None:
            on_step(number + 1)
    return teaching.points


def usual_steps(tables: Algebra) -> int:
    """The steps of a teaching, by the number of states."""
    return max(STEPS, STEPS_PER_STATE * tables.num_states)


def algebra_of(machine: MooreMachine) -> Algebra:
    """The monoid of a language as an algebra that is right on every word.

    Its states are the classes of words that some longer word of the domain has in it.
    """
    found = monoid(machine.minimal())
    # Some symbols may stand before and behind such words; the empty word is no node.
    can_follow = (found.output[found.table] != UNLABELLED).any(axis=1)
    is_needed = can_follow[found.table].any(axis=0)
    is_needed[0] &= (found.step == 0).any()
    (classes,) = np.nonzero(is_needed)
    number = np.full(found.size, UNMET)
    number[classes] = np.arange(len(classes))
    return Algebra(
        leaf=number[found.step[0]],
        pair=number[found.table[np.ix_(classes, classes)]],
        carry=np.arange(len(classes)),
        answer=found.output[classes],
    )


class Examples(NamedTuple):
    """Nodes that a network makes in a step, and the classes they are of: [nodes, dim], [nodes]."""

    nodes: Tensor
    classes: Tensor


class Teaching:
    """A network on its way, and a point for each state of its algebra [states, dim]."""

    def __init__(
        self,
        model: LDRUClassifier,
        tables: Algebra,
        *,
        steps: int,
        generator: torch.Generator,
    ) -> None:
        self.model, self.generator = model, generator
        weight, moves = model.head.weight, tables.moves
        self.left, self.right, self.joined, self.rising, self.risen, self.leaf, self.answer = (
            torch.from_numpy(table).to(weight.device)
            for table in (*moves, tables.leaf, tables.answer)
        )
        self.is_used = self.leaf != UNMET
        self.products = EntryDraws(self.joined, generator=generator)
        drawn = torch.randn(tables.num_states, model.encoder.dim, generator=self.generator)
        # As long as nodes are, which come out of a layer norm.
        self.points = nn.Parameter(functional.layer_norm(drawn, drawn.shape[1:]).to(weight))
        self.names = nn.Linear(model.encoder.dim, tables.num_states).to(weight)
        nn.init.zeros_(self.names.weight)
        nn.init.zeros_(self.names.bias)
        # How far nodes of each state, rightly named, were off its point [states, replays, dim].
        self.off = torch.zeros(tables.num_states, REPLAYS, model.encoder.dim).to(weight)
        self.optimizer = TableOptimizer(
            model,
            steps=steps,
            matrix_rate=RATE,
            rate=RATE,
            others={RATE: self.names.parameters(), POINT_RATE: [self.points]},
        )

    def step(self, progress: float) -> None:
        """One step on some products, some nodes that rise alone, and all leaves.

        progress: the share of the steps before it.
        """
        nodes, classes = self._examples(progress)
        names, off = self.names(nodes), nodes - self.points[classes]
        self._remember(off.detach(), classes, names.argmax(dim=1) == classes)
        naming = functional.cross_entropy(names, classes)
        loss = naming + PULL * progress * off.square().mean()
        labels = self.answer[classes]
        if (labels != UNLABELLED).any():
            answers = self.model.head(nodes)
            loss = loss + functional.cross_entropy(answers, labels, ignore_index=UNLABELLED)
        self.optimizer.step(loss)

    def _examples(self, progress: float) -> Examples:
        encoder = self.model.encoder
        picked, rising = self.products.draw(PRODUCTS), self._drawn(len(self.rising), RISES)
        left, right, alone = (
            self._near(states, progress)
            for states in (self.left[picked], self.right[picked], self.rising[rising])
        )
        above = encoder.block(torch.cat([encoder.operator(left, right), alone]))
        leaves = self.model.symbol_leaves()[self.is_used]
        states = [self.joined[picked], self.risen[rising], self.leaf[self.is_used]]
        return Examples(torch.cat([above, leaves]), torch.cat(states))

    def _near(self, states: Tensor, progress: float) -> Tensor:
        """Points of states, each moved in a way of its own: [some] -> [some, dim]."""
        points, count = self.points[states], len(states)
        anywhere = functional.normalize(self._random(torch.randn, points.shape[1], count))
        others = self.points[self._drawn(len(self.points), count)]
        length, way = (progress * self._random(torch.rand, 1, count) for _ in range(2))
        moved = points + NOISE * length * anywhere * points.norm(dim=1, keepdim=True)
        moved = moved + TOWARDS * way * (others - points).detach()
        if progress < REPLAYED_FROM:
            return moved
        is_replayed = self._random(torch.rand, 1, count) < 0.5
        return moved + is_replayed * self.off[states, self._drawn(REPLAYS, count)]

    def _remember(self, off: Tensor, states: Tensor, is_right: Tensor) -> None:
        """How far some nodes are off, if they are told from those of other states."""
        places = states * REPLAYS + self._drawn(REPLAYS, len(states))
        # Of two nodes for one place the later one, on every machine.
        numbers = torch.arange(1, len(states) + 1, device=states.device) * is_right
        last = torch.zeros_like(self.off[..., 0], dtype=torch.long).flatten()
        last.scatter_reduce_(0, places, numbers, reduce="amax")
        self.off.flatten(0, 1)[last > 0] = off[last[last > 0] - 1]

    def _random(self, draw: Callable[..., Tensor], width: int, count: int) -> Tensor:
        return draw(count, width, generator=self.generator).to(self.points)

    def _drawn(self, below: int, count: int) -> Tensor:
        drawn = torch.randint(below, (count,), generator=self.generator)
        return drawn.to(self.points.device)
