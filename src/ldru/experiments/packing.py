"""Carry runs from one results folder to another in one file."""

import json
import zipfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from ldru.errors import LdruError, RunError
from ldru.experiments.records import Record
from ldru.experiments.results import Results
from ldru.experiments.run import PARTS, RECORD, SETTINGS, WEIGHTS, Run
from ldru.experiments.spec import RunSpec
from ldru.files import check_writable, whole_file, whole_folder

OTHERS = tuple(part for part in PARTS if part != WEIGHTS)


def pack(
    results: Results, specs: Iterable[RunSpec], file: str | Path, *, has_weights: bool = True
) -> list[str]:
    """Gather the finished runs among these into a zip file: their names.

    has_weights: False leaves the weights out; tables need the records alone.
    """
    file = Path(file)
    if file.exists():
        raise LdruError(f"{str(file)!r} is already there and is not overwritten")
    names = [spec.name for spec in specs if (results.runs / spec.name).is_dir()]
    if not names:
        raise LdruError(f"there is no finished run of these in {str(results.runs)!r}")
    for name in names if not has_weights else ():
        if not json.loads((results.runs / name / RECORD).read_text()).get("evaluation"):
            raise LdruError(f"{name} is not evaluated yet, so its record alone is of no use")
    bare = [name for name in names if not (results.runs / name / WEIGHTS).exists()]
    if has_weights and bare:
        raise LdruError(
            f"{bare[0]} came here without its weights; pack records alone (--records-only)"
        )
    with (
        whole_file(file) as temporary,
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for name in names:
            for part in PARTS:
                if has_weights or part != WEIGHTS:
                    archive.write(results.runs / name / part, f"{name}/{part}")
    return names


def unpack(file: str | Path, results: Results) -> tuple[list[str], list[str]]:
    """Merge packed runs into a folder: names of the new ones, and of those already there.

    A run that is already there stays as it is, but one that came as a record alone is given its
    weights, where that very record is packed with them. Each new one appears whole, and is read
    first.
    """
    if not Path(file).is_file():
        raise LdruError(f"there is no file {str(file)!r} to unpack")
    check_writable(results.runs)
    new, known = [], []
    try:
        with zipfile.ZipFile(file) as archive:
            for name in _run_names(archive, file):
                if (results.runs / name).exists():
                    known.append(name)
                    _add_weights(results.runs / name, archive)
                    continue
                with whole_folder(results.runs / name) as folder:
                    for part in PARTS:
                        if part != WEIGHTS or f"{name}/{part}" in archive.namelist():
                            (folder / part).write_bytes(archive.read(f"{name}/{part}"))
                    spec = _read(folder)
                    if spec.name != name:
                        raise RunError(f"{str(file)!r} holds {spec.name} under the name {name}")
                new.append(name)
    except (zipfile.BadZipFile, KeyError) as problem:
        raise RunError(f"{str(file)!r} is no file of packed runs: {problem}") from problem
    return new, known


def _add_weights(folder: Path, archive: zipfile.ZipFile) -> None:
    """Complete a record with the weights it belongs to."""
    packed = f"{folder.name}/{WEIGHTS}"
    if (folder / WEIGHTS).exists() or packed not in archive.namelist():
        return
    if all((folder / p).read_bytes() == archive.read(f"{folder.name}/{p}") for p in OTHERS):
        with whole_file(folder / WEIGHTS) as temporary:
            temporary.write_bytes(archive.read(packed))


def _read(folder: Path) -> RunSpec:
    """The settings of a run, whose other parts can be read too."""
    if (folder / WEIGHTS).exists():
        return Run.open(folder).spec
    try:
        settings, record = (json.loads((folder / part).read_text()) for part in (SETTINGS, RECORD))
    except ValueError as problem:
        raise RunError(
            f"the settings or the record of a run cannot be read: {problem}"
        ) from problem
    spec = RunSpec.from_json(settings)
    if Record.from_json(record).digest != spec.digest:
        raise RunError(f"the settings and the record of {spec.name} are of different runs")
    return spec


def _run_names(archive: zipfile.ZipFile, file: str | Path) -> list[str]:
    names: dict[str, None] = {}
    for entry in archive.namelist():
        parts = PurePosixPath(entry).parts
        if len(parts) != 2 or parts[0] in ("..", "/") or parts[1] not in PARTS:
            raise RunError(f"{str(file)!r} holds {entry!r}, which is no part of a run")
        names[parts[0]] = None
    return list(names)
