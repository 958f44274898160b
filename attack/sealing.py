"""Notice files that a case is about to change outside its own folder."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

CHANGES = {
    "os.rename": ((0, 2), (1, 3)),
    "os.link": ((1, 3),),
    "os.symlink": ((1, 2),),
    "os.remove": ((0, 1),),
    "os.mkdir": ((0, 2),),
    "os.rmdir": ((0, 1),),
    "os.chmod": ((0, 2),),
    "os.chown": ((0, 3),),
    "os.utime": ((0, 3),),
    "os.truncate": ((0, None),),
}
"""Audit events that change files, with the places of each path and of the folder it starts from."""

KEEP_LINKS = ("os.rename", "os.link", "os.symlink", "os.remove", "os.rmdir", "os.mkdir")
"""Of these, a path that is a link means the link itself."""

DEVICES = ("/dev/null", "/dev/full")


class TouchedError(Exception):
    """A file outside was about to be changed."""


def seal(folder: Path) -> None:
    """From now on, refuse this process to change files outside a folder. Nothing undoes it."""
    root = os.path.realpath(folder)

    def look(event: str, arguments: tuple) -> None:
        for path in changed_paths(event, arguments):
            if not is_inside(path, root) and path not in DEVICES:
                raise TouchedError(f"{event} of {path}")

    sys.addaudithook(look)


def is_inside(path: str, root: str) -> bool:
    """Whether a path is a folder or lies in it."""
    return path == root or path.startswith(root + os.sep)


def changed_paths(event: str, arguments: tuple) -> Iterator[str]:
    """The paths that an audit event is about to change, without the links that it follows."""
    if event == "open":
        path, mode, flags = arguments
        if _is_written(mode, flags):  # with O_NOFOLLOW a link is refused
            is_followed = mode is not None or not flags & os.O_NOFOLLOW
            yield from _path(path, None, keeps_links=not is_followed)
        return
    for path, folder in CHANGES.get(event, ()):
        start = None if folder is None else arguments[folder]
        yield from _path(arguments[path], start, keeps_links=event in KEEP_LINKS)


def _is_written(mode: str | None, flags: int) -> bool:
    if mode is None:
        return bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
    return not set(mode) <= set("rbt")


def _path(path: object, folder: int | None, *, keeps_links: bool) -> Iterator[str]:
    if not isinstance(path, str | bytes | os.PathLike):
        return  # an open file, which was looked at when it was opened
    name = os.fsdecode(path)
    if folder is not None and folder >= 0:
        name = os.path.join(os.readlink(f"/proc/self/fd/{folder}"), name)
    if keeps_links:
        above, own = os.path.split(os.path.abspath(name))
        yield os.path.join(os.path.realpath(above), own)
    else:
        yield os.path.realpath(name)
