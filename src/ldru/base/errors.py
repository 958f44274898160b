"""The errors a user can meet: one base class, and a child for each way out."""

import difflib
from collections.abc import Iterable

LONGEST_NAME = 100
"""Characters of a name that an error repeats."""


class LdruError(ValueError):
    """Input that cannot be used; the message says what was expected and the way out.

    >>> try:
    ...     ldru.task("partiy_check")
    ... except ldru.LdruError as problem:
    ...     print(str(problem)[:57])
    unknown task 'partiy_check' (did you mean 'parity_check'?
    """

    exit_code = 2


class RunError(LdruError):
    """The input was fine, but the work failed: a folder, a file or a training run."""

    exit_code = 1


class OutOfTimeError(RunError):
    """A time limit, or a scheduler's warning, ended the work; what was done is kept.

    The exit code says "try again later" (EX_TEMPFAIL), so that a job script can requeue itself.
    See `ldru.time_limit`.

    >>> ldru.OutOfTimeError().exit_code
    75
    """

    exit_code = 75

    def __init__(self) -> None:
        super().__init__("time is up")


class MissingExtraError(LdruError):
    """An optional dependency is not installed."""

    exit_code = 1

    def __init__(self, *, package: str, extra: str) -> None:
        way_out = f"pip install 'ldru[{extra}]'" if extra else f"pip install {package}"
        super().__init__(f"this needs the package {package!r}, which is not installed: {way_out}")


def unknown_name(kind: str, given: object, known: Iterable[str]) -> LdruError:
    """The error for a name that is not in a table: lists the known ones, suggests the nearest."""
    if not isinstance(given, str):
        return LdruError(f"the name of the {kind} is text, got {type(given).__name__}")
    names, given = list(known), given[:LONGEST_NAME]
    near = difflib.get_close_matches(given, names, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    return LdruError(f"unknown {kind} {given!r}{hint}; known: {', '.join(names)}")
