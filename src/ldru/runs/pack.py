"""Carry runs from one results folder to another in one file."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from ldru.base.archive import Archive, opened_archive
from ldru.base.errors import LdruError, RunError
from ldru.base.files import check_writable, lock, sweep, whole_file, whole_folder
from ldru.base.reading import is_file, is_there
from ldru.base.safetensors import load_tensors
from ldru.runs.folder import LOG, RECORD, SETTINGS, WEIGHTS, RunFolder
from ldru.runs.packed import parts_by_run, write_pack
from ldru.runs.results import Results
from ldru.runs.run import check_weights
from ldru.runs.spec import RunSpec
from ldru.tasks.find import task_from_spec


def pack(
    results: Results, specs: Iterable[RunSpec], file: str | Path, *, has_weights: bool = True
) -> list[str]:
    """Gather the finished runs among these into a zip file: their names.

    has_weights: True passes over records that came without weights; False leaves the weights out,
        since tables need the records alone.

    >>> table = ldru.TABLES["central"].restricted(tasks=["parity_check"], columns=["ldru"])
    >>> try:
    ...     ldru.pack(ldru.Results("results"), ldru.table_runs(table), "runs.zip")
    ... except ldru.LdruError as problem:
    ...     print(problem)
    there is no finished run of these in 'results/runs'
    """
    path = Path(file)
    if is_there(path):
        raise LdruError(f"{str(path)!r} is already there and is not overwritten")
    found = {spec.name: results.files(spec.name) for spec in specs}
    runs = {
        name: files
        for name, files in found.items()
        if files is not None and (files.has(WEIGHTS) or not has_weights)
    }
    if not runs and any(found.values()):
        raise LdruError("these runs are records without weights; pack them with --records-only")
    if not runs:
        raise LdruError(f"there is no finished run of these in {str(results.runs)!r}")
    for name, files in runs.items():
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
    if not is_file(path):
        raise LdruError(f"there is no file {str(path)!r} to unpack")
    check_writable(results.runs)
    new, known = [], []
    with opened_archive(path) as archive, lock(results.runs, waits=True):  # one process at a time
        for name, parts in parts_by_run(archive).items():
            is_folder = is_there(results.runs / name)
            if is_folder or (name in results.packed and WEIGHTS not in parts):
                known.append(name)
                if is_folder:
                    _add_weights(RunFolder(results.runs / name), archive, parts)
                continue
            sweep(results.runs / name)
            with whole_folder(results.runs / name) as folder:
                for part in dict.fromkeys((SETTINGS, RECORD, *parts)):
                    (folder / part).write_bytes(archive.read(f"{name}/{part}"))
                check_unpacked(folder, name, path)
            new.append(name)
    return new, known


def _add_weights(folder: RunFolder, archive: Archive, parts: Sequence[str]) -> None:
    """Complete a record with the weights it belongs to, where the same record is packed."""
    if folder.has(WEIGHTS) or WEIGHTS not in parts:
        return
    name = folder.path.name
    shared = [part for part in (SETTINGS, RECORD, LOG) if folder.has(part) and part in parts]
    if all(folder.read(part) == archive.read(f"{name}/{part}") for part in shared):
        with whole_file(folder.path / WEIGHTS) as temporary:
            temporary.write_bytes(archive.read(f"{name}/{WEIGHTS}"))
            spec, (weights, _) = folder.spec(), load_tensors(temporary)
            source = f"{archive.path}/{name}/{WEIGHTS}"
            check_weights(spec, task_from_spec(spec.task), weights, source=source)


def check_unpacked(folder: Path, name: str, source: Path) -> None:
    """Raise unless the parts of a run can be read, and are those of that run."""
    files = RunFolder(folder)
    files.place = f"{source}/{name}"
    spec, _, _ = files.spec(), files.record(), files.log()
    if spec.name != name:
        raise RunError(f"{str(source)!r} holds {spec.name} under the name {name}")
    if files.has(WEIGHTS):
        task = task_from_spec(spec.task)
        check_weights(spec, task, files.weights(), source=f"{files.place}/{WEIGHTS}")
