"""Write every package that a development install takes, with the hash of the very file.

`make hashes` writes constraints-hashes.txt; `make install-hashed` installs that and nothing else.
The files depend on the platform, on Python and on the index (PyTorch has builds for CPUs and for
several GPUs), so the list is made where it is used, and compared with the one before.
"""

import json
import platform
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from ldru.base.files import write_text

WANTED = ".[dev]"


def resolved() -> dict:
    """What pip would install here, as its report says."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        how = ["--dry-run", "--ignore-installed", "--quiet", "-c", "constraints.txt"]
        subprocess.run(
            [sys.executable, "-m", "pip", "install", *how, "--report", str(report), WANTED],
            check=True,
        )
        return json.loads(report.read_text())


def as_requirements(report: Mapping) -> str:
    """A report of pip's as requirements with hashes; the project itself is left out."""
    lines = [
        f"# Python {platform.python_version()} on {platform.system()} {platform.machine()}; "
        "written by `make hashes`"
    ]
    packages = sorted(report["install"], key=lambda package: package["metadata"]["name"].lower())
    for package in packages:
        source = package["download_info"].get("archive_info")
        if source is None:  # a folder: the project
            continue
        name, version = package["metadata"]["name"], package["metadata"]["version"]
        lines.append(f"{name}=={version} --hash=sha256:{source['hashes']['sha256']}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    write_text(Path(sys.argv[1]), as_requirements(resolved()))
