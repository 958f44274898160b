"""The board of a reproduction: what is done, running and left, and for how long, on stderr."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ldru.base.progress import make_progress
from ldru.reproduce.plan import Job
from ldru.tasks.task import Part
from ldru.training.log import LogEntry

if TYPE_CHECKING:
    from rich.progress import TaskID


class Board:
    """Live on a terminal; elsewhere a line when a fleet starts and when it ends.

    It watches the fleets of this machine step by step, and those of others as they end.
    """

    def __init__(self, jobs: Sequence[Job]) -> None:
        from rich.progress import TextColumn

        self._left, self._running, self._done = list(jobs), list[Job](), list[Job]()
        self._progress = make_progress(TextColumn("{task.fields[note]}", markup=False))
        steps = sum(spec.train.steps or 0 for job in jobs for spec in job.specs)
        self._total = self._progress.add_task("model-steps", total=steps, note="")
        self._steps: dict[Job, int] = {}
        self._bars: dict[Job, TaskID] = {}

    def __enter__(self) -> "Board":
        self._progress.start()
        return self

    def __exit__(self, *problem: object) -> None:
        self._progress.stop()

    def start(self, job: Job) -> "Watcher":
        """A fleet is being worked on; what this gives observes its training."""
        self._left.remove(job)
        self._running.append(job)
        self._say(f"started {job.title}")
        return Watcher(self, job)

    def finish(self, job: Job) -> None:
        """A fleet has been trained and evaluated."""
        self._running.remove(job)
        self._done.append(job)
        if job in self._bars:
            self._progress.remove_task(self._bars.pop(job))
        self._count(job, _steps(job))
        self._say(f"finished {job.title}")

    def show(self, job: Job, doing: str, *, completed: int, total: int, note: str = "") -> None:
        """How far a running fleet is with what it is doing."""
        if job not in self._bars:
            self._bars[job] = self._progress.add_task("", total=total, note="")
        bar = self._bars[job]
        self._progress.update(bar, description=doing, completed=completed, total=total, note=note)

    def advance_to(self, job: Job, step: int) -> None:
        """Count the steps of a fleet that is under way."""
        self._count(job, _steps(job, upto=step))

    def _count(self, job: Job, steps: int) -> None:
        self._steps[job] = steps
        self._progress.update(self._total, completed=sum(self._steps.values()))

    def warn(self, text: str) -> None:
        """Say something that must be seen, on a terminal too."""
        self._progress.console.print(text, soft_wrap=True)

    @property
    def summary(self) -> str:
        """How many runs are in which state."""
        states = {"done": self._done, "running": self._running, "left": self._left}
        counts = (f"{sum(len(j.specs) for j in jobs)} {name}" for name, jobs in states.items())
        return f"runs: {', '.join(counts)}"

    def _say(self, event: str) -> None:
        self._progress.update(self._total, note=self.summary)
        if self._progress.disable:
            self._progress.console.print(f"{event}; {self.summary}", soft_wrap=True)


class Watcher:
    """Tells the board of one fleet's training and evaluation."""

    def __init__(self, board: Board, job: Job) -> None:
        self._board, self._job = board, job
        self._steps = max(spec.train.steps or 0 for spec in job.specs)
        self._accuracy, self._parts = "-", 0

    def on_steps(self, step: int, losses: dict[str, float]) -> None:
        mean = sum(losses.values()) / len(losses)
        note = f"loss {mean:.4f}, validation {self._accuracy}"
        self._board.show(
            self._job, f"training {self._job.title}", completed=step, total=self._steps, note=note
        )
        self._board.advance_to(self._job, step)

    def on_log(self, entries: dict[str, LogEntry]) -> None:
        shares = [entry.validation_accuracy for entry in entries.values()]
        self._accuracy = f"{min(shares):.1%} to {max(shares):.1%}"

    def on_others(self, count: int) -> None:
        """So many runs of the fleet were left to other processes, which have claimed them."""
        if count:
            self._board.warn(f"another process works on {count} of: {self._job.title}")

    def on_part(self, part: Part) -> None:
        self._parts += 1
        total = max(self._parts, len(self._job.parts))
        self._board.show(
            self._job, f"evaluating {self._job.title}", completed=self._parts, total=total
        )


def _steps(job: Job, upto: int | None = None) -> int:
    """Model-steps of a fleet, whole or up to a step."""
    counts = [spec.train.steps or 0 for spec in job.specs]
    return sum(count if upto is None else min(count, upto) for count in counts)
