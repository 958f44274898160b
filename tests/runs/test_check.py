"""What a check finds, and what a killed process leaves behind."""

import json
import shutil
import subprocess
import sys

import pytest
import torch

import ldru
from ldru.base.files import sweep, whole_file, whole_folder
from ldru.base.safetensors import load_tensors, save_tensors
from ldru.runs.folder import RunFolder
from ldru.runs.packed import write_pack
from tests.cli.calling import call

SMALL = ldru.TrainSpec(batch_size=4, validation_words=4, validation_length=8, validate_every=2)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    out = tmp_path_factory.mktemp("trained")
    model = ldru.LDRUSpec(dim=2)
    ldru.train("parity_check", model=model, steps=4, seeds=5, settings=SMALL, out=out)
    return out


def flip(path, place):
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


def test_every_kind_of_damage_is_found(trained, tmp_path, capsys):
    out = tmp_path / "results"
    shutil.copytree(trained, out / "runs")
    runs = sorted((out / "runs").iterdir())
    write_pack(out / "packed" / "some.zip", {r.name: RunFolder(r) for r in runs}, has_weights=True)
    assert ldru.check_runs(out).is_whole
    assert {row["state"] for row in ldru.check_runs(out).rows()} == {"whole"}
    assert len(ldru.check_runs(out).runs) == 10
    (out / "figures").mkdir()  # no run
    (out / "runs" / "lost-ldru-seed0-0123abcd").mkdir()
    flip(runs[0] / "weights.safetensors", -1)
    flip(runs[1] / "settings.json", 40)
    (runs[2] / "log.jsonl").write_text("{}\n")
    weights, metadata = load_tensors(runs[3] / "weights.safetensors")
    weights = {name: torch.full_like(tensor, torch.nan) for name, tensor in weights.items()}
    save_tensors(runs[3] / "weights.safetensors", weights, metadata)
    (runs[4] / "weights.safetensors").unlink()
    flip(out / "packed" / "some.zip", 100)
    (out / "runs" / ".unfinished-123").mkdir()
    (out / "runs" / ".unfinished-123" / "checkpoint.safetensors").write_text("nothing")
    found = {run.name: run for run in ldru.check_runs(out).runs}
    reasons = ["checksum", "settings", "log.jsonl", "not finite", "without weights"]
    for run, reason in zip(runs, reasons, strict=True):
        assert reason in found[run.name].state
        assert found[run.name].is_whole is (reason == "without weights")
    assert "no whole file of packed runs" in found["some.zip"].state
    assert "settings.json" in found["lost-ldru-seed0-0123abcd"].state
    assert len(found) == 8
    assert "not a checkpoint" in found[".unfinished-123"].state
    code, printed, _ = call(capsys, "runs", out, "--check", "--json")
    assert (code, json.loads(printed)) == (1, ldru.check_runs(out).rows())
    code, printed, _ = call(capsys, "runs", trained, "--check")
    assert (code, printed.count("whole")) == (0, 5)


def test_weights_are_read_before_they_complete_a_record(trained, tmp_path):
    run = sorted(trained.iterdir())[0]
    copy = shutil.copytree(run, tmp_path / "a" / run.name)
    flip(copy / "weights.safetensors", -1)
    write_pack(tmp_path / "bad.zip", {run.name: RunFolder(copy)}, has_weights=True)
    results = ldru.Results(tmp_path / "results")
    there = shutil.copytree(run, results.runs / run.name)
    (there / "weights.safetensors").unlink()
    with pytest.raises(ldru.LdruError, match="checksum"):
        ldru.unpack(tmp_path / "bad.zip", results)
    assert sorted(path.name for path in there.iterdir()) == [
        "log.jsonl",
        "record.json",
        "settings.json",
    ]


KILLED = """
import os, sys
from pathlib import Path
from ldru.base.files import whole_file, whole_folder
kind = {"file": whole_file, "folder": whole_folder}[sys.argv[2]]
with kind(Path(sys.argv[1])) as temporary:
    print(temporary.name, flush=True)
    if sys.argv[3] == "die":
        os._exit(9)
    sys.stdin.read()
"""


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_only_what_a_killed_process_left_is_swept(kind, tmp_path):
    path = tmp_path / "record.json"
    (tmp_path / ".record.json.lock").touch()
    (tmp_path / ".record.jsonx.abcdefgh").touch()
    code = [sys.executable, "-c", KILLED, str(path), kind]
    left = subprocess.run([*code, "die"], capture_output=True, text=True, check=False).stdout
    with subprocess.Popen([*code, "live"], stdin=-1, stdout=-1, text=True) as living:
        busy = living.stdout.readline().strip()
        there = {p.name for p in tmp_path.iterdir()}
        assert busy in there
        assert (left.strip() in there) == (kind == "folder")  # who writes a file sweeps first
        sweep(path)
        names = {p.name for p in tmp_path.iterdir()}
        assert names == {busy, ".record.json.lock", ".record.jsonx.abcdefgh"}
        living.stdin.close()
        assert living.wait() == 0
    assert path.exists()


def test_training_and_evaluation_sweep_their_own_places(trained, tmp_path):
    run = ldru.Run.open(shutil.copytree(sorted(trained.iterdir())[0], tmp_path / "copy"))
    (run.folder / ".record.json.abcdefgh").touch()
    run.with_evaluation(run.compute_evaluation([3], words=4))
    assert not list(run.folder.glob(".*"))
    (tmp_path / f".{run.spec.name}.abcdefgh").mkdir()
    model = ldru.LDRUSpec(dim=2)
    ldru.train("parity_check", model=model, steps=4, seeds=(0,), settings=SMALL, out=tmp_path)
    assert not list(tmp_path.glob(".*"))


def test_folders_and_files_are_still_whole_or_absent(tmp_path):
    for make, name in ((whole_file, "file"), (whole_folder, "folder")):
        with pytest.raises(RuntimeError, match="stop"), make(tmp_path / name):
            raise RuntimeError("stop")
    assert not list(tmp_path.iterdir())
