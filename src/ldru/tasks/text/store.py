"""Texts tokenised once and kept, so that training needs neither texts nor tokeniser.

The store is `text` in the data folder ($LDRU_DATA, by default ~/.cache/ldru): a folder for each set
of each data set, and the vocabulary. It may be carried to another machine as it is.
"""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ldru.base.errors import LdruError, MissingExtraError, RunError, unknown_name
from ldru.base.files import check_writable, whole_file
from ldru.base.json import Json
from ldru.base.reading import is_there
from ldru.tasks.data_task import data_folder, kept
from ldru.tasks.text.sets import TEXT_SETS, TextSet
from ldru.tasks.text.sources import HUB, find_sources, read_texts
from ldru.tasks.text.wordpiece import WordPiece
from ldru.tasks.word_set import WordSet

VERSION = 1
"""Raised when the same texts become other tokens than before."""


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A set of texts in the store.

    cut: how many were longer than the paper's length.
    broken: how many rows of the files were left out.
    """

    name: str
    part: str
    texts: int
    tokens: int
    cut: int
    broken: int


def prepare(
    name: str,
    *,
    data: str | Path,
    vocabulary: str | Path | None = None,
    skip_broken: bool = False,
) -> list[Prepared]:
    """Tokenise every set of a data set that is not in the store yet.

    data: a folder of Parquet files or of the official files; "hub" for the Hugging Face hub.
    vocabulary: a vocab.txt; by default bert_vocab/vocab.txt of the data folder, then the store's.
    skip_broken: leave rows out that are not as they should be, and count them.
    """
    text_set = find_set(name)
    sources = {part: find_sources(text_set, part, data) for part in text_set.parquet}
    wordpiece = WordPiece(_vocabulary(data, vocabulary))
    keep_vocabulary(wordpiece)
    done = []
    for part, files in sources.items():
        about = _about(text_set, part, files, wordpiece)
        make = _maker(text_set, part, data, wordpiece, skip_broken=skip_broken)
        words = kept(_folder(text_set, part), make, about=about)
        _check_same(text_set, part, words, about)
        done.append(
            Prepared(
                name=text_set.name,
                part=part,
                texts=len(words),
                tokens=len(words.tokens),
                cut=int(words.about["cut"]),  # type: ignore[arg-type]
                broken=int(words.about.get("broken", 0)),  # type: ignore[arg-type]
            )
        )
    return done


def find_set(name: str) -> TextSet:
    """A data set by name."""
    if name not in TEXT_SETS:
        raise unknown_name("data set of texts", name, TEXT_SETS)
    return TEXT_SETS[name]


def open_words(text_set: TextSet, part: str) -> WordSet:
    """A set of texts from the store."""
    folder = _folder(text_set, part)
    if not is_there(folder):
        ways = [" and ".join(text_set.parquet[part])]
        if text_set.official is not None:
            ways.append(text_set.official.files[part])
        raise LdruError(
            f"the texts of {text_set.name} are not tokenised yet: there is no {str(folder)!r}. Run "
            f"`ldru prepare {text_set.name} --data DIR`, where DIR has {' or '.join(ways)} (from "
            f"{text_set.origin}), or carry the folder here from where that was done"
        )
    words = WordSet.open(folder)
    for key, value in (("version", VERSION), ("max_tokens", text_set.max_tokens)):
        if words.about.get(key) != value:
            raise RunError(
                f"the tokens in {str(folder)!r} were made with {key} {words.about.get(key)}, "
                f"needed is {value}; move them away and run `ldru prepare {text_set.name}` again"
            )
    path = kept_vocabulary()
    if is_there(path) and words.about.get("vocabulary") != WordPiece(path).checksum:
        raise RunError(
            f"the tokens in {str(folder)!r} were made with another vocabulary than {str(path)!r}; "
            f"move both away and run `ldru prepare {text_set.name}` again"
        )
    return words


def kept_vocabulary() -> Path:
    """Where the store has its vocabulary."""
    return data_folder() / "text" / "vocab.txt"


def keep_vocabulary(wordpiece: WordPiece) -> None:
    """Put the vocabulary beside the tokens; another one there is an error."""
    path = kept_vocabulary()
    if not is_there(path):
        check_writable(path.parent)
        with whole_file(path) as temporary:
            shutil.copyfile(wordpiece.path, temporary)
    elif WordPiece(path).checksum != wordpiece.checksum:
        raise LdruError(
            f"the store in {str(path.parent)!r} was made with another vocabulary than "
            f"{str(wordpiece.path)!r}; choose another store with $LDRU_DATA"
        )


def _folder(text_set: TextSet, part: str) -> Path:
    return data_folder() / "text" / text_set.name / part


def _vocabulary(data: str | Path, given: str | Path | None) -> Path:
    if given is not None:
        return Path(given)
    beside = Path(data) / "bert_vocab" / "vocab.txt"
    if is_there(beside) or not (is_there(kept_vocabulary()) or str(data) == HUB):
        return beside
    if is_there(kept_vocabulary()):
        return kept_vocabulary()
    try:
        from huggingface_hub import hf_hub_download
    except ImportError as problem:
        raise MissingExtraError(package="huggingface_hub", extra="text") from problem
    try:
        return Path(hf_hub_download("google-bert/bert-base-uncased", "vocab.txt"))
    except OSError as problem:
        raise RunError(
            f"cannot read BERT's vocabulary from the hub: {problem}; give one (--vocabulary)"
        ) from problem


def _about(
    text_set: TextSet, part: str, sources: dict[str, str], wordpiece: WordPiece
) -> dict[str, Json]:
    return {
        "version": VERSION,
        "set": text_set.name,
        "part": part,
        "subset_of": text_set.subset_of,
        "max_tokens": text_set.max_tokens,
        "vocabulary": wordpiece.checksum,
        "sources": dict(sources),
    }


def _maker(
    text_set: TextSet, part: str, data: str | Path, wordpiece: WordPiece, *, skip_broken: bool
) -> Callable[[], WordSet]:
    def make() -> WordSet:
        texts = read_texts(text_set, part, data, skip_broken=skip_broken)
        found = wordpiece.tokenise(texts.first, texts.second, max_tokens=text_set.max_tokens)
        return WordSet(
            tokens=found.tokens,
            offsets=np.concatenate([[0], found.lengths.cumsum()]),
            labels=np.array(texts.labels, dtype=np.uint8),
            about={"cut": found.cut, "broken": texts.broken},
        )

    return make


def _check_same(text_set: TextSet, part: str, words: WordSet, about: dict[str, Json]) -> None:
    for key, value in about.items():
        if words.about.get(key) != value:
            raise LdruError(
                f"{str(_folder(text_set, part))!r} holds tokens of another {key} than what was "
                f"given: {words.about.get(key)}, not {value}; choose another store with $LDRU_DATA"
            )
