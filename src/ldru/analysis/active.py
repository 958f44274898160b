"""A machine out of anything that answers words: a network without a tree, or a function.

Angluin's way, as in `ldru.analysis.learning`, but whether a machine is right on all words cannot be
decided here. It is tried on many random words instead, which says that it is probably right on
nearly all such words. Whether the machine, as it is, equals the task's own is then decided exactly.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from ldru.analysis.learning import (
    Teacher,
    TooManyStatesError,
    Word,
    distinguishing,
    first_endings,
    hypothesis,
    with_likely_start,
)
from ldru.automata.convert import as_machine
from ldru.automata.machine import UNLABELLED, IntArray, MooreMachine
from ldru.base.errors import LdruError
from ldru.base.json import Json

Answer = Callable[[IntArray], IntArray]
"""Tokens [words, length] -> labels [words]."""

MAX_STATES = 200
WORDS = 20_000
LONGEST = 40
CONFIDENCE = 0.95
SHOWN_SYMBOLS = 40
AT_ONCE = 4096


@dataclass(frozen=True, kw_only=True, eq=False)
class Learned:
    """A machine that was learned from answers, and what is known about it.

    rounds: machines that were tried, this one included.
    asked: different words that the teacher answered.
    words, longest: of the last trial. wrong_words: on how many of them it was wrong.
    is_complete: whether no wrong word was left; else more states than allowed were told apart.
    task: the machine that would be right, if one was given.

    >>> found = ldru.learn_machine(ldru.task("dyck_2").machine.run, "dyck_1", words=500)
    >>> found.machine.num_states, found.difference
    (4, (0, 0, 1, 1))
    """

    machine: MooreMachine
    rounds: int
    asked: int
    words: int
    longest: int
    wrong_words: int
    is_complete: bool
    task: MooreMachine | None = None

    @property
    def error_bound(self) -> float | None:
        """On which share of such words the machine differs at most, with 95 % confidence.

        The confidence is shared among the rounds, each of which was a trial. None if words were
        wrong.
        """
        if self.wrong_words:
            return None
        return math.log(2**self.rounds / (1 - CONFIDENCE)) / self.words

    @property
    def difference(self) -> tuple[int, ...] | None:
        """A shortest word on which the machine and the task's differ; None if they are equal.

        The empty word does not count: nothing answers it.
        """
        if self.task is None:
            raise LdruError("no machine was given to compare with")
        return _difference(self.machine, self.task)

    @property
    def summary(self) -> str:
        """The result in a sentence."""
        states = f"a machine of {self.machine.num_states} states"
        if self.is_complete:
            bound = self.error_bound
            assert bound is not None
            about = (
                f"{states} that no word of {self.words:,} up to length {self.longest} tells from "
                f"the model: with {CONFIDENCE:.0%} confidence they differ on less than {bound:.2%} "
                "of such words (no proof)"
            )
        else:
            share = self.wrong_words / self.words
            about = (
                f"no machine of few states: the last one, {states}, differs from the model on "
                f"{share:.2%} of {self.words:,} words up to length {self.longest}"
            )
        if self.task is None:
            return about
        wrong = self.difference
        if wrong is None:
            return f"{about}; the machine is the task's own, correct at every length"
        text = self.task.decode(np.array(wrong[:SHOWN_SYMBOLS]))
        dots = "..." if len(wrong) > SHOWN_SYMBOLS else ""
        return f"{about}; the machine is wrong from length {len(wrong)} on, {text}{dots}"

    def to_json(self) -> dict[str, Json]:
        """All of it as JSON data."""
        return {
            "summary": self.summary,
            "states": self.machine.num_states,
            "rounds": self.rounds,
            "asked": self.asked,
            "words": self.words,
            "longest": self.longest,
            "wrong_words": self.wrong_words,
            "error_bound": self.error_bound,
            "complete": self.is_complete,
            "difference": None
            if self.task is None or (wrong := self.difference) is None
            else list(wrong),
            "delta": self.machine.delta.tolist(),
            "output": self.machine.output.tolist(),
        }


def learn_machine(
    answer: nn.Module | Answer,
    language: object = None,
    *,
    alphabet: Sequence[str] | None = None,
    max_states: int = MAX_STATES,
    words: int = WORDS,
    longest: int = LONGEST,
    seed: int = 0,
) -> Learned:
    """Learn a machine from the answers of a model, or of any function of words.

    answer: a classifier of tokens, or tokens [words, length] -> labels [words].
    language: what is right, as `as_machine` takes it; or None, and an `alphabet`.
    words, longest: of random words that a machine is tried on: uniform ones, words that first lead
        to one of its states, and words that stay in the language's domain. Words outside of it
        have no label, whatever the model says.

    >>> def odd(words):
    ...     return words.sum(axis=1) % 2
    >>> found = ldru.learn_machine(odd, alphabet="01", words=500)
    >>> found.machine.num_states, found.is_complete
    (2, True)
    >>> ldru.learn_machine(odd, "parity_check", words=500).difference  # labels are the other way
    (0,)
    """
    task = None if language is None else as_machine(language)
    symbols = tuple(alphabet) if task is None and alphabet is not None else None
    if task is not None:
        symbols = task.alphabet
    if symbols is None:
        raise LdruError("give the language that is right, or an alphabet")
    if words < 1 or longest < 1 or max_states < 1:
        raise LdruError(
            f"words, longest and max_states are at least 1, got {words}, {longest}, {max_states}"
        )
    plain = answers_of(answer) if isinstance(answer, nn.Module) else answer
    teacher = Teacher(plain if task is None else _within(plain, task))
    rng = np.random.default_rng(seed)
    endings, rounds = first_endings(len(symbols)), 0
    best: tuple[list[Word], MooreMachine] | None = None
    while True:
        rounds += 1
        try:
            best = access, machine = hypothesis(teacher, endings, symbols, max_states)
            is_full = False
        except TooManyStatesError:
            if best is None:
                raise
            access, machine = best
            is_full = True
        tried = _trial(machine, access, task, words=words, longest=longest, rng=rng)
        right = np.array(teacher.ask(tried))
        wrong = [
            word
            for word, label in zip(tried, right.tolist(), strict=True)
            if int(machine.run(np.array(word))) != label
        ]
        if not wrong or is_full:
            return Learned(
                machine=with_likely_start(machine.minimal()),
                rounds=rounds,
                asked=len(teacher.known) - 1,
                words=len(tried),
                longest=longest,
                wrong_words=len(wrong),
                is_complete=not is_full and not wrong,
                task=task,
            )
        endings.append(distinguishing(teacher, machine, access, min(wrong, key=len)))


def answers_of(model: nn.Module) -> Answer:
    """A classifier as a function of words, some at a time."""
    device = next(model.parameters()).device

    @torch.no_grad()
    def answer(words: IntArray) -> IntArray:
        model.eval()
        parts = torch.from_numpy(words).to(device).split(AT_ONCE)
        return torch.cat([model(part).argmax(dim=-1) for part in parts]).cpu().numpy()

    return answer


def _within(answer: Answer, task: MooreMachine) -> Answer:
    """Answers to the words that have a right one."""

    def within(words: IntArray) -> IntArray:
        return np.where(task.run(words) == UNLABELLED, UNLABELLED, answer(words))

    return within


def _trial(
    machine: MooreMachine,
    access: Sequence[Word],
    task: MooreMachine | None,
    *,
    words: int,
    longest: int,
    rng: np.random.Generator,
) -> list[Word]:
    """Random words of three kinds: uniform, from a state of the machine, inside the domain."""
    lengths = rng.integers(1, longest + 1, size=words)
    tokens = rng.integers(machine.num_symbols, size=(words, longest))
    if task is not None:
        inside = np.arange(words) % 3 == 2
        tokens[inside] = _domain_walks(task, int(inside.sum()), longest, rng=rng)
    starts = rng.integers(len(access), size=words)
    found = []
    for number, length in enumerate(lengths.tolist()):
        before = access[starts[number]] if number % 3 == 1 else ()
        found.append((*before, *tokens[number, :length].tolist())[: max(longest, len(before) + 1)])
    return found


def _domain_walks(
    task: MooreMachine, words: int, length: int, *, rng: np.random.Generator
) -> IntArray:
    """Words that never leave what a labelled word can begin with, uniform at every step."""
    is_alive = task.output != UNLABELLED
    while (more := is_alive | is_alive[task.delta].any(axis=1)).sum() > is_alive.sum():
        is_alive = more
    tokens = np.empty((words, length), dtype=np.int64)
    states = np.full(words, task.start)
    for place in range(length):
        draws = rng.random((words, task.num_symbols)) * is_alive[task.delta[states]]
        tokens[:, place] = draws.argmax(axis=1)
        states = task.delta[states, tokens[:, place]]
    return tokens


def _difference(machine: MooreMachine, task: MooreMachine) -> Word | None:
    """A shortest word of at least one symbol that has a label in the task and another one here."""
    waiting: list[tuple[int, int, Word]] = [(machine.start, task.start, ())]
    seen: set[tuple[int, int]] = set()  # what a word leads to; the empty one is none
    for mine, theirs, word in waiting:
        for token in range(machine.num_symbols):
            pair = int(machine.delta[mine, token]), int(task.delta[theirs, token])
            if pair in seen:
                continue
            seen.add(pair)
            longer = (*word, token)
            if task.output[pair[1]] not in (UNLABELLED, machine.output[pair[0]]):
                return longer
            waiting.append((*pair, longer))
    return None
