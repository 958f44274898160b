"""The log of a training: a line per validation."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True, kw_only=True)
class LogEntry:
    """One line of a member's log: means since the line before, and a validation."""

    step: int
    loss: float
    validation_loss: float
    validation_accuracy: float
    learning_rate: float
    seconds: float


def log_lines(entries: Sequence[LogEntry]) -> str:
    """A log as JSON lines."""
    return "".join(json.dumps(asdict(entry)) + "\n" for entry in entries)
