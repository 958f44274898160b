"""`ldru reproduce`."""

import json

from tests.cli.calling import call


def test_reproduce_lists_plans_and_renders(capsys, tmp_path):
    code, out, _ = call(capsys, "reproduce", "plan", "--json")
    assert code == 0
    assert {row["table"]: row["runs"] for row in json.loads(out)}["central"] == 693
    options = ("--models", "ldru", "--out", str(tmp_path / "results"), "--device", "cpu")
    code, out, err = call(capsys, "reproduce", "plan", "central", *options)
    assert code == 0
    assert "63 missing" in err
    assert "19,800,000 model-steps" in err
    assert "| dyck_6 | - (98.5 ± 2.4) |" in out
    code, out, _ = call(capsys, "reproduce", "plan", "central", *options, "--json")
    plan = json.loads(out)
    assert len(plan["runs"]) == 63
    assert set(plan["runs"].values()) == {"missing"}
    assert len(plan["fleets"]) == 2
    assert not (tmp_path / "results").exists()


def test_a_quick_look_takes_fewer_words(capsys, tmp_path, monkeypatch):
    from ldru.paper.tables import TABLES
    from tests.reproduce.tables import small_table

    monkeypatch.setitem(TABLES, "small", small_table())
    options = ("--out", str(tmp_path), "--device", "cpu", "--models", "rnn")
    fewer = ("--lengths", "7,9", "--words", "2")
    code, out, err = call(capsys, "reproduce", "run", "small", *fewer, *options)
    assert code == 0, err
    assert "roughly 1 s here with evaluation" in err
    assert "From 2 words of each of 2 lengths from 7 to 9. For tests." in out
    (record, *_) = (tmp_path / "runs").glob("*/record.json")
    counts = json.loads(record.read_text())["evaluation"]
    assert {n: sum(one["words"]) for n, one in counts.items()} == {"7": 2, "9": 2}
    code, _, err = call(capsys, "reproduce", "plan", "small", *options)
    assert "4 not evaluated" in err  # the table itself wants more
    code, _, err = call(capsys, "reproduce", "plan", "text", "--words", "2", *options[:4])
    assert code == 2
    assert "is evaluated on test sets" in err


def test_reproduce_runs_what_is_missing_and_goes_on(capsys, tmp_path, monkeypatch):
    from ldru.paper.tables import TABLES
    from tests.reproduce.tables import small_table

    monkeypatch.setitem(TABLES, "small", small_table())
    options = ("--out", str(tmp_path), "--device", "cpu")
    code, out, err = call(capsys, "reproduce", "run", "small", "--models", "rnn", *options)
    assert code == 0, err
    assert "4 of 4 runs" in out
    (written,) = (tmp_path / "tables").glob("small-part-*.md")
    assert written.read_text() in out
    code, out, err = call(capsys, "reproduce", "run", "small", *options, "--json")
    assert "4 done" in err
    assert len(json.loads(out)["cells"]) == 4
    assert {path.name for path in (tmp_path / "tables").glob("small.*")} == {
        "small.md",
        "small.tex",
        "small.csv",
    }
    packed, elsewhere = str(tmp_path / "runs.zip"), str(tmp_path / "elsewhere")
    there = ("--out", str(tmp_path), "--file", packed)
    code, out, _ = call(capsys, "reproduce", "pack", "small", *there, "--json")
    names = json.loads(out)["packed"]
    assert len(names) == 8
    code, out, err = call(capsys, "reproduce", "unpack", packed, "--out", elsewhere, "--json")
    assert code == 0
    assert json.loads(out) == {"new": names, "known": []}
    assert "8 runs are new" in err


def test_reproduce_says_what_is_wrong(capsys, tmp_path):
    for arguments, message in (
        (("run", "centre"), "unknown table 'centre' (did you mean 'central'?)"),
        (("plan", "central", "--models", "gru"), "unknown model of central 'gru'"),
        (("run", "central", "--steps-scale", "3"), "share in (0, 1], got 3.0"),
        (("run", "central", "--engine", "dask"), "unknown engine 'dask'"),
        (("run", "central", "--slurm", "partition"), "SLURM is name=value, got 'partition'"),
        (("run", "central", "--slurm", "gpus_per_node=1"), "options of SLURM are for submitit"),
        (("run",), "name a table; `ldru reproduce plan` lists them"),
        (("unpack", str(tmp_path / "none.zip")), "there is no file"),
        (("pack", "--file", str(tmp_path / "a.zip")), "name a table"),
        (("render", "central", "--seeds", "-1"), "a seed lies between 0"),
        (("plan", "central", "--fleet-size", "0"), "at least one model, got 0"),
    ):
        code, _, err = call(capsys, "reproduce", *arguments, "--out", str(tmp_path / "out"))
        assert code == 2
        assert message in err
