"""`ldru extract`."""

import json

from tests.cli.calling import SHORT, call


def test_extract_prints_a_verdict_and_keeps_the_machine(capsys, run_folder, tmp_path):
    out = tmp_path / "machine.json"
    options = ("--tolerance", "0.5", "0.2", "--out", out)
    code, printed, err = call(capsys, "extract", run_folder, *options)
    assert code == 0, err
    assert "agrees with the network" in printed
    data = json.loads(out.read_text())
    assert [trial["tolerance"] for trial in data["scan"]] == [0.5, 0.2]
    assert data["monoid"] == 2
    before = out.read_bytes()
    code, printed, err = call(capsys, "extract", run_folder, *options)
    assert (code, printed) == (2, "")
    assert "already there" in err
    assert out.read_bytes() == before
    code, printed, _ = call(capsys, "extract", run_folder, "--tolerance", "0.5", "--json")
    assert json.loads(printed)["scan"] == data["scan"][:1]


def test_extract_says_what_it_cannot_do_and_leaves_no_file(capsys, run_folder, tmp_path):
    out = tmp_path / "machine.json"
    runs = tmp_path / "runs"
    rnn = ["--model", "rnn", "--batch-size", "8", "--steps", "2", "--validation-length", "10"]
    assert call(capsys, "train", "parity_check", *rnn, *SHORT, "--out", runs)[0] == 0
    (other,) = runs.glob("parity*")
    for arguments, message in (
        ([run_folder, "--tolerance", "0"], "above 0 and below 2"),
        ([run_folder, "--limit", "1"], "more than 1 elements"),
        ([other, "--tolerance", "0.5"], "--tolerance is for the states of an LDRU's tree"),
        ([tmp_path / "none"], "no run folder"),
    ):
        code, printed, err = call(capsys, "extract", *arguments, "--out", out)
        assert (code, printed) == (2, "")
        assert message in err
        assert not out.exists()


def test_a_machine_is_learned_from_models_without_a_tree(capsys, tmp_path):
    rnn = ["--model", "rnn", "--batch-size", "8", "--steps", "2", "--validation-length", "10"]
    assert call(capsys, "train", "first", *rnn, *SHORT, "--out", tmp_path / "runs")[0] == 0
    (run,) = (tmp_path / "runs").glob("first*")
    few = ["--words", "500", "--longest", "8"]
    code, printed, err = call(capsys, "extract", run, *few, "--json", "--out", tmp_path / "m.json")
    assert code == 0, err
    data = json.loads(printed)
    assert json.loads((tmp_path / "m.json").read_text()) == data
    assert data["words"] == 500
    assert len(data["delta"]) == data["states"]
    code, printed, _ = call(capsys, "extract", run, *few)
    assert "words were asked" in printed
