"""Every command: misuse, failure, version."""

import json
import os
import subprocess
import sys

import pytest

from ldru.cli.printing import print_rows
from tests.cli.calling import TINY, call


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "partiy_check"], "did you mean 'parity_check'?"),
        (["train", "parity_check", "--model", "lrdu"], "did you mean 'ldru'?"),
        (["train", "parity_check", "--words", "1" + "0" * 20], "--words must be at most"),
        (["train", "parity_check", "--dim", "-1"], "dim must be a whole number of at least 1"),
        (["train"], "name a task"),
        (["train", "--regex", "((("], "cannot read the regular expression"),
        (["train", "--regex", ""], "empty"),
        (["train", "parity_check", "--lengths", "9:3"], "runs backwards"),
        (["train", "parity_check", "--lengths", "0:3"], "count from 1"),
        (["train", "parity_check", "--steps", "0"], "steps must be at least 1"),
        (["train", "parity_check", "--words", "0"], "--words must be at least 1"),
        (["train", "parity_check", "--seeds", "99999999999999999999"], "between 0 and"),
        (["train", "parity_check", "--device", "gpu"], "no device 'gpu'"),
        (["eval", "parity_check", "--plot", "x.foo"], "png, svg, pdf"),
        (["train", "parity_check", "--dropout", "1.5"], "[0, 1)"),
        (["train", "parity_check", "--track", "tensorbord"], "did you mean 'tensorboard'?"),
        (["train", "--machine", "none.json"], "cannot read 'none.json'"),
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


def test_a_reader_who_has_seen_enough_is_no_error():
    command = f"{sys.executable} -m ldru --help | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("usage: ldru COMMAND [OPTIONS]\n", "")


def test_with_json_errors_are_json_too(capsys):
    code, out, err = call(capsys, "eval", "nowhere", "--json")
    assert code == 2
    assert "there is no run folder 'nowhere'" in json.loads(out)["error"]
    assert err.startswith("error: there is no run folder")


def test_a_wrong_subcommand_is_answered_with_the_nearest(capsys):
    code, _, err = call(capsys, "reproduce", "plann", "central")
    assert code == 2
    assert "unknown command of `ldru reproduce` 'plann' (did you mean 'plan'?)" in err


def test_a_bad_option_points_to_the_help_of_its_own_command(capsys):
    for command in (["train", "parity_check"], ["reproduce", "render"]):
        code, _, err = call(capsys, *command, "--nonsense", "3")
        assert code == 2
        assert f"run ldru {' '.join(command[:2]).removesuffix(' parity_check')} --help" in err


def test_what_people_write_is_printed_as_it_is(capsys):
    print_rows([{"name": "[b]a", "other": "[/x]"}], as_json=False)
    out = capsys.readouterr().out
    assert "[b]a" in out
    assert "[/x]" in out
