"""The command line as a user meets it."""

import io
import json
import os
import shutil
import subprocess
import sys
import types

import pytest

from ldru.cli import main

TINY = ["--dim", "4", "--batch-size", "8", "--steps", "20", "--validation-length", "10"]
SHORT = ["--lengths", "1:12", "--words", "8"]


def call(capsys, *arguments):
    """Exit code, standard output and standard error of a command."""
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    printed = capsys.readouterr()
    return stop.value.code, printed.out, printed.err


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("cli")
    with pytest.raises(SystemExit):
        main(["train", "parity_check", "--out", str(out), *TINY, *SHORT])
    (folder,) = out.glob("parity*")
    return folder


def test_from_a_regex_to_a_plot(capsys, tmp_path):
    code, out, err = call(
        capsys, "train", "--regex", "(01)*", "--out", tmp_path, *TINY, *SHORT, "--json"
    )
    assert code == 0, err
    (result,) = json.loads(out)
    assert set(result["by_class"]) == {"0", "1"}
    assert set(result["accuracy"]) == {str(n) for n in range(1, 13)}
    (folder,) = tmp_path.glob("01-ldru-seed0-*")
    files = {path.name for path in folder.iterdir()}
    assert files == {
        *("settings.json", "record.json", "weights.safetensors", "log.jsonl", "accuracy.png")
    }
    assert (folder / "accuracy.png").read_bytes().startswith(b"\x89PNG")
    code, out, _ = call(capsys, "predict", folder, "0101", "010", "--json")
    assert [answer["expected"] for answer in json.loads(out)] == [1, 0]


def test_empty_classes_are_said(capsys, tmp_path):
    code, out, _ = call(capsys, "train", "--regex", "(01)*", "--out", tmp_path, *TINY, *SHORT)
    assert code == 0
    assert "label 1 has no words at 6 of the 12 lengths" in out


def test_eval_prints_a_table_and_draws(capsys, run_folder, tmp_path):
    plot = tmp_path / "curve.svg"
    code, out, _ = call(
        capsys, "eval", run_folder, "--lengths", "30:50", "--words", "8", "--plot", plot
    )
    assert code == 0
    assert "majority share" in out
    assert "longer than 40" in out
    assert "<svg" in plot.read_text()


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


def test_lists(capsys):
    code, out, _ = call(capsys, "tasks", "--json")
    assert code == 0
    assert {row["task"]: row["monoid"] for row in json.loads(out)}["dyck_6"] == 141
    assert "dyck_12" in call(capsys, "tasks")[1]
    assert json.loads(call(capsys, "models", "--json")[1])[0]["parameters"] == 128_386


def test_monoid(capsys, tmp_path):
    plot = tmp_path / "m.png"
    code, out, _ = call(capsys, "monoid", "dyck_2", "--plot", plot)
    assert code == 0
    assert "15 classes" in out
    assert plot.exists()
    data = json.loads(call(capsys, "monoid", "--regex", "(01)*", "--json")[1])
    assert len(data["table"]) == data["size"]


def test_coverage_and_heatmaps(capsys, tmp_path):
    plots = [tmp_path / "c.png", tmp_path / "c.svg"]
    arguments = ["coverage", "dyck_2", "--lengths", 8, 20, "--test", 30]
    code, out, _ = call(capsys, *arguments, "--plot", *plots)
    assert code == 0
    assert "shows them all: 8" in out
    assert all(plot.exists() for plot in plots)
    data = json.loads(call(capsys, *arguments, "--json")[1])
    assert [row["train_length"] for row in data["by_training_length"]] == [8, 20]
    plot = tmp_path / "h.png"
    code, out, _ = call(
        capsys, "heatmaps", "dyck_2", "--ranges", "30:34:2", "60:100:40", "--plot", plot
    )
    assert code == 0
    assert "60:100:40" in out
    assert plot.exists()


def test_analyse(capsys, run_folder, tmp_path):
    plot = tmp_path / "a.png"
    small = ["--words", 4, "--bracketings", 2]
    code, out, _ = call(capsys, "analyse", run_folder, "--lengths", "8", *small, "--plot", plot)
    assert code == 0
    assert "associators" in out
    assert plot.exists()
    arguments = ["analyse", run_folder, run_folder, "--what", "embeddings", "--max-length", 5]
    code, out, _ = call(capsys, *arguments, "--json", "--plot", plot)
    assert code == 0
    (found,) = json.loads(out).values()
    assert found["words"] == 62


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
        ([other], "only an LDRU has states that meet in a tree"),
        ([tmp_path / "none"], "no run folder"),
    ):
        code, printed, err = call(capsys, "extract", *arguments, "--out", out)
        assert (code, printed) == (2, "")
        assert message in err
        assert not out.exists()


def test_the_model_decides_which_options_exist(capsys, tmp_path):
    code, _, err = call(capsys, "train", "parity_check", "--heads", "4", "--out", tmp_path)
    assert code == 2
    assert "--heads" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "partiy_check"], "did you mean 'parity_check'?"),
        (["train", "parity_check", "--model", "lrdu"], "did you mean 'ldru'?"),
        (["train"], "name a task"),
        (["train", "--regex", "((("], "cannot read the regular expression"),
        (["train", "--regex", ""], "empty"),
        (["train", "parity_check", "--lengths", "9:3"], "runs backwards"),
        (["train", "parity_check", "--lengths", "0:3"], "count from 1"),
        (["train", "parity_check", "--steps", "0"], "steps must be at least 1"),
        (["train", "parity_check", "--words", "0"], "--words must be at least 1"),
        (["train", "parity_check", "--seeds", "99999999999999999999"], "between 0 and"),
        (["train", "parity_check", "--device", "gpu"], "no device 'gpu'"),
        (["eval", "run", "--plot", "x.foo"], "png, svg, pdf"),
        (["train", "parity_check", "--dropout", "1.5"], "[0, 1)"),
        (["train", "parity_check", "--track", "tensorbord"], "did you mean 'tensorboard'?"),
        (["train", "--machine", "none.json"], "cannot read the machine"),
        (["monoid", "--regex", "(0|1)*1(0|1){6}", "--limit", "99"], "more than 99"),
        (["coverage", "dyck_2", "--lengths", "40", "--test", "40"], "must be longer"),
        (["heatmaps", "dyck_2"], "give --ranges of lengths"),
        (["heatmaps", "dyck_2", "--ranges", "5"], "no words of length 5 with the label 1"),
        (["heatmaps", "dyck_2", "--ranges", "4", "--plot", "x.foo"], "png, svg, pdf"),
        (["trian", "parity_check"], "unknown command 'trian' (did you mean 'train'?)"),
        (["analyse"], "at least one run folder"),
        (["analyse", "no/such/run"], "no run folder"),
        (["eval", "no/such/run"], "no run folder"),
        (["predict", "no/such/run", "01"], "no run folder"),
    ],
)
def test_misuse_is_one_line_and_code_2(capsys, arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = call(capsys, *arguments)
    assert code == 2
    assert out == ""
    assert message in err
    assert len(err.strip().splitlines()) == 1
    assert "Traceback" not in err


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


def test_evaluations_add_up_in_the_record(capsys, run_folder, tmp_path):
    copy = shutil.copytree(run_folder, tmp_path / "copy")
    before = set(json.loads((copy / "record.json").read_text())["evaluation"])
    assert call(capsys, "eval", copy, "--lengths", "20:22", "--words", "8")[0] == 0
    after = set(json.loads((copy / "record.json").read_text())["evaluation"])
    assert after == before | {"20", "21", "22"}


def test_failure_is_one_line_and_code_1(capsys, run_folder, tmp_path):
    half = tmp_path / "half"
    half.mkdir()
    (half / "settings.json").write_text((run_folder / "settings.json").read_text())
    code, _, err = call(capsys, "eval", half)
    assert code == 1
    assert "not a whole run folder" in err
    blocked = tmp_path / "file"
    blocked.write_text("keep me")
    code, _, err = call(capsys, "train", "parity_check", "--out", blocked / "runs", *TINY)
    assert code == 1
    assert "cannot write" in err
    assert blocked.read_text() == "keep me"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_no_permission_is_one_line_and_code_1(capsys, tmp_path):
    tmp_path.chmod(0o500)
    code, _, err = call(capsys, "train", "parity_check", "--out", tmp_path / "runs", *TINY)
    assert code == 1
    assert "cannot write" in err


def test_runs_as_a_module_and_knows_its_version():
    done = subprocess.run(
        [sys.executable, "-m", "ldru", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("ldru ")


def test_trackers_write(capsys, tmp_path):
    pytest.importorskip("tensorboard")
    code, _, err = call(
        capsys, "train", "parity_check", "--out", tmp_path, "--track", "tensorboard", *TINY, *SHORT
    )
    assert code == 0, err
    assert list((tmp_path / "tensorboard").rglob("events*"))


def test_weights_and_biases_gets_every_log_line(capsys, tmp_path, monkeypatch):
    """The package is not needed for the test: a stand-in records what it would be sent."""
    sent = []

    class FakeRun:
        def log(self, metrics, step):
            sent.append((step, metrics))

    fake = types.SimpleNamespace(init=lambda project: FakeRun())
    monkeypatch.setitem(sys.modules, "wandb", fake)
    code, _, err = call(
        capsys, "train", "parity_check", "--out", tmp_path, "--track", "wandb", *TINY, *SHORT
    )
    assert code == 0, err
    ((step, metrics),) = sent
    assert step == 20
    assert any(name.endswith("/validation_accuracy") for name in metrics)


def test_a_missing_extra_is_named(capsys, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", None)
    code, _, err = call(
        capsys, "train", "parity_check", "--out", tmp_path, "--track", "wandb", *TINY, *SHORT
    )
    assert code == 1
    assert "pip install 'ldru[track]'" in err


@pytest.mark.parametrize("name", ["fleet", "scaling", "models", "text", "listops"])
def test_benchmarks_write_numbers_and_a_figure(capsys, tmp_path, name):
    code, _, err = call(capsys, "bench", name, "--quick", "--device", "cpu", "--out", tmp_path)
    assert code == 0, err
    data = json.loads((tmp_path / f"{name}.json").read_text())
    for row in data["rows"]:
        times = [value for key, value in row.items() if key.endswith("ms") and value is not None]
        assert times
        assert min(times) > 0
    assert {"gpu", "torch"} <= set(data["machine"])
    for row in data["rows"] if name in ("text", "listops") else ():
        ours, plain = row["step_ms"] / row["members"], row["plain_ms"]
        assert row["ratio"] == pytest.approx(plain / ours)
    assert (tmp_path / f"{name}.png").exists()
    again, _, err = call(capsys, "bench", name, "--quick", "--device", "cpu", "--out", tmp_path)
    assert again == 2
    assert "already there" in err
    assert call(capsys, "bench", "flet")[0] == 2


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


def test_reproduce_runs_what_is_missing_and_goes_on(capsys, tmp_path, monkeypatch):
    from ldru.paper.tables import TABLES
    from tests.reproduce.test_reproduction import small_table, with_few_words

    with_few_words(monkeypatch)
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


def test_listops_from_training_to_predictions(capsys, tmp_path, small_listops):
    tiny = ["--dim", "4", "--steps", "4", "--batch-size", "4", "--out", tmp_path / "runs"]
    code, out, err = call(capsys, "train", "listops_40", *tiny, "--json")
    assert code == 0, err
    (result,) = json.loads(out)
    assert len(result["accuracy"]) == 22
    (folder,) = (tmp_path / "runs").glob("listops_40-ldru-seed0-*")
    settings = json.loads((folder / "settings.json").read_text())
    # What was not given is the paper's for ListOps.
    assert settings["model"]["activation"] == "silu"
    assert settings["model"]["dropout"] == 0.05
    train = settings["train"]
    assert (train["optimizer"], train["associativity"], train["learning_rate"], train["l2"]) == (
        *("adam", 1.0, 2.5e-4),
        0.0,
    )
    record = json.loads((folder / "record.json").read_text())
    assert record["data"]

    for command in (("eval", folder), ("train", "listops_40", *tiny)):
        code, _, err = call(capsys, *command, "--lengths", "1:5")
        assert code == 2
        assert "--lengths is for tasks that draw their words" in err
    code, out, _ = call(capsys, "eval", folder, "--sets", "validation", "3,9 5-20")
    assert code == 0
    assert "validation" in out
    code, _, err = call(capsys, "eval", folder, "--sets", "3,9")
    assert code == 2
    assert "unknown set of words of listops_40 '3,9'" in err

    expression = "[MAX 2 9 [MIN 4 7 ] 0 ]"
    code, out, _ = call(capsys, "predict", folder, expression, "[SM 9 9]", "--json")
    assert [answer["expected"] for answer in json.loads(out)] == [9, 8]
    code, out, err = call(capsys, "predict", folder, expression, "[MAX 2 9 [MUN 4 7 ] 0 ]")
    assert code == 2
    assert expression in out
    assert "word 2: token 4, '[MUN', is none of" in err
    assert "\n           ^^^^\n" in err


def test_data_sets_with_other_settings_are_not_trained_by_one_command(capsys, small_listops):
    code, _, err = call(capsys, "train", "listops_30", "sst2", "--steps", 2, "--dim", 4)
    assert code == 2
    assert "'listops_30' and 'sst2' have other settings or test sets" in err


@pytest.mark.parametrize(
    "order",
    [
        ["listops_40", "--steps", 2, "--seeds", 0, "--dim", 4],
        ["--steps", 2, "listops_40", "--dim", 4],
        ["--steps=2", "--dim", 4, "--resume", "listops_40"],
        ["--seeds", 0, "--dim", 4, "--steps", 2, "listops_40", "--json"],
    ],
)
def test_a_data_set_may_stand_anywhere_on_the_line(capsys, tmp_path, small_listops, order):
    code, _, err = call(capsys, "train", *order, "--batch-size", 4, "--out", tmp_path)
    assert code == 0, err
    (folder,) = tmp_path.glob("listops_40-ldru-seed0-*")
    settings = json.loads((folder / "settings.json").read_text())
    assert settings["model"]["activation"] == "silu"  # the paper's for ListOps
    assert settings["train"]["optimizer"] == "adam"


def test_the_settings_of_listops_are_those_of_the_model(capsys, small_listops):
    code, out, _ = call(capsys, "train", "listops_100k", "--model", "bbt_grc", "--help")
    assert code == 0
    assert "0.001" in out
    code, _, err = call(capsys, "monoid", "listops_40")
    assert code == 2
    assert "no regular language" in err
