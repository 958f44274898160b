"""A results folder: what of a table is there, what is missing, and who is working on it.

Runs lie in folders under `runs/`. Records alone may be packed, many to a file, under `packed/`.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path

from ldru.base.errors import LdruError, RunError
from ldru.base.files import check_writable, lock
from ldru.base.reading import is_there
from ldru.evaluation.accuracy import Evaluation, PartResult
from ldru.evaluation.lengths import WORDS
from ldru.runs.folder import WEIGHTS, RunFiles, RunFolder
from ldru.runs.packed import PackedRun, read_pack
from ldru.runs.record import Record
from ldru.runs.spec import RunSpec
from ldru.tasks.task import Part


class State(StrEnum):
    """How far a run has come."""

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
    """The runs of a results folder, by the names of their settings.

    >>> ldru.Results("no/such/folder").packed
    {}
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.runs = self.folder / "runs"
        self.packs = self.folder / "packed"

    @cached_property
    def packed(self) -> dict[str, PackedRun]:
        """The records in packs, by name."""
        packs = [read_pack(path) for path in sorted(self.packs.glob("*.zip"))]
        return {name: run for pack in packs for name, run in pack.items()}

    def files(self, name: str) -> RunFiles | None:
        """The files of a run by its name; a folder comes before a packed record."""
        if is_there(self.runs / name):
            return RunFolder(self.runs / name)
        return self.packed.get(name)

    def find(self, spec: RunSpec, parts: Iterable[Part], *, words: int = WORDS) -> Found:
        """Find a run that should be evaluated at these lengths or test sets.

        words: of each length, at least.
        """
        files = self.files(spec.name)
        if files is None:
            return Found(state=State.MISSING)
        try:
            record = files.record()
            if record.digest != spec.digest:
                raise RunError(f"it belongs to the run {record.digest[:8]}, not {spec.digest[:8]}")
        except LdruError as problem:
            return Found(state=State.UNREADABLE, reason=f"{files.place}: {problem}")
        known: dict[Part, PartResult] = record.evaluation.by_part if record.evaluation else {}
        if all(n in known and (isinstance(n, str) or known[n].words >= words) for n in parts):
            return Found(state=State.DONE, record=record)
        if isinstance(files, PackedRun):  # without weights, it has to be trained again
            return Found(state=State.MISSING, record=record)
        return Found(state=State.NOT_EVALUATED, record=record)

    def recorded_evaluation(
        self, spec: RunSpec, parts: Sequence[Part], *, words: int = WORDS
    ) -> Evaluation | None:
        """The evaluation of a finished run, None where there is none; see `find`."""
        found = self.find(spec, parts, words=words)
        return found.record.evaluation if found.state is State.DONE and found.record else None

    def has_weights(self, spec: RunSpec) -> bool:
        """Whether a run is more than its record, which is all that tables need."""
        files = self.files(spec.name)
        return files is not None and files.has(WEIGHTS)

    @contextmanager
    def claimed(self, specs: Sequence[RunSpec]) -> Iterator[list[RunSpec]]:
        """Those of the runs that no other process works on, held for the length of a block."""
        claims = self.folder / ".claims"
        check_writable(claims)
        with ExitStack() as stack:
            yield [spec for spec in specs if stack.enter_context(lock(claims / spec.name))]
