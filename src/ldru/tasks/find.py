"""A task of any kind, by name or from what it is made of."""

from pathlib import Path

from ldru.automata.machine import MooreMachine
from ldru.errors import unknown_name
from ldru.tasks import regular
from ldru.tasks.data_task import DataTask
from ldru.tasks.listops import listops_task
from ldru.tasks.task import Task, TaskSpec
from ldru.tasks.text import TEXT_SETS, text_task

AnyTask = Task | DataTask


def task(
    name: str | None = None,
    *,
    regex: str | None = None,
    machine: MooreMachine | None = None,
    path: str | Path | None = None,
    alphabet: str | None = None,
) -> AnyTask:
    """A task by name, or of a regular expression, a machine or a machine's JSON file.

    Named tasks draw words as the paper does; all others draw every class in equal shares, uniformly
    over its words of the length asked for. `listops_100k`, `sst2` and the like are data sets.

    name: with `machine` or `path`, what to call the task.
    alphabet: of a regular expression, see `from_regex`.
    """
    if name and regex is None and machine is None and path is None and alphabet is None:
        return _by_name(name)
    return regular.task(name, regex=regex, machine=machine, path=path, alphabet=alphabet)


def task_from_spec(spec: TaskSpec) -> AnyTask:
    """The task that a run's settings describe."""
    if spec.machine is None:
        return _by_name(spec.name)
    return regular.exact_task(spec.name, MooreMachine.from_json(spec.machine))


def data_task(name: str) -> DataTask | None:
    """A data set by name; None for other names."""
    return listops_task(name) or text_task(name)


def known_task(name: str) -> AnyTask | None:
    """A task that comes with the library, by name; None for other names."""
    return data_task(name) or regular.by_name(name)


def _by_name(name: str) -> AnyTask:
    found = known_task(name)
    if found is None:
        raise unknown_name("task", name, [*regular.NAMES, "listops_N", *TEXT_SETS])
    return found
