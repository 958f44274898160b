"""Runs in a zip file: NAME/settings.json, NAME/record.json and so on, for many runs."""

import re
import zipfile
from collections.abc import Mapping
from pathlib import Path

from ldru.base.archive import Archive, opened_archive
from ldru.base.errors import RunError
from ldru.base.files import whole_file
from ldru.runs.folder import PARTS, WEIGHTS, RunFiles

EPOCH = (1980, 1, 1, 0, 0, 0)
"""The date of every entry, so that the same runs make the same bytes."""

NAME = re.compile(r"[^\W.][\w.-]{0,199}")
"""Of a run, which becomes the name of a folder: it cannot lead elsewhere."""


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


def read_pack(path: Path) -> dict[str, PackedRun]:
    """The runs of a pack by name, in memory; weights are passed over."""
    with opened_archive(path) as archive:
        return {
            name: PackedRun(
                f"{path}/{name}",
                {part: archive.read(f"{name}/{part}") for part in parts if part != WEIGHTS},
            )
            for name, parts in parts_by_run(archive).items()
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


def parts_by_run(archive: Archive) -> dict[str, list[str]]:
    """The parts of every run of a pack; anything else in it is an error."""
    found: dict[str, list[str]] = {}
    for entry in archive.names:
        run, _, part = entry.partition("/")
        if not NAME.fullmatch(run) or part not in PARTS:
            raise RunError(f"{str(archive.path)!r} holds {entry[:80]!r}, which is no part of a run")
        found.setdefault(run, []).append(part)
    return found
