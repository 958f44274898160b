"""Fleets one after the other in this process."""

from collections.abc import Sequence

from ldru.experiments.board import Board
from ldru.experiments.reproduction import Job, work_on


class LocalEngine:
    """Works on jobs here."""

    def run(self, jobs: Sequence[Job], board: Board) -> None:
        """Work on every job in turn."""
        for job in jobs:
            watcher = board.start(job)
            work_on(job, observers=[watcher], on_length=watcher.on_length)
            board.finish(job)
