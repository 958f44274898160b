"""Carry runs from one results folder to another in one file."""

import zipfile
from collections.abc import Iterable
from pathlib import Path

from ldru.base.errors import LdruError, RunError
from ldru.base.files import check_writable, whole_file, whole_folder
from ldru.runs.folder import LOG, RECORD, SETTINGS, WEIGHTS, RunFiles, RunFolder
from ldru.runs.packed import parts_by_run, write_pack
from ldru.runs.results import Results
from ldru.runs.run import Run
from ldru.runs.spec import RunSpec


def pack(
    results: Results, specs: Iterable[RunSpec], file: str | Path, *, has_weights: bool = True
) -> list[str]:
    """Gather the finished runs among these into a zip file: their names.

    has_weights: False leaves the weights out; tables need the records alone.

    >>> table = ldru.TABLES["central"].restricted(tasks=["parity_check"], columns=["ldru"])
    >>> try:
    ...     ldru.pack(ldru.Results("results"), ldru.table_runs(table), "runs.zip")
    ... except ldru.LdruError as problem:
    ...     print(problem)
    there is no finished run of these in 'results/runs'
    """
    path = Path(file)
    if path.exists():
        raise LdruError(f"{str(path)!r} is already there and is not overwritten")
    found = {spec.name: results.files(spec.name) for spec in specs}
    runs: dict[str, RunFiles] = {name: files for name, files in found.items() if files is not None}
    if not runs:
        raise LdruError(f"there is no finished run of these in {str(results.runs)!r}")
    for name, files in runs.items():
        if has_weights and not files.has(WEIGHTS):
            raise LdruError(
                f"{name} came here without its weights; pack records alone (--records-only)"
            )
        if not has_weights and files.record().evaluation is None:
            raise LdruError(f"{name} is not evaluated yet, so its record alone is of no use")
    write_pack(path, runs, has_weights=has_weights)
    return sorted(runs)


def unpack(file: str | Path, results: Results) -> tuple[list[str], list[str]]:
    """Merge packed runs into a folder: names of the new ones, and of those already there.

    A run that is already there stays as it is, but one that came as a record alone is given its
    weights, where that very record is packed with them. Each new one appears whole, and is read
    first.

    >>> try:
    ...     ldru.unpack("runs.zip", ldru.Results("results"))
    ... except ldru.LdruError as problem:
    ...     print(problem)
    there is no file 'runs.zip' to unpack
    """
    path = Path(file)
    if not path.is_file():
        raise LdruError(f"there is no file {str(path)!r} to unpack")
    check_writable(results.runs)
    new, known = [], []
    try:
        with zipfile.ZipFile(path) as archive:
            for name, parts in parts_by_run(archive, path).items():
                is_folder = (results.runs / name).exists()
                if is_folder or (name in results.packed and WEIGHTS not in parts):
                    known.append(name)
                    if is_folder:
                        _add_weights(results.runs / name, archive)
                    continue
                with whole_folder(results.runs / name) as folder:
                    for part in dict.fromkeys((SETTINGS, RECORD, *parts)):
                        (folder / part).write_bytes(archive.read(f"{name}/{part}"))
                    spec = _checked(folder)
                    if spec.name != name:
                        raise RunError(f"{str(path)!r} holds {spec.name} under the name {name}")
                new.append(name)
    except (zipfile.BadZipFile, KeyError) as problem:
        raise RunError(f"{str(path)!r} is no file of packed runs: {problem}") from problem
    return new, known


def _add_weights(folder: Path, archive: zipfile.ZipFile) -> None:
    """Complete a record with the weights it belongs to."""
    packed = f"{folder.name}/{WEIGHTS}"
    if (folder / WEIGHTS).exists() or packed not in archive.namelist():
        return
    entries = [f"{folder.name}/{part}" for part in (SETTINGS, RECORD, LOG)]
    if all((folder.parent / entry).read_bytes() == archive.read(entry) for entry in entries):
        with whole_file(folder / WEIGHTS) as temporary:
            temporary.write_bytes(archive.read(packed))


def _checked(folder: Path) -> RunSpec:
    """The settings of a run, whose other parts can be read too."""
    if (folder / WEIGHTS).exists():
        return Run.open(folder).spec
    files = RunFolder(folder)
    files.record()
    return files.spec()
