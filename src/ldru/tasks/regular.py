"""The named regular tasks as data, their families for any size, and tasks of any machine."""

import re
from pathlib import Path

import numpy as np

from ldru.automata.formats import read_machine
from ldru.automata.machine import IntArray, MooreMachine
from ldru.automata.named import PAPERS, named_machine
from ldru.automata.regex import from_regex
from ldru.base.errors import LdruError
from ldru.base.limits import check_limit
from ldru.base.randomness import WORD
from ldru.tasks.kinds import class_shares
from ldru.tasks.regular_task import RegularTask
from ldru.tasks.spec import TaskSpec
from ldru.tasks.walk import Share, Walk, cuts_of, uniform_walk

DYCK_NOISE = 0.15
DYCK_DEPTH_BIAS = 0.1


def _expressions(machine: MooreMachine) -> Share:
    """Valid expressions of modular arithmetic: digits and operators in turn, each uniform."""
    digits = machine.num_classes
    digit = np.array([1 / digits] * digits + [0] * 3)
    operator = np.array([0] * digits + [1 / 3] * 3)
    turns = cuts_of(np.stack([digit, operator]))[:, None]

    def cuts(length: int) -> IntArray:
        return turns[np.arange(length) % 2]

    return Share(Walk(cuts=cuts))


def _balanced_walk(depth: int, *, is_noisy: bool) -> Walk:
    """Close with r(k + r + 2) / (2k(r + 1)), r brackets open and k symbols left.

    Forced where nothing else can be balanced. Noise moves that probability where it is free.
    """
    open_brackets = np.arange(depth + 2)[None]

    def free(length: int) -> np.ndarray:
        left = np.arange(length, 0, -1)[:, None]
        return (open_brackets > 0) & (open_brackets < depth) & (open_brackets < left)

    def cuts(length: int) -> IntArray:
        check_limit("walk_cells", length * (depth + 2), f"drawing words of length {length:,}")
        left = np.arange(length, 0, -1)[:, None]
        close = open_brackets * (left + open_brackets + 2) / (2 * left * (open_brackets + 1))
        close = np.where((open_brackets == depth) | (open_brackets >= left), 1.0, close)
        if is_noisy:
            close = np.where(free(length), close - DYCK_DEPTH_BIAS * open_brackets / depth, close)
        close = np.where(open_brackets == 0, 0.0, close)
        return np.rint((1 - close) * WORD).astype(np.int64)[..., None]

    def noise(length: int) -> IntArray:
        return np.where(free(length), round(DYCK_NOISE * WORD), 0)

    return Walk(cuts=cuts, noise=noise if is_noisy else None)


def _tomita_halves(number: int) -> tuple[Share, Share]:
    """Accepted and rejected words, drawn as the paper draws each language."""
    uniform = uniform_walk(2)
    positive = {
        3: Share(_avoiding(num_states=5, state=3, token=1), wanted=1, oversample=2),
        4: Share(_avoiding(num_states=4, state=2, token=0), wanted=1),
        5: Share(uniform, wanted=1, oversample=5),
        6: Share(uniform, wanted=1, oversample=4),
        7: Share(_slow_walk(), wanted=1),
    }[number]
    negative = Share(uniform, wanted=0, oversample={3: 2.5, 4: 3, 5: 2, 6: 2, 7: 5}[number])
    return positive, negative


def _avoiding(*, num_states: int, state: int, token: int) -> Walk:
    """Uniform moves, but never that symbol in that state."""
    probabilities = np.full((1, num_states, 2), 0.5)
    probabilities[0, state, token], probabilities[0, state, 1 - token] = 0, 1
    cuts = cuts_of(probabilities)
    return Walk(cuts=lambda length: cuts)


def _slow_walk() -> Walk:
    """Tomita 7's four runs: stay with 1 - 4/max(length, 16), else go on; stay in the last."""

    def cuts(length: int) -> IntArray:
        go_on = 4 / max(length, 16)
        zero = np.array([1 - go_on, go_on, 1 - go_on, 0, 0.5])  # P(0) in each state
        return cuts_of(np.stack([zero, 1 - zero], axis=-1)[None])

    return Walk(cuts=cuts)


def by_name(name: str) -> RegularTask | None:
    """A regular language of the known families by its name; None for other names."""
    machine = named_machine(name)
    if machine is None:
        return None
    train: tuple[Share, ...]
    test: tuple[Share, ...]
    family, _, sizes = name.partition("_")
    if name == "modular_arithmetic" or name.startswith("mod_arithmetic_"):
        train = test = (_expressions(machine),)
    elif _is_drawn_by_class(name):
        train = test = class_shares(machine)
    elif family == "tomita":
        train = test = _tomita_halves(int(sizes))
    elif family == "dyck":
        # Half balanced words of at most that depth, half uniform words; noise in training alone.
        negative = Share(uniform_walk(2), wanted=0)
        train, test = (
            (Share(_balanced_walk(int(sizes), is_noisy=is_noisy), wanted=1), negative)
            for is_noisy in (True, False)
        )
    else:
        train = test = (Share(uniform_walk(machine.num_symbols)),)  # labelled as they fall
    return RegularTask(spec=TaskSpec(name=name), machine=machine, train=train, test=test)


def _is_drawn_by_class(name: str) -> bool:
    """Whether uniform words would nearly all have one label, and no paper says how to draw them."""
    is_single = name in ("first", "repeat_01", "binary_addition")
    is_language = re.fullmatch(r"dyck_\d+_\d+|random_.*|group_.*_identity", name) is not None
    return is_single or is_language


TASKS: dict[str, RegularTask] = {
    name: found for name in PAPERS if (found := by_name(name)) is not None
}
"""The paper's 21 tasks."""


def task(
    name: str | None = None,
    *,
    regex: str | None = None,
    machine: MooreMachine | None = None,
    path: str | Path | None = None,
    alphabet: str | None = None,
) -> RegularTask:
    """A regular task; see `ldru.task`."""
    sources = [value is not None for value in (regex, machine, path)]
    if sum(sources) > 1 or not (any(sources) or name):
        raise LdruError("give one of: a task's name, regex=, machine= or path=")
    if alphabet is not None and regex is None:
        raise LdruError("alphabet= goes with regex=")
    if regex is not None:
        return exact_task(name or regex, from_regex(regex, alphabet=alphabet))
    if path is not None:
        if not isinstance(path, str | Path):
            raise LdruError(f"path= is the name of a file, got {type(path).__name__}")
        return exact_task(name or Path(path).stem, read_machine(path))
    assert machine is not None
    return exact_task(name or f"machine_{machine.num_states}", machine)


def exact_task(name: str, machine: MooreMachine) -> RegularTask:
    """A task of any machine, each class uniform over its words of a length."""
    shares = class_shares(machine)
    if len(shares) < 2:
        raise LdruError(
            f"every word of {name!r} over the alphabet {' '.join(machine.alphabet)} has the same "
            "label: there is nothing to learn"
        )
    spec = TaskSpec(name=name, machine=machine.to_json())
    return RegularTask(spec=spec, machine=machine, train=shares, test=shares)
