"""`ldru runs`."""

import json

from tests.cli.calling import call


def test_runs_are_listed_with_their_accuracy(capsys, run_folder):
    code, out, err = call(capsys, "runs", run_folder.parent)
    assert code == 0, err
    assert run_folder.name[:20] in out
    code, out, _ = call(capsys, "runs", run_folder.parent, "--json")
    (row,) = (row for row in json.loads(out) if row["run"] == run_folder.name)
    settings = json.loads((run_folder / "settings.json").read_text())
    assert row["task"] == settings["task"]["name"]
    assert (row["seed"], row["steps"]) == (settings["seed"], settings["train"]["steps"])
    counts = json.loads((run_folder / "record.json").read_text())["evaluation"]
    longer = [one for length, one in counts.items() if int(length) > 40] or list(counts.values())
    shares = [1 - sum(one["wrong"].values()) / sum(one["words"]) for one in longer]
    assert abs(row["accuracy"] - sum(shares) / len(shares)) < 1e-9


def test_filters_and_what_is_not_there(capsys, run_folder, tmp_path):
    for option, value in (("--task", "dyck_2"), ("--model", "lstm"), ("--seed", 99)):
        code, out, _ = call(capsys, "runs", run_folder.parent, option, value, "--json")
        assert (code, json.loads(out)) == (0, [])
    code, _, err = call(capsys, "runs", run_folder.parent, "--model", "lstm")
    assert code == 2
    assert "holds no finished run of that kind" in err
    code, _, err = call(capsys, "runs", tmp_path / "nowhere")
    assert code == 2
    assert "there is no folder" in err
