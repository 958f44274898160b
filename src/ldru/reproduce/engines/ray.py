"""Fleets on a Ray cluster, local or by address."""

from collections.abc import Sequence

from ldru.base.errors import MissingExtraError, RunError
from ldru.reproduce.board import Board
from ldru.reproduce.plan import Job
from ldru.reproduce.work import work_on

TRIES = 3


class RayEngine:
    """Sends each job to a worker of the cluster; a worker that dies is replaced.

    address: of a running cluster; None starts one on this machine.
    gpus: that each worker holds.
    """

    def __init__(self, *, address: str | None = None, gpus: float | None = None) -> None:
        self.address, self.gpus = address, gpus

    def run(self, jobs: Sequence[Job], board: Board) -> None:
        """Work on all jobs at once, as far as the cluster reaches."""
        try:
            import ray
        except ImportError as problem:
            raise MissingExtraError(package="ray", extra="cluster") from problem
        ray.init(address=self.address, ignore_reinit_error=True, log_to_driver=False)
        gpus = self.gpus
        if gpus is None:
            gpus = 1 if ray.cluster_resources().get("GPU", 0) >= 1 else 0
        work = ray.remote(num_cpus=1, num_gpus=gpus, max_retries=TRIES - 1)(_work)
        waiting = {work.remote(job.to_json()): job for job in jobs}
        watchers = {job: board.start(job) for job in jobs}
        while waiting:
            (ready,), _ = ray.wait(list(waiting), num_returns=1)
            job = waiting.pop(ready)
            try:
                watchers[job].on_others(ray.get(ready))
            except ray.exceptions.RayError as problem:
                raise RunError(f"the fleet of {job.specs[0].name} failed: {problem}") from problem
            board.finish(job)


def _work(job: dict) -> int:
    return work_on(Job.from_json(job))
