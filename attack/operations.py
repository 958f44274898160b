"""Stop a process, or fill its disk, at the n-th operation on files of a folder.

Operations are those that Python's audit events show before they happen (opening for writing,
making, renaming and removing files and folders), every `fsync`, and every write to an open file, of
which only the first half is done.
"""

import builtins
import errno
import io
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attack.sealing import changed_paths, is_inside

NEED_ROOM = ("open", "os.mkdir", "write")


class Operations:
    """Counts the operations of this process on files of a folder, and does something at one.

    at: which one, counted from 0; None only counts.
    action: takes what is about to happen. Nothing undoes the hooks: use it in a forked process.
    is_lasting: do it also at all later operations that need room on the disk.
    """

    def __init__(
        self,
        folder: Path,
        *,
        at: int | None,
        action: Callable[[str], None],
        is_lasting: bool = False,
    ) -> None:
        self.root, self.at, self.action = os.path.realpath(folder), at, action
        self.is_lasting, self.count = is_lasting, 0

    def install(self) -> None:
        """From now on."""
        sys.addaudithook(self._look)
        opened, synced = io.open, os.fsync

        def open_file(*arguments: Any, **options: Any) -> Any:
            file = opened(*arguments, **options)
            name = getattr(file, "name", None)
            is_ours = isinstance(name, str | bytes | os.PathLike) and self._is_ours(name)
            return _Written(file, self) if is_ours and file.writable() else file

        def fsync(fd: Any) -> None:
            self.step("fsync")
            synced(fd)

        io.open = builtins.open = open_file
        os.fsync = fsync

    def step(self, what: str) -> None:
        """One operation is about to happen."""
        self.count += 1
        if self.is_chosen(self.count - 1, what):
            self.action(what)

    def is_chosen(self, number: int, what: str) -> bool:
        """Whether something is to be done at this operation."""
        if self.at is None or not self.is_lasting:
            return number == self.at
        return number >= self.at and what.split(" ")[0] in NEED_ROOM

    def _is_ours(self, name: str | bytes | os.PathLike) -> bool:
        return is_inside(os.path.realpath(os.fsdecode(name)), self.root)

    def _look(self, event: str, arguments: tuple) -> None:
        paths = list(changed_paths(event, arguments))
        if any(is_inside(path, self.root) for path in paths):
            is_there = event == "open" and os.path.exists(paths[0])
            self.step(f"{'reopen' if is_there else event} {paths[0]}")


class _Written:
    """A file that is written to, as if it were the file itself."""

    def __init__(self, file: Any, operations: Operations) -> None:
        self._file, self._operations = file, operations

    def write(self, data: Any) -> int:
        what = f"write {self._file.name}"
        if self._operations.is_chosen(self._operations.count, what):
            self._file.write(data[: len(data) // 2])
            self._file.flush()
        self._operations.step(what)
        return self._file.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> "_Written":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __iter__(self) -> Any:
        return iter(self._file)


def kill(what: str) -> None:
    """End this process as a power cut would: nothing is flushed, nothing is cleaned up."""
    os.kill(os.getpid(), signal.SIGKILL)


def fill(what: str) -> None:
    """Say that the disk is full."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), what)
