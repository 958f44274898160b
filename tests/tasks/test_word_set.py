"""Sets of words on disk: whole, small, and what was written."""

import json

import numpy as np
import pytest

from ldru.base.errors import LdruError, RunError
from ldru.tasks.data_task import kept
from ldru.tasks.word_set import WordSet


def test_words_come_back_memory_mapped(tmp_path):
    words = [[3, 0], [300], [7, 7, 7]]
    found = WordSet.of(words, [1, 0, 2])
    assert found.tokens.dtype == np.uint16  # two bytes a token
    assert found.labels.dtype == np.uint8
    found.save(tmp_path / "some", about={"from": "a test"})
    back = WordSet.open(tmp_path / "some")
    assert isinstance(back.tokens, np.memmap)
    assert [back[i].tolist() for i in range(len(back))] == words
    assert (back[-1].tolist(), back[-3].tolist()) == ([7, 7, 7], [3, 0])
    with pytest.raises(IndexError):
        back[3]
    assert back.lengths.tolist() == [2, 1, 3]
    assert back.labels.tolist() == [1, 0, 2]
    assert back.checksum == found.checksum != WordSet.of(words, [1, 0, 1]).checksum
    assert json.loads((tmp_path / "some" / "about.json").read_text())["from"] == "a test"


def test_words_are_made_once(tmp_path):
    calls = []

    def make():
        calls.append(1)
        return WordSet.of([b"\1\2"], [0])

    for _ in range(2):
        assert kept(tmp_path / "data", make, about={}).tokens.tolist() == [1, 2]
    assert calls == [1]


def test_what_cannot_be_words_is_an_error(tmp_path):
    with pytest.raises(LdruError, match="at least one word"):
        WordSet.of([], [])
    with pytest.raises(LdruError, match=r"whole numbers, got 1\.5"):
        WordSet.of([[1.5, 2]], [0])
    with pytest.raises(LdruError, match=r"2 labels need as many words.*got 1"):
        WordSet.of([[1]], [0, 1])
    with pytest.raises(LdruError, match="shortest of 0"):
        WordSet.of([[1], []], [0, 1])
    with pytest.raises(LdruError, match="tokens as numbers, got 'abc'"):
        WordSet.of(["abc", "d"], [0, 1])
    with pytest.raises(LdruError, match=r"one beside the other, got <U1 \[2\]"):
        WordSet.of([[1], [2]], ["a", "b"])
    with pytest.raises(LdruError, match=r"one beside the other, got int64 \[2, 2\]"):
        WordSet.of([[[1, 2]], [[2, 3]]], [0, 1])
    with pytest.raises(LdruError, match="count from 0, got -1"):
        WordSet.of([[-1]], [0])
    with pytest.raises(RunError, match="cannot read the words"):
        WordSet.open(tmp_path)
    WordSet.of([[1]], [0]).save(tmp_path / "half", about={})
    (tmp_path / "half" / "labels.npy").unlink()
    with pytest.raises(RunError, match=r"labels\.npy"):
        WordSet.open(tmp_path / "half")


@pytest.mark.parametrize("name", ["tokens.npy", "about.json"])
def test_an_empty_file_in_the_store_is_said_with_the_way_out(name, tmp_path):
    WordSet.of([[1, 2], [3]], [0, 1]).save(tmp_path / "words", about={})
    (tmp_path / "words" / name).write_bytes(b"")
    with pytest.raises(LdruError, match="remove the folder"):
        WordSet.open(tmp_path / "words")
