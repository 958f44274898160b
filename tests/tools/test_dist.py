"""What is published: the same bytes each time, and nothing but the library."""

import os
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest
from tools.dist import build

ROOT = Path(__file__).parents[2]
SUFFIXES = {".py", ".json", ".safetensors", ".md", ".js", ".css", ".html", ".svg", ".typed", ""}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Wheel and sources, built twice, by people with other habits."""
    pytest.importorskip("setuptools")
    if not (ROOT / ".git").exists():
        pytest.skip("the date comes from a repository")
    first = build(ROOT, tmp_path_factory.mktemp("first"))
    mask = os.umask(0o077)
    try:
        second = build(ROOT, tmp_path_factory.mktemp("second"))
    finally:
        os.umask(mask)
    return first, second


def tracked():
    done = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "src"], capture_output=True, text=True, check=True
    )
    return {name.removeprefix("src/") for name in done.stdout.splitlines()}


def test_two_builds_are_the_same_bytes(built):
    for first, second in zip(*built, strict=True):
        assert first.name == second.name
        assert first.read_bytes() == second.read_bytes()


def test_the_wheel_holds_the_library_alone(built):
    with zipfile.ZipFile(built[0][0]) as wheel:
        names = set(wheel.namelist())
    about = {name for name in names if ".dist-info/" in name}
    assert names - about == tracked()
    assert {Path(name).name for name in about} == {
        *("METADATA", "RECORD", "WHEEL", "entry_points.txt", "top_level.txt", "LICENSE")
    }
    assert {"ldru/py.typed", "ldru/web/static/index.html", "ldru/shipped/SHA256SUMS"} <= names
    assert {Path(name).suffix for name in names - about} <= SUFFIXES


def test_the_sources_hold_what_the_wheel_is_built_from(built):
    with tarfile.open(built[0][1]) as sources:
        names = {entry.name.partition("/")[2] for entry in sources if entry.isfile()}
    made = {name for name in names if ".egg-info/" in name} | {"PKG-INFO", "setup.cfg"}
    assert names - made == {f"src/{name}" for name in tracked()} | {
        *("pyproject.toml", "README.md", "LICENSE", "MANIFEST.in"),
        *("CHANGELOG.md", "CITATION.cff", "SECURITY.md", "REUSE.toml", "constraints.txt"),
    }
