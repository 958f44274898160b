"""Exact counts of words, and the uniform walk over the words of one class.

Counts are Python integers: at length 500 they have a hundred digits, and a class with a single
word beside one with 2**499 must still be drawn exactly.
"""

import numpy as np
from numpy.typing import NDArray

from ldru.automata.machine import UNLABELLED, IntArray, MooreMachine
from ldru.base.limits import check_limit

WORD = 2**32


class WordCounts:
    """How many words of each length lead from each state to one label; grows as it is asked.

    labels: how many are counted like this one, beside it.
    """

    def __init__(self, machine: MooreMachine, *, label: int, labels: int = 1) -> None:
        self.machine, self.label, self._labels = machine, label, labels
        self._levels: list[NDArray[np.object_]] = []
        self._cuts: list[IntArray] = []

    def from_states(self, length: int) -> NDArray[np.object_]:
        """The number of words of that length from each state [states]."""
        if length >= len(self._levels):
            # A number of words has up to length * log2(symbols) bits, at half the length half.
            bits = length * self.machine.num_symbols.bit_length()
            size = self._labels * length * self.machine.num_states * (bits // 16 + 40)
            check_limit("count_bytes", size, f"counting words of length {length:,}")
        if not self._levels:
            self._levels.append((self.machine.output == self.label).astype(object))
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
        cells = length * self.machine.num_states * self.machine.num_symbols
        check_limit("walk_cells", cells, f"drawing words of length {length:,}")
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
        self._seen: dict[bytes, int] = {}
        self._period: int | None = None

    def has_words(self, length: int) -> bool:
        """Whether some word of that length has a label."""
        while len(self._reached) <= length and self._period is None:
            self._reach_further()
        last = len(self._reached) - 1
        if self._period is not None and length > last:
            length = last - (last - length) % self._period
        return bool((self.machine.output[self._reached[length]] != UNLABELLED).any())

    def _reach_further(self) -> None:
        """The states that words one symbol longer reach, until these sets of states repeat."""
        number, last = len(self._reached) - 1, self._reached[-1]
        before = self._seen.setdefault(last.tobytes(), number)
        if before < number:
            self._period = number - before
            return
        check_limit("count_bytes", 2 * last.size * number, "knowing the lengths of words")
        follower = np.zeros(self.machine.num_states, dtype=bool)
        follower[self.machine.delta[last].ravel()] = True
        self._reached.append(follower)
