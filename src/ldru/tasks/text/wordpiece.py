"""BERT's WordPiece: texts and pairs of texts as tokens of a fixed vocabulary."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ldru.base.errors import LdruError, MissingExtraError, RunError
from ldru.base.reading import read_text

if TYPE_CHECKING:
    from tokenizers import Tokenizer

VOCAB_SIZE = 30_522
MARKS = {"[PAD]": 0, "[UNK]": 100, "[CLS]": 101, "[SEP]": 102, "[MASK]": 103}
LONGEST_WORD = 100
"""Letters of a word, beyond which it is unknown as a whole."""

BATCH = 2**14
"""Texts tokenised at once: bounds the memory."""


@dataclass(frozen=True, kw_only=True)
class Tokenised:
    """Texts as tokens end to end, the length of each, and whether it was cut."""

    tokens: NDArray[np.uint16]
    lengths: NDArray[np.int64]
    is_cut: NDArray[np.bool_]

    @property
    def cut(self) -> int:
        """How many were cut."""
        return int(self.is_cut.sum())


class WordPiece:
    """The tokeniser of BERT base, uncased, with its vocabulary from a file.

    A text becomes [CLS] u [SEP], a pair [CLS] u [SEP] v [SEP]. One that is too long loses tokens at
    its end; of a pair, the longer of both at each time.
    """

    def __init__(self, vocabulary: str | Path) -> None:
        self.path = Path(vocabulary)
        # Of the words, so that other ends of lines are no other vocabulary.
        words = "".join(f"{word}\n" for word in read_vocabulary(self.path))
        self.checksum = hashlib.sha256(words.encode()).hexdigest()

    @cached_property
    def _tokeniser(self) -> "Tokenizer":
        return bert_tokeniser(self.path)

    def tokenise(
        self, first: Sequence[str], second: Sequence[str] | None, *, max_tokens: int
    ) -> Tokenised:
        """Texts, or pairs of them, as tokens."""
        self._tokeniser.enable_truncation(max_tokens, strategy="longest_first")
        parts: list[NDArray[np.uint16]] = []
        is_cut: list[bool] = []
        for begin in range(0, len(first), BATCH):
            some = first[begin : begin + BATCH]
            inputs = some if second is None else list(zip(some, second[begin : begin + BATCH]))
            found = self._tokeniser.encode_batch_fast(list(inputs))
            parts += [np.array(encoding.ids, dtype=np.uint16) for encoding in found]
            is_cut += [bool(encoding.overflowing) for encoding in found]
        return Tokenised(
            tokens=np.concatenate(parts) if parts else np.zeros(0, dtype=np.uint16),
            lengths=np.array([len(part) for part in parts], dtype=np.int64),
            is_cut=np.array(is_cut, dtype=np.bool_),
        )


def bert_tokeniser(vocabulary: Path) -> "Tokenizer":
    """The tokeniser of the package `tokenizers`, nothing cut."""
    try:
        from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    except ImportError as problem:
        raise MissingExtraError(package="tokenizers", extra="text") from problem
    words = read_vocabulary(vocabulary)
    model = models.WordPiece(words, unk_token="[UNK]", max_input_chars_per_word=LONGEST_WORD)
    tokeniser = Tokenizer(model)
    tokeniser.add_special_tokens(list(MARKS))
    tokeniser.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokeniser.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokeniser.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(mark, MARKS[mark]) for mark in ("[CLS]", "[SEP]")],
    )
    return tokeniser


def read_vocabulary(path: Path) -> dict[str, int]:
    """The words of a vocabulary file, one in a line, with their numbers; BERT base, uncased."""
    try:
        lines = read_text(path).split("\n")
    except RunError as problem:
        raise RunError(
            f"{problem}; it is the vocab.txt of "
            "bert-base-uncased, in a data folder as bert_vocab/vocab.txt"
        ) from problem
    if lines[-1] == "":
        lines.pop()
    words = {line.rstrip("\r"): number for number, line in enumerate(lines)}
    if len(words) != VOCAB_SIZE or len(lines) != VOCAB_SIZE:
        raise LdruError(
            f"the vocabulary {str(path)!r} has {len(lines):,} lines and {len(words):,} different "
            f"words; that of bert-base-uncased, which the models are made for, has "
            f"{VOCAB_SIZE:,} of both: put its vocab.txt there"
        )
    wrong = [mark for mark, number in MARKS.items() if words.get(mark) != number]
    if wrong:
        raise LdruError(
            f"the vocabulary {str(path)!r} is not that of bert-base-uncased: {wrong[0]} should be "
            f"number {MARKS[wrong[0]]}, is {words.get(wrong[0])}"
        )
    return words
