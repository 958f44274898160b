"""A folder of runs: what of a table is there, what is missing, and who is working on it."""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from ldru.errors import LdruError, RunError
from ldru.evaluation import Evaluation, LengthResult, Part
from ldru.experiments.records import Record
from ldru.experiments.run import RECORD, SETTINGS, WEIGHTS
from ldru.experiments.spec import RunSpec
from ldru.files import check_writable, lock

WORDS = 512
"""Test words of each length, as in the paper."""


class State(StrEnum):
    """What there is of a run."""

    DONE = "done"
    NOT_EVALUATED = "not evaluated"
    MISSING = "missing"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, kw_only=True)
class Found:
    """A run as it was found; reason: why it cannot be read."""

    state: State
    record: Record | None = None
    reason: str = ""


class Results:
    """Run folders under `folder`/runs, by the names of their settings."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.runs = self.folder / "runs"

    def find(self, spec: RunSpec, lengths: Iterable[Part]) -> Found:
        """What there is of a run that should be evaluated at these lengths or test sets."""
        folder = self.runs / spec.name
        if not folder.exists():
            return Found(state=State.MISSING)
        try:
            record = _read(folder, spec)
        except (LdruError, OSError, ValueError) as problem:
            return Found(state=State.UNREADABLE, reason=f"{folder}: {problem}")
        known: dict[Part, LengthResult] = record.evaluation.by_length if record.evaluation else {}
        if all(n in known and (isinstance(n, str) or known[n].words == WORDS) for n in lengths):
            return Found(state=State.DONE, record=record)
        return Found(state=State.NOT_EVALUATED, record=record)

    def evaluation(self, spec: RunSpec, lengths: Sequence[Part]) -> Evaluation | None:
        """The evaluation of a finished run, None where there is none."""
        found = self.find(spec, lengths)
        return found.record.evaluation if found.state is State.DONE and found.record else None

    def has_weights(self, spec: RunSpec) -> bool:
        """Whether a run is more than its record, which is all that tables need."""
        return (self.runs / spec.name / WEIGHTS).exists()

    @contextmanager
    def claimed(self, specs: Sequence[RunSpec]) -> Iterator[list[RunSpec]]:
        """Those of the runs that no other process works on, held for the length of a block."""
        claims = self.folder / ".claims"
        check_writable(claims)
        with ExitStack() as stack:
            yield [spec for spec in specs if stack.enter_context(lock(claims / spec.name))]


def _read(folder: Path, spec: RunSpec) -> Record:
    settings = RunSpec.from_json(json.loads((folder / SETTINGS).read_text()))
    record = Record.from_json(json.loads((folder / RECORD).read_text()))
    if settings.digest != spec.digest or record.digest != spec.digest:
        raise RunError(
            f"its settings or record belong to the run {record.digest[:8]}, not {spec.digest[:8]}"
        )
    return record
