"""Fleets as SLURM jobs, by submitit."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from ldru.base.errors import MissingExtraError, RunError
from ldru.reproduce.board import Board
from ldru.reproduce.plan import Job
from ldru.reproduce.work import work_on

TRIES = 3


class SubmititEngine:
    """Submits a job array, and submits again what did not come back.

    cluster: None finds out (SLURM where there is one); "local" runs processes on this machine.
    options: of `submitit.AutoExecutor.update_parameters`, such as slurm_partition.
    """

    def __init__(
        self, *, cluster: str | None = None, options: Mapping[str, str | int] | None = None
    ) -> None:
        self.cluster, self.options = cluster, dict(options or {})

    def run(self, jobs: Sequence[Job], board: Board) -> None:
        """Work on all jobs; a job may fail three times."""
        try:
            import submitit
        except ImportError as problem:
            raise MissingExtraError(package="submitit", extra="cluster") from problem
        if not jobs:
            return
        logs = Path(jobs[0].out) / ".jobs"
        executor = submitit.AutoExecutor(folder=logs, cluster=self.cluster)
        executor.update_parameters(**{"timeout_min": 24 * 60, **self.options})
        watchers = {job: board.start(job) for job in jobs}
        waiting = list(jobs)
        for _ in range(TRIES):
            sent = executor.map_array(_work, [job.to_json() for job in waiting])
            problems: dict[Job, Exception] = {}
            for job, answer in zip(waiting, sent, strict=True):
                trouble = answer.exception()  # waits
                if trouble is None:
                    watchers[job].on_others(answer.result())
                    board.finish(job)
                else:
                    problems[job] = trouble
            waiting = list(problems)
            if not waiting:
                return
        last = problems[waiting[0]]
        lines = str(last).strip().splitlines()
        reason = next((line for line in reversed(lines) if "Error" in line), lines[0])
        raise RunError(
            f"the fleet of {waiting[0].specs[0].name} failed {TRIES} times, last with: {reason}; "
            f"its logs are in {str(logs)!r}"
        ) from last


def _work(job: dict) -> int:
    return work_on(Job.from_json(job))
