"""Vectors in .npy files."""

import numpy as np
import pytest

from ldru.base.arrays import open_array
from ldru.base.errors import RunError
from tests.outcome import outcome


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32, np.uint64, np.int64])
@pytest.mark.parametrize("size", [0, 1, 1000])
def test_vectors_come_back(kind, size, tmp_path):
    path = tmp_path / "a.npy"
    given = np.arange(size).astype(kind)
    np.save(path, given)
    found = open_array(path)
    assert found.dtype == given.dtype
    assert np.array_equal(found, given)


def test_every_flipped_byte_of_a_header_is_one_error_or_harmless(tmp_path):
    path = tmp_path / "a.npy"
    given = np.arange(100)
    np.save(path, given)
    whole = path.read_bytes()
    for place in range(128):
        for bit in (1, 2, 16, 128):
            broken = bytearray(whole)
            broken[place] ^= bit
            path.write_bytes(broken)
            found, problem = outcome(open_array, path)
            assert "a.npy" in problem or found.nbytes == given.nbytes


@pytest.mark.parametrize(
    "given",
    [np.zeros((2, 2), int), np.zeros(3), np.array([None]), np.zeros(3, ">i8"), np.array("a")],
)
def test_other_arrays_are_refused(given, tmp_path):
    np.save(tmp_path / "a.npy", given, allow_pickle=True)
    with pytest.raises(RunError, match="no vector of whole numbers"):
        open_array(tmp_path / "a.npy")


def test_a_file_is_as_long_as_it_says(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.arange(10))
    whole = path.read_bytes()
    for content in (whole[:-1], whole + b"0", whole[:4], b""):
        path.write_bytes(content)
        with pytest.raises(RunError, match=r"cannot read .*a\.npy"):
            open_array(path)
