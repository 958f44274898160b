"""Arguments that several commands take."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tyro.conf import Positional

from ldru.automata.named import NAMES, named_machine
from ldru.base.errors import LdruError, unknown_name
from ldru.cli.printing import say
from ldru.evaluation.lengths import WORDS, parse_lengths
from ldru.paper.settings import SUBSET, TEXT_TASKS, study_of
from ldru.runs.shipped import find_run
from ldru.tasks.registered import REGISTERED
from ldru.tasks.spec import TaskSpec

if TYPE_CHECKING:
    from ldru.runs.run import Run
    from ldru.tasks.regular_task import RegularTask
    from ldru.tasks.task import Task

MOST_WORDS = 10**7
"""Test words of a length, at most."""


@dataclass(frozen=True, kw_only=True)
class Language:
    """One language: a task's name, a regular expression or a machine file.

    Args:
        task: a name from `ldru tasks`.
        regex: a regular expression instead, e.g. '(01)*': | & ~ for union, intersection and
            complement, * + ? {n,m}, ( ) [a-c] . and backslashes; see docs/languages.md.
        alphabet: the symbols of the regular expression, where it does not name them all.
        machine: a file with a machine instead: .json, .att or .dot; see docs/languages.md.
    """

    task: Positional[str | None] = None
    regex: str | None = None
    alphabet: str | None = None
    machine: Path | None = None

    def find(self) -> "RegularTask":
        """The task, which must be a regular language."""
        given = [self.task, self.regex, self.machine]
        if sum(part is not None for part in given) != 1:
            raise LdruError("give one language: a task's name, --regex or --machine")
        if self.task is not None:
            check_task_name(self.task)
        from ldru.tasks.find import task
        from ldru.tasks.regular_task import RegularTask

        found = task(self.task, regex=self.regex, alphabet=self.alphabet, path=self.machine)
        if not isinstance(found, RegularTask):
            raise LdruError(f"{found.name!r} is a data set and no regular language")
        return found


def check_task_name(name: str) -> None:
    """Raise at once, without PyTorch, on a name that no task has."""
    spec = TaskSpec(name=name)
    if name not in REGISTERED and named_machine(name) is None and study_of(spec) is None:
        texts = [*TEXT_TASKS, f"NAME{SUBSET}"]
        raise unknown_name("task", name, [*NAMES, "listops_N", *texts, *REGISTERED])


def open_run(path: Path, *, device: str | None) -> "Run":
    """A run with its model on a device."""
    find_run(path)  # says so at once where there is none
    from ldru.runs.run import Run
    from ldru.training.device import find_device

    run = Run.open(path)
    run.model.to(find_device(device))
    return run


@dataclass(frozen=True)
class DrawnWords:
    """Test words that are drawn: of which lengths, and how many of each."""

    lengths: list[int]
    words: int


def drawn_words(lengths: str | None, words: int | None, *, usual: str) -> DrawnWords:
    """Options as given, checked before hours of training; usual: lengths, where none are given."""
    words = WORDS if words is None else words
    if words < 1:
        raise LdruError(f"--words must be at least 1, got {words}")
    if words > MOST_WORDS:
        raise LdruError(f"--words must be at most {MOST_WORDS:,}, got {words}")
    return DrawnWords(parse_lengths(usual if lengths is None else lengths), words)


def check_not_drawn(task: "Task", are_given: Mapping[str, bool]) -> None:
    """Raise on an option for drawn words, which a data set has none of.

    are_given: whether each such option was.
    """
    for option, is_given in are_given.items():
        if is_given:
            raise LdruError(
                f"{task.name!r} is a data set with test sets of its own: {option} is for tasks "
                "that draw their words"
            )


def lines(path: Path | None, *, keeps_empty: bool = False) -> Iterator[str]:
    """Lines of a file, or of standard input; without the empty ones, of which it says how many.

    keeps_empty: those come, too.
    """
    empty = 0
    try:
        source = path.open(encoding="utf-8-sig", newline="\n") if path else nullcontext(sys.stdin)
        with source as file:
            for line in file:
                if line.strip() or keeps_empty:
                    yield line.rstrip("\r\n")
                else:
                    empty += 1
    except (OSError, UnicodeDecodeError) as problem:
        name = "standard input" if path is None else repr(str(path))
        raise LdruError(f"cannot read {name}: {problem}") from problem
    if empty:
        say(f"empty lines passed over: {empty}")
