"""Answers to a stream of words, as they come from a file or a pipe."""

import itertools
from collections.abc import Iterable, Iterator

from ldru.errors import LdruError
from ldru.experiments.run import Prediction, Run

PART_WORDS, PART_LETTERS = 2**13, 2**22
"""How much of a stream is held at once: enough for batches of like lengths."""


def predict_stream(
    run: Run, words: Iterable[str], *, at_once: int = PART_WORDS
) -> Iterator[Prediction]:
    """Answers to words, many at once; a bad word ends them after the good ones.

    at_once: how many words are waited for before the first is answered.
    """
    done = 0
    for part in _parts(words, at_once):
        try:
            found = run.predict(part)
        except LdruError as problem:
            good = list(itertools.takewhile(lambda word: _why_not(run, word) is None, part))
            if len(good) == len(part):
                raise
            yield from run.predict(good)
            reason = _why_not(run, part[len(good)])
            raise LdruError(f"word {done + len(good) + 1}: {reason}") from problem
        yield from found
        done += len(part)


def _why_not(run: Run, word: str) -> LdruError | None:
    """What is wrong with a word, if anything."""
    try:
        run.encode(word)
    except LdruError as problem:
        return problem
    return None


def _parts(words: Iterable[str], at_once: int) -> Iterator[list[str]]:
    """Words in lists of bounded size."""
    part: list[str] = []
    letters = 0
    for word in words:
        if part and letters + len(word) > PART_LETTERS:
            yield part
            part, letters = [], 0
        part.append(word)
        letters += len(word)
        if len(part) == at_once:
            yield part
            part, letters = [], 0
    yield part
