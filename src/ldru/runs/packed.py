"""Runs in a zip file: NAME/settings.json, NAME/record.json and so on, for many runs."""

import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from ldru.base.errors import RunError
from ldru.base.files import whole_file
from ldru.runs.folder import PARTS, WEIGHTS, RunFiles

EPOCH = (1980, 1, 1, 0, 0, 0)
"""The date of every entry, so that the same runs make the same bytes."""


class PackedRun(RunFiles):
    """A run's record from a pack, without its weights."""

    def __init__(self, place: str, parts: Mapping[str, bytes]) -> None:
        self.place, self._parts = place, dict(parts)

    def has(self, part: str) -> bool:
        return part in self._parts

    def read(self, part: str) -> bytes:
        if part not in self._parts:
            raise RunError(f"{self.place!r} holds no {part}")
        return self._parts[part]


@contextmanager
def opened_pack(path: Path) -> Iterator[zipfile.ZipFile]:
    """A pack, open for reading; what is wrong with it is one clear error."""
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, KeyError) as problem:
        raise RunError(f"{str(path)!r} is no whole file of packed runs: {problem}") from problem
    except OSError as problem:
        raise RunError(f"cannot read {str(path)!r}: {problem}") from problem


def read_pack(path: Path) -> dict[str, PackedRun]:
    """The runs of a pack by name, in memory; weights are passed over."""
    with opened_pack(path) as archive:
        return {
            name: PackedRun(
                f"{path}/{name}",
                {part: archive.read(f"{name}/{part}") for part in parts if part != WEIGHTS},
            )
            for name, parts in parts_by_run(archive, path).items()
        }


def write_pack(path: Path, runs: Mapping[str, RunFiles], *, has_weights: bool) -> None:
    """Write runs as one whole file, in order of their names."""
    with (
        whole_file(path) as temporary,
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive,
    ):
        for name, files in sorted(runs.items()):
            for part in PARTS:
                if files.has(part) and (has_weights or part != WEIGHTS):
                    entry = zipfile.ZipInfo(f"{name}/{part}", EPOCH)
                    entry.compress_type = zipfile.ZIP_DEFLATED
                    archive.writestr(entry, files.read(part))


def parts_by_run(archive: zipfile.ZipFile, path: Path) -> dict[str, list[str]]:
    """The parts of every run of a pack; anything else in it is an error."""
    found: dict[str, list[str]] = {}
    for entry in archive.namelist():
        names = PurePosixPath(entry).parts
        if len(names) != 2 or names[0] in ("..", "/") or names[1] not in PARTS:
            raise RunError(f"{str(path)!r} holds {entry!r}, which is no part of a run")
        found.setdefault(names[0], []).append(names[1])
    return found
