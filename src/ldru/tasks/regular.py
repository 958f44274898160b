"""The paper's 21 regular tasks as data, their families for any size, and tasks of any machine."""

import re
from pathlib import Path

import numpy as np

from ldru.automata import families
from ldru.automata.counting import WordCounts
from ldru.automata.machine import UNLABELLED, IntArray, MooreMachine
from ldru.automata.regex import from_regex
from ldru.errors import LdruError
from ldru.randomness import WORD
from ldru.tasks.task import Recommended, Task, TaskSpec
from ldru.tasks.walk import Share, Walk, cuts_of, uniform_walk

DYCK_NOISE = 0.15
DYCK_DEPTH_BIAS = 0.1

_PREFIX = Recommended(steps=100_000, learning_rate=1e-3, dropout=0.25)
_TOMITA = _PREFIX


def _plain(name: str, machine: MooreMachine, recommended: Recommended) -> Task:
    """A task of uniform words, labelled as they fall."""
    share = Share(uniform_walk(machine.num_symbols))
    return _named(name, machine, (share,), recommended)


def _named(
    name: str, machine: MooreMachine, shares: tuple[Share, ...], recommended: Recommended
) -> Task:
    return Task(
        spec=TaskSpec(name=name),
        machine=machine,
        train=shares,
        test=shares,
        recommended=recommended,
    )


def _modular_arithmetic() -> Task:
    """Valid expressions: digits and operators in turn, each uniform."""
    digit, operator = np.array([1 / 5] * 5 + [0] * 3), np.array([0] * 5 + [1 / 3] * 3)
    turns = cuts_of(np.stack([digit, operator]))[:, None]

    def cuts(length: int) -> IntArray:
        return turns[np.arange(length) % 2]

    return _named(
        "modular_arithmetic",
        families.modular_arithmetic(),
        (Share(Walk(cuts=cuts)),),
        Recommended(steps=1_000_000, learning_rate=1e-3, dropout=0.1),
    )


def dyck(depth: int) -> Task:
    """Half balanced words of at most that depth, half uniform words."""
    machine = families.dyck(depth)
    negative = Share(uniform_walk(2), wanted=0)
    long = depth >= 4
    return Task(
        spec=TaskSpec(name=f"dyck_{depth}"),
        machine=machine,
        train=(Share(_balanced_walk(depth, is_noisy=True), wanted=1), negative),
        test=(Share(_balanced_walk(depth, is_noisy=False), wanted=1), negative),
        recommended=Recommended(
            steps=1_000_000 if long else 100_000, learning_rate=1e-4, dropout=0.25
        ),
    )


def _balanced_walk(depth: int, *, is_noisy: bool) -> Walk:
    """Close with r(k + r + 2) / (2k(r + 1)), r brackets open and k symbols left.

    Forced where nothing else can be balanced. Noise moves that probability where it is free.
    """
    open_brackets = np.arange(depth + 2)[None]

    def free(length: int) -> np.ndarray:
        left = np.arange(length, 0, -1)[:, None]
        return (open_brackets > 0) & (open_brackets < depth) & (open_brackets < left)

    def cuts(length: int) -> IntArray:
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


def _tomita(number: int) -> Task:
    """Halves of accepted and rejected words, drawn as the paper draws each language."""
    uniform = uniform_walk(2)
    positive = {
        3: Share(_avoiding(num_states=5, state=3, token=1), wanted=1, oversample=2),
        4: Share(_avoiding(num_states=4, state=2, token=0), wanted=1),
        5: Share(uniform, wanted=1, oversample=5),
        6: Share(uniform, wanted=1, oversample=4),
        7: Share(_slow_walk(), wanted=1),
    }[number]
    negative = Share(uniform, wanted=0, oversample={3: 2.5, 4: 3, 5: 2, 6: 2, 7: 5}[number])
    return _named(f"tomita_{number}", families.tomita(number), (positive, negative), _TOMITA)


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


TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        _plain("even_pairs", families.even_pairs(), Recommended()),
        _modular_arithmetic(),
        _plain("parity_check", families.parity_check(), Recommended()),
        _plain("cycle_navigation", families.cycle_navigation(), Recommended()),
        *(dyck(depth) for depth in (2, 3, 4, 6, 8, 12)),
        *(_tomita(number) for number in (3, 4, 5, 6, 7)),
        *(
            _plain(f"prefix_{p}_{q}", families.prefix(p, q), _PREFIX)
            for p, q in ((1, 2), (2, 2), (4, 2), (1, 4), (2, 4), (4, 4))
        ),
    )
}


def task(
    name: str | None = None,
    *,
    regex: str | None = None,
    machine: MooreMachine | None = None,
    path: str | Path | None = None,
    alphabet: str | None = None,
) -> Task:
    """A regular task; see `ldru.task`."""
    sources = [value is not None for value in (regex, machine, path)]
    if sum(sources) > 1 or not (any(sources) or name) or (name and regex):
        raise LdruError("give one of: a task's name, regex=, machine= or path=")
    if alphabet is not None and regex is None:
        raise LdruError("alphabet= goes with regex=")
    if regex is not None:
        return exact_task(regex, from_regex(regex, alphabet=alphabet))
    if path is not None:
        return exact_task(name or Path(path).stem, MooreMachine.read(path))
    assert machine is not None
    return exact_task(name or f"machine_{machine.num_states}", machine)


def exact_task(name: str, machine: MooreMachine) -> Task:
    """A task of any machine, each class uniform over its words of a length."""
    labels = sorted(set(machine.minimal().output.tolist()) - {UNLABELLED})
    if len(labels) < 2:
        raise LdruError(
            f"every word of {name!r} over the alphabet {' '.join(machine.alphabet)} has the same "
            "label: there is nothing to learn"
        )
    shares = tuple(_class_share(machine, label) for label in labels)
    spec = TaskSpec(name=name, machine=machine.to_json())
    return Task(spec=spec, machine=machine, train=shares, test=shares)


def _class_share(machine: MooreMachine, label: int) -> Share:
    counts = WordCounts(machine, label=label)
    walk = Walk(cuts=counts.cuts, is_possible=lambda length: counts.words(length) > 0)
    return Share(walk, wanted=label)


NAMES = (*TASKS, "dyck_N", "prefix_P_Q")


def by_name(name: str) -> Task | None:
    """A regular language of the paper's families by its name; None for other names."""
    if name in TASKS:
        return TASKS[name]
    if found := re.fullmatch(r"dyck_(\d+)", name):
        return dyck(int(found[1]))
    if found := re.fullmatch(r"prefix_(\d+)_(\d+)", name):
        return _plain(name, families.prefix(int(found[1]), int(found[2])), _PREFIX)
    return None
