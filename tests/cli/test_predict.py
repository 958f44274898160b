"""`ldru predict`."""

import io
import json
import sys

from tests.cli.calling import call


def test_predict_reads_standard_input(capsys, run_folder, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("0101\n111\n"))
    code, out, _ = call(capsys, "predict", run_folder)
    assert code == 0
    assert [line.split("\t")[0] for line in out.splitlines()] == ["word", "0101", "111"]


def test_predict_passes_over_empty_lines_and_says_so(capsys, run_folder, tmp_path, monkeypatch):
    path = tmp_path / "words.txt"
    path.write_bytes(b"\xef\xbb\xbf0101\n\n111\n \n")
    code, out, err = call(capsys, "predict", run_folder, "--file", path, "--json")
    assert code == 0
    assert [answer["word"] for answer in json.loads(out)] == ["0101", "111"]
    assert "empty lines passed over: 2" in err
    broken = io.TextIOWrapper(io.BytesIO(b"01\xff\n"), encoding="utf-8", errors="strict")
    monkeypatch.setattr(sys, "stdin", broken)
    code, _, err = call(capsys, "predict", run_folder)
    assert code == 2
    assert "cannot read standard input" in err


def test_wrong_symbols_and_empty_words(capsys, run_folder):
    code, out, err = call(capsys, "predict", run_folder, "0121")
    assert (code, out) == (2, "")
    assert "'2' at place 3" in err
    assert call(capsys, "predict", run_folder, "")[0] == 2


def test_predict_reads_windows_lines_and_keeps_what_came_before_a_bad_one(
    capsys, run_folder, monkeypatch
):
    monkeypatch.setattr(sys, "stdin", io.StringIO("0101\r\n11\r\n0x\r\n"))
    code, out, err = call(capsys, "predict", run_folder)
    assert code == 2
    assert [line.split("\t")[0] for line in out.splitlines()] == ["word", "0101", "11"]
    assert "word 3: symbol 'x' at place 2" in err


def test_every_line_continues_a_word(capsys, run_folder, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("0110\n111\n\n01\n012\n"))
    code, out, err = call(capsys, "predict", run_folder, "--stream", "--json")
    assert code == 2
    assert "line 5: symbol '2' at place 3" in err
    *grown, error = [json.loads(line) for line in out.splitlines()]
    assert set(error) == {"error"}
    _, whole, _ = call(capsys, "predict", run_folder, "0110", "0110111", "01", "--json")
    for answer, alone in zip(grown, json.loads(whole), strict=True):
        assert answer["length"] == len(alone["word"])
        assert (answer["label"], answer["expected"]) == (alone["label"], alone["expected"])
        assert abs(answer["probability"] - alone["probability"]) < 1e-5
