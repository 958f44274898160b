"""The files of a run: the one place that reads and writes them.

A run folder holds settings.json, record.json, weights.safetensors and log.jsonl, and figures once
it was evaluated. It appears whole, by one rename. A run may also be a record alone, without
weights, and a shipped one has no log.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from torch import Tensor

from ldru.base.errors import LdruError, RunError
from ldru.base.files import lock, sweep, whole_folder, write_text
from ldru.base.reading import explained, is_there, parse_json, read_bytes
from ldru.base.safetensors import load_tensors, save_tensors
from ldru.runs.record import Record
from ldru.runs.spec import RunSpec
from ldru.training.log import LogEntry, log_lines, parse_log

Parsed = TypeVar("Parsed")
SETTINGS, RECORD, WEIGHTS, LOG = "settings.json", "record.json", "weights.safetensors", "log.jsonl"
PARTS = (SETTINGS, RECORD, WEIGHTS, LOG)


class RunFiles(ABC):
    """The files of one run, wherever they lie.

    place: what errors call it.
    """

    place: str

    @abstractmethod
    def has(self, part: str) -> bool:
        """Whether a part is there."""

    @abstractmethod
    def read(self, part: str) -> bytes:
        """The bytes of a part."""

    def spec(self) -> RunSpec:
        """The settings of the run."""
        return self._parsed(SETTINGS, RunSpec.from_json)

    def record(self) -> Record:
        """The record, which must belong to the settings beside it."""
        record, spec = self._parsed(RECORD, Record.from_json), self.spec()
        if record.digest != spec.digest:
            raise RunError(
                f"{self.place!r} holds settings and a record of different runs, "
                f"{spec.digest[:8]} and {record.digest[:8]}"
            )
        return record

    def log(self) -> list[LogEntry]:
        """One entry per validation; empty where no log was kept."""
        if not self.has(LOG):
            return []
        content = self.read(LOG)
        with explained(f"{self.place}/{LOG}"):
            return parse_log(content)

    def _parsed(self, part: str, parse: Callable[[dict], Parsed]) -> Parsed:
        """Read and parse a JSON file."""
        name, content = f"{self.place}/{part}", self.read(part)
        with explained(name):
            data = parse_json(content)
        if not isinstance(data, dict):
            raise RunError(f"{name!r} holds no JSON object")
        try:
            return parse(data)
        except LdruError as problem:
            raise type(problem)(f"{name!r}: {problem}") from problem


class RunFolder(RunFiles):
    """A run in a folder of its own."""

    def __init__(self, path: Path) -> None:
        self.path, self.place = path, str(path)

    def has(self, part: str) -> bool:
        return is_there(self.path / part)

    def read(self, part: str) -> bytes:
        return read_bytes(
            self.path / part, limit="tensor_bytes" if part == WEIGHTS else "text_bytes"
        )

    def weights(self) -> dict[str, Tensor]:
        """The weights by their names in the model."""
        tensors, _ = load_tensors(self.path / WEIGHTS)
        return tensors

    def check_whole(self) -> None:
        """Raise unless a model can be made of it."""
        missing = [part for part in (SETTINGS, RECORD, WEIGHTS) if not self.has(part)]
        if missing == [WEIGHTS]:
            raise RunError(
                f"{self.place!r} is a run without its weights, a record for tables; nothing can be "
                "asked of it here"
            )
        if missing:
            raise RunError(
                f"{self.place!r} is not a whole run folder: {', '.join(missing)} missing; move it "
                "away and train again, or give the folder of a finished run"
            )

    def write(
        self, spec: RunSpec, record: Record, log: list[LogEntry], weights: Mapping[str, Tensor]
    ) -> None:
        """Write a new folder, which must not exist; without a log where that is empty."""
        if is_there(self.path):
            raise LdruError(f"{self.place!r} is already there and is not overwritten")
        with whole_folder(self.path) as parts:
            (parts / SETTINGS).write_text(json.dumps(spec.to_json(), indent=2) + "\n")
            (parts / RECORD).write_text(json.dumps(record.to_json()) + "\n")
            if log:
                (parts / LOG).write_text(log_lines(log))
            save_tensors(parts / WEIGHTS, weights, {"run": spec.digest})

    def sweep(self) -> None:
        """Remove what processes that were killed have left of writing the record."""
        with lock(self.path, waits=True):
            sweep(self.path / RECORD)

    def write_record(self, record: Record) -> None:
        """Put a record in the place of the one before."""
        write_text(self.path / RECORD, json.dumps(record.to_json()) + "\n")
