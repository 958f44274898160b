"""Tasks of any kind, by name or from what they are made of."""

from pathlib import Path

from ldru.automata.convert import as_machine
from ldru.automata.machine import MooreMachine
from ldru.automata.named import NAMES
from ldru.base.errors import LdruError, unknown_name
from ldru.tasks import regular
from ldru.tasks.listops.data import listops_task
from ldru.tasks.registered import REGISTERED
from ldru.tasks.spec import TaskSpec
from ldru.tasks.task import Task
from ldru.tasks.text.sets import TEXT_SETS
from ldru.tasks.text.task import text_task


def task(
    name: str | None = None,
    *,
    regex: str | None = None,
    machine: object = None,
    path: str | Path | None = None,
    alphabet: str | None = None,
) -> Task:
    """A task by name, or of a regular expression, a machine or a machine's JSON file.

    Named tasks draw words as the paper does; all others draw every class in equal shares, uniformly
    over its words of the length asked for. `listops_100k`, `sst2` and the like are data sets.

    name: with `regex`, `machine` or `path`, what to call the task.
    machine: a `MooreMachine`, or an automaton of automata-lib (see `as_machine`).
    alphabet: of a regular expression, see `from_regex`.

    >>> ldru.task("dyck_3").machine.num_states
    5
    >>> ldru.task(regex="(01)*").answer_all([np.array([0, 1]), np.array([1, 0])])
    [1, 0]
    """
    if name is not None and not isinstance(name, str):
        raise LdruError(f"the name of a task is text, got {name!r}; a machine goes as machine=")
    if name and regex is None and machine is None and path is None and alphabet is None:
        return task_from_spec(TaskSpec(name=name))
    given = None if machine is None else as_machine(machine)
    return regular.task(name, regex=regex, machine=given, path=path, alphabet=alphabet)


def task_from_spec(spec: TaskSpec) -> Task:
    """The task that a run's settings describe."""
    if spec.machine is not None:
        return regular.exact_task(spec.name, MooreMachine.from_json(spec.machine))
    found = known_task(spec.name)
    if found is None:
        names = [*NAMES, "listops_N", *TEXT_SETS, *REGISTERED]
        raise unknown_name("task", spec.name, names)
    return found


def known_task(name: str) -> Task | None:
    """A task that comes with the library or was registered, by name; None for other names."""
    return _of_the_library(name) or REGISTERED.get(name)


def _of_the_library(name: str) -> Task | None:
    return listops_task(name) or text_task(name) or regular.TASKS.get(name) or regular.by_name(name)


def register_task(task: Task) -> None:
    """Make a task of your own known by its name, to every function and command.

    The names of `TASKS` stay the paper's 21. Where a run's settings do not hold the machine, a
    program that opens it has to register the task too, before; so `ldru eval RUN --import MODULE`.

    >>> ldru.register_task(ldru.task("ends_in_one", machine=ldru.from_regex("(0|1)*1")))
    >>> ldru.task("ends_in_one").machine.num_states
    2
    """
    if not isinstance(task, Task):
        raise LdruError(f"register_task takes a task, got {task!r}; see ldru.task")
    if not task.name.isidentifier():
        raise LdruError(f"a task's name is letters, digits and underscores, got {task.name!r}")
    if _of_the_library(task.name) is not None:
        raise LdruError(f"a task called {task.name!r} comes with ldru: rename yours")
    known = REGISTERED.get(task.name)
    if known is not None and known.spec != task.spec:
        raise LdruError(f"there is already another task {task.name!r}; choose another name")
    REGISTERED[task.name] = task


def as_task(given: str | Task) -> Task:
    """A task by name, or as given."""
    if isinstance(given, str):
        return task(given)
    if not isinstance(given, Task):
        raise LdruError(
            f"a task is a name such as 'parity_check' or what ldru.task makes, got {given!r}"
        )
    return given


def as_language(given: str | Task) -> regular.RegularTask:
    """A regular task by name, or as given."""
    found = as_task(given)
    if not isinstance(found, regular.RegularTask):
        raise LdruError(f"{found.name!r} is a data set and no regular language")
    return found
