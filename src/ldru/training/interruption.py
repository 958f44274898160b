"""Signals during training: the step is finished and its state kept before any of them acts.

Ctrl-C and SIGTERM stop a training for good; schedulers of clusters end a job with SIGTERM, some
seconds before they kill it. SIGUSR1 (SLURM's `--signal=USR1@120`) and the end of a time limit say
that time is up: the same command should be run again, and goes on from there.
"""

import math
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn, Self

from ldru.base.errors import LdruError, OutOfTimeError

USUAL: dict[signal.Signals, Any] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
}
"""What the signals do of themselves."""

WARNINGS = tuple(getattr(signal, name) for name in ("SIGUSR1", "SIGALRM") if hasattr(signal, name))
"""Signals that time is up; Windows has none of them."""


class Interruption:
    """While entered, takes note of the first such signal; the next acts at once, as ever.

    is_asked: whether there was one. Who sees it leaves a whole state behind, and raises `problem`.
        Where a signal is another's business (a handler of the program's own, a thread), nothing
        changes.
    """

    def __init__(self) -> None:
        self.is_asked = False
        self._is_warned = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            handlers = {one: signal.getsignal(one) for one in (*USUAL, *WARNINGS)}
            self._before = {one: known for one, known in handlers.items() if _is_ours(one, known)}
        for one in self._before:
            signal.signal(one, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        self._give_back()

    @property
    def problem(self) -> BaseException:
        """The reason to stop."""
        return OutOfTimeError() if self._is_warned else KeyboardInterrupt()

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.is_asked, self._is_warned = True, number in WARNINGS
        self._give_back()

    def _give_back(self) -> None:
        for one, handler in self._before.items():
            signal.signal(one, handler)


@contextmanager
def time_limit(*, hours: float | None = None) -> Iterator[None]:
    """Stop a block with `OutOfTimeError` when SIGUSR1 comes or so many hours have passed.

    A training that keeps its state saves it first, and goes on from there with `resume=True`, to
    the same bits; anything else stops at once. For the main thread of a program.

    >>> with ldru.time_limit(hours=1):
    ...     runs = ldru.train("parity_check", dim=4, steps=2, out="limited", resume=True)
    """
    if hours is not None and not (0 < hours < math.inf):
        raise LdruError(f"a time limit is a positive number of hours, got {hours}")
    if hours is not None and signal.Signals.__members__.get("SIGALRM") not in WARNINGS:
        raise LdruError("this system has no alarm: run without a time limit")
    before = {one: signal.signal(one, _stop_at_once) for one in WARNINGS}
    try:
        if hours is not None:
            signal.setitimer(signal.ITIMER_REAL, 3600 * hours)
        yield
    finally:
        if hours is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
        for one, handler in before.items():
            signal.signal(one, handler)


def _stop_at_once(number: int, frame: FrameType | None) -> NoReturn:
    raise OutOfTimeError()


def _is_ours(one: signal.Signals, handler: object) -> bool:
    """Whether nobody else waits for a signal."""
    is_free = one.name == "SIGUSR1" and handler is signal.SIG_DFL
    return handler is _stop_at_once or is_free or handler is USUAL.get(one, _stop_at_once)
