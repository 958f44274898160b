"""Two processes that share every batch, against one that has it all."""

import os
import subprocess
import sys

import pytest
import torch

from ldru.base.errors import LdruError
from ldru.cli import main
from ldru.runs.run import Run
from ldru.training.distributed import Group

OPTIONS = [
    *("--dim", "6", "--batch-size", "6", "--steps", "20", "--learning-rate", "1e-2"),
    *("--warmup", "0", "--dropout", "0.2", "--precision", "float64", "--seeds", "0", "1"),
    *("--validate-every", "10", "--device", "cpu"),
]


def test_two_processes_train_as_one(small_texts, tmp_path):
    """Two members, mixed lengths, dropout and the associativity loss; 20 steps."""
    command = ["train", "sst2", "--data", str(small_texts), *OPTIONS, "--out"]
    with pytest.raises(SystemExit) as stop:
        main([*command, str(tmp_path / "one")])
    assert stop.value.code == 0
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    done = subprocess.run(
        [*launch, "-m", "ldru", *command, str(tmp_path / "two")],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("accuracy by test set") == 2  # one process speaks, of two runs
    folders = sorted((tmp_path / "one").glob("sst2-*"))
    assert len(folders) == 2
    for folder in folders:
        alone, shared = Run.open(folder), Run.open(tmp_path / "two" / folder.name)
        start = alone.spec.model.build(vocab_size=30_522, num_classes=2)
        for name, weight in alone.model.state_dict().items():
            other = shared.model.state_dict()[name]
            torch.testing.assert_close(other, weight, rtol=1e-9, atol=1e-11)
            if name.startswith("encoder.operator"):
                assert (weight - start.state_dict()[name]).abs().max() > 1e-3
        for one, two in zip(alone.log, shared.log, strict=True):
            assert two.loss == pytest.approx(one.loss, rel=1e-9)
        assert (alone.record.device, shared.record.device) == ("cpu", "2 x cpu")
    assert not list((tmp_path / "two").glob(".unfinished*"))


def test_shares_are_a_partition():
    words = torch.arange(24).reshape(2, 12)
    parts = [Group(rank=rank, size=3).share(words, dim=1) for rank in range(3)]
    assert {part.shape for part in parts} == {(2, 4)}
    assert sorted(torch.cat(parts, dim=1)[0].tolist()) == list(range(12))
    with pytest.raises(LdruError, match=r"multiple of that, got 8"):
        Group(rank=0, size=3).check(8)


def test_reproducing_is_for_engines(capsys, monkeypatch):
    for name, value in {"TORCHELASTIC_RUN_ID": "one", "RANK": "0", "WORLD_SIZE": "2"}.items():
        monkeypatch.setenv(name, value)  # as torchrun does
    with pytest.raises(SystemExit) as stop:
        main(["reproduce", "run", "central"])
    assert stop.value.code == 2
    assert "--engine" in capsys.readouterr().err
