"""Fleets one after the other in this process."""

from collections.abc import Sequence

from ldru.experiments.observers import ProgressBar, counting
from ldru.experiments.reproduction import Job, work_on


class LocalEngine:
    """Works on jobs here, with a board on standard error."""

    def run(self, jobs: Sequence[Job]) -> None:
        """Work on every job in turn."""
        for number, job in enumerate(jobs, start=1):
            steps = max(spec.train.steps or 0 for spec in job.specs)
            name = f"fleet {number} of {len(jobs)}: {job.title}"
            with (
                ProgressBar(steps=steps, description=name) as bar,
                counting("evaluating", total=len(job.lengths)) as advance,
            ):
                work_on(job, observers=[bar], on_length=advance)
