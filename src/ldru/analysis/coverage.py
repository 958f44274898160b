"""Coverage: the compositions that training shows of a task, and those that longer words need."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ldru.automata.coverage import (
    BoolArray,
    FloatArray,
    WordChances,
    composition_counts,
    familiar_share,
    first_lengths,
)
from ldru.automata.machine import IntArray
from ldru.automata.monoid import Monoid, monoid
from ldru.base.errors import LdruError
from ldru.base.json import Json
from ldru.tasks.chances import possible_words, word_chances
from ldru.tasks.find import as_language
from ldru.tasks.regular_task import RegularTask

THRESHOLDS = (1, 100)
"""A composition that training meets less often is called rare."""

TESTED_LENGTHS = 20
LONGEST = 2_000
"""Every length is looked at, so the work grows with the square."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Coverage:
    """Compositions of a task's syntactic classes in training, held against longer words.

    needed: pairs of classes that some test word up to `test_length` composes [size, size].
    first: the shortest training length that shows each pair, 0 for none [size, size].
    training_words: of the whole training, lengths uniform on 1..`train_length`.
    met: how often they compose each pair, expected [size, size].
    used: how often one test word of `test_length` composes each pair, expected [size, size].
    familiar: threshold -> test length -> the share of its words that compose no pair which
        training meets less often than that.
    """

    task: RegularTask
    monoid: Monoid
    train_length: int
    test_length: int
    training_words: int
    needed: BoolArray
    first: IntArray
    met: FloatArray
    used: FloatArray
    familiar: dict[int, dict[int, float]]

    @property
    def shown(self) -> BoolArray:
        """The pairs that some training word composes [size, size]."""
        return (self.first > 0) & (self.first <= self.train_length)

    @property
    def missing(self) -> BoolArray:
        """The pairs that test words need and training cannot show [size, size]."""
        return self.needed & ~self.shown

    def rare(self, threshold: float) -> BoolArray:
        """The needed pairs that training meets less often than that [size, size]."""
        return self.needed & (self.met < threshold)

    @property
    def shortest_length(self) -> int | None:
        """The shortest training length that shows every needed pair; None: not up to the test's."""
        firsts = self.first[self.needed]
        return int(firsts.max(initial=1)) if firsts.all() else None

    def mean_familiar(self, threshold: int) -> float:
        """The mean over the test lengths."""
        shares = self.familiar[threshold].values()
        return sum(shares) / len(shares)

    def most_wanted(self, count: int) -> list[tuple[int, int]]:
        """The rare pairs that test words compose most often."""
        left, right = np.nonzero(self.rare(max(THRESHOLDS)))
        order = np.argsort(-self.used[left, right], kind="stable")[:count]
        return [(int(left[i]), int(right[i])) for i in order]


def coverage(
    task: str | RegularTask,
    train_lengths: Sequence[int],
    *,
    steps: int,
    batch_size: int = 256,
    test_length: int = 500,
    limit: int = 10_000,
) -> dict[int, Coverage]:
    """How far each training length covers what test words need, by training length.

    Everything is exact up to rounding: every sampler here is a walk.

    steps, batch_size: of the training.
    limit: the largest monoid.

    >>> found = ldru.coverage(ldru.task("dyck_2"), [8], steps=1000, test_length=30)[8]
    >>> found.shortest_length, int(found.missing.sum())
    (8, 0)
    """
    task = as_language(task)
    for length in (*train_lengths, test_length):
        if not 1 <= length <= LONGEST:
            raise LdruError(f"lengths run from 1 to {LONGEST}, got {length}")
    if not train_lengths or test_length <= max(train_lengths):
        raise LdruError(
            "test words must be longer than training words, got a test length of "
            f"{test_length} and the training lengths {', '.join(map(str, train_lengths)) or 'none'}"
        )
    words = steps * batch_size
    classes = _Classes(task, limit=limit)
    lengths = range(1, test_length + 1)
    first = classes.firsts([possible_words(task, length=n) for n in lengths])
    needed = first
    if task.train is not task.test:
        needed = classes.firsts([possible_words(task, length=n, split="test") for n in lengths])
    used = classes.counts(word_chances(task, length=test_length, split="test"))
    found = {}
    for train_length in train_lengths:
        met = classes.counts(
            WordChances(weight * words / train_length, chances)
            for length in range(1, train_length + 1)
            for weight, chances in word_chances(task, length=length, batch_size=batch_size)
        )
        # An odd step, because odd and even lengths may differ.
        step = max(1, (test_length - train_length) // TESTED_LENGTHS) | 1
        familiar = {
            threshold: {
                length: classes.familiar(
                    word_chances(task, length=length, split="test"), met >= threshold
                )
                for length in range(test_length, train_length, -step)
            }
            for threshold in THRESHOLDS
        }
        found[train_length] = Coverage(
            task=task,
            monoid=classes.syntactic,
            train_length=train_length,
            test_length=test_length,
            training_words=words,
            needed=needed > 0,
            first=first,
            met=met,
            used=used,
            familiar=familiar,
        )
    return found


def coverage_rows(found: Mapping[int, Coverage]) -> list[dict[str, Json]]:
    """A row per training length."""
    return [
        {
            "train_length": length,
            "missing": int(c.missing.sum()),
            **{f"rare_{limit}": int(c.rare(limit).sum()) for limit in THRESHOLDS},
            **{f"familiar_{limit}": 100 * c.mean_familiar(limit) for limit in THRESHOLDS},
        }
        for length, c in found.items()
    ]


def wanted_rows(found: Coverage, *, count: int = 10) -> list[dict[str, Json]]:
    """The rare pairs that test words compose most often, by words of their classes."""
    words, decode = found.monoid.representatives, found.task.machine.decode
    return [
        {
            "left": decode(words[left]),
            "right": decode(words[right]),
            "first_length": int(found.first[left, right]) or None,
            "met": float(found.met[left, right]),
            "used": float(found.used[left, right]),
        }
        for left, right in found.most_wanted(count)
    ]


class _Classes:
    """Pairs of syntactic classes, by way of the task's own machine.

    Walks look at the states of that machine, which may not be minimal; so pairs are counted in its
    transition monoid, of which the syntactic one is an image.
    """

    def __init__(self, task: RegularTask, *, limit: int) -> None:
        self.syntactic = monoid(task.machine.minimal(), limit=limit)
        self.own = monoid(task.machine, limit=limit)
        words = self.own.representatives
        image = [int(self.syntactic.classify(np.array(word, np.int64))) for word in words]
        self.image = np.array(image)

    def counts(self, parts: Iterable[WordChances]) -> FloatArray:
        counts = np.zeros((self.syntactic.size, self.syntactic.size))
        np.add.at(counts.reshape(-1), self._places, composition_counts(self.own, parts))
        return counts

    def firsts(self, words: Iterable[list[WordChances]]) -> IntArray:
        own = first_lengths(self.own, words)
        never = np.iinfo(np.int64).max
        first = np.full(self.syntactic.size**2, never)
        np.minimum.at(first, self._places, np.where(own > 0, own, never))
        first[first == never] = 0
        return first.reshape(self.syntactic.size, self.syntactic.size)

    def familiar(self, parts: list[WordChances], pairs: BoolArray) -> float:
        return familiar_share(self.own, parts, pairs[np.ix_(self.image, self.image)])

    @property
    def _places(self) -> IntArray:
        return self.image[:, None] * self.syntactic.size + self.image
