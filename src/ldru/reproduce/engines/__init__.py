"""Who works on the fleets of a plan: this machine, a Ray cluster, or SLURM.

An engine has one method, `run(jobs, board)`, which returns when every job has been worked on, and
tells the board of each. A job can be worked on again at any time: finished runs are taken as they
are, an unfinished fleet goes on from its checkpoint. So a worker that dies is simply sent the job
once more.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from ldru.base.errors import LdruError, unknown_name
from ldru.reproduce.board import Board
from ldru.reproduce.engines.local import LocalEngine
from ldru.reproduce.engines.ray import RayEngine
from ldru.reproduce.engines.submitit import SubmititEngine
from ldru.reproduce.plan import Job


class Engine(Protocol):
    """Works on jobs."""

    def run(self, jobs: Sequence[Job], board: Board) -> None:
        """Return when every job is done; an error names the job that failed for good."""


ENGINES: dict[str, type[Engine]] = {
    "local": LocalEngine,
    "ray": RayEngine,
    "submitit": SubmititEngine,
}


def make_engine(
    name: str, *, at_once: int | None = None, options: Mapping[str, str | int] | None = None
) -> Engine:
    """An engine by name.

    at_once: see `LocalEngine`; the others know their machines themselves.
    options: of SLURM, see `SubmititEngine`.
    """
    if name not in ENGINES:
        raise unknown_name("engine", name, ENGINES)
    if at_once is not None and name != "local":
        raise LdruError(f"fleets at once are an option of the local engine, not of {name}")
    if options and name != "submitit":
        raise LdruError(f"{', '.join(options)}: options of SLURM are for submitit, not for {name}")
    if name == "local":
        return LocalEngine(at_once=at_once)
    return SubmititEngine(options=options) if name == "submitit" else ENGINES[name]()
