"""Run cases in processes of their own, under limits of time and memory, and count.

Processes are forked from one that has imported everything, so that one that dies costs little.
"""

import multiprocessing
import os
import resource
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from attack.attack import Attack, Finding, Tally
from attack.material import Material
from attack.sealing import seal
from ldru.base.errors import LdruError

MEMORY = 2**30
"""Bytes that a case may take beyond what a worker has at its start."""

SHOWN = 300
"""Letters of a case that a finding shows."""

NUMBER, BEGAN, SUCCEEDED, REFUSED, SLOWEST, PEAK, IS_DONE = range(7)
"""What a worker notes in memory that outlives it."""


def run_attack(
    attack: Attack,
    material: Material,
    *,
    seed: int,
    cases: int | None = None,
    every: int = 1,
    workers: int = 1,
    deadline: float | None = None,
    on_progress: Callable[[int], None] = lambda done: None,
) -> Tally:
    """Run an attack's cases.

    every: run only one of so many.
    deadline: when to stop, by `time.monotonic`.
    """
    began = time.monotonic()
    total = attack.count(material)
    total = total if cases is None else min(cases, total)
    crew = [
        _Worker(attack, material, seed, range(first, total, every * workers), deadline=deadline)
        for first in range(0, min(total, every * workers), every)
    ]
    for worker in crew:
        worker.start()
    while any(worker.is_working for worker in crew):
        wait([worker.pipe for worker in crew if worker.is_working], timeout=0.25)
        for worker in crew:
            worker.look_after()
        on_progress(sum(worker.done for worker in crew))
    return Tally(
        attack=attack.name,
        about=attack.about,
        cases=sum(worker.done for worker in crew),
        succeeded=sum(int(worker.notes[SUCCEEDED]) for worker in crew),
        refused=sum(int(worker.notes[REFUSED]) for worker in crew),
        findings=tuple(finding for worker in crew for finding in worker.findings),
        slowest=max((worker.notes[SLOWEST] for worker in crew), default=0.0),
        memory=int(max((worker.notes[PEAK] for worker in crew), default=0)),
        seconds=time.monotonic() - began,
    )


def replay(attack: Attack, material: Material, *, seed: int, number: int) -> None:
    """Run one case in this process; what it raises is not caught."""
    case = attack.case(number, seed=seed, material=material)
    print(f"{attack.name}:{seed}:{number}\n{case!r}", flush=True)
    with tempfile.TemporaryDirectory(prefix="attack-") as folder:
        os.chdir(folder)
        attack.attempt(case, material, Path(folder))


@dataclass
class _Worker:
    """A process that works on numbers of an attack, and is replaced when it dies."""

    attack: Attack
    material: Material
    seed: int
    numbers: range
    deadline: float | None
    findings: list[Finding] = field(default_factory=list)
    is_working: bool = True

    def __post_init__(self) -> None:
        self.notes: Any = multiprocessing.get_context("fork").Array("d", 7, lock=False)
        self.notes[NUMBER] = self.numbers.start - self.numbers.step

    @property
    def done(self) -> int:
        return int(self.notes[SUCCEEDED] + self.notes[REFUSED]) + len(self.findings)

    def start(self) -> None:
        """Begin, or go on behind the case that ended the one before."""
        left = range(
            int(self.notes[NUMBER]) + self.numbers.step, self.numbers.stop, self.numbers.step
        )
        self.notes[BEGAN] = time.monotonic()
        context = multiprocessing.get_context("fork")
        self.pipe: Connection
        self.pipe, theirs = context.Pipe(duplex=False)
        self.process: BaseProcess = context.Process(target=self._work, args=(left, theirs))
        self.process.start()
        theirs.close()

    def look_after(self) -> None:
        """Take what it found; end a case that takes too long; replace a worker that died."""
        if not self.is_working:
            return
        is_late = time.monotonic() - self.notes[BEGAN] > self.attack.seconds
        if is_late:
            self.process.kill()
            self.process.join()
        while self.pipe.poll():
            try:
                number, what = self.pipe.recv()
            except (EOFError, OSError):
                break
            self.found(number, what)
        if self.process.is_alive():
            return
        self.process.join()
        self.pipe.close()
        if self.notes[IS_DONE]:
            self.is_working = False
            return
        ended = f"ended its process with exit code {self.process.exitcode}"
        late = f"took more than {self.attack.seconds:g} s"
        self.found(int(self.notes[NUMBER]), late if is_late else ended)
        self.start()

    def found(self, number: int, what: str) -> None:
        """Note a finding."""
        case = repr(self.attack.case(number, seed=self.seed, material=self.material))
        shown = case if len(case) <= SHOWN else f"{case[:SHOWN]} ... ({len(case)} letters)"
        self.findings.append(
            Finding(attack=self.attack.name, seed=self.seed, number=number, what=what, case=shown)
        )

    def _work(self, numbers: range, pipe: Connection) -> None:
        """The cases, one by one; runs in the forked process."""
        parent, home = os.getppid(), Path(tempfile.mkdtemp(dir=self.material.folder))
        os.environ["TMPDIR"] = tempfile.tempdir = str(home)
        os.chdir(home)
        silence()
        start = _limit_memory()
        if self.attack.is_sealed:
            seal(home)
        for number in numbers:
            if self.deadline is not None and time.monotonic() > self.deadline:
                break
            if os.getppid() != parent:
                return  # nobody counts any more
            self.notes[NUMBER], self.notes[BEGAN] = number, time.monotonic()
            box = home / "box"
            box.mkdir()
            os.chdir(box)
            problem = self._attempt(number, box)
            os.chdir(home)
            shutil.rmtree(box)
            if problem is not None:
                pipe.send((number, problem))
            taken = time.monotonic() - self.notes[BEGAN]
            self.notes[SLOWEST] = max(self.notes[SLOWEST], taken)
            self.notes[PEAK] = max(self.notes[PEAK], _peak() - start)
        self.notes[IS_DONE] = True

    def _attempt(self, number: int, box: Path) -> str | None:
        """Run one case; what is wrong with how it ended, if anything is."""
        case = self.attack.case(number, seed=self.seed, material=self.material)
        try:
            self.attack.attempt(case, self.material, box)
        except LdruError:
            self.notes[REFUSED] += 1
        except BaseException as problem:
            return describe(problem)
        else:
            self.notes[SUCCEEDED] += 1
        return None


def describe(problem: BaseException) -> str:
    """An exception in one line, with the innermost line of the library that it went through."""
    frames = traceback.extract_tb(problem.__traceback__)
    ours = [frame for frame in frames if f"{os.sep}ldru{os.sep}" in frame.filename]
    where = f" at {Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else ""
    return f"{type(problem).__name__}: {str(problem)[:120]}{where}".replace("\n", " ")


def silence() -> None:
    """Send what the library prints to nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    sys.stdin = open(os.devnull)  # noqa: SIM115 - until the process ends


def _limit_memory() -> int:
    """Let this process have so much more memory than it has now; its peak up to now."""
    pages = int(Path("/proc/self/statm").read_text().split()[5])  # data and stack
    limit = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    return _peak()


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
