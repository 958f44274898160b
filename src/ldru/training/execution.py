"""Where and how a training is carried out."""

import reprlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ldru.base.errors import LdruError
from ldru.training.observers import Observer

CHECKPOINT_SECONDS = 30.0


@dataclass(frozen=True, kw_only=True)
class Execution:
    """Where a training runs, what it keeps and who watches; none of it changes the result.

    out: a folder for the run folders; None keeps the runs in memory.
    resume: take finished runs from `out` as they are and go on from the last checkpoint. Without
        it, a run that is already there is an error: nothing is overwritten.
    device: cpu, cuda, cuda:1; None takes a GPU where there is one.
    checkpoint_seconds: the longest time of work that a sudden end can cost.
    observers: are told of every few steps and of every validation.

    >>> settings = ldru.TrainSpec(steps=2, batch_size=4, validation_words=4)
    >>> execution = ldru.Execution(out="runs", resume=True)
    >>> small = ldru.LDRUSpec(dim=4)
    >>> runs = ldru.train_many(["tomita_4"], model=small, settings=settings, execution=execution)
    >>> runs["tomita_4"][0].folder.parent
    PosixPath('runs')
    """

    out: str | Path | None = None
    resume: bool = False
    device: str | None = None
    checkpoint_seconds: float = CHECKPOINT_SECONDS
    observers: Sequence[Observer] = ()

    def __post_init__(self) -> None:
        """Raise on values that would fail amid a training; `find_device` looks at the device."""
        seconds = self.checkpoint_seconds
        is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
        if not is_number or not seconds >= 0:
            raise LdruError(
                f"checkpoint_seconds is a number such as {CHECKPOINT_SECONDS}, got "
                f"{reprlib.repr(seconds)}"
            )
        if self.out is not None and not isinstance(self.out, str | Path):
            raise LdruError(f"out is the name of a folder, or None, got {reprlib.repr(self.out)}")
        if not isinstance(self.resume, bool):
            raise LdruError(f"resume is True or False, got {reprlib.repr(self.resume)}")
        if not isinstance(self.observers, list | tuple):
            raise LdruError(f"observers are a list, got {reprlib.repr(self.observers)}")
        for observer in self.observers:
            if lacks := [name for name in ("on_steps", "on_log") if not hasattr(observer, name)]:
                raise LdruError(
                    f"an observer has the methods on_steps and on_log, {reprlib.repr(observer)} "
                    f"lacks {lacks[0]}"
                )

    @property
    def folder(self) -> Path | None:
        """Where runs are kept, as a path."""
        return None if self.out is None else Path(self.out)
