"""Where and how a training is carried out."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

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

    @property
    def folder(self) -> Path | None:
        """Where runs are kept, as a path."""
        return None if self.out is None else Path(self.out)
