"""The original ListOps files: a line is a value, a tab, and the expression with parentheses.

The original writes the binary tree that it builds list by list: `( ( ( [MAX 2 ) 9 ) ] )`.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ldru.base.errors import LdruError
from ldru.base.files import write_text
from ldru.base.reading import is_there, read_text
from ldru.tasks.listops.data import word_set
from ldru.tasks.listops.expressions import END, FIRST_OPERATOR, TOKENS, encode
from ldru.tasks.word_set import WordSet


def read_tsv(path: str | Path) -> WordSet:
    """The words of an original file; a wrong line or value is an error that names the line."""
    words, labels = [], []
    text = read_text(Path(path), has_mark=True)
    # Only a line feed ends a line, or errors would name others than an editor shows.
    for number, line in enumerate(text.removesuffix("\n").split("\n") if text else [], start=1):
        value, tab, expression = line.partition("\t")
        if not tab or value not in TOKENS[:FIRST_OPERATOR]:
            raise LdruError(
                f"{path}, line {number}: expected a digit, a tab and an expression, "
                f"got {line[:60]!r}"
            )
        try:
            words.append(encode(expression).astype(np.uint8).tobytes())
        except LdruError as problem:
            raise LdruError(f"{path}, line {number}: {problem}") from problem
        labels.append(int(value))
    if not words:
        raise LdruError(f"{path} has no lines")
    found = word_set(words)
    wrong = np.flatnonzero(found.labels != labels)
    if len(wrong):
        row = int(wrong[0])
        raise LdruError(
            f"{path}, line {row + 1}: the expression has the value {found.labels[row]}, "
            f"not {labels[row]}"
        )
    return found


def write_tsv(words: WordSet, path: str | Path) -> None:
    """Write words as an original file, which must not exist."""
    if is_there(Path(path)):
        raise LdruError(f"{str(path)!r} is already there and is not overwritten")
    lines = (f"{words.labels[i]}\t{with_parentheses(words[i])}\n" for i in range(len(words)))
    write_text(Path(path), "".join(lines))


def with_parentheses(tokens: Sequence[int] | NDArray[np.integer]) -> str:
    """An expression as the original writes it."""
    open_lists: list[str] = [""]
    for token in tokens:
        if FIRST_OPERATOR <= token < END:
            open_lists.append(TOKENS[token])
            continue
        text = TOKENS[token]
        if token == END:
            text = f"( {open_lists.pop()} {text} )"
        inside = open_lists[-1]
        open_lists[-1] = f"( {inside} {text} )" if inside else text
    return open_lists[0]
