"""Words with labels, end to end in memory-mapped files: many words cost their tokens alone."""

import hashlib
import json
import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ldru.base.arrays import open_array
from ldru.base.errors import LdruError, RunError
from ldru.base.files import whole_folder
from ldru.base.json import Json
from ldru.base.reading import read_json

PARTS = ("tokens", "offsets", "labels")
ABOUT = "about.json"


@dataclass(frozen=True, kw_only=True, eq=False)
class WordSet:
    """Words of any lengths with their labels.

    tokens: of all words [tokens], in the smallest type that holds them.
    offsets: where each word begins and the last one ends [words + 1].
    labels: [words].
    about: what is known of where the words come from; written beside them.

    >>> words = ldru.WordSet.of([[0, 1], [1, 1, 0]], [0, 1])
    >>> len(words), words[1].tolist(), words.lengths.tolist()
    (2, [1, 1, 0], [2, 3])
    """

    tokens: NDArray[np.unsignedinteger]
    offsets: NDArray[np.int64]
    labels: NDArray[np.unsignedinteger]
    about: dict[str, Json] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not len(self.labels):
            raise LdruError("a set of words needs at least one word")
        if len(self.offsets) != len(self.labels) + 1 or self.lengths.min() < 1:
            raise LdruError(
                f"{len(self.labels)} labels need as many words of at least one token, got "
                f"{len(self.offsets) - 1}, the shortest of {self.lengths.min(initial=0)}"
            )
        if self.offsets[0] != 0 or self.offsets[-1] != len(self.tokens):
            raise LdruError(
                f"words lie end to end in {len(self.tokens)} tokens, their offsets go from "
                f"{self.offsets[0]} to {self.offsets[-1]}"
            )

    @classmethod
    def of(
        cls,
        words: Sequence[bytes] | Sequence[Sequence[int]] | Sequence[NDArray[np.int64]],
        labels: Sequence[int] | NDArray[np.integer],
    ) -> "WordSet":
        """A set of words that are given one by one."""
        if not len(words):
            raise LdruError("a set of words needs at least one word")
        if isinstance(words[0], str):
            raise LdruError(f"a word is a sequence of tokens as numbers, got {words[0]!r}")
        lengths = np.array([len(word) for word in words], dtype=np.int64)
        if isinstance(words[0], bytes):
            tokens = np.frombuffer(b"".join(words), dtype=np.uint8)  # type: ignore[arg-type]
        else:
            tokens = _smallest(np.concatenate([np.asarray(word) for word in words]))
        return cls(
            tokens=tokens,
            offsets=np.concatenate([[0], lengths.cumsum()]),
            labels=_smallest(np.asarray(labels)),
        )

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> NDArray[np.unsignedinteger]:
        """The tokens of a word."""
        place = range(len(self))[operator.index(index)]  # from the end too
        return self.tokens[self.offsets[place] : self.offsets[place + 1]]

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.offsets)

    @property
    def checksum(self) -> str:
        """Of the words and labels."""
        total = hashlib.sha256()
        for part in PARTS:
            total.update(np.ascontiguousarray(getattr(self, part)).data)
        return total.hexdigest()[:32]

    def save(self, folder: Path, *, about: dict[str, Json]) -> None:
        """Write a new folder, whole or not at all; about: where the words come from."""
        with whole_folder(folder) as parts:
            for part in PARTS:
                np.save(parts / f"{part}.npy", getattr(self, part))
            text = {**self.about, **about, "words": len(self), "checksum": self.checksum}
            (parts / ABOUT).write_text(json.dumps(text, indent=1) + "\n")

    @classmethod
    def open(cls, folder: Path) -> "WordSet":
        """A set from its folder, memory-mapped; one that was changed is an error."""
        try:
            about = read_json(folder / ABOUT)
            if not isinstance(about, dict) or not isinstance(about.get("checksum"), str):
                raise RunError(f"{str(folder / ABOUT)!r} names no checksum")
            parts = {part: open_array(folder / f"{part}.npy") for part in PARTS}
            if parts["offsets"].dtype != np.int64:
                raise RunError(f"the offsets are of {parts['offsets'].dtype}, not of int64")
            found = cls(**parts, about=about)  # type: ignore[arg-type]
        except LdruError as problem:
            raise RunError(
                f"cannot read the words in {str(folder)!r}: {problem}; remove the folder to have "
                "them made again"
            ) from problem
        known = about["checksum"]
        if found.checksum != known:
            raise RunError(
                f"the words in {str(folder)!r} are not those that were written: their checksum is "
                f"{found.checksum}, not {known}; remove the folder to have them made again"
            )
        return found


def _smallest(numbers: NDArray[np.integer]) -> NDArray[np.unsignedinteger]:
    """Numbers in the smallest unsigned type that holds them."""
    if numbers.ndim != 1 or numbers.dtype.kind not in "biuf":
        raise LdruError(
            "tokens and labels are whole numbers, one beside the other, got "
            f"{numbers.dtype} {list(numbers.shape)}"
        )
    if (numbers % 1 != 0).any():
        raise LdruError(f"tokens and labels are whole numbers, got {numbers[numbers % 1 != 0][0]}")
    if numbers.size and numbers.min() < 0:
        raise LdruError(f"tokens and labels count from 0, got {numbers.min()}")
    return numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))))
