"""Work that takes longer than a request: an extraction, or one training at a time."""

import json
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from ldru.analysis.extract import extract
from ldru.analysis.extraction import Extraction, Trial
from ldru.base.errors import LdruError
from ldru.base.json import Json
from ldru.runs.run import Run
from ldru.web.limits import (
    LARGEST_BATCH,
    LARGEST_DIM,
    LONGEST_TRAINING_WORD,
    LONGEST_WORD,
    MOST_STEPS,
    RequestError,
)

SECONDS_TO_STOP = 20
BOUNDS = {
    "dim": (4, LARGEST_DIM, 24),
    "steps": (10, MOST_STEPS, 1_000),
    "batch_size": (4, LARGEST_BATCH, 64),
    "max_length": (4, LONGEST_TRAINING_WORD, 20),
    "seed": (0, 1_000_000, 0),
}
"""Settings of a training: least, most, and what is taken where none is given."""


def event(kind: str, data: Json) -> str:
    """A server-sent event."""
    return f"event: {kind}\ndata: {json.dumps(data)}\n\n"


class Proofs:
    """Extractions, one at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def events(self, run: Run) -> Iterator[str]:
        """What comes of an extraction: a row for each tolerance, then the verdict."""
        if not self._lock.acquire(blocking=False):
            raise RequestError("another extraction is running; try again when it is done")
        rows: queue.Queue[str | None] = queue.Queue()

        def work() -> None:
            try:
                found = extract(
                    run.model,
                    run.language,
                    on_trial=lambda trial: rows.put(event("trial", trial_row(trial))),
                )
                rows.put(event("verdict", verdict_row(run, found)))
            except LdruError as problem:
                rows.put(event("problem", {"error": str(problem)}))
            finally:
                rows.put(None)
                self._lock.release()

        threading.Thread(target=work, daemon=True).start()
        return iter(rows.get, None)


def trial_row(trial: Trial) -> dict[str, Json]:
    """The outcome at one tolerance."""
    return {
        "tolerance": trial.tolerance,
        "states": trial.num_states,
        "closed": trial.verdict.is_closed,
        "right": trial.verdict.is_correct,
        "wrong_length": trial.verdict.wrong_length,
    }


def verdict_row(run: Run, found: Extraction) -> dict[str, Json]:
    """The verdict in a sentence, and the shortest wrong word where its tree can be shown."""
    wrong = found.wrong
    if wrong is None and found.chosen is not None:
        wrong = found.chosen.verdict.wrong
    machine = run.language.machine
    can_show = wrong is not None and len(wrong) <= LONGEST_WORD
    return {
        "summary": found.summary,
        "correct": found.is_correct and found.wrong is None,
        "states": None if found.chosen is None else found.chosen.num_states,
        "wrong": machine.decode(list(wrong)) if can_show and wrong is not None else None,
    }


class Training:
    """One training at a time, in a process of its own that keeps a run folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._events: list[str] = []
        self._changed = threading.Condition()
        self._settings: dict[str, Json] | None = None

    @property
    def is_running(self) -> bool:
        """Whether a training is under way."""
        return self._process is not None and self._process.poll() is None

    def start(self, given: dict[str, Json]) -> dict[str, Json]:
        """Begin a training; the same settings go on where they were stopped."""
        settings = checked(given)
        with self._lock:
            if self.is_running:
                raise RequestError("a training is running; stop it first")
            self._settings, self._events = settings, []
            self._process = subprocess.Popen(
                [sys.executable, "-m", "ldru.web.trainer", str(self.folder), json.dumps(settings)],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                start_new_session=True,
            )
            threading.Thread(target=self._listen, args=[self._process], daemon=True).start()
        return settings

    def stop(self) -> None:
        """End a training as Ctrl-C does: what was reached is kept."""
        with self._lock:
            if self._process is None or not self.is_running:
                raise RequestError("no training is running")
            self._process.send_signal(signal.SIGINT)

    def close(self) -> None:
        """End a training because the server ends."""
        if self._process is not None and self.is_running:
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(SECONDS_TO_STOP)
            except subprocess.TimeoutExpired:
                self._process.kill()

    def events(self) -> Iterator[str]:
        """All events of the last training so far, and those to come."""
        seen, listened = 0, self._events
        while True:
            with self._changed:
                if seen == len(listened) and listened is self._events and self.is_running:
                    self._changed.wait(timeout=1)
            new, seen = listened[seen:], len(listened)
            yield from new
            if not new and (listened is not self._events or not self.is_running):
                return

    def _listen(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        events = self._events
        with process.stdout as lines:
            for line in lines:
                kind, _, data = line.partition(" ")
                with self._changed:
                    events.append(f"event: {kind}\ndata: {data.strip()}\n\n")
                    self._changed.notify_all()
        process.wait()
        with self._changed:
            self._changed.notify_all()


def checked(given: dict[str, Json]) -> dict[str, Json]:
    """The settings of a training, all within their bounds."""
    settings: dict[str, Json] = {}
    for name, (low, high, usual) in BOUNDS.items():
        value = given.get(name, usual)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise RequestError(f"{name} is a whole number from {low:,} to {high:,}, got {value!r}")
        settings[name] = value
    for name in ("task", "regex", "alphabet"):
        value = given.get(name)
        if value is not None and not isinstance(value, str):
            raise RequestError(f"{name} is text, got {value!r}")
        settings[name] = value or None
    return settings
