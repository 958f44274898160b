"""Tasks of others, by name; read without PyTorch."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ldru.tasks.task import Task

REGISTERED: "dict[str, Task]" = {}


def is_own_language(name: str) -> bool:
    """Whether a regular language of that name was registered."""
    return getattr(REGISTERED.get(name), "machine", None) is not None
