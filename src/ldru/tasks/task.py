"""A task: a machine that knows every answer, and the way its words are drawn."""

import itertools
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Generator, Tensor

from ldru.automata.counting import Domain
from ldru.automata.machine import MooreMachine
from ldru.errors import LdruError
from ldru.randomness import Stream, fold
from ldru.tasks.walk import Share, Tables, draw_share

Split = Literal["train", "test"]


class Batch(NamedTuple):
    """Words of one length with their labels: [batch, length], [batch]."""

    tokens: Tensor
    labels: Tensor


@dataclass(frozen=True, kw_only=True)
class Recommended:
    """The training settings that the paper gives per task (dropout: of the LDRU).

    batch_size: None where it is the same for a whole study.
    """

    steps: int = 100_000
    learning_rate: float = 1e-3
    dropout: float = 0.1
    batch_size: int | None = None


@dataclass(frozen=True, kw_only=True)
class TaskSpec:
    """A task as data: a name of the paper's, or any name with its machine as JSON text."""

    name: str
    machine: str | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Task:
    """A regular task.

    train, test: the parts that a batch of each split is made of, in equal shares.
    """

    spec: TaskSpec
    machine: MooreMachine
    train: tuple[Share, ...]
    test: tuple[Share, ...]
    recommended: Recommended = Recommended()
    _domain: Domain = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_domain", Domain(self.machine))

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def vocab_size(self) -> int:
        return self.machine.num_symbols

    @property
    def num_classes(self) -> int:
        return self.machine.num_classes

    def encode(self, text: str) -> NDArray[np.int64]:
        """A word in the machine's alphabet as tokens."""
        return self.machine.encode(text)

    def answer(self, tokens: NDArray[np.int64]) -> int | None:
        """The machine's label of a word; None outside its domain."""
        label = int(self.machine.run(tokens))
        return None if label < 0 else label

    def word_length(self, length: int) -> int:
        """The nearest length that has labelled words, a shorter one first.

        Modular arithmetic has words of odd length only, so 40 becomes 39. A gap of as many lengths
        as the machine has states never ends: then there is nothing to draw, and that is an error.
        """
        if length < 1:
            raise LdruError(f"a word needs at least one symbol, got length {length}")
        states = self.machine.num_states
        lengths = itertools.chain(
            range(length, max(0, length - states), -1), range(length, states + 1)
        )
        for nearest in lengths:
            if self._domain.has_words(nearest):
                return nearest
        raise LdruError(f"task {self.name!r} has no labelled words of length {length} or near it")

    def empty_classes(self, length: int) -> list[int]:
        """The labels that cannot be drawn at that length, in tasks drawn class by class."""
        return [
            share.wanted
            for share in self.test
            if share.wanted is not None and not share.walk.is_possible(length)
        ]

    def sample(
        self,
        *,
        batch_size: int = 256,
        length: int = 40,
        split: Split = "train",
        generator: Generator,
    ) -> Batch:
        """Words of one length on the generator's device: [batch, length], [batch].

        split: "train" or "test"; they differ for Dyck languages, whose training words are noisy.
        """
        if split not in ("train", "test"):
            raise LdruError(f"split must be 'train' or 'test', got {split!r}")
        if batch_size < 1:
            raise LdruError(f"batch_size must be at least 1, got {batch_size}")
        low, high = -(2**31), 2**31
        key = torch.randint(low, high, (2,), generator=generator, device=generator.device)
        return self.draw(
            fold(key.to(torch.int32), Stream.USER),
            batch_size=batch_size,
            length=length,
            split=split,
        )

    def draw(self, key: Tensor, *, batch_size: int, length: int, split: Split) -> Batch:
        """The words that a key names: [..., 2] -> [..., batch, length], [..., batch]."""
        length = self.word_length(length)
        tables = _tables(self.machine, key.device)
        parts = [
            draw_share(share, tables, fold(key, index), count=count, length=length)
            for index, (share, count) in enumerate(self.shares(batch_size, length, split))
        ]
        return Batch(
            tokens=torch.cat([tokens for tokens, _ in parts], dim=-2),
            labels=torch.cat([labels for _, labels in parts], dim=-1),
        )

    def shares(self, batch_size: int, length: int, split: Split) -> list[tuple[Share, int]]:
        """What a batch of words of one length is made of, and how many words of each."""
        shares = [share for share in getattr(self, split) if share.walk.is_possible(length)]
        if batch_size < len(shares):
            raise LdruError(
                f"task {self.name!r} draws {len(shares)} classes in equal shares and needs as many "
                f"words at once, got {batch_size}"
            )
        ends = [(batch_size * (i + 1)) // len(shares) for i in range(len(shares))]
        return [
            (share, end - begin)
            for share, begin, end in zip(shares, [0, *ends], ends, strict=False)
        ]


@lru_cache(maxsize=256)
def _tables(machine: MooreMachine, device: torch.device) -> Tables:
    return Tables(machine, device=device)
