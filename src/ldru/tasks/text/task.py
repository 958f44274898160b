"""Data sets of texts as tasks."""

from collections.abc import Sequence
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from ldru.base.errors import LdruError
from ldru.base.reading import is_there
from ldru.tasks.data_task import VALIDATION, DataTask
from ldru.tasks.spec import TaskSpec
from ldru.tasks.task import Encoded
from ldru.tasks.text.sets import TEXT_SETS, TextSet
from ldru.tasks.text.sources import SURROGATE
from ldru.tasks.text.store import kept_vocabulary, open_words
from ldru.tasks.text.wordpiece import VOCAB_SIZE, WordPiece
from ldru.tasks.word_set import WordSet

VALIDATION_TEXTS = 8192


def text_task(name: str) -> DataTask | None:
    """A data set of texts by name, `sst2` or `qnli_subset`; None for other names.

    While training, models are validated on (a part of) the set that the paper reports; no model is
    chosen by it.
    """
    if name not in TEXT_SETS:
        return None
    text_set = TEXT_SETS[name]

    def open_set(part: str) -> WordSet:
        if part == VALIDATION:
            return _evenly(open_words(text_set, text_set.tests[0]), VALIDATION_TEXTS)
        return open_words(text_set, part)

    return DataTask(
        spec=TaskSpec(name=name),
        vocab_size=VOCAB_SIZE,
        num_classes=len(text_set.labels),
        tests=text_set.tests,
        open_set=open_set,
        read_texts=partial(read_texts, text_set),
        labels=text_set.labels,
        metrics=text_set.metrics,
        find_vocabulary=_vocabulary,
    )


def _vocabulary() -> str | None:
    """The checksum of the store's vocabulary, where it has one."""
    path = kept_vocabulary()
    return WordPiece(path).checksum if is_there(path) else None


def read_texts(text_set: TextSet, texts: Sequence[str]) -> list[Encoded]:
    """Texts as tokens, with the store's vocabulary; the texts of a pair have a tab between them."""
    split = [_split(text_set, text) for text in texts]
    first = [parts[0] for parts in split]
    second = [parts[1] for parts in split] if text_set.is_pair else None
    path = kept_vocabulary()
    if not is_there(path):
        raise LdruError(
            f"there is no vocabulary {str(path)!r} to read texts with: run `ldru prepare "
            f"{text_set.name} --data DIR`, or give bert-base-uncased's vocab.txt (--vocabulary)"
        )
    found = _wordpiece(path).tokenise(first, second, max_tokens=text_set.max_tokens)
    tokens = np.split(found.tokens.astype(np.int64), found.lengths.cumsum()[:-1])
    return list(map(Encoded, tokens, found.is_cut.tolist()))


def _split(text_set: TextSet, text: str) -> list[str]:
    parts = text.replace(text_set.removed, "").split("\t")
    if len(parts) != 1 + text_set.is_pair:
        wanted = "two texts with a tab between them" if text_set.is_pair else "a text without tabs"
        raise LdruError(f"{text_set.name} takes {wanted}, got {text[:60]!r}")
    if not all(part.strip() for part in parts):
        raise LdruError(f"the text {text[:60]!r} is empty")
    if SURROGATE.search(text):
        raise LdruError(f"the text {text[:60]!r} is not valid UTF-8")
    return [part.strip() for part in parts]


@lru_cache(maxsize=1)
def _wordpiece(path: Path) -> WordPiece:
    return WordPiece(path)


def _evenly(words: WordSet, most: int) -> WordSet:
    """Up to so many words from all over a set, which may be sorted by label."""
    if len(words) <= most:
        return words
    chosen = np.arange(most) * len(words) // most
    return WordSet.of([words[int(index)].tolist() for index in chosen], words.labels[chosen])
