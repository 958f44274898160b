"""Code of others that registers tasks, models, operators and tables before a command runs."""

from collections.abc import Iterable
from importlib.metadata import entry_points

from ldru.base.errors import LdruError
from ldru.base.imports import import_module

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
        import_module(entry.value.partition(":")[0], wanted_by=f"the plugin {entry.name!r}")
    for name in modules:
        import_module(name, wanted_by=f"{OPTION} {name}")
