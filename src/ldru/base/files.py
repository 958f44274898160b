"""Files and folders that are whole or absent: written beside their place, then renamed into it."""

import glob
import importlib.util
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ldru.base.errors import RunError

HAS_LOCKS = importlib.util.find_spec("fcntl") is not None
TEMPORARY = "[a-z0-9_]{8}"
"""How the module tempfile ends the names that it makes."""


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary path to write to; takes the place of `path` when the block ends well.

    What a killed process left of writing it is removed.
    """
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        sweep(path)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        os.close(handle)
        temporary = Path(name)
        with lock(temporary):  # says to `sweep` that somebody is at it
            try:
                yield temporary
                with temporary.open("rb") as written:
                    os.fsync(written.fileno())
                temporary.chmod(0o666 & ~_umask())
                temporary.replace(path)
            finally:
                temporary.unlink(missing_ok=True)


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A temporary folder to fill; becomes `path`, a new name, when the block ends well."""
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
        with lock(temporary):
            try:
                yield temporary
                temporary.chmod(0o777 & ~_umask())
                temporary.rename(path)
            finally:
                shutil.rmtree(temporary, ignore_errors=True)


def sweep(path: Path) -> None:
    """Remove what processes that were killed have left of writing a file or folder.

    For a folder, by who holds the lock of its place. What another process is writing at this
    moment stays.
    """
    if not HAS_LOCKS:  # then nobody knows what is left over
        return
    with writing(path.parent):
        for left in path.parent.glob(f".{glob.escape(path.name)}.*"):
            if re.fullmatch(TEMPORARY, left.name.removeprefix(f".{path.name}.")):
                with lock(left, makes=False) as is_left:
                    if is_left and left.is_dir():
                        shutil.rmtree(left, ignore_errors=True)
                    elif is_left:
                        left.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a whole text file."""
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def check_writable(folder: Path) -> None:
    """Raise at once if files cannot be made in a folder, rather than after hours of work."""
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass


@contextmanager
def lock(path: Path, *, waits: bool = False, makes: bool = True) -> Iterator[bool]:
    """Hold a lock on a file or folder for the length of a block, and say whether it could be had.

    The system drops it when the process ends, however it ends. Windows has no such locks: there
    nobody is kept out.

    waits: until whoever holds it lets go.
    makes: the file, where there is none; else nobody has it, and neither do we.
    """
    if not HAS_LOCKS:
        yield True
        return
    import fcntl

    # A lock is a file of ours: who put a link in its place would have one made elsewhere.
    kind = os.O_RDONLY if path.is_dir() else os.O_RDWR | os.O_NOFOLLOW | (os.O_CREAT * makes)
    with writing(path):
        try:
            descriptor = os.open(path, kind, 0o666)
        except FileNotFoundError:
            if makes:
                raise
            descriptor = None
    if descriptor is None:
        yield False
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if waits else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:  # somebody else has it: that is the answer
        yield False
    else:
        yield True
    finally:
        os.close(descriptor)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn a refusal of the system, in a block that writes, into an error that names the place."""
    if not _can_be_named(path):
        raise RunError(f"cannot write {str(path)!r}: no file can have such a name")
    try:
        yield
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise RunError(
            f"cannot write {str(path)!r}: {reason}; choose a folder you may write to"
        ) from problem


def _can_be_named(path: Path) -> bool:
    """Whether a file could have that name; of others Python does not speak as the system does."""
    try:
        return b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
