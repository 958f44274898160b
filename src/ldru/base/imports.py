"""Modules of others that register things with us, and that workers elsewhere have to know too."""

import importlib
import sys
from typing import Any

from ldru.base.errors import LdruError, MissingExtraError

_IMPORTED: dict[str, None] = {}


def import_module(name: str, *, wanted_by: str) -> None:
    """Import a module, also one that lies in this folder, and remember it for `imported`."""
    if not all(part.isidentifier() for part in name.split(".")):
        raise LdruError(f"{wanted_by}: {name!r} is no name of a module, such as package.module")
    if "" not in sys.path:
        sys.path.insert(0, "")  # as for `python -m`
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as problem:
        raise LdruError(
            f"{wanted_by}: there is no module {problem.name!r}; give the name of one that Python "
            "finds, or that lies in this folder"
        ) from problem
    _IMPORTED[name] = None


def extra_module(name: str, *, extra: str) -> Any:
    """A module of an optional package; without it an error that says how to install it."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as problem:
        package = name.split(".")[0]
        raise MissingExtraError(package=package, extra=extra) from problem


def imported() -> list[str]:
    """The modules that were imported this way, in order."""
    return list(_IMPORTED)
