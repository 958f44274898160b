"""Exact counts of words, and the uniform walk over the words of one class.

Counts are Python integers: at length 500 they have a hundred digits, and a class with a single
word beside one with 2**499 must still be drawn exactly.
"""

import numpy as np
from numpy.typing import NDArray

from ldru.automata.machine import UNLABELLED, IntArray, MooreMachine

WORD = 2**32


class WordCounts:
    """How many words of each length lead from each state to one label; grows as it is asked."""

    def __init__(self, machine: MooreMachine, *, label: int) -> None:
        self.machine, self.label = machine, label
        ones = [int(output == label) for output in machine.output]
        self._levels: list[NDArray[np.object_]] = [np.array(ones, dtype=object)]
        self._cuts: list[IntArray] = []

    def from_states(self, length: int) -> NDArray[np.object_]:
        """The number of words of that length from each state [states]."""
        while len(self._levels) <= length:
            self._levels.append(self._levels[-1][self.machine.delta].sum(axis=1))
        return self._levels[length]

    def words(self, length: int) -> int:
        """The number of words of that length with this label."""
        return int(self.from_states(length)[self.machine.start])

    def cuts(self, length: int) -> IntArray:
        """The walk that draws these words uniformly [length, states, symbols - 1].

        At a place, the next symbol is the number of cuts at or below a uniform word of 32 bits.
        A state from which no word of the class is left has cuts of zero: no walk gets there.
        """
        while len(self._cuts) < length:
            self._cuts.append(self._cuts_before(len(self._cuts)))
        return np.stack(self._cuts[length - 1 :: -1])

    def _cuts_before(self, remaining: int) -> IntArray:
        """The cuts of a place that `remaining` symbols follow [states, symbols - 1]."""
        followers = self.from_states(remaining)[self.machine.delta]
        total = followers.sum(axis=1)
        alive = np.flatnonzero(total)
        cuts = np.zeros((self.machine.num_states, self.machine.num_symbols - 1), dtype=np.int64)
        below = followers[alive].cumsum(axis=1)[:, :-1] * WORD // total[alive, None]
        cuts[alive] = below.astype(np.int64)
        return cuts


class Domain:
    """Which lengths have labelled words at all; grows as it is asked."""

    def __init__(self, machine: MooreMachine) -> None:
        self.machine = machine
        start = np.zeros(machine.num_states, dtype=bool)
        start[machine.start] = True
        self._reached = [start]

    def has_words(self, length: int) -> bool:
        """Whether some word of that length has a label."""
        while len(self._reached) <= length:
            follower = np.zeros(self.machine.num_states, dtype=bool)
            follower[self.machine.delta[self._reached[-1]].ravel()] = True
            self._reached.append(follower)
        return bool((self.machine.output[self._reached[length]] != UNLABELLED).any())
