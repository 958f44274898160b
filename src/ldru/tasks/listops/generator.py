"""Draw ListOps expressions of given lengths, from the distribution of the original generator.

The original draws an argument as a list with probability 1/4 while the depth allows (the whole is
at depth 1, the deepest level has digits alone), the number of arguments uniformly from 2 to the
most, operators and digits uniformly. Waiting for it to hit a rare length takes ten thousand draws
and more, so the length is chosen first, and every choice below it in proportion to its probability
given that length. The probabilities of lengths are sums of products (dynamic programming):

    size_d(n): an argument at depth d has n tokens
    sum_d,k(n): k arguments at depth d have n tokens together
"""

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldru.base.errors import LdruError
from ldru.tasks.listops.expressions import END, FIRST_OPERATOR, OPERATORS, IntArray

LIST_SHARE = 0.25
SCALE_BITS = 40
SHORTEST = 4  # an operator, two digits and the end
ROUND = 2**12
"""Words drawn at once. It is part of what a seed draws."""


@dataclass(frozen=True, kw_only=True)
class Grammar:
    """Which expressions there are."""

    max_depth: int
    max_arguments: int


class Choices:
    """Choices by row of a table of weights: [rows, options]; whole numbers, the same everywhere."""

    def __init__(self, weights: NDArray[np.float64]) -> None:
        self.options = weights.shape[1]
        total = weights.sum(axis=1, keepdims=True)
        shares = np.divide(weights.cumsum(axis=1), total, where=total > 0, out=weights * 0)
        cuts = np.rint(shares * 2**SCALE_BITS).astype(np.int64)
        self._cuts = (cuts + (np.arange(len(cuts))[:, None] << SCALE_BITS)).ravel()

    def draw(self, rows: IntArray, random: np.random.PCG64) -> IntArray:
        """An option for each row asked for."""
        uniform = uniform_words(random, len(rows)) >> (64 - SCALE_BITS)
        places = np.searchsorted(
            self._cuts, (rows << SCALE_BITS) + uniform.astype(np.int64), side="right"
        )
        return places - rows * self.options


class Generator:
    """Draws expressions of a grammar with up to `longest` tokens."""

    def __init__(self, grammar: Grammar, *, longest: int) -> None:
        if grammar.max_depth < 2 or grammar.max_arguments < 2:
            raise LdruError(
                f"a list needs max_depth and max_arguments of at least 2, got {grammar.max_depth} "
                f"and {grammar.max_arguments}"
            )
        if longest < SHORTEST:
            raise LdruError(f"a list has at least {SHORTEST} tokens, got longest={longest}")
        self.grammar, self.longest = grammar, longest
        self._counts: dict[int, Choices] = {}
        self._sizes: dict[int, Choices] = {}
        size = np.zeros(longest + 1)
        size[1] = 1
        for depth in range(grammar.max_depth - 1, 0, -1):  # of the lists; arguments are one deeper
            sums = _sums(size, grammar.max_arguments)
            self._counts[depth] = Choices(np.where(np.arange(len(sums)) < 2, 0, sums.T))
            self._sizes[depth] = Choices(_splits(size, sums))
            size = np.zeros(longest + 1)
            size[1] = 1 - LIST_SHARE
            size[2:] = LIST_SHARE * sums[2:].mean(axis=0)[: longest - 1]
        self.size_shares = size
        """Of whole expressions: how likely each length is."""

    def lengths(self, low: int, high: int) -> Choices:
        """The lengths of lists between two bounds, as likely as the original draws them."""
        if high > self.longest:
            raise LdruError(f"this generator draws up to {self.longest} tokens, got {high}")
        weights = np.zeros(self.longest + 1)
        weights[max(low, 2) : high + 1] = self.size_shares[max(low, 2) : high + 1]
        if not weights.any():
            raise LdruError(f"{self.grammar} has no lists of {low} to {high} tokens")
        return Choices(weights[None])

    def draw(
        self, lengths: IntArray, random: np.random.PCG64
    ) -> tuple[NDArray[np.uint8], IntArray]:
        """Lists of those lengths end to end: tokens, and where each begins and the last ends."""
        possible = (lengths >= SHORTEST) & (lengths <= self.longest)
        possible[possible] = self.size_shares[lengths[possible]] > 0
        if not possible.all():
            raise LdruError(
                f"{self.grammar} has no list of {lengths[~possible][0]} tokens, or it is longer "
                f"than the {self.longest} of this generator"
            )
        offsets = np.concatenate([[0], lengths.cumsum()])
        tokens = np.empty(offsets[-1], dtype=np.uint8)
        begins, sizes = offsets[:-1], lengths
        for depth in range(1, self.grammar.max_depth):
            tokens[begins] = FIRST_OPERATOR + below(random, len(OPERATORS), len(begins))
            tokens[begins + sizes - 1] = END
            begins, sizes = self._draw_arguments(tokens, begins, sizes, depth, random)
        return tokens, offsets

    def _draw_arguments(
        self,
        tokens: NDArray[np.uint8],
        begins: IntArray,
        sizes: IntArray,
        depth: int,
        random: np.random.PCG64,
    ) -> tuple[IntArray, IntArray]:
        """Write the digits of lists of one depth: where the lists among their arguments lie."""
        places, left = begins + 1, sizes - 2
        counts = self._counts[depth].draw(left, random)
        nested = []
        while len(places):
            taken = self._sizes[depth].draw(counts * (self.longest + 1) + left, random)
            digits = places[taken == 1]
            tokens[digits] = below(random, 10, len(digits))
            nested.append((places[taken > 1], taken[taken > 1]))
            places, left, counts = places + taken, left - taken, counts - 1
            goes_on = counts > 0
            places, left, counts = places[goes_on], left[goes_on], counts[goes_on]
        if not nested:
            return begins[:0], sizes[:0]
        return np.concatenate([n[0] for n in nested]), np.concatenate([n[1] for n in nested])


def draw_distinct(
    generator: Generator,
    *,
    low: int,
    high: int,
    count: int,
    random: np.random.PCG64,
    excluded: frozenset[bytes] = frozenset(),
) -> list[bytes]:
    """The first `count` different lists of `low` to `high` tokens that the generator draws.

    excluded: words that are passed over.
    """
    choices = generator.lengths(low, high)
    words: dict[bytes, None] = {}
    while len(words) < count:
        before = len(words)
        lengths = choices.draw(np.zeros(ROUND, dtype=np.int64), random)
        tokens, offsets = generator.draw(lengths, random)
        text, ends = tokens.tobytes(), offsets.tolist()
        drawn = (text[begin:end] for begin, end in itertools.pairwise(ends))
        words.update(dict.fromkeys(word for word in drawn if word not in excluded))
        if len(words) == before:
            raise LdruError(
                f"{generator.grammar} has too few different lists of {low} to {high} tokens: "
                f"{count} were asked for, {before} were found"
            )
    return list(words)[:count]


def uniform_words(random: np.random.PCG64, count: int) -> NDArray[np.uint64]:
    """Uniform 64-bit words; of numpy's draws, only raw ones are the same in every version."""
    return np.asarray(random.random_raw(count))


def below(random: np.random.PCG64, limit: int, count: int) -> IntArray:
    """Uniform integers in [0, limit)."""
    return ((uniform_words(random, count) >> 32) * np.uint64(limit) >> 32).astype(np.int64)


def _sums(size: NDArray[np.float64], most: int) -> NDArray[np.float64]:
    """How likely some arguments have a number of tokens together: [most + 1, longest + 1]."""
    sums = np.zeros((most + 1, len(size)))
    sums[0, 0] = 1
    for count in range(most):
        sums[count + 1] = np.convolve(sums[count], size)[: len(size)]
    return sums


def _splits(size: NDArray[np.float64], sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """The first of some arguments has m tokens: a row for each number of arguments and tokens."""
    longest = len(size) - 1
    after = np.arange(longest + 1)[:, None] - np.arange(longest + 1)  # tokens for the others
    others = np.concatenate([sums[:1] * 0, sums[:-1]])  # of one argument less
    weights = np.where(after >= 0, others[:, np.maximum(after, 0)] * size, 0)
    return weights.reshape(-1, longest + 1)
