"""The log of a training: a line per validation."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from ldru.base.json import Json, from_json
from ldru.base.reading import parse_json


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


def log_entries(data: Json) -> list[LogEntry]:
    """A log from JSON values, a list of objects."""
    if not isinstance(data, list):
        raise ValueError("a log is a list of validations")
    return [from_json(LogEntry, entry) for entry in data]


def parse_log(text: bytes) -> list[LogEntry]:
    """A log from what `log_lines` gave."""
    return log_entries([parse_json(line) for line in text.decode("utf-8").splitlines()])
