"""Runs that were taught products, and `ldru teach`."""

import json
import math

import pytest
import torch

import ldru
from ldru.analysis.teaching import GATHERED_TOLERANCES
from ldru.runs.folder import SETTINGS
from ldru.runs.spec import RunSpec
from ldru.runs.teach import teaching_spec
from tests.cli.calling import call

pytestmark = pytest.mark.usefixtures("few_words")
SMALL = ldru.LDRUSpec(dim=16)


@pytest.fixture(scope="module")
def run():
    return ldru.teach("parity_check", model=SMALL, steps=150)


def test_a_taught_run_is_a_run(run, tmp_path):
    found = run.exact()
    assert found.summary == "correct at every length"
    assert {trial.tolerance for trial in found.trials} <= {*GATHERED_TOLERANCES}
    assert run.evaluate([40, 500]) == {40: 1.0, 500: 1.0}
    again = ldru.Run.open(run.save(tmp_path / "run").folder)
    assert again.spec == run.spec
    assert again.spec.taught == 150
    assert again.record.final.step == 150
    assert again.record.final.accuracy == 1.0
    words = ["0110", "1" * 1001]
    assert again.predict(words) == run.predict(words)


def test_steps_and_seeds_are_told(run):
    steps = []
    other = ldru.teach("parity_check", model=SMALL, steps=4, seed=1, on_step=steps.append)
    assert steps == [1, 2, 3, 4]
    assert other.spec.name != run.spec.name
    assert not torch.equal(other.model.head.weight, run.model.head.weight)


def test_a_taught_run_is_another_than_one_trained_on_words(run, tmp_path):
    folder = run.save(tmp_path / "run").folder
    data = json.loads((folder / SETTINGS).read_text())
    assert data["taught"] == 150
    del data["taught"]
    assert RunSpec.from_json(data).digest != run.spec.digest
    for wrong in (-1, 2.5, "150", True, math.nan, [150]):
        with pytest.raises(ldru.LdruError, match="taught counts steps, a whole number, got"):
            RunSpec.from_json({**data, "taught": wrong})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"task": "listops_1k"}, "is a data set"),
        ({"model": "rnn"}, "only an LDRU has"),
        ({"task": "dyck_40"}, "more than 10,000 elements"),
        ({"steps": 0}, "at least 1, got 0"),
        ({"steps": 2.0}, "at least 1, got 2.0"),
        ({"seed": -1}, "seed"),
    ],
)
def test_what_cannot_be_taught_is_one_error(arguments, message):
    given = {"task": "parity_check", "steps": 1, **arguments}
    with pytest.raises(ldru.LdruError, match=message):
        ldru.teach(given.pop("task"), **given)


def test_the_command_keeps_runs_and_their_machines(capsys, tmp_path):
    out = tmp_path / "runs"
    tiny = ["--regex", "(0|1)*1", "--dim", "16", "--steps", "150", "--seeds", "0", "1"]
    code, printed, err = call(capsys, "teach", *tiny, "--out", out)
    assert code == 0, err
    assert printed.count("correct at every length") == 2
    assert f"kept in {out}" in printed
    for folder in out.iterdir():
        machine = json.loads((folder / "machine.json").read_text())
        assert machine["summary"] == "correct at every length"
        assert machine["run"] == folder.name
    files = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    code, printed, err = call(capsys, "teach", *tiny, "--out", out)
    assert (code, printed) == (2, "")
    assert "is already there; choose another folder" in err
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == files


def test_the_command_ends_with_an_error_where_a_machine_is_wrong(capsys, tmp_path):
    out = tmp_path / "runs"
    code, printed, err = call(
        capsys, "teach", "parity_check", "--dim", "4", "--steps", "1", "--out", out, "--json"
    )
    assert code == 1
    assert "1 of 1 machines are not correct" in err
    assert "allow more than 1 --steps" in err
    (row,) = json.loads(printed.splitlines()[0])
    assert not row["correct"]
    assert ldru.Run.open(row["folder"]).spec == teaching_spec(
        ldru.task("parity_check"), model=ldru.LDRUSpec(dim=4), steps=1
    )
