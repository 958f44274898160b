"""Bounds of work and memory, checked before anything begins, and the one way to raise them.

A regular expression of ten characters can ask for more memory than a machine has, and so can a
number in a file. Who begins something large estimates it first and asks here.
"""

import os
import reprlib

from ldru.base.errors import LdruError, unknown_name

VARIABLE = "LDRU_LIMITS"
"""An environment variable such as `states=100000,parameters=5e9`, so that workers have it too."""

LIMITS = {
    "text_bytes": 2**26,
    "tensor_bytes": 2**34,
    "pack_bytes": 2**34,
    "regex_steps": 600_000,
    "states": 20_000,
    "symbols": 100_000,
    "table_cells": 2**21,
    "monoid_cells": 2**25,
    "classes": 1_000,
    "count_bytes": 2**30,
    "walk_cells": 2**24,
    "length": 1_000_000,
    "tokens": 2**27,
    "batch_tokens": 2**22,
    "members": 10_000,
    "parameters": 10**8,
    "width": 2**14,
    "layers": 1_000,
    "hippo_width": 1_024,
}
"""The largest size of each kind.

text_bytes: of a file of text or JSON. tensor_bytes: of a file of tensors. pack_bytes: of all runs
in a pack, once unpacked. regex_steps: of the way from a regular expression to its states.
states, symbols: of a machine. table_cells: of its table. monoid_cells: of a monoid's maps, and of
its products. classes: labels that are drawn in equal shares. count_bytes: of the numbers of words
of each label that are needed for it. walk_cells: of the chances at every place of a word. length:
of words that are drawn. tokens: of words that are drawn at once. batch_tokens: of a training step.
members: models that are trained at once. parameters: of one model. width: of its states and layers.
layers: its blocks, heads and the like.
hippo_width: of a block that S5 finds eigenvectors of.
"""


def limit(name: str) -> int:
    """The bound of that name: its default, or what the environment says."""
    return _raised().get(name, LIMITS[name])


def check_limit(name: str, needed: int, what: str) -> None:
    """Raise where something needs more than the bound; what: what needs it."""
    if needed > limit(name):
        raise LdruError(
            f"{what}: {needed:,} is beyond the limit of {limit(name):,} ({name}); "
            f"{way_out(name, needed)}"
        )


def check_sizes(**sizes: object) -> None:
    """Raise unless every size is a whole number of at least 1."""
    if any(type(size) is not int or size < 1 for size in sizes.values()):
        given = ", ".join(f"{name}={reprlib.repr(size)}" for name, size in sizes.items())
        raise LdruError(f"every size must be a whole number of at least 1, got {given}")


def way_out(name: str, needed: int) -> str:
    """How a bound is raised, for errors."""
    return f"set {VARIABLE}={name}={needed} in the environment to allow it"


def _raised() -> dict[str, int]:
    """The bounds that the environment variable names."""
    found = {}
    for entry in filter(None, os.environ.get(VARIABLE, "").split(",")):
        name, equals, value = entry.strip().partition("=")
        if name not in LIMITS:
            raise unknown_name(f"limit in ${VARIABLE}", name, LIMITS)
        try:
            number = int(float(value))
        except (ValueError, OverflowError):
            number = 0
        if not equals or number < 1:
            raise LdruError(f"${VARIABLE} is such as states=100000,parameters=5e9, got {entry!r}")
        found[name] = number
    return found
