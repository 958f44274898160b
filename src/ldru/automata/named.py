"""Machines by the name of their language: the paper's 21, and their families for any size."""

import re
from collections.abc import Callable
from functools import partial

from ldru.automata import families
from ldru.automata.machine import MooreMachine

SINGLE: dict[str, Callable[[], MooreMachine]] = {
    "even_pairs": families.even_pairs,
    "modular_arithmetic": families.modular_arithmetic,
    "parity_check": families.parity_check,
    "cycle_navigation": families.cycle_navigation,
    **{f"tomita_{number}": partial(families.tomita, number) for number in (3, 4, 5, 6, 7)},
}

PAPERS = (
    *("even_pairs", "modular_arithmetic", "parity_check", "cycle_navigation"),
    *(f"dyck_{depth}" for depth in (2, 3, 4, 6, 8, 12)),
    *(f"tomita_{number}" for number in (3, 4, 5, 6, 7)),
    *(f"prefix_{p}_{q}" for p, q in ((1, 2), (2, 2), (4, 2), (1, 4), (2, 4), (4, 4))),
)
"""The 21 languages of the paper, in the order of its tables."""

SIZE = "(0|[1-9][0-9]*)"
"""Written in one way only, so that a language has one name."""

NAMES = (*PAPERS, "dyck_N", "prefix_P_Q")
"""What an error lists as known."""


def named_machine(name: str) -> MooreMachine | None:
    """The machine of a language by its name; None for names that no family has."""
    if name in SINGLE:
        return SINGLE[name]()
    if found := re.fullmatch(rf"dyck_{SIZE}", name):
        return families.dyck(int(found[1]))
    if found := re.fullmatch(rf"prefix_{SIZE}_{SIZE}", name):
        return families.prefix(int(found[1]), int(found[2]))
    return None
