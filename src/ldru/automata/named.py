"""Machines by the name of their language: the paper's 21, and families of any size."""

import re
from collections.abc import Callable
from functools import partial

from ldru.automata import families
from ldru.automata.groups import group
from ldru.automata.machine import MooreMachine

SINGLE: dict[str, Callable[[], MooreMachine]] = {
    "even_pairs": families.even_pairs,
    "modular_arithmetic": families.modular_arithmetic,
    "parity_check": families.parity_check,
    "cycle_navigation": families.cycle_navigation,
    **{f"tomita_{number}": partial(families.tomita, number) for number in (3, 4, 5, 6, 7)},
    "flip_flop": families.flip_flop,
    "first": families.first,
    "repeat_01": families.repeat_01,
    "binary_addition": families.binary_addition,
}

PAPERS = (
    *("even_pairs", "modular_arithmetic", "parity_check", "cycle_navigation"),
    *(f"dyck_{depth}" for depth in (2, 3, 4, 6, 8, 12)),
    *(f"tomita_{number}" for number in (3, 4, 5, 6, 7)),
    *(f"prefix_{p}_{q}" for p, q in ((1, 2), (2, 2), (4, 2), (1, 4), (2, 4), (4, 4))),
)
"""The 21 languages of the paper, in the order of its tables."""

OTHERS: dict[str, tuple[str, ...]] = {
    "groups": (
        *("group_S3", "group_A4", "group_D8", "group_Q8", "group_C2^3", "group_Z60"),
        *("group_A4xZ5", "group_A5", "group_S5", "group_S5_generators", "group_A5_identity"),
    ),
    "others": (
        *("flip_flop", "first", "repeat_01", "binary_addition", "counter_3", "mod_arithmetic_3"),
        *("dyck_2_3", "random_5_2_0"),
    ),
}
"""Examples of families, by the heading they are listed under."""

SIZE = "(0|[1-9][0-9]{0,8})"
"""Written in one way only, so that a language has one name; no machine has more digits."""

FAMILIES: dict[str, Callable[..., MooreMachine]] = {
    "dyck_N": families.dyck,
    "dyck_K_N": families.brackets,
    "prefix_P_Q": families.prefix,
    "counter_M": families.counter,
    "mod_arithmetic_M": families.modular_arithmetic,
    "random_S_K_SEED": families.random_machine,
}
"""Families by their names with letters for numbers."""

NAMES = tuple(dict.fromkeys([*PAPERS, *SINGLE, *FAMILIES, *OTHERS["groups"]]))
"""What an error lists as known."""


def named_machine(name: str) -> MooreMachine | None:
    """The machine of a language by its name; None for names that no family has."""
    make = _maker(name)
    return None if make is None else make()


def is_named(name: str) -> bool:
    """Whether some family has the name, although not every group that has one exists."""
    return _maker(name) is not None


def _maker(name: str) -> Callable[[], MooreMachine] | None:
    if name in SINGLE:
        return SINGLE[name]
    if found := re.fullmatch(r"group_([^_]+)(_generators)?(_identity)?", name):
        return partial(_word_problem, *found.groups())
    for pattern, make in FAMILIES.items():
        if found := re.fullmatch(re.sub(r"(?<=_)[A-Z]+", SIZE, pattern), name):
            return partial(make, *map(int, found.groups()))
    return None


def _word_problem(name: str, generators: str | None, identity: str | None) -> MooreMachine:
    return group(name).word_problem(
        alphabet="generators" if generators else "elements",
        labels="identity" if identity else "product",
    )
