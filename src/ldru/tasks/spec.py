"""A task as data."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class TaskSpec:
    """The name of a task that comes with the library, or any name with its machine as JSON text."""

    name: str
    machine: str | None = None
