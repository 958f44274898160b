"""`ldru eval`."""

import json
import shutil

import ldru
from tests.cli.calling import call


def test_eval_prints_a_table_and_draws(capsys, run_folder, tmp_path):
    plot = tmp_path / "curve.svg"
    code, out, _ = call(
        capsys, "eval", run_folder, "--lengths", "30:50", "--words", "8", "--plot", plot
    )
    assert code == 0
    assert "majority share" in out
    assert "longer than 40" in out
    assert "<svg" in plot.read_text()


def test_evaluations_add_up_in_the_record(capsys, run_folder, tmp_path):
    copy = shutil.copytree(run_folder, tmp_path / "copy")
    before = set(json.loads((copy / "record.json").read_text())["evaluation"])
    assert call(capsys, "eval", copy, "--lengths", "20:22", "--words", "8")[0] == 0
    after = set(json.loads((copy / "record.json").read_text())["evaluation"])
    assert after == before | {"20", "21", "22"}


def test_several_runs_stand_side_by_side(capsys, run_folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = [run_folder, "parity_check", "--lengths", "41:44", "--words", 8]
    code, out, err = call(capsys, "eval", *arguments)
    assert code == 0, err
    assert "dim=" in out
    assert "longer than 40" in out
    assert (tmp_path / "compared-accuracy-41-44.png").is_file()
    code, out, _ = call(capsys, "eval", *arguments, "--json", "--plot", tmp_path / "both.svg")
    found = json.loads(out)
    assert len(found["rows"][0]) == 3
    assert found["tests"][0]["p"] is None
    assert "<svg" in (tmp_path / "both.svg").read_text()


def test_eval_without_a_run_says_what_is_missing(capsys):
    code, _, err = call(capsys, "eval")
    assert code == 2
    assert "name a run" in err
    code, _, err = call(capsys, "eval", "parity_check", "nowhere")
    assert code == 2
    assert "there is no run folder 'nowhere'" in err


def test_every_position_is_counted_and_not_kept(capsys, run_folder, tmp_path):
    copy = shutil.copytree(run_folder, tmp_path / "copy")
    before = (copy / "record.json").read_text()
    code, out, err = call(
        capsys, "eval", copy, "--lengths", "20", "--words", "8", "--labels", "prefixes", "--json"
    )
    assert code == 0, err
    assert json.loads(out)
    assert (copy / "record.json").read_text() == before
    assert (copy / "prefixes-20.png").exists()


def test_kinds_of_test_words_have_a_row_each(capsys, run_folder, tmp_path):
    copy = shutil.copytree(run_folder, tmp_path / "copy")
    few = ["--lengths", "20,30", "--words", "8"]
    code, out, err = call(capsys, "eval", copy, "--test", "all", *few, "--json")
    assert code == 0, err
    rows = {row["test"]: row for row in json.loads(out)}
    assert list(rows) == ["paper", "uniform", "edits", "border", "factors", "adversarial"]
    assert rows["border"]["words"] == 16
    kept = json.loads((copy / "record.json").read_text())["evaluation"]
    assert {"20", "border:20", "edits:30", "factors:30", "uniform:20"} <= set(kept)
    assert call(capsys, "eval", copy, "--test", "border", *few)[0] == 0
    for wrong in (["--test", "hard"], ["--test", "all", "--sets", "x"]):
        assert call(capsys, "eval", copy, *wrong)[0] == 2


def test_models_without_a_tree_have_no_adversarial_words(capsys, tmp_path):
    rnn = ["--model", "rnn", "--batch-size", "8", "--steps", "2", "--validation-length", "10"]
    made = [*rnn, "--lengths", "9", "--words", "4", "--out", tmp_path]
    assert call(capsys, "train", "parity_check", *made)[0] == 0
    (run,) = tmp_path.glob("parity*")
    few = ["--lengths", "20", "--words", "8"]
    code, out, err = call(capsys, "eval", run, "--test", "adversarial", *few)
    assert (code, out) == (2, "")
    assert "take another kind: paper, uniform" in err
    code, out, _ = call(capsys, "eval", run, "--test", "all", *few, "--json")
    assert [row["test"] for row in json.loads(out)] == [
        "paper",
        "uniform",
        "edits",
        "border",
        "factors",
    ]


def test_a_hundred_lengths_fit_into_the_name_of_the_plot(capsys, tmp_path):
    ldru.Run.open("parity_check").save(tmp_path / "run")
    lengths = ",".join(map(str, range(1, 101)))
    code, printed, _ = call(capsys, "eval", tmp_path / "run", "--lengths", lengths, "--words", "2")
    assert code == 0
    plots = list((tmp_path / "run").glob("*.png"))
    assert len(plots) == 1
    assert plots[0].name in printed
    assert plots[0].name.startswith("accuracy-1-100-")


def test_an_endless_list_of_lengths_is_refused(capsys):
    for lengths in ("9" * 5000, "1:" + "9" * 18):
        code, _, printed = call(capsys, "eval", "parity_check", "--lengths", lengths)
        assert code == 2
        assert len(printed) < 500
