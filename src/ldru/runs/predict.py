"""Answers to words that somebody gives, one by one or as a stream."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from ldru.base.errors import LdruError
from ldru.base.precision import Precision
from ldru.evaluation.answers import ask
from ldru.models.ldru import LDRUClassifier
from ldru.tasks.padded import batches_by_length
from ldru.tasks.task import Encoded, Task, Tokens
from ldru.tasks.word_set import WordSet

if TYPE_CHECKING:
    from ldru.runs.run import Run

PART_WORDS, PART_LETTERS = 2**13, 2**22
"""How much of a stream is held at once: enough for batches of like lengths."""


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """A model's answer to a word, and the right one (None where there is none).

    name: of the label, where it has one.
    is_cut: whether the word was longer than the model takes.
    """

    word: str
    label: int
    probability: float
    expected: int | None
    name: str | None = None
    is_cut: bool = False


def predict(
    model: nn.Module, task: Task, words: Sequence[str], *, precision: Precision
) -> list[Prediction]:
    """The model's answer to each word, given as the task's text."""
    encoded = encode(task, words)
    tokens = [tokens for tokens, _ in encoded]
    labels, shares = _answers(model, tokens, precision=precision)
    return [
        Prediction(
            word=word,
            label=label,
            probability=share,
            expected=expected,
            name=task.labels[label] if task.labels else None,
            is_cut=is_cut,
        )
        for word, (_, is_cut), label, share, expected in zip(
            words, encoded, labels, shares, task.answer_all(tokens), strict=True
        )
    ]


def encode(task: Task, words: Sequence[str]) -> list[Encoded]:
    """Words as tokens; the empty word is an error."""
    encoded = task.encode_all(words)
    for word, (tokens, _) in zip(words, encoded, strict=True):
        if not len(tokens):
            raise LdruError(f"the word {word!r} is empty; the model needs at least one symbol")
    return encoded


def predict_stream(
    run: "Run", words: Iterable[str], *, at_once: int = PART_WORDS
) -> Iterator[Prediction]:
    """Answers to words as they come from a file or a pipe; a bad word ends them after the good.

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


@dataclass(frozen=True, kw_only=True)
class Grown:
    """A model's answer to a word that has grown to some length, and the right one."""

    length: int
    label: int
    probability: float
    expected: int | None


def predict_growing(run: "Run", lines: Iterable[str]) -> Iterator[Grown]:
    """Answers to a word that every line continues; an empty line begins a new word."""
    machine = run.language.machine
    model = run.model
    if not isinstance(model, LDRUClassifier):
        raise LdruError(
            f"{run.spec.name} reads whole words only: no other model than an LDRU answers while a "
            "word grows"
        )
    stream, state = model.stream(), machine.start
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            stream, state = model.stream(), machine.start
            continue
        try:
            tokens = machine.encode(line)
        except LdruError as problem:
            raise LdruError(f"line {number}: {problem}") from problem
        for token in tokens.tolist():
            state = machine.delta[state, token]
        scores = stream.push(torch.from_numpy(tokens).to(run.device)[None]).scores()
        share, label = scores[0].softmax(dim=-1).max(dim=-1)
        expected = int(machine.output[state])
        yield Grown(
            length=stream.lengths[0],
            label=int(label),
            probability=float(share),
            expected=None if expected < 0 else expected,
        )


def _answers(
    model: nn.Module, words: Sequence[Tokens], *, precision: Precision
) -> tuple[list[int], list[float]]:
    """Labels and their probabilities, computed in batches of like lengths."""
    stored = WordSet.of(words, np.zeros(len(words), dtype=np.uint8))
    device = next(model.parameters()).device
    batches = batches_by_length(stored, device=device)
    scores = torch.cat([ask(model, batch, precision=precision) for batch in batches])
    shares, labels = scores.softmax(dim=-1).cpu().max(dim=-1)
    places = np.argsort(np.argsort(stored.lengths, kind="stable"))  # short words came first
    return labels[places].tolist(), shares[places].tolist()


def _why_not(run: "Run", word: str) -> LdruError | None:
    """The error that a word causes, if any."""
    try:
        encode(run.task, [word])
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
