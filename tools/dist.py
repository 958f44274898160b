"""Build the wheel and the source distribution, so that one commit gives the same bytes anywhere.

`make dist` does so. They are built from a copy of the tracked files, with the date of the last
commit, by the setuptools that is installed; the archive of sources is packed anew, since that of
setuptools holds clocks and owners.
"""

import gzip
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

BUILD = """
import sys
from setuptools import build_meta
out = sys.argv[1]  # the builds change it
build_meta.build_wheel(out)
build_meta.build_sdist(out)
"""


def build(root: Path, out: Path) -> list[Path]:
    """The wheel and the source distribution of a repository, in a folder."""
    out.mkdir(parents=True, exist_ok=True)
    date = os.environ.get("SOURCE_DATE_EPOCH") or _git(root, "log", "-1", "--format=%ct").strip()
    with tempfile.TemporaryDirectory() as folder:
        copy, made = Path(folder) / "copy", Path(folder) / "made"
        copy_tracked(root, copy)
        made.mkdir()
        subprocess.run(
            [sys.executable, "-c", BUILD, str(made)],
            cwd=copy,
            env={**os.environ, "SOURCE_DATE_EPOCH": date},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            umask=0o022,
            check=True,
        )
        (wheel,), (sources,) = made.glob("*.whl"), made.glob("*.tar.gz")
        content = packed_anew(sources.read_bytes(), date=int(date))
        (out / sources.name).write_bytes(content)
        shutil.copy(wheel, out / wheel.name)
    return [out / wheel.name, out / sources.name]


def copy_tracked(root: Path, copy: Path) -> None:
    """Copy the files that git knows, as they are now, with the modes that git keeps."""
    for name in _git(root, "ls-files", "-z").split("\0"):
        if name and (root / name).is_file():
            place = copy / name
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / name, place)
            place.chmod(0o755 if os.access(root / name, os.X_OK) else 0o644)


def packed_anew(content: bytes, *, date: int) -> bytes:
    """A .tar.gz with its entries in order, of nobody, and of one date."""
    plain = io.BytesIO()
    with (
        tarfile.open(fileobj=io.BytesIO(content)) as old,
        tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as new,
    ):
        for entry in sorted(old.getmembers(), key=lambda entry: entry.name):
            clean = tarfile.TarInfo(entry.name)
            clean.type, clean.size, clean.mtime = entry.type, entry.size, date
            clean.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
            new.addfile(clean, old.extractfile(entry) if entry.isfile() else None)
    return gzip.compress(plain.getvalue(), mtime=date)


def _git(root: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, check=True)
    return done.stdout.decode()


if __name__ == "__main__":
    for path in build(Path.cwd(), Path("dist")):
        print(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path}")
