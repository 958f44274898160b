"""A fixed data set as a task: words to train on, to validate with, and sets of test words."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from ldru.base.errors import LdruError, unknown_name
from ldru.base.files import check_writable, lock, sweep
from ldru.base.json import Json
from ldru.base.reading import is_there
from ldru.tasks.batch import PaddedBatch
from ldru.tasks.padded import batches_by_length
from ldru.tasks.spec import TaskSpec
from ldru.tasks.task import Encoded, Part, Task, Tokens, check_list
from ldru.tasks.word_set import WordSet

TRAIN, VALIDATION = "train", "validation"


@dataclass(frozen=True, kw_only=True, eq=False)
class DataTask(Task):
    """Classify the words of a data set.

    tests: the names of its test sets.
    open_set: "train", "validation" or the name of a test set -> its words.
    read_texts: texts -> tokens, or an error that says what is wrong with one of them.
    solve: words -> their right labels, where somebody knows.
    label_stretches: tokens [..., batch, length], and where stretches of words begin and end among
        all of them [..., rows] -> their labels, -1 where there is none; where parts of words mean
        something too.
    find_vocabulary: the checksum of what texts are read with now, None where nothing is there.
    is_own: whether it does not come with the library, and cannot be found by its name.

    >>> words = ldru.WordSet.of([[0, 1], [1, 1, 0]], [0, 1])
    >>> task = ldru.DataTask.of("mine", {"train": words, "validation": words, "test": words})
    >>> task.vocab_size, task.num_classes, task.tests
    (2, 2, ('test',))
    """

    is_drawn: ClassVar[bool] = False

    spec: TaskSpec
    vocab_size: int
    num_classes: int
    tests: tuple[str, ...]
    open_set: Callable[[str], WordSet]
    read_texts: Callable[[Sequence[str]], list[Encoded]]
    solve: Callable[[Sequence[Tokens]], list[int]] | None = None
    label_stretches: Callable[[Tensor, Tensor, Tensor], Tensor] | None = None
    labels: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ("accuracy",)
    find_vocabulary: Callable[[], str | None] = lambda: None
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
            read_texts=partial(_read_numbers, vocab_size=vocab_size),
            labels=tuple(labels),
            is_own=True,
        )

    @property
    def test_parts(self) -> tuple[Part, ...]:
        return self.tests

    def check_parts(self, parts: Iterable[Part]) -> list[Part]:
        some = ", ".join(map(repr, self.tests[:2]))
        wanted = f"{self.name!r} is evaluated by sets of words, such as {some}"
        return check_list(parts, lambda part: isinstance(part, str), wanted=wanted)

    def in_order(self, parts: Iterable[Part]) -> list[Part]:
        given = list(parts)
        known: list[Part] = [TRAIN, VALIDATION, *self.tests]
        return [part for part in dict.fromkeys([*known, *given]) if part in given]

    def test_words(
        self, part: Part, *, words: int, seed: int, device: torch.device | str
    ) -> Iterator[PaddedBatch]:
        return batches_by_length(self.words(str(part)), device=device)

    def encode_all(self, texts: Sequence[str]) -> list[Encoded]:
        return self.read_texts(texts)

    def answer_all(self, words: Sequence[Tokens]) -> Sequence[int | None]:
        return [None] * len(words) if self.solve is None else self.solve(words)

    @property
    def training_set(self) -> WordSet:
        return self.words(TRAIN)

    def vocabulary(self) -> str | None:
        return self.find_vocabulary()

    def words(self, name: str) -> WordSet:
        """A set of words by name."""
        names = (TRAIN, VALIDATION, *self.tests)
        if name not in names:
            raise unknown_name(f"set of words of {self.name}", name, names)
        if name not in self._opened:
            self._opened[name] = self.open_set(name)
        return self._opened[name]


def _read_numbers(texts: Sequence[str], *, vocab_size: int) -> list[Encoded]:
    return [Encoded(_numbers(text, vocab_size=vocab_size)) for text in texts]


def _numbers(text: str, *, vocab_size: int) -> Tokens:
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
    if not is_there(folder):
        check_writable(folder.parent)
        with lock(folder.parent / f".{folder.name}.lock", waits=True):
            sweep(folder)
            if not is_there(folder):
                make().save(folder, about=about)
    return WordSet.open(folder)
