"""Observers of a training: a progress bar, TensorBoard, Weights & Biases."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Protocol

from ldru.base.errors import MissingExtraError, unknown_name
from ldru.base.progress import make_progress
from ldru.training.log import LogEntry

TRACKERS = ("tensorboard", "wandb")


class Observer(Protocol):
    """Somebody who watches a fleet train."""

    def on_steps(self, step: int, losses: dict[str, float]) -> None:
        """Called every few steps with the latest loss of each member."""

    def on_log(self, entries: dict[str, LogEntry]) -> None:
        """Called after every validation with a new line of each member's log."""


SECONDS_BETWEEN_LINES = 30.0


class ProgressBar:
    """Steps, loss, validation accuracy and time left on standard error.

    Where that is no terminal, a line now and then stands for the bar.
    """

    def __init__(self, *, steps: int, description: str = "training") -> None:
        from rich.progress import TextColumn

        self._progress = make_progress(
            TextColumn("loss {task.fields[loss]}"), TextColumn("validation {task.fields[accuracy]}")
        )
        self._bar = self._progress.add_task(description, total=steps, loss="-", accuracy="-")
        self._last_line = time.monotonic()

    def __enter__(self) -> "ProgressBar":
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def restart(self, *, steps: int) -> None:
        """Begin anew, for another training of so many steps."""
        self._progress.reset(self._bar, total=steps, loss="-", accuracy="-")

    def on_steps(self, step: int, losses: dict[str, float]) -> None:
        mean = sum(losses.values()) / len(losses)
        self._progress.update(self._bar, completed=step, loss=f"{mean:.4f}")
        now = time.monotonic()
        if self._progress.disable and now - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = now
            bar = self._progress.tasks[self._bar]
            print(
                f"{bar.description}: step {step:,} of {bar.total:,.0f}, loss {mean:.4f}, "
                f"validation {bar.fields['accuracy']}",
                file=sys.stderr,
                flush=True,
            )

    def on_log(self, entries: dict[str, LogEntry]) -> None:
        shares = [entry.validation_accuracy for entry in entries.values()]
        low, high = f"{min(shares):.1%}", f"{max(shares):.1%}"
        self._progress.update(self._bar, accuracy=low if low == high else f"{low} to {high}")


class TensorBoardTracker:
    """Writes every log line for TensorBoard, a folder per run."""

    def __init__(self, *, folder: Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as problem:
            raise MissingExtraError(package="tensorboard", extra="track") from problem
        self._make, self._folder = SummaryWriter, folder
        self._writers: dict[str, SummaryWriter] = {}

    def on_steps(self, step: int, losses: dict[str, float]) -> None:
        """Only validations are tracked."""

    def on_log(self, entries: dict[str, LogEntry]) -> None:
        for name, entry in entries.items():
            if name not in self._writers:
                self._writers[name] = self._make(str(self._folder / name))
            for metric, value in _metrics(entry).items():
                self._writers[name].add_scalar(metric, value, entry.step)
            self._writers[name].flush()


class WandbTracker:
    """Sends every log line to Weights & Biases: one tracked run, a panel per member and metric."""

    def __init__(self) -> None:
        try:
            import wandb
        except ImportError as problem:
            raise MissingExtraError(package="wandb", extra="track") from problem
        self._run = wandb.init(project="ldru")

    def on_steps(self, step: int, losses: dict[str, float]) -> None:
        """Only validations are tracked."""

    def on_log(self, entries: dict[str, LogEntry]) -> None:
        for name, entry in entries.items():
            metrics = {f"{name}/{metric}": value for metric, value in _metrics(entry).items()}
            self._run.log(metrics, step=entry.step)


def make_trackers(names: Sequence[str], *, folder: Path) -> list[Observer]:
    """Trackers by name; they write below a folder."""
    made: list[Observer] = []
    for name in names:
        if name not in TRACKERS:
            raise unknown_name("tracker", name, TRACKERS)
        made.append(
            TensorBoardTracker(folder=folder / "tensorboard")
            if name == "tensorboard"
            else WandbTracker()
        )
    return made


def _metrics(entry: LogEntry) -> dict[str, float]:
    return {name: value for name, value in vars(entry).items() if name != "step"}
