"""A tree network as maps between states, and the same with its states merged into finitely many."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ldru.analysis.algebra import UNMET, Algebra
from ldru.automata.machine import IntArray
from ldru.tree import tree_levels, tree_reduce

CHUNK_STATES = 2**14
"""How many states go through the network at once."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Network:
    """A network that reduces words in the balanced tree, cut into its maps.

    leaves: the state of each symbol [symbols, dim].
    combine: two neighbours, [..., dim], [..., dim] -> [..., dim].
    finish: every node of a new level, joined or risen, [..., dim] -> [..., dim].
    score: the root, [..., dim] -> [..., classes].
    """

    leaves: Tensor
    combine: Callable[[Tensor, Tensor], Tensor]
    finish: Callable[[Tensor], Tensor]
    score: Callable[[Tensor], Tensor]

    @torch.no_grad()
    def answer(self, tokens: IntArray) -> IntArray:
        """The label of each word: [batch, length] -> [batch]."""
        rows = max(1, CHUNK_STATES // tokens.shape[1])
        words = torch.from_numpy(tokens).to(self.leaves.device).split(rows)
        roots = [tree_reduce(self.combine, self.leaves[w], finish=self.finish) for w in words]
        return self.score(torch.cat(roots)).argmax(dim=-1).cpu().numpy()

    @torch.no_grad()
    def margins(self, tokens: IntArray, labels: IntArray) -> Tensor:
        """By how much the label's score is above any other: [batch, length], [batch] -> [batch]."""
        leaves = self.leaves[torch.from_numpy(tokens).to(self.leaves.device)]
        scores = self.score(tree_reduce(self.combine, leaves, finish=self.finish))
        right = torch.from_numpy(labels).to(scores.device)[:, None]
        others = scores.scatter(1, right, -torch.inf).max(dim=1).values
        return scores.gather(1, right)[:, 0] - others

    @torch.no_grad()
    def label_over(self, nodes: Tensor) -> int:
        """The label of a word of which a whole level is given: [nodes, dim] -> label."""
        root = tree_reduce(self.combine, nodes[None], finish=self.finish)
        return int(self.score(root).argmax())

    @torch.no_grad()
    def level_over(self, nodes: Tensor) -> Tensor:
        """The next level: [nodes, dim] -> [nodes / 2, dim], rounded up."""
        _, above, *_ = itertools.islice(
            tree_levels(self.combine, nodes[None], finish=self.finish), 2
        )
        return above.nodes[0]


class SnappedNetwork:
    """A network whose states are numbered as they are met; near ones share a number.

    A new state takes the number of the nearest known one within `tolerance`, a distance relative to
    the longer of the two vectors; else it becomes known itself. Maps act on the known states alone.

    known: states that are told apart from the start [some, dim].
    """

    def __init__(
        self, network: Network, *, tolerance: float, max_states: int, known: Tensor | None = None
    ) -> None:
        self.network, self.tolerance, self.max_states = network, tolerance, max_states
        self.states = network.leaves[:0] if known is None else known
        self.spread = 0.0
        size = max_states + 1
        self._pair = np.full((size, size), UNMET, dtype=np.int64)
        self._carry = np.full(size, UNMET, dtype=np.int64)
        self.leaf = self._number(network.leaves)

    @property
    def num_states(self) -> int:
        return len(self.states)

    def join(self, left: IntArray, right: IntArray) -> IntArray:
        """The states of pairs of neighbours."""
        is_new = self._pair[left, right] == UNMET
        if is_new.any():
            size = len(self._pair)
            first, second = np.divmod(np.unique(left[is_new] * size + right[is_new]), size)
            self._pair[first, second] = self._number_all(
                lambda part: self.network.combine(
                    self.states[first[part]], self.states[second[part]]
                ),
                len(first),
            )
        return self._pair[left, right]

    def rise(self, states: IntArray) -> IntArray:
        """The states of nodes that rise alone."""
        new = np.unique(states[self._carry[states] == UNMET])
        if len(new):
            self._carry[new] = self._number_all(lambda part: self.states[new[part]], len(new))
        return self._carry[states]

    @torch.no_grad()
    def read(self, states: IntArray) -> IntArray:
        """The labels of roots."""
        if not len(states):
            return states
        return self.network.score(self.states[states]).argmax(dim=-1).cpu().numpy()

    def culprit(self, word: IntArray) -> Tensor:
        """Of a word that merging makes wrong, the state whose merging does, as it was: -> [dim].

        The tables must answer the word, and the network otherwise.
        """
        numbers, states = self.leaf[word], self.network.leaves[torch.from_numpy(word)]
        right = int(self.network.answer(word[None])[0])
        while self.network.label_over(merged := self.states[numbers]) == right:
            states = self.network.level_over(merged)
            pairs = len(numbers) // 2 * 2
            joined = self.join(numbers[0:pairs:2], numbers[1:pairs:2])
            numbers = np.concatenate([joined, self.rise(numbers[pairs:])])
        # With none of these states merged the label is right, with all of them wrong.
        first, last = 0, len(states)
        while last - first > 1:
            middle = (first + last) // 2
            mixed = torch.cat([merged[:middle], states[middle:]])
            first, last = (
                (middle, last) if self.network.label_over(mixed) == right else (first, middle)
            )
        return states[first]

    def algebra(self) -> Algebra:
        """The tables of all that was met so far."""
        size = self.num_states
        return Algebra(
            leaf=self.leaf,
            pair=self._pair[:size, :size].copy(),
            carry=self._carry[:size].copy(),
            answer=self.read(np.arange(size)),
        )

    @torch.no_grad()
    def _number_all(self, states: Callable[[slice], Tensor], count: int) -> IntArray:
        parts = [slice(b, b + CHUNK_STATES) for b in range(0, count, CHUNK_STATES)]
        return np.concatenate([self._number(self.network.finish(states(part))) for part in parts])

    @torch.no_grad()
    def _number(self, states: Tensor) -> IntArray:
        """A number for each state [count, dim] -> [count]; new ones in the order they come."""
        distance, number = self._nearest(states)
        while len(self.states) <= self.max_states:
            far = torch.nonzero(distance > self.tolerance)
            if not len(far):
                break
            leader = states[far[0]]
            away = relative_distance(states, leader)[:, 0]
            closer = away < distance
            number = torch.where(closer, len(self.states), number)
            distance = torch.where(closer, away, distance)
            self.states = torch.cat([self.states, leader])
        self.spread = max(self.spread, float(distance.max()))
        return number.cpu().numpy()

    def _nearest(self, states: Tensor) -> tuple[Tensor, Tensor]:
        if not len(self.states):
            nowhere = torch.full_like(states[:, 0], torch.inf)
            return nowhere, torch.zeros_like(nowhere, dtype=torch.int64)
        return relative_distance(states, self.states).min(dim=1)


def relative_distance(a: Tensor, b: Tensor) -> Tensor:
    """Distance over the longer length: [n, dim], [m, dim] -> [n, m]."""
    lengths = torch.maximum(a.norm(dim=-1)[:, None], b.norm(dim=-1)[None])
    return torch.cdist(a, b) / lengths.clamp_min(torch.finfo(a.dtype).tiny)
