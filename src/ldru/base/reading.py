"""Files that others may have made: their size, text and JSON are checked before they are believed.

Every file of ours is read here, or by what builds on it: tensors, arrays, archives. Whatever is
wrong with a file is one `RunError` that names it.
"""

import itertools
import json
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ldru.base.errors import LdruError, RunError
from ldru.base.json import Json
from ldru.base.limits import check_limit

DEEPEST = 64
"""How many lists and objects of JSON may stand in one another."""

MOST_DIGITS = 40
"""Of a number in JSON, in a row."""

STEPS = {"[": 1, "{": 1, "]": -1, "}": -1}
STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)


def is_there(path: Path) -> bool:
    """Whether there is something of that name; a folder that may not be looked into is an error."""
    with explained(path):
        return path.exists()


def is_file(path: Path) -> bool:
    """Whether there is a file of that name."""
    with explained(path):
        return path.is_file()


def is_folder(path: Path) -> bool:
    """Whether there is a folder of that name."""
    with explained(path):
        return path.is_dir()


def check_size(path: Path, *, limit: str) -> int:
    """The size of a regular file in bytes; anything else, or a larger one, is an error.

    limit: the name of the bound.
    """
    with explained(path):
        found = path.stat()
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError("it is a folder")
        if not stat.S_ISREG(found.st_mode):  # a pipe may never end
            raise OSError("it is no regular file")
        check_limit(limit, found.st_size, "its bytes")
        return found.st_size


def read_bytes(path: Path, *, limit: str = "text_bytes") -> bytes:
    """The bytes of a regular file of bounded size."""
    size = check_size(path, limit=limit)
    with explained(path), path.open("rb") as file:
        content = file.read(size + 1)
        if len(content) != size:
            raise OSError("somebody writes it at this moment")
        return content


def read_text(path: Path, *, has_mark: bool = False) -> str:
    """The text of a file in UTF-8; has_mark: a byte order mark may stand before it."""
    content = read_bytes(path)
    with explained(path):
        return content.decode("utf-8-sig" if has_mark else "utf-8")


def read_json(path: Path) -> Json:
    """The JSON in a file."""
    content = read_bytes(path)
    with explained(path):
        return parse_json(content)


def parse_json(given: bytes | str) -> Json:
    """JSON of bounded depth and digits, without repeated keys; anything else is a ValueError.

    >>> from ldru.base.reading import parse_json
    >>> parse_json('{"a": [1, 2]}')
    {'a': [1, 2]}
    """
    text = given.decode("utf-8") if isinstance(given, bytes) else given
    _check_shape(text)
    found: Json = json.loads(text, object_pairs_hook=_object)
    return found


@contextmanager
def explained(path: Path | str) -> Iterator[None]:
    """Turn whatever goes wrong in a block into one error that names the file."""
    try:
        yield
    except RunError:
        raise
    except (LdruError, ValueError, OSError, RecursionError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise RunError(f"cannot read {str(path)!r}: {reason}") from problem


def _check_shape(text: str) -> None:
    """Raise on nesting and numbers that a parser would choke on."""
    if text.count("[") + text.count("{") > DEEPEST or re.search(rf"[0-9]{{{MOST_DIGITS}}}", text):
        bare = STRING.sub('""', text)
        if found := re.search(rf"[0-9]{{{MOST_DIGITS + 1},}}", bare):
            raise ValueError(f"a number of {len(found[0]):,} digits, more than {MOST_DIGITS}")
        steps = map(STEPS.__getitem__, re.findall(r"[\[\]{}]", bare))
        if max(itertools.accumulate(steps), default=0) > DEEPEST:
            raise ValueError(f"more than {DEEPEST} lists and objects stand in one another")


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice[:80]!r} stands twice in one object")
    return found
