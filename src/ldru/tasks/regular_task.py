"""A regular language as a task: a machine that knows every answer, and how words are drawn."""

import html
import itertools
import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar, Literal

import torch
from torch import Generator, Tensor

from ldru.automata.counting import Domain
from ldru.automata.machine import MooreMachine
from ldru.automata.monoid import Monoid, kept_monoid
from ldru.base.errors import LdruError
from ldru.base.labels import Labels, check_labels
from ldru.base.limits import check_limit, check_sizes
from ldru.base.randomness import Stream, fold, seed_key
from ldru.tasks.batch import Batch, PaddedBatch
from ldru.tasks.kinds import draw_kind, split_part
from ldru.tasks.spec import TaskSpec
from ldru.tasks.task import Encoded, Part, Task, Tokens, check_list
from ldru.tasks.walk import Share, Tables, draw_share

Split = Literal["train", "test"]


@dataclass(frozen=True, kw_only=True, eq=False)
class RegularTask(Task):
    """A regular language, labelled by its machine.

    train, test: the parts that a batch of each split is made of, in equal shares.

    >>> task = ldru.task("modular_arithmetic")
    >>> task.word_length(40), task.answer(task.encode("3+4"))
    (39, 2)
    """

    is_drawn: ClassVar[bool] = True

    spec: TaskSpec
    machine: MooreMachine
    train: tuple[Share, ...]
    test: tuple[Share, ...]
    _domain: Domain = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_domain", Domain(self.machine))

    def __repr__(self) -> str:
        return f"RegularTask({self.name}, {self.machine!r})"

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(self.name)}</p>{self.machine._repr_html_()}"

    @property
    def vocab_size(self) -> int:  # type: ignore[override]
        return self.machine.num_symbols

    @property
    def num_classes(self) -> int:  # type: ignore[override]
        return self.machine.num_classes

    @property
    def monoid(self) -> Monoid:
        """The monoid of its machine; kept, since it can take a while."""
        return kept_monoid(self.machine)

    def check_parts(self, parts: Iterable[Part]) -> list[Part]:
        wanted = f"{self.name!r} is evaluated by lengths, or kinds of words such as 'border:100'"
        given = check_list(parts, _is_part, wanted=wanted)
        return self.in_order({p if isinstance(p, str) else operator.index(p) for p in given})

    def in_order(self, parts: Iterable[Part]) -> list[Part]:
        given = list(parts)
        kinds = [part for part in given if isinstance(part, str)]
        return [
            *sorted(part for part in given if not isinstance(part, str)),
            *sorted(kinds, key=lambda part: split_part(part) or (part, 0)),
        ]

    def test_words(
        self, part: Part, *, words: int, seed: int, device: torch.device | str
    ) -> Iterator[PaddedBatch]:
        if kind := split_part(part):
            name, length = kind[0], self.word_length(kind[1])
            drawn = draw_kind(self.machine, name, length, words=words, seed=seed, device=device)
        else:
            assert isinstance(part, int)
            drawn = self.draw_test(part, words=words, seed=seed, device=device)
        yield PaddedBatch(drawn.tokens, drawn.labels, None)

    def encode_all(self, texts: Sequence[str]) -> list[Encoded]:
        return [Encoded(self.machine.encode(text)) for text in texts]

    def answer_all(self, words: Sequence[Tokens]) -> list[int | None]:
        """The machine's labels; None outside its domain."""
        labels = [int(self.machine.run(tokens)) for tokens in words]
        return [None if label < 0 else label for label in labels]

    def word_length(self, length: int) -> int:
        """The nearest length that has labelled words, a shorter one first.

        Modular arithmetic has words of odd length only, so 40 becomes 39. A gap of as many lengths
        as the machine has states never ends: then there is nothing to draw, and that is an error.
        """
        if not hasattr(length, "__index__"):
            raise LdruError(f"a length is a whole number, got {length!r}")
        check_limit("length", length, "a word")
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
        labels: Labels = "words",
    ) -> Batch:
        """Words of one length on the generator's device: [batch, length], [batch].

        split: "train" or "test"; they differ for Dyck languages, whose training words are noisy.
        labels: of whole words, or "prefixes" for those of every prefix [batch, length]; -1 where a
            prefix is outside the domain.
        """
        check_labels(labels)
        if split not in ("train", "test"):
            raise LdruError(f"split must be 'train' or 'test', got {split!r}")
        check_sizes(batch_size=batch_size, length=length)
        low, high = -(2**31), 2**31
        key = torch.randint(low, high, (2,), generator=generator, device=generator.device)
        drawn = self.draw(
            fold(key.to(torch.int32), Stream.USER),
            batch_size=batch_size,
            length=length,
            split=split,
        )
        if labels == "words":
            return drawn
        return Batch(tokens=drawn.tokens, labels=self.label_prefixes(drawn.tokens))

    def draw(self, key: Tensor, *, batch_size: int, length: int, split: Split) -> Batch:
        """The words that a key names: [..., 2] -> [..., batch, length], [..., batch]."""
        length = self.word_length(length)
        check_limit("tokens", batch_size * length, f"drawing {batch_size:,} words")
        tables = _tables(self.machine, key.device)
        parts = [
            draw_share(share, tables, fold(key, index), count=count, length=length)
            for index, (share, count) in enumerate(self.shares(batch_size, length, split))
        ]
        return Batch(
            tokens=torch.cat([tokens for tokens, _ in parts], dim=-2),
            labels=torch.cat([labels for _, labels in parts], dim=-1),
        )

    def label(self, tokens: Tensor) -> Tensor:
        """The labels of any words, -1 outside the domain: [..., batch, length] -> [..., batch]."""
        return _tables(self.machine, tokens.device).label(tokens.transpose(-1, -2))

    def label_prefixes(self, tokens: Tensor) -> Tensor:
        """The labels of every prefix, -1 outside the domain: [..., length] -> [..., length]."""
        columns = tokens.transpose(-1, -2)
        return _tables(self.machine, tokens.device).label_prefixes(columns).transpose(-1, -2)

    def shares(self, batch_size: int, length: int, split: Split) -> list[tuple[Share, int]]:
        """The shares of a batch of words of one length, and how many words each has."""
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

    def draw_test(
        self, length: int, *, words: int, seed: int, device: torch.device | str = "cpu"
    ) -> Batch:
        """The test words of a length and seed: [words, length], [words]."""
        key = fold(fold(seed_key(seed, device=device), Stream.TEST), length)
        return self.draw(key, batch_size=words, length=length, split="test")


def _is_part(part: object) -> bool:
    """Whether it is a length, or a kind of words and a length."""
    is_length = hasattr(part, "__index__") and not isinstance(part, bool)
    return is_length or split_part(part) is not None


@lru_cache(maxsize=256)
def _tables(machine: MooreMachine, device: torch.device) -> Tables:
    return Tables(machine, device=device)
