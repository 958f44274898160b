"""The protocol of tasks: which words to evaluate, how to read a text, the right answer."""

import reprlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from ldru.base.errors import LdruError
from ldru.tasks.batch import PaddedBatch
from ldru.tasks.spec import TaskSpec
from ldru.tasks.word_set import WordSet

Part = int | str
"""What is evaluated at once: test words of a length, or a test set by name."""

Tokens = NDArray[np.int64]


class Encoded(NamedTuple):
    """A text as tokens; is_cut: whether it was longer than the task takes."""

    tokens: Tokens
    is_cut: bool = False


class Task(ABC):
    """Words to classify, whether they are drawn by a machine or stored in a data set.

    is_drawn: whether words of any length are drawn; else there are sets of words by name.
    labels: names of the classes, where they have any.
    metrics: what results are told by, names of `ldru.evaluation.metrics.METRICS`.

    >>> [task.is_drawn for task in (ldru.task("parity_check"), ldru.task("listops_100k"))]
    [True, False]
    """

    is_drawn: ClassVar[bool]
    spec: TaskSpec
    vocab_size: int
    num_classes: int
    labels: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ("accuracy",)

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def test_parts(self) -> tuple[Part, ...]:
        """The parts that are evaluated by default; empty where lengths have to be given."""
        return ()

    @abstractmethod
    def check_parts(self, parts: Iterable[Part]) -> list[Part]:
        """The parts in order, each once; an error for those that the task does not have."""

    @abstractmethod
    def in_order(self, parts: Iterable[Part]) -> list[Part]:
        """Parts in the order in which results are shown."""

    @abstractmethod
    def test_words(
        self, part: Part, *, words: int, seed: int, device: torch.device | str
    ) -> Iterator[PaddedBatch]:
        """The test words of a part, the same for every model.

        words, seed: how many are drawn, and by what; a stored set has the words it has.
        """

    @abstractmethod
    def encode_all(self, texts: Sequence[str]) -> list[Encoded]:
        """Texts as tokens, or an error that says what is wrong with one of them."""

    @abstractmethod
    def answer_all(self, words: Sequence[Tokens]) -> Sequence[int | None]:
        """The right label of each word; None where nobody knows."""

    def encode(self, text: str) -> Tokens:
        """One text as tokens."""
        return self.encode_all([text])[0].tokens

    def answer(self, tokens: Tokens) -> int | None:
        """The right label of one word; None where nobody knows."""
        return self.answer_all([tokens])[0]

    @property
    def training_set(self) -> WordSet | None:
        """The stored training words; None where they are drawn."""
        return None

    def vocabulary(self) -> str | None:
        """The checksum of what texts are read with now; None where nothing is needed."""
        return None


def check_list(
    parts: Iterable[Part], is_fine: Callable[[Part], bool], *, wanted: str
) -> list[Part]:
    """The parts, each once; an error unless there is one and all are fine.

    wanted: what the error says the task is evaluated by.
    """
    if isinstance(parts, str) or not isinstance(parts, Iterable):
        raise LdruError(f"give a list of lengths or sets, such as [{parts!r}], got {parts!r}")
    given = list(parts)
    if not given:
        raise LdruError("give at least one length or set of words to evaluate on; got none")
    for part in given:
        if not isinstance(part, int | str | np.integer) or not is_fine(part):
            raise LdruError(f"{wanted}; got {reprlib.repr(part)}")
    return list(dict.fromkeys(given))
