"""Training for the page: one at a time, in a process of its own that keeps a run folder."""

import json
import signal
import subprocess
import sys
import threading
from pathlib import Path

from ldru.base.imports import imported
from ldru.base.json import Json
from ldru.web.events import Story
from ldru.web.limits import RequestError

MINUTES = 30
"""How long a training may take; then it is stopped, and may be gone on with."""

SECONDS_TO_STOP = 20
BOUNDS = {
    "dim": (4, 64, 24),
    "steps": (10, 20_000, 1_000),
    "batch_size": (4, 256, 64),
    "max_length": (4, 40, 20),
    "seed": (0, 1_000_000, 0),
}
"""Settings of a training: least, most, and what is taken where none is given."""


class Training:
    """One training at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.story = Story()
        self.story.is_over = True
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None

    def start(self, given: dict[str, Json]) -> dict[str, Json]:
        """Begin a training; the same settings go on where they were stopped."""
        settings = checked(given)
        with self._lock:
            if not self.story.is_over:
                raise RequestError("a training is running; stop it first")
            self.story = Story()
            self.story.tell("begin", settings)
            given_on = [str(self.folder), json.dumps(settings), *imported()]
            self._process = subprocess.Popen(
                [sys.executable, "-m", "ldru.web.trainer", *given_on],
                stdout=subprocess.PIPE,
                text=True,
                start_new_session=True,  # Ctrl-C in the terminal is for the server
            )
            threading.Thread(target=_retell, args=[self._process, self.story], daemon=True).start()
        return settings

    def stop(self) -> None:
        """End a training as Ctrl-C does: what was reached is kept."""
        with self._lock:
            if self._process is None or self.story.is_over:
                raise RequestError("no training is running")
            self._process.send_signal(signal.SIGINT)

    def close(self) -> None:
        """End a training because the server ends."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(SECONDS_TO_STOP)
            except subprocess.TimeoutExpired:
                self._process.kill()


def _retell(process: "subprocess.Popen[str]", story: Story) -> None:
    """Pass on what a training prints, an event a line, until it ends."""
    assert process.stdout is not None
    limit = threading.Timer(60 * MINUTES, process.send_signal, [signal.SIGINT])
    limit.daemon = True
    limit.start()
    try:
        with process.stdout as lines:
            for line in lines:
                kind, _, data = line.partition(" ")
                story.tell(kind, json.loads(data))
        if process.wait():
            told = f"the training ended with exit code {process.returncode}; the terminal says why"
            story.tell("problem", {"error": told})
    finally:
        limit.cancel()
        story.is_over = True


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
