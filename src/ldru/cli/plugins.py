"""Code of others that registers tasks, models, operators and tables before a command runs."""

import importlib
import sys
from collections.abc import Iterable
from importlib.metadata import entry_points

from ldru.base.errors import LdruError

GROUP = "ldru.plugins"
OPTION = "--import"


def without_imports(arguments: list[str]) -> tuple[list[str], list[str]]:
    """The arguments without `--import MODULE`, which every command takes, and the modules."""
    rest: list[str] = []
    modules: list[str] = []
    given = iter(arguments)
    for word in given:
        if word == OPTION:
            module = next(given, None)
            if module is None:
                raise LdruError(f"{OPTION} needs the name of a module, such as my_tasks")
            modules.append(module)
        elif word.startswith(f"{OPTION}="):
            modules.append(word.removeprefix(f"{OPTION}="))
        else:
            rest.append(word)
    return rest, modules


def load(modules: Iterable[str]) -> None:
    """Import installed plugins (entry points of the group `ldru.plugins`), then these modules."""
    for entry in entry_points(group=GROUP):
        _import(entry.value.partition(":")[0], f"the plugin {entry.name!r}")
    for name in modules:
        if "" not in sys.path:
            sys.path.insert(0, "")  # modules of this folder too, as for `python -m`
        _import(name, f"{OPTION} {name}")


def _import(name: str, wanted_by: str) -> None:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as problem:
        raise LdruError(
            f"{wanted_by}: there is no module {problem.name!r}; give the name of one that Python "
            "finds, or that lies in this folder"
        ) from problem
