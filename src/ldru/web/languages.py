"""What the page shows of a language: its machine, words of it, and the way of a word."""

from functools import lru_cache

import numpy as np

from ldru.automata.machine import UNLABELLED, MooreMachine
from ldru.automata.monoid import Monoid, monoid_within
from ldru.automata.named import FAMILIES, OTHERS, PAPERS
from ldru.base.json import Json
from ldru.figures.pictures import layers
from ldru.tasks.find import task as find_task
from ldru.tasks.kinds import draw_kind
from ldru.tasks.regular_task import RegularTask
from ldru.web.limits import (
    LARGEST_MONOID,
    LONGEST_LENGTH,
    LONGEST_WORD,
    MOST_STATES,
    RequestError,
    check_regex,
)

MOST_WORDS = 8
LONGEST_NAME = 60


def names() -> dict[str, Json]:
    """The languages that a list offers, and examples of families."""
    return {
        "paper": list(PAPERS),
        "others": list(OTHERS),
        "families": list(FAMILIES),
    }


@lru_cache(maxsize=64)
def language(name: str | None, regex: str | None, alphabet: str | None) -> RegularTask:
    """A language by name or by a regular expression."""
    if (not name) == (not regex):
        raise RequestError("give a task's name or a regular expression")
    if regex:
        check_regex(regex)
        found = find_task(regex=regex, alphabet=alphabet or None)
    else:
        assert name is not None
        if len(name) > LONGEST_NAME:
            raise RequestError(f"there is no task with a name of {len(name):,} characters")
        found = find_task(name)
    if not isinstance(found, RegularTask):
        raise RequestError(f"{name!r} is a data set; the playground shows regular languages")
    if found.machine.minimal().num_states > MOST_STATES:
        raise RequestError(
            f"its machine has {found.machine.minimal().num_states:,} states, too many for a "
            f"picture; up to {MOST_STATES} are drawn"
        )
    return found


def monoid_of(task: RegularTask) -> Monoid | None:
    """The monoid of a language, where it is small."""
    return _monoid(task.machine.minimal())


@lru_cache(maxsize=64)
def _monoid(machine: MooreMachine) -> Monoid | None:
    return monoid_within(machine, limit=LARGEST_MONOID)


def describe(task: RegularTask) -> dict[str, Json]:
    """The minimal machine with a place for each state, and what is known of the language."""
    machine, monoid = task.machine.minimal(), monoid_of(task)
    return {
        "name": task.name,
        "alphabet": list(machine.alphabet),
        "start": int(machine.start),
        "labels": [None if n == UNLABELLED else int(n) for n in machine.output.tolist()],
        "moves": machine.delta.tolist(),
        "places": [[float(x), float(y)] for x, y in layers(machine)],
        "classes": None if monoid is None else monoid.size,
        "complexity": None if monoid is None else monoid.complexity,
    }


def follow(task: RegularTask, word: str) -> dict[str, Json]:
    """The states that a word leads through, and its label."""
    machine = task.machine.minimal()
    if len(word) > 8 * LONGEST_LENGTH:
        raise RequestError(f"a word here has at most {LONGEST_LENGTH:,} symbols")
    tokens = machine.encode(word)
    states = [int(machine.start)]
    for token in tokens.tolist():
        states.append(int(machine.delta[states[-1], token]))
    label = int(machine.output[states[-1]])
    return {
        "symbols": [machine.alphabet[token] for token in tokens.tolist()],
        "states": states,  # type: ignore[dict-item]
        "label": None if label == UNLABELLED else label,
    }


def words(task: RegularTask, *, length: int, seed: int) -> dict[str, Json]:
    """Some words of a length, every label alike; of the next shorter one where there are none."""
    batch = draw_kind(task.machine, "uniform", length, words=MOST_WORDS, seed=seed, device="cpu")
    machine = task.machine
    return {
        "words": [
            {"word": text(machine, tokens), "label": label}
            for tokens, label in zip(batch.tokens.numpy(), batch.labels.tolist(), strict=True)
        ]
    }


def text(machine: MooreMachine, tokens: np.ndarray) -> str:
    """A word as it is typed."""
    return machine.decode(tokens)


def tokens_of(task: RegularTask, word: str) -> list[int]:
    """The tokens of a word that was typed."""
    if len(word) > 8 * LONGEST_WORD:
        raise RequestError(f"a tree is shown over 1 to {LONGEST_WORD} symbols")
    return [int(token) for token in task.machine.encode(word)]
