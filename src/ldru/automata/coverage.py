"""Which classes the balanced tree composes, and how often, exactly.

A word is cut into stretches by the balanced tree: nodes of 2**k symbols, and a last one that may be
shorter. A node with two children composes the classes of two neighbouring stretches. Words are
drawn by a walk on the states of a machine, so the class of a stretch decides the state after it,
and chances of pairs are products over neighbours: nothing has to be sampled.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldru.automata.machine import IntArray
from ldru.automata.monoid import Monoid

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


class WordChances(NamedTuple):
    """A part of the words of one length.

    weight: the share of words that this part draws, or how many words.
    chances: of each symbol at each place in each state [length, states, symbols]; a states axis of
        size 1 when they do not depend on the state.
    """

    weight: float
    chances: FloatArray


class Composition(NamedTuple):
    """A node of a tree with two children: their numbers in `Stretches`, and where it begins."""

    left: int
    right: int
    begin: int


class Stretches:
    """Chances of the classes of stretches of words, each computed once.

    The same symbols' chances joined in the same way are the same stretch, so words of all lengths
    share most of theirs.

    num_states: 1 when the walk does not look at the state.
    allowed: pairs that may be composed [size, size]; words that need others are left out.
    """

    def __init__(
        self, monoid: Monoid, *, num_states: int, allowed: BoolArray | None = None
    ) -> None:
        self.monoid, self.num_states, self.allowed = monoid, num_states, allowed
        # The state after a stretch: [size, states].
        self._after = monoid.elements if num_states > 1 else np.zeros((monoid.size, 1), np.int64)
        self._numbers: dict[bytes | tuple[int, int], int] = {}
        self._classes: list[FloatArray] = []

    def classes(self, number: int) -> FloatArray:
        """Chances of the classes of a stretch, by the state before it [states, size]."""
        return self._classes[number]

    def tree(self, chances: FloatArray) -> tuple[list[Composition], int]:
        """The compositions of the balanced tree over words of a walk, and the whole word."""
        nodes = [(self._symbol(row), place) for place, row in enumerate(chances)]
        compositions = []
        while len(nodes) > 1:
            risen = []
            for (left, begin), (right, _) in zip(nodes[::2], nodes[1::2], strict=False):
                compositions.append(Composition(left, right, begin))
                risen.append((self._joined(left, right), begin))
            nodes = risen + nodes[len(nodes) // 2 * 2 :]
        return compositions, nodes[0][0]

    def pairs(self, left: int, right: int, before: FloatArray) -> FloatArray:
        """Chances of pairs of classes [size, size], given those of the state before [states]."""
        between = np.zeros((self.monoid.size, self.num_states))
        states, classes = np.nonzero(self._classes[left])
        chances = before[states] * self._classes[left][states, classes]
        np.add.at(between, (classes, self._after[classes, states]), chances)
        return between @ self._classes[right]

    def _symbol(self, row: FloatArray) -> int:
        """The stretch of one symbol: chances [states, symbols]."""
        key = row.tobytes()
        if key not in self._numbers:
            classes = np.zeros((self.num_states, self.monoid.size))
            for token, one in enumerate(self.monoid.step[0]):
                classes[:, one] += row[:, token]  # two symbols may be of one class
            self._add(key, classes)
        return self._numbers[key]

    def _joined(self, left: int, right: int) -> int:
        if (left, right) not in self._numbers:
            self._add((left, right), self._products(self._classes[left], self._classes[right]))
        return self._numbers[left, right]

    def _add(self, key: bytes | tuple[int, int], classes: FloatArray) -> None:
        self._numbers[key] = len(self._classes)
        self._classes.append(classes)

    def _products(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """Chances of the classes of two stretches as one."""
        size = self.monoid.size
        products = np.zeros(self.num_states * size)
        states, classes = np.nonzero(left)
        after = self._after[classes, states]
        for state in np.unique(after):
            here = after == state
            before, first = states[here, None], classes[here]
            second = np.flatnonzero(right[state])
            chances = left[before, first[:, None]] * right[state, second]
            if self.allowed is not None:
                chances = chances * self.allowed[np.ix_(first, second)]
            places = before * size + self.monoid.table[np.ix_(first, second)]
            products += np.bincount(places.ravel(), chances.ravel(), minlength=len(products))
        return products.reshape(self.num_states, size)


class Reached(Stretches):
    """Possibility instead of chance: 1 for what can happen and 0 for what cannot."""

    def _add(self, key: bytes | tuple[int, int], classes: FloatArray) -> None:
        super()._add(key, (classes > 0).astype(np.float64))


def composition_counts(monoid: Monoid, parts: Iterable[WordChances]) -> FloatArray:
    """How often words of all parts compose each pair of classes, expected [size, size].

    Counts add up to the weighted numbers of nodes with two children.
    """
    counts = np.zeros((monoid.size, monoid.size))
    by_states: dict[int, Stretches] = {}
    before: dict[tuple[int, int, int], FloatArray] = {}
    for weight, chances in parts:
        num_states = chances.shape[1]
        if num_states not in by_states:
            by_states[num_states] = Stretches(monoid, num_states=num_states)
        states = state_chances(monoid, chances)
        for left, right, begin in by_states[num_states].tree(chances)[0]:
            # Chances of pairs are linear in those of the state before: add these up first.
            key = num_states, left, right
            before[key] = before.get(key, 0) + weight * states[begin]
    for (num_states, left, right), weights in before.items():
        counts += by_states[num_states].pairs(left, right, weights)
    return counts


def first_lengths(monoid: Monoid, words: Iterable[Iterable[WordChances]]) -> IntArray:
    """The first length at which each pair of classes can be composed, 0 for never [size, size].

    words: the parts of what is drawn for each length, from 1.
    """
    first = np.zeros((monoid.size, monoid.size), dtype=np.int64)
    by_states: dict[int, Reached] = {}
    seen: set[tuple[int, int, int, bytes]] = set()
    for length, parts in enumerate(words, start=1):
        for _, chances in parts:
            possible = (chances > 0).astype(np.float64)
            num_states = possible.shape[1]
            if num_states not in by_states:
                by_states[num_states] = Reached(monoid, num_states=num_states)
            reached = by_states[num_states]
            states = state_chances(monoid, possible) > 0
            for left, right, begin in reached.tree(possible)[0]:
                key = num_states, left, right, states[begin].tobytes()
                if key not in seen:
                    seen.add(key)
                    met = reached.pairs(left, right, states[begin].astype(np.float64)) > 0
                    first[met & (first == 0)] = length
    return first


def familiar_share(monoid: Monoid, parts: Iterable[WordChances], familiar: BoolArray) -> float:
    """The share of words that need familiar compositions only [size, size]."""
    share, total = 0.0, 0.0
    for weight, chances in parts:
        stretches = Stretches(monoid, num_states=chances.shape[1], allowed=familiar)
        root = stretches.classes(stretches.tree(chances)[1])
        start = monoid.machine.start if len(root) > 1 else 0
        share += weight * root[start].sum()
        total += weight
    return min(1.0, float(share / total))  # rounding may add a little


def state_chances(monoid: Monoid, chances: FloatArray) -> FloatArray:
    """Chances of the state before each place [length, states]."""
    length, num_states, _ = chances.shape
    if num_states == 1:
        return np.ones((length, 1))
    states = np.zeros((length, num_states))
    states[0, monoid.machine.start] = 1
    for place in range(length - 1):
        moved = states[place, :, None] * chances[place]
        states[place + 1] = np.bincount(
            monoid.machine.delta.ravel(), moved.ravel(), minlength=num_states
        )
    return states
