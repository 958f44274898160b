"""Zip files that somebody made to do harm."""

import stat
import zipfile

import pytest

from ldru.base.archive import opened_archive
from ldru.base.errors import RunError
from tests.outcome import outcome


def written(path, *, method=zipfile.ZIP_DEFLATED, change=None, content=b"{}" * 500):
    with zipfile.ZipFile(path, "w") as archive:
        entry = zipfile.ZipInfo("run/record.json")
        entry.compress_type = method
        if change is not None:
            change(entry)
        archive.writestr(entry, content)
    return path


def test_what_was_written_is_read(tmp_path):
    with opened_archive(written(tmp_path / "a.zip")) as archive:
        assert archive.names == ["run/record.json"]
        assert archive.read("run/record.json") == b"{}" * 500
        with pytest.raises(RunError, match="holds no 'other'"):
            archive.read("other")


def read_all(path):
    with opened_archive(path) as archive:
        return {name: archive.read(name) for name in archive.names}


def refused(path, reason):
    with pytest.raises(RunError, match=reason):
        read_all(path)


def test_links_methods_and_ratios_are_refused(tmp_path, monkeypatch):
    def link(entry):
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16

    refused(written(tmp_path / "link.zip", change=link), "no plain file")
    refused(written(tmp_path / "lzma.zip", method=zipfile.ZIP_LZMA), "unknown method 14")
    refused(written(tmp_path / "bomb.zip", content=bytes(2**24)), "more than 200 times as many")
    monkeypatch.setenv("LDRU_LIMITS", "pack_bytes=999")
    refused(written(tmp_path / "large.zip"), r"1,000 is beyond the limit of 999")


def test_names_stand_once(tmp_path):
    with zipfile.ZipFile(tmp_path / "twice.zip", "w") as archive:
        archive.writestr("run/record.json", "1")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("run/record.json", "2")
    refused(tmp_path / "twice.zip", "two of its entries have one name")


def test_encrypted_and_lying_entries_are_refused(tmp_path):
    """Marks and sizes in the directory at the end, which a reader believes."""
    path = written(tmp_path / "a.zip", method=zipfile.ZIP_STORED)
    whole = path.read_bytes()
    directory = whole.index(b"PK\x01\x02")
    encrypted = bytearray(whole)
    encrypted[directory + 8] |= 1
    path.write_bytes(encrypted)
    refused(path, "is encrypted")
    for size in (999, 1001, 2**20):
        lying = bytearray(whole)
        lying[directory + 24 : directory + 28] = size.to_bytes(4, "little")
        path.write_bytes(lying)
        refused(path, "no whole file of packed runs")


def test_every_flipped_byte_is_one_error_or_harmless(tmp_path):
    path = written(tmp_path / "a.zip", content=b'{"a": 1}')
    whole = path.read_bytes()
    for place in range(len(whole)):
        for bit in (1, 128):
            broken = bytearray(whole)
            broken[place] ^= bit
            path.write_bytes(broken)
            found, problem = outcome(read_all, path)
            assert str(path) in problem or set(found.values()) <= {b'{"a": 1}'}
