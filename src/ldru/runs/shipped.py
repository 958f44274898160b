"""Trained models that come with the library: run folders with checksums, by the task's name."""

import hashlib
from pathlib import Path

from ldru.base.errors import LdruError, RunError
from ldru.base.reading import is_file, is_folder, read_bytes, read_text

SHIPPED = Path(__file__).parents[1] / "shipped"
SUMS = "SHA256SUMS"
CARD = "README.md"


def shipped_names() -> list[str]:
    """The names that `ldru.load` knows."""
    return sorted(path.name for path in SHIPPED.glob("*") if path.is_dir())


def find_run(path: str | Path) -> Path:
    """The folder of a run, given itself or as the name of a shipped one, which is checked."""
    if not isinstance(path, str | Path):
        raise LdruError(
            f"a run is found by its folder or by the name of a shipped model, got {path!r}"
        )
    if is_folder(Path(path)):
        return Path(path)
    if str(path) not in shipped_names():
        raise LdruError(
            f"there is no run folder {str(path)!r}, nor a shipped model of that name; shipped are "
            f"{', '.join(shipped_names())}"
        )
    check_sums(SHIPPED, str(path))
    return SHIPPED / str(path)


def check_sums(folder: Path, name: str) -> None:
    """Raise where a file of a shipped run is not the one that is listed."""
    path = folder / SUMS
    lines = read_text(path).splitlines() if is_file(path) else []
    listed = {file: total for total, _, file in (line.partition("  ") for line in lines)}
    for part in sorted((folder / name).iterdir()):
        file = f"{name}/{part.name}"
        if part.name != CARD and listed.pop(file, None) != checksum(part):
            raise RunError(
                f"{str(part)!r} is not the file that was shipped: its checksum differs; install "
                "ldru again"
            )
    if any(file.startswith(f"{name}/") for file in listed):
        raise RunError(f"files of {str(folder / name)!r} are missing; install ldru again")


def checksum(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal digits."""
    return hashlib.sha256(read_bytes(path, limit="tensor_bytes")).hexdigest()
