"""A task that is a fixed data set: words to train on, to validate with, and sets of test words."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldru.config import Json
from ldru.errors import LdruError, unknown_name
from ldru.files import check_writable, lock
from ldru.tasks.task import Recommended, TaskSpec
from ldru.tasks.word_set import WordSet

TRAIN, VALIDATION = "train", "validation"


class Encoded(NamedTuple):
    """A text as tokens; is_cut: whether it was longer than the task takes."""

    tokens: NDArray[np.int64]
    is_cut: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class DataTask:
    """Classify the words of a data set.

    tests: the names of its test sets.
    open_set: "train", "validation" or the name of a test set -> its words.
    encode: text -> tokens, or an error that says what is wrong with it.
    encode_all: the same for many texts, where that is faster or some may be cut.
    labels: names of the classes, where they have any.
    metrics: what its results are told by, of `ldru.evaluation.METRICS`.
    answer: tokens -> the right label; None where nobody knows.
    answer_all: the same for many words, where that is faster.
    vocabulary: the checksum of what texts are read with now, None where nothing is there.
    is_own: whether it does not come with the library, and cannot be found by its name.
    """

    spec: TaskSpec
    vocab_size: int
    num_classes: int
    tests: tuple[str, ...]
    open_set: Callable[[str], WordSet]
    encode: Callable[[str], NDArray[np.int64]]
    answer: Callable[[NDArray[np.int64]], int | None] = lambda tokens: None
    answer_all: Callable[[Sequence[NDArray[np.int64]]], list[int]] | None = None
    encode_all: Callable[[Sequence[str]], list[Encoded]] | None = None
    labels: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ("accuracy",)
    recommended: Recommended = field(default_factory=Recommended)
    vocabulary: Callable[[], str | None] = lambda: None
    is_own: bool = False
    _opened: dict[str, WordSet] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(
        cls, name: str, sets: Mapping[str, WordSet], *, labels: Sequence[str] = ()
    ) -> "DataTask":
        """A data set of one's own, whose words are asked about as numbers: "3 1 4".

        sets: "train", "validation", and the test sets by name.
        """
        missing = [part for part in (TRAIN, VALIDATION) if part not in sets]
        if missing:
            raise LdruError(f"a data set needs a set {missing[0]!r}; got {', '.join(sets)}")
        numbers = [part for part in sets if part.isdigit()]
        if numbers:
            raise LdruError(
                f"a set called {numbers[0]!r} would be taken for words of a length; "
                f"call it something like 'year {numbers[0]}'"
            )
        classes = max(int(words.labels.max()) for words in sets.values()) + 1
        if labels and len(labels) < classes:
            raise LdruError(f"{classes} classes need as many names, got {', '.join(labels)}")
        vocab_size = max(int(words.tokens.max()) for words in sets.values()) + 1
        return cls(
            spec=TaskSpec(name=name),
            vocab_size=vocab_size,
            num_classes=max(classes, len(labels)),
            tests=tuple(part for part in sets if part not in (TRAIN, VALIDATION)),
            open_set=sets.__getitem__,
            encode=partial(_numbers, vocab_size=vocab_size),
            labels=tuple(labels),
            is_own=True,
        )

    @property
    def name(self) -> str:
        return self.spec.name

    def words(self, name: str) -> WordSet:
        """A set of words by name."""
        names = (TRAIN, VALIDATION, *self.tests)
        if name not in names:
            raise unknown_name(f"set of words of {self.name}", name, names)
        if name not in self._opened:
            self._opened[name] = self.open_set(name)
        return self._opened[name]


def _numbers(text: str, *, vocab_size: int) -> NDArray[np.int64]:
    """Tokens that are written as numbers."""
    if not all(word.isdecimal() for word in text.split()):
        raise LdruError(f"expected tokens as numbers, such as '3 1 4', got {text!r}")
    numbers = [int(word) for word in text.split()]
    if max(numbers, default=0) >= vocab_size:
        raise LdruError(f"tokens go from 0 to {vocab_size - 1}, got {max(numbers)} in {text!r}")
    return np.array(numbers, dtype=np.int64)


def data_folder() -> Path:
    """Where data sets are kept once made: $LDRU_DATA, by default ~/.cache/ldru."""
    return Path(os.environ.get("LDRU_DATA") or Path.home() / ".cache" / "ldru")


def kept(folder: Path, make: Callable[[], WordSet], *, about: dict[str, Json]) -> WordSet:
    """The words in a folder; the first who asks makes them, others wait."""
    if not folder.exists():
        check_writable(folder.parent)
        with lock(folder.parent / f".{folder.name}.lock", waits=True):
            if not folder.exists():
                make().save(folder, about=about)
    return WordSet.open(folder)
