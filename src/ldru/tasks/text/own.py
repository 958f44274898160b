"""Texts of one's own as a task: CSV files with a header, or a JSON object on every line."""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from ldru.base.errors import LdruError
from ldru.base.reading import explained, is_file, parse_json
from ldru.tasks.data_task import TRAIN, DataTask
from ldru.tasks.spec import TaskSpec
from ldru.tasks.task import Encoded
from ldru.tasks.text.wordpiece import VOCAB_SIZE, WordPiece
from ldru.tasks.word_set import WordSet

BYTES = 256

Reader = Callable[[Sequence[str]], list[Encoded]]


def own_texts(
    name: str,
    files: Mapping[str, str | Path],
    *,
    text: str = "text",
    label: str = "label",
    max_tokens: int = 256,
    vocabulary: str | Path | None = None,
) -> DataTask:
    """A data set of your own texts.

    files: "train", "validation" and the test sets by name, each a .csv or .jsonl file.
    text, label: the names of their columns. The classes are the labels of the training texts,
        sorted.
    max_tokens: longer texts are cut there.
    vocabulary: the vocab.txt of BERT base, uncased, for words and parts of words as tokens (needs
        the extra `text`). Without it the tokens are the bytes of the text.

    For example `own_texts("reviews", {"train": "train.csv", "validation": "dev.csv"})`.
    """
    if max_tokens < 1:
        raise LdruError(f"max_tokens must be at least 1, got {max_tokens}")
    read, size = _reader(vocabulary, max_tokens=max_tokens)
    rows = {part: list(_rows(Path(path), text, label)) for part, path in files.items()}
    if TRAIN not in rows:
        raise LdruError(f"a data set needs a set {TRAIN!r}; got {', '.join(rows) or 'none'}")
    labels = sorted({found for _, _, found in rows[TRAIN]})
    if len(labels) < 2:
        raise LdruError(
            f"{files[TRAIN]} has the label {', '.join(labels)} alone: nothing to tell apart"
        )
    sets = {part: _words(some, labels, read) for part, some in rows.items()}
    # What is common to all data sets of one's own: the checks of their sets.
    common = DataTask.of(name, sets, labels=labels)
    return DataTask(
        spec=TaskSpec(name=name),
        vocab_size=size,
        num_classes=len(labels),
        tests=common.tests,
        open_set=common.open_set,
        read_texts=read,
        labels=tuple(labels),
        is_own=True,
    )


def _reader(vocabulary: str | Path | None, *, max_tokens: int) -> tuple[Reader, int]:
    """How texts become tokens, and how many tokens there are."""
    if vocabulary is None:
        return lambda texts: [_bytes(text, max_tokens) for text in texts], BYTES
    words = WordPiece(Path(vocabulary))

    def read(texts: Sequence[str]) -> list[Encoded]:
        found = words.tokenise(list(texts), None, max_tokens=max_tokens)
        tokens = np.split(found.tokens.astype(np.int64), found.lengths.cumsum()[:-1])
        return list(map(Encoded, tokens, found.is_cut.tolist()))

    return read, VOCAB_SIZE


def _bytes(text: str, most: int) -> Encoded:
    if not text.strip():
        raise LdruError("a text is empty")
    numbers = np.frombuffer(text.encode(), dtype=np.uint8).astype(np.int64)
    return Encoded(numbers[:most], len(numbers) > most)


def _rows(path: Path, text: str, label: str) -> Iterator[tuple[str, str, str]]:
    """Place, text and label of every row."""
    if not is_file(path):
        raise LdruError(f"there is no file {str(path)!r}")
    kinds = {".csv": _csv_rows, ".jsonl": _json_rows}
    if path.suffix not in kinds:
        raise LdruError(f"texts come from .csv or .jsonl files, got {str(path)!r}")
    for place, row in kinds[path.suffix](path):
        for name in (text, label):
            if row.get(name) is None:
                known = ", ".join(map(str, row)) or "none"
                raise LdruError(f"{place} has no column {name!r}; its columns are {known}")
        if not str(row[text]).strip():
            raise LdruError(f"{place}: the text is empty")
        yield place, str(row[text]), str(row[label])


def _csv_rows(path: Path) -> Iterator[tuple[str, dict]]:
    with explained(path), path.open(newline="", encoding="utf-8") as lines:
        reader = csv.DictReader(lines)
        try:
            for row in reader:
                yield f"{path}:{reader.line_num}", row
        except csv.Error as problem:
            raise LdruError(f"{path}:{reader.line_num}: {problem}") from problem


def _json_rows(path: Path) -> Iterator[tuple[str, dict]]:
    with explained(path), path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            place = f"{path}:{number}"
            try:
                row = parse_json(line)
            except (ValueError, RecursionError) as problem:
                raise LdruError(f"{place} is no JSON: {problem}") from problem
            if not isinstance(row, dict):
                raise LdruError(f'{place} is no object such as {{"text": ..., "label": ...}}')
            yield place, row


def _words(rows: Sequence[tuple[str, str, str]], labels: Sequence[str], read: Reader) -> WordSet:
    if not rows:
        raise LdruError("a set of texts is empty")
    numbers = {label: number for number, label in enumerate(labels)}
    for place, _, label in rows:
        if label not in numbers:
            raise LdruError(
                f"{place} has the label {label!r}, which no training text has; known are "
                f"{', '.join(labels)}"
            )
    tokens = [encoded.tokens.tolist() for encoded in read([text for _, text, _ in rows])]
    return WordSet.of(tokens, [numbers[label] for _, _, label in rows])
