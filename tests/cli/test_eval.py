"""`ldru eval`."""

import json
import shutil

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
