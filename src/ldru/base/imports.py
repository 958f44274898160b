"""Modules of others that register things with us, and that workers elsewhere have to know too."""

import importlib
import sys

from ldru.base.errors import LdruError

_IMPORTED: dict[str, None] = {}


def import_module(name: str, *, wanted_by: str) -> None:
    """Import a module, also one that lies in this folder, and remember it for `imported`."""
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


def imported() -> list[str]:
    """The modules that were imported this way, in order."""
    return list(_IMPORTED)
