"""The ListOps data sets of the paper, drawn once and kept.

Training words have 5 to 40 tokens, depth 3 and up to 9 arguments; `listops_100k` are the first
100,000 of the words of `listops_1m`. The 2048 validation words come from the same distribution and
are passed over in training. A test set is named by depth, arguments and lengths: `3,14 41-60`.
Words of a set are all different; short test words may also be training words: there are not many.
"""

import itertools
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from torch import Tensor

from ldru.base.errors import LdruError
from ldru.base.json import digest
from ldru.tasks.data_task import TRAIN, VALIDATION, DataTask, data_folder, kept
from ldru.tasks.listops.expressions import TOKENS, IntArray, encode, values
from ldru.tasks.listops.generator import Generator, Grammar, draw_distinct
from ldru.tasks.listops.stretches import stretch_values
from ldru.tasks.spec import TaskSpec
from ldru.tasks.task import Encoded
from ldru.tasks.word_set import WordSet

VERSION = 1
"""Raised when the same settings draw other words than before."""

SEED = 0
MAX_DEPTH = 3
"""Of training words."""

VALIDATION_WORDS = 2048
TEST_WORDS = 10_000
MOST_WORDS = 10**8
BINS = ((5, 20), (21, 40), (41, 60), (61, 80), (81, 100), (101, 200))


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where a set of words comes from; stream: sets the draws of different sets apart."""

    max_depth: int = MAX_DEPTH
    max_arguments: int = 9
    low: int = 5
    high: int = 40
    count: int
    stream: int
    passed_over: int = 0

    def draw(self, excluded: frozenset[bytes] = frozenset()) -> list[bytes]:
        grammar = Grammar(max_depth=self.max_depth, max_arguments=self.max_arguments)
        return draw_distinct(
            Generator(grammar, longest=self.high),
            low=self.low,
            high=self.high,
            count=self.count,
            random=np.random.PCG64([SEED, self.stream]),
            excluded=excluded,
        )


def listops_task(name: str) -> DataTask | None:
    """`listops_N` for any number N of training words, with k and m for thousands and millions.

    `listops` is `listops_1m`. None for other names.
    """
    found = re.fullmatch(r"listops(?:_([1-9][0-9]{0,11})(k|m|))?", name)
    if not found:
        return None
    count = int(found[1] or 1) * {"": 1, "k": 10**3, "m": 10**6}[found[2] if found[1] else "m"]
    if count > MOST_WORDS:
        raise LdruError(f"at most {MOST_WORDS:,} ListOps words are drawn, got {count:,}")
    sources = _sources(count)

    def open_set(name: str) -> WordSet:
        return _kept(sources[name])

    return DataTask(
        spec=TaskSpec(name=f"listops_{_short(count)}"),
        vocab_size=len(TOKENS),
        num_classes=10,
        tests=TEST_SETS,
        open_set=open_set,
        read_texts=lambda texts: [Encoded(encode(text)) for text in texts],
        solve=_solve,
        label_stretches=_label_stretches,
    )


def word_set(words: list[bytes]) -> WordSet:
    """Words of tokens with their values as labels."""
    unlabelled = WordSet.of(words, np.zeros(len(words), dtype=np.uint8))
    return WordSet(
        tokens=unlabelled.tokens,
        offsets=unlabelled.offsets,
        labels=values(unlabelled.tokens, unlabelled.offsets),
    )


def set_name(max_depth: int, max_arguments: int, low: int, high: int) -> str:
    """The name of a test set."""
    return f"{max_depth},{max_arguments} {low}-{high}"


def _test_limits() -> list[tuple[int, int, int, int]]:
    """Depth, arguments and lengths of every test set."""
    limits = itertools.product((3, 5), (9, 14), BINS)
    # Depth 3 with 9 arguments has longer lists, one in ten million; the paper leaves them out.
    return [(d, a, low, high) for d, a, (low, high) in limits if (d, a) != (3, 9) or low <= 80]


TEST_SETS = tuple(set_name(*limits) for limits in _test_limits())


def _sources(count: int) -> dict[str, Source]:
    """Every set by name: training, validation, tests."""
    validation = Source(count=VALIDATION_WORDS, stream=1)
    sources = {
        TRAIN: Source(count=count, stream=0, passed_over=VALIDATION_WORDS),
        VALIDATION: validation,
    }
    for name, (depth, arguments, low, high) in zip(TEST_SETS, _test_limits(), strict=True):
        sources[name] = Source(
            max_depth=depth,
            max_arguments=arguments,
            low=low,
            high=high,
            count=TEST_WORDS,
            stream=len(sources),
        )
    return sources


def _kept(source: Source) -> WordSet:
    settings = {"version": VERSION, "seed": SEED, **asdict(source)}

    def make() -> WordSet:
        excluded: frozenset[bytes] = frozenset()
        if source.passed_over:
            excluded = frozenset(Source(count=source.passed_over, stream=1).draw())
        return word_set(source.draw(excluded))

    return kept(data_folder() / "listops" / digest(settings), make, about=settings)


def _label_stretches(tokens: Tensor, begin: Tensor, end: Tensor) -> Tensor:
    """The values of stretches of training words, completed."""
    return stretch_values(tokens, begin, end, most_open=MAX_DEPTH - 1)


def _solve(words: Sequence[IntArray]) -> list[int]:
    offsets = np.cumsum([0, *map(len, words)])
    return values(np.concatenate(words).astype(np.uint8), offsets).tolist()


def _short(count: int) -> str:
    for size, letter in ((10**6, "m"), (10**3, "k")):
        if count % size == 0:
            return f"{count // size}{letter}"
    return str(count)
