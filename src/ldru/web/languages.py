"""Languages as the page is told of them: the minimal machine, drawn, and its monoid."""

from functools import lru_cache

from ldru.automata.convert import as_machine
from ldru.automata.layout import layers
from ldru.automata.machine import UNLABELLED, MooreMachine
from ldru.automata.monoid import Monoid, monoid_within
from ldru.automata.named import OTHERS, PAPERS
from ldru.automata.regex import from_regex
from ldru.base.json import Json
from ldru.tasks.registered import REGISTERED, is_own_language
from ldru.web.limits import (
    LARGEST_MACHINE,
    LARGEST_MONOID,
    LONGEST_NAME,
    MOST_ARROWS,
    MOST_STATES,
    RequestError,
    check_regex,
)


def names() -> dict[str, Json]:
    """The languages that a list offers, by heading."""
    own = [name for name in REGISTERED if is_own_language(name)]
    return {"the paper's": list(PAPERS), **{k: list(v) for k, v in OTHERS.items()}, "your own": own}  # type: ignore[dict-item]


@lru_cache(maxsize=64)
def language(name: str | None, regex: str | None, alphabet: str | None) -> MooreMachine:
    """The minimal machine of a language, by name or by a regular expression."""
    if (not name) == (not regex):
        raise RequestError("give a task's name or a regular expression")
    if regex:
        found = from_regex(check_regex(regex), alphabet=alphabet or None)
    else:
        assert name is not None
        if len(name) > LONGEST_NAME:
            raise RequestError(f"there is no task with a name of {len(name):,} characters")
        found = as_machine(REGISTERED[name] if is_own_language(name) else name)
    return minimal(found)


def minimal(machine: MooreMachine) -> MooreMachine:
    """The minimal form of a machine, which must be small enough for a page."""
    if machine.num_states > LARGEST_MACHINE:
        raise RequestError(
            f"its machine has {machine.num_states:,} states; the playground takes up to "
            f"{LARGEST_MACHINE:,}"
        )
    return machine.minimal()


@lru_cache(maxsize=64)
def monoid_of(machine: MooreMachine) -> Monoid | None:
    """The monoid of a minimal machine, where it is small."""
    return monoid_within(machine, limit=LARGEST_MONOID)


def describe(name: str, machine: MooreMachine) -> dict[str, Json]:
    """A minimal machine, with a place for each state and its monoid where these are small."""
    monoid = monoid_of(machine)
    return {
        "name": name,
        "alphabet": list(machine.alphabet),
        "start": int(machine.start),
        "labels": [None if n == UNLABELLED else int(n) for n in machine.output.tolist()],
        "moves": machine.delta.tolist(),
        "places": _places(machine),
        "monoid": None if monoid is None else _monoid_row(monoid),
    }


def _places(machine: MooreMachine) -> Json:
    """Where states lie in a picture; None where it would be too large."""
    arrows = {(state, after) for state, row in enumerate(machine.delta.tolist()) for after in row}
    if machine.num_states > MOST_STATES or len(arrows) > MOST_ARROWS:
        return None
    return [[float(x), float(y)] for x, y in layers(machine)]


def _monoid_row(monoid: Monoid) -> dict[str, Json]:
    """The right Cayley graph of a monoid, with a shortest word of each class."""
    return {
        "step": monoid.step.tolist(),
        "words": [monoid.machine.decode(list(word)) for word in monoid.representatives],
        "complexity": monoid.complexity,
    }
