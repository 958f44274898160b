"""Hashes of packages, from a report of pip's."""

from pathlib import Path

from tools.hashes import as_requirements

ROOT = Path(__file__).parents[2]


def test_every_package_but_the_project_has_its_hash():
    def package(name, **source):
        return {"metadata": {"name": name, "version": "1.0"}, "download_info": source}

    report = {
        "install": [
            package("zlib", archive_info={"hashes": {"sha256": "ab"}}),
            package("ldru", dir_info={}),
            package("Attrs", archive_info={"hashes": {"sha256": "cd"}}),
        ]
    }
    lines = as_requirements(report).splitlines()
    assert lines[1:] == ["Attrs==1.0 --hash=sha256:cd", "zlib==1.0 --hash=sha256:ab"]


def test_the_hashes_are_of_the_pinned_versions():
    """A local build, such as 2.13.0+cpu, is of the version before its plus."""
    pinned, hashed = (
        dict(line.split()[0].split("==") for line in (ROOT / name).read_text().splitlines()[1:])
        for name in ("constraints.txt", "constraints-hashes.txt")
    )
    versions = {plain(name): version for name, version in pinned.items()}
    for name, version in hashed.items():
        assert version.split("+")[0] == versions[plain(name)], f"run `make hashes`: {name}"


def plain(name):
    return name.lower().replace("_", "-").replace(".", "-")
