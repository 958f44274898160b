"""Zip files that others may have made: everything they declare is checked before it is unpacked."""

import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ldru.base.errors import LdruError, RunError
from ldru.base.limits import check_limit
from ldru.base.reading import check_size

HIGHEST_RATIO = 200
"""How many times larger an entry may be than it is packed; what we write stays below 50."""

SMALL = 2**20
"""Entries of fewer bytes may have any ratio."""

MOST_ENTRIES = 100_000
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
ENCRYPTED = 0x1

BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    IndexError,
    KeyError,
    NotImplementedError,
    OverflowError,
    RuntimeError,
    UnicodeDecodeError,
    ValueError,
)
"""What the module zipfile raises on files that are none."""


class Archive:
    """The entries of a zip file by name, in its order."""

    def __init__(self, path: Path, opened: zipfile.ZipFile) -> None:
        self.path, self._zip = path, opened
        entries = opened.infolist()
        if len(entries) > MOST_ENTRIES:
            raise ValueError(f"it has {len(entries):,} entries, more than {MOST_ENTRIES:,}")
        self._entries = {entry.filename: entry for entry in entries}
        if len(self._entries) != len(entries):
            raise ValueError("two of its entries have one name")
        for entry in entries:
            _check(entry)
        check_limit("pack_bytes", sum(entry.file_size for entry in entries), "its bytes")

    @property
    def names(self) -> list[str]:
        return list(self._entries)

    def read(self, name: str) -> bytes:
        """The bytes of an entry, no more than it declares."""
        if name not in self._entries:
            raise RunError(f"{str(self.path)!r} holds no {name!r}")
        entry = self._entries[name]
        with self._zip.open(entry) as file:
            content = file.read(entry.file_size + 1)
        if len(content) != entry.file_size:
            raise ValueError(f"{name!r} has other bytes than the {entry.file_size:,} it declares")
        return content


@contextmanager
def opened_archive(path: Path) -> Iterator[Archive]:
    """A zip file, open for reading; what is wrong with it is one error that names it."""
    check_size(path, limit="pack_bytes")
    try:
        with zipfile.ZipFile(path) as opened:
            yield Archive(path, opened)
    except RunError:
        raise
    except LdruError as problem:
        raise RunError(f"{str(path)!r}: {problem}") from problem
    except BROKEN as problem:
        raise RunError(f"{str(path)!r} is no whole file of packed runs: {problem}") from problem
    except OSError as problem:
        raise RunError(f"cannot read {str(path)!r}: {problem.strerror or problem}") from problem


def _check(entry: zipfile.ZipInfo) -> None:
    """Raise on an entry that is no plain file, or larger than it can honestly be."""
    name = entry.filename[:80]
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG) or entry.is_dir():
        raise ValueError(f"{name!r} is no plain file")
    if entry.flag_bits & ENCRYPTED:
        raise ValueError(f"{name!r} is encrypted")
    if entry.compress_type not in METHODS:
        raise ValueError(f"{name!r} is packed by the unknown method {entry.compress_type}")
    if entry.file_size > max(SMALL, HIGHEST_RATIO * entry.compress_size):
        raise ValueError(
            f"{name!r} becomes {entry.file_size:,} bytes from {entry.compress_size:,}, more than "
            f"{HIGHEST_RATIO} times as many"
        )
