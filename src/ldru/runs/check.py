"""Whether the runs of a folder are whole: every file is read, and compared with the others."""

import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ldru.base.archive import Archive, opened_archive
from ldru.base.errors import LdruError
from ldru.base.json import Json
from ldru.base.reading import explained, is_folder, is_there
from ldru.base.tabular import Tabular
from ldru.runs.folder import PARTS, WEIGHTS, RunFolder
from ldru.runs.pack import check_unpacked
from ldru.runs.packed import parts_by_run
from ldru.runs.run import check_weights
from ldru.tasks.find import known_task, task_from_spec
from ldru.training.checkpoint import Checkpoint

WHOLE = "whole"


@dataclass(frozen=True, kw_only=True)
class CheckedRun:
    """A run, an unfinished training or a pack; state: "whole" and the like, or what is wrong."""

    name: str
    state: str
    is_whole: bool


@dataclass(frozen=True, kw_only=True)
class Checks(Tabular):
    """The outcome of a check, with a row for each run, unfinished training and packed run.

    >>> ldru.Checks(runs=()).is_whole
    True
    """

    runs: tuple[CheckedRun, ...]

    @property
    def is_whole(self) -> bool:
        """Whether nothing is wrong."""
        return all(run.is_whole for run in self.runs)

    def rows(self) -> list[dict[str, Json]]:
        """A row for each."""
        return [{"run": run.name, "state": run.state} for run in self.runs]


def check_runs(folder: str | Path = "runs") -> Checks:
    """Read every file of the runs in a folder, and say which runs are whole.

    Settings, record and log must be readable and belong together; weights must be those that were
    written, finite, and of the shapes that the settings say. Checkpoints of unfinished trainings
    are read too, and runs in packs (.zip).

    folder: of run folders, or of results, with `runs` and `packed` in it.

    >>> runs = ldru.train("parity_check", model=ldru.LDRUSpec(dim=4), steps=2, out="checked")
    >>> [row["state"] for row in ldru.check_runs("checked").rows()]
    ['whole']
    """
    path = Path(folder)
    if not is_folder(path):
        raise LdruError(f"there is no folder {str(path)!r}; give the one that runs were written to")
    found: list[CheckedRun] = []
    for place in (path, path / "runs", path / "packed"):
        for inner in _sorted(place) if is_folder(place) else []:
            if inner.suffix == ".zip":
                found += _check_pack(inner)
            elif inner.name.startswith(".unfinished-"):
                found.append(_checked(inner.name, partial(_check_unfinished, inner)))
            elif _is_run(inner):
                found.append(_checked(inner.name, partial(_check_run, inner)))
    return Checks(runs=tuple(found))


def _sorted(folder: Path) -> list[Path]:
    with explained(folder):
        return sorted(folder.iterdir())


def _is_run(path: Path) -> bool:
    if path.name.startswith(".") or not is_folder(path):
        return False
    is_named = re.fullmatch(r".*-seed\d+-[0-9a-f]{8}", path.name) is not None
    return is_named or any(is_there(path / part) for part in PARTS)


def _checked(name: str, check: Callable[[], str]) -> CheckedRun:
    try:
        return CheckedRun(name=name, state=check(), is_whole=True)
    except LdruError as problem:
        return CheckedRun(name=name, state=str(problem), is_whole=False)


def _check_run(path: Path) -> str:
    files = RunFolder(path)
    spec, _, _ = files.spec(), files.record(), files.log()
    if not files.has(WEIGHTS):
        return f"{WHOLE}, without weights"
    weights = files.weights()
    if spec.task.machine is None and known_task(spec.task.name) is None:
        return f"{WHOLE}, as far as is known without its data set"
    check_weights(spec, task_from_spec(spec.task), weights, source=str(path / WEIGHTS))
    return WHOLE


def _check_unfinished(path: Path) -> str:
    checkpoint = Checkpoint(path)
    return f"unfinished, step {checkpoint.load().step:,}" if checkpoint.exists() else "unfinished"


def _check_pack(path: Path) -> list[CheckedRun]:
    try:
        with opened_archive(path) as archive:
            return list(_checked_entries(archive))
    except LdruError as problem:
        return [CheckedRun(name=path.name, state=str(problem), is_whole=False)]


def _checked_entries(archive: Archive) -> Iterator[CheckedRun]:
    """Packed runs are unpacked, one at a time, and checked as `unpack` checks them."""
    for name, parts in parts_by_run(archive).items():
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / name
            place.mkdir()
            for part in parts:
                (place / part).write_bytes(archive.read(f"{name}/{part}"))

            check = partial(_check_entry, place, name, archive.path)
            yield _checked(f"{archive.path.name}/{name}", check)


def _check_entry(place: Path, name: str, source: Path) -> str:
    check_unpacked(place, name, source)
    return WHOLE
