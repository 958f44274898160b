"""Fleets on this machine: one after the other in this process, or side by side in several."""

import multiprocessing
import os
import signal
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import NamedTuple

import torch

from ldru.base.errors import LdruError, RunError
from ldru.reproduce.board import Board, Watcher
from ldru.reproduce.plan import Job
from ldru.reproduce.work import work_on
from ldru.tasks.task import Part
from ldru.training.log import LogEntry

TRIES = 3
FAILED = "failed"


class Worker(NamedTuple):
    """A process that works on a job.

    place: which of those at once it is; it decides on the GPU.
    """

    process: BaseProcess
    job: Job
    place: int


class LocalEngine:
    """Works on jobs on this machine.

    Side by side each fleet has a process of its own, so a script that asks for that has to start
    under `if __name__ == "__main__"`.

    at_once: how many fleets, on the GPUs in turn, which they may have to share. None for as many
        as there are GPUs to choose from.
    """

    def __init__(self, *, at_once: int | None = None) -> None:
        if at_once is not None and at_once < 1:
            raise LdruError(f"at least one fleet is worked on at once, got {at_once}")
        self.at_once = at_once

    def count(self, jobs: Sequence[Job]) -> int:
        """How many of these jobs are worked on at once, at most."""
        is_free = all(job.device is None for job in jobs)
        return self.at_once or (max(1, torch.cuda.device_count()) if is_free else 1)

    def run(self, jobs: Sequence[Job], board: Board) -> None:
        """Work on every job; a worker that dies is replaced."""
        at_once = self.count(jobs)
        if at_once > 1 and len(jobs) > 1:
            _SideBySide(jobs, board, at_once=min(at_once, len(jobs))).run()
            return
        for job in jobs:
            watcher = board.start(job)
            others = work_on(job, observers=[watcher], on_part=watcher.on_part)
            watcher.on_others(others)
            board.finish(job)


class _SideBySide:
    """Some jobs at once, each in a process that reports through a pipe of its own."""

    def __init__(self, jobs: Sequence[Job], board: Board, *, at_once: int) -> None:
        self.waiting, self.board, self.at_once = list(jobs), board, at_once
        self.running: dict[Connection, Worker] = {}
        self.watchers: dict[Job, Watcher] = {}
        self.tries: Counter[Job] = Counter()
        self.threads = max(1, torch.get_num_threads() // at_once)

    def run(self) -> None:
        try:
            while self.waiting or self.running:
                while self.waiting and len(self.running) < self.at_once:
                    self._start(self.waiting.pop(0))
                for pipe in wait(list(self.running)):
                    assert isinstance(pipe, Connection)
                    self._listen(pipe)
        finally:
            for worker in self.running.values():
                worker.process.terminate()
                worker.process.join()

    def _start(self, job: Job) -> None:
        taken = {worker.place for worker in self.running.values()}
        place = min(set(range(self.at_once)) - taken)
        # A forked process could not use CUDA.
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(
            target=_work, args=(placed(job, place).to_json(), self.threads, theirs), daemon=True
        )
        process.start()
        theirs.close()
        self.running[ours] = Worker(process, job, place)
        self.tries[job] += 1
        is_again = job in self.watchers
        self.watchers[job] = Watcher(self.board, job) if is_again else self.board.start(job)

    def _listen(self, pipe: Connection) -> None:
        """Take one report, or the end of a worker."""
        _, job, _ = self.running[pipe]
        try:
            method, arguments = pipe.recv()
        except (EOFError, OSError):  # it ended, maybe in the middle of a report
            self._end(pipe)
            return
        if method == FAILED:
            raise RunError(f"the fleet of {job.specs[0].name} failed: {arguments[0]}")
        getattr(self.watchers[job], method)(*arguments)

    def _end(self, pipe: Connection) -> None:
        process, job, _ = self.running.pop(pipe)
        pipe.close()
        process.join()
        if process.exitcode == 0:
            self.board.finish(job)
        elif self.tries[job] < TRIES:
            self.waiting.insert(0, job)
        else:
            raise RunError(
                f"the fleet of {job.specs[0].name} ended {TRIES} times, last with exit status "
                f"{process.exitcode}"
            )


def placed(job: Job, place: int) -> Job:
    """A job on the GPU of its place, unless it says where."""
    gpus = torch.cuda.device_count()
    if job.device is not None or not gpus:
        return job
    return replace(job, device=f"cuda:{place % gpus}")


def _work(job: dict, threads: int, pipe: Connection) -> None:
    """Work on a job in a process of its own, and report through a pipe."""
    for name in ("SIGINT", "SIGUSR1"):  # whoever started it decides
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    torch.set_num_threads(threads)
    threading.Thread(target=_die_with_parent, daemon=True).start()
    reporter = _Reporter(pipe)
    try:
        others = work_on(Job.from_json(job), observers=[reporter], on_part=reporter.on_part)
        reporter.on_others(others)
    except LdruError as problem:
        pipe.send((FAILED, (str(problem),)))
    except Exception as problem:
        pipe.send((FAILED, (f"{type(problem).__name__}: {problem}",)))
        raise


def _die_with_parent() -> None:
    """However it ended: nobody is left to stop this process."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


class _Reporter:
    """An observer elsewhere: sends what it is told."""

    def __init__(self, pipe: Connection) -> None:
        self.pipe = pipe

    def on_steps(self, step: int, losses: dict[str, float]) -> None:
        self.pipe.send(("on_steps", (step, losses)))

    def on_log(self, entries: dict[str, LogEntry]) -> None:
        self.pipe.send(("on_log", (entries,)))

    def on_part(self, part: Part) -> None:
        self.pipe.send(("on_part", (part,)))

    def on_others(self, count: int) -> None:
        self.pipe.send(("on_others", (count,)))
