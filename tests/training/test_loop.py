"""Logs, checkpoints and what happens on a bad day."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import ldru
from ldru.base.safetensors import load_tensors, save_tensors
from ldru.training.checkpoint import Checkpoint
from ldru.training.draws.regular import training_lengths
from ldru.training.fleet import Fleet
from ldru.training.interruption import USUAL, Interruption
from ldru.training.loop import train_fleet
from ldru.training.member import Member
from tests.training.test_fleet import member

SMALL = ldru.TrainSpec(
    batch_size=16, max_length=8, validate_every=40, validation_words=32, validation_length=10
)


def test_members_finish_at_their_own_step():
    finished = {}
    kinds = [("parity_check", 0, 0.1, 1e-2, 30), ("even_pairs", 1, 0.1, 1e-2, 70)]

    def on_finish(who, weights, log):
        finished[who.name] = (weights, log)

    train_fleet([member(kind) for kind in kinds], on_finish=on_finish)
    assert list(finished) == ["parity_check-0", "even_pairs-1"]
    assert [entry.step for entry in finished["parity_check-0"][1]] == [30]
    assert [entry.step for entry in finished["even_pairs-1"][1]] == [70]
    alone = {}
    train_fleet([member(kinds[1])], on_finish=lambda who, weights, log: alone.update(weights))
    for name, tensor in alone.items():
        torch.testing.assert_close(tensor, finished["even_pairs-1"][0][name], rtol=0, atol=1e-8)


def test_the_log_has_a_line_per_validation_and_the_mean_loss():
    seen = []

    class Watcher:
        def on_steps(self, step, losses):
            seen.append((step, losses))

        def on_log(self, entries):
            seen.append(entries)

    runs = ldru.train(
        "parity_check", model=ldru.LDRUSpec(dim=4), steps=90, settings=SMALL, observers=[Watcher()]
    )
    assert [entry.step for entry in runs[0].log] == [40, 80, 90]
    assert [s[0] for s in seen if isinstance(s, tuple)] == [40, 50, 80, 90]
    every = []
    member = _member(runs[0])
    fleet = Fleet([member])
    for length in training_lengths(0, 90, max_length=8):
        every.append(fleet.step(length).item())
    means = [sum(part) / len(part) for part in (every[:40], every[40:80], every[80:])]
    assert [entry.loss for entry in runs[0].log] == pytest.approx(means, rel=1e-6)


def _member(run):
    return Member(
        name="again", task=run.task, build=run.spec.model.build, seed=0, settings=run.spec.train
    )


def train_four(out):
    """Two tasks, two seeds each, checkpoints as often as possible; goes on with what is there."""
    return ldru.train_many(
        ["parity_check", "cycle_navigation"],
        model=ldru.LDRUSpec(dim=8),
        seeds=(0, 1),
        settings=replace(SMALL, steps=400),
        execution=ldru.Execution(out=out, resume=True, checkpoint_seconds=0.0),
    )


SCRIPT = """
import sys, torch
from pathlib import Path
from tests.training.test_loop import train_four
torch.set_num_threads(1)
train_four(Path(sys.argv[1]))
"""


def run_script(out):
    path = os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(out)], env={**os.environ, "PYTHONPATH": path}
    )


def test_killed_and_resumed_is_bit_identical(tmp_path):
    """Kills the process for real, twice, and compares with a run that was left alone.

    A second process leaves a training alone that is under way.
    """
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    step = 0
    for _ in range(2):
        process = run_script(broken)
        begun = _wait_for_step(broken, step + 1, process)
        with pytest.raises(ldru.LdruError, match="another process is at this training"):
            train_four(broken)
        _wait_for_step(broken, begun + 1, process)
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        assert not list(broken.glob("[a-z]*"))  # a run folder is whole or absent
        step = _kept_step(broken)
    train_four(whole)
    train_four(broken)
    names = sorted(path.name for path in whole.iterdir())
    assert names == sorted(path.name for path in broken.iterdir())
    assert len(names) == 4
    for name in names:
        ours, _ = load_tensors(whole / name / "weights.safetensors")
        theirs, _ = load_tensors(broken / name / "weights.safetensors")
        assert all(torch.equal(ours[key], theirs[key]) for key in ours)
        logs = [
            [json.loads(line) for line in (folder / name / "log.jsonl").read_text().splitlines()]
            for folder in (whole, broken)
        ]
        for first, second in zip(*logs, strict=True):
            assert {**first, "seconds": 0} == {**second, "seconds": 0}


def test_a_training_does_not_go_on_with_other_words(tmp_path, small_listops):
    arguments = {
        "model": ldru.LDRUSpec(dim=4),
        "settings": replace(SMALL, steps=20, validate_every=5, learning_rate=1e-3),
        "out": tmp_path,
        "checkpoint_seconds": 0.0,
    }
    with pytest.raises(StoppedError):
        ldru.train("listops_40", observers=[StopAt(15)], **arguments)
    other = ldru.task("listops_50").words("train")
    changed = replace(ldru.task("listops_40"), open_set=lambda name: other)
    with pytest.raises(ldru.LdruError, match="began with other words of 'listops_40'"):
        ldru.train(changed, resume=True, **arguments)
    ldru.train("listops_40", resume=True, **arguments)
    with pytest.raises(ldru.LdruError, match="was trained on other words of 'listops_40'"):
        ldru.train(changed, resume=True, **arguments)


def test_the_first_validation_is_kept(tmp_path):
    """Whatever the time between checkpoints; a training that ends there leaves none behind."""
    arguments = {
        "model": ldru.LDRUSpec(dim=4),
        "settings": replace(SMALL, steps=30, validate_every=10, learning_rate=1e-3),
        "out": tmp_path,
    }
    with pytest.raises(StoppedError):
        ldru.train("parity_check", observers=[StopAt(20)], **arguments)
    (folder,) = tmp_path.glob(".unfinished-*")
    assert Checkpoint(folder).load().step == 10
    resumed = ldru.train("parity_check", resume=True, **arguments)[0]
    whole = ldru.train("parity_check", **{**arguments, "out": tmp_path / "again"})[0]
    for name, weight in whole.model.state_dict().items():
        assert torch.equal(resumed.model.state_dict()[name], weight)


def _kept_step(out):
    """The step of the checkpoint that is there; 0 before the first."""
    for folder in out.glob(".unfinished-*"):
        checkpoint = Checkpoint(folder)
        if checkpoint.exists():
            return checkpoint.load().step
    return 0


def _wait_for_step(out, least, process):
    """Wait until this step is kept, or a later one, which is given."""
    for _ in range(1200):
        assert process.poll() is None, "it finished before it could be killed"
        if (step := _kept_step(out)) >= least:
            return step
        time.sleep(0.05)
    raise AssertionError(f"no checkpoint at step {least}")


class StoppedError(Exception):
    """Stands in for a sudden end."""


class StopAt:
    """Ends training at a step, after its checkpoint."""

    def __init__(self, step):
        self.step = step

    def on_steps(self, step, losses):
        if step >= self.step:
            raise StoppedError

    def on_log(self, entries):
        pass


def weights_of(runs):
    return {
        (name, seed): run.model.state_dict()
        for name, by_seed in runs.items()
        for seed, run in by_seed.items()
    }


def train_some(out, tasks=("parity_check", "even_pairs"), seeds=(0, 1), stop=None, **changes):
    return ldru.train_many(
        list(tasks),
        model=ldru.LDRUSpec(dim=4),
        seeds=seeds,
        settings=replace(SMALL, steps=120, **changes),
        execution=ldru.Execution(
            out=out,
            resume=True,
            checkpoint_seconds=0.0,
            observers=[] if stop is None else [StopAt(stop)],
        ),
    )


def assert_same(first, second):
    assert set(first) == set(second)
    for key in first:
        for name in first[key]:
            assert torch.equal(first[key][name], second[key][name]), (key, name)


def test_resuming_in_another_order_keeps_everybodys_weights(tmp_path):
    whole = weights_of(train_some(tmp_path / "whole"))
    with pytest.raises(StoppedError):
        train_some(tmp_path / "broken", stop=100)
    resumed = train_some(tmp_path / "broken", tasks=("even_pairs", "parity_check"), seeds=(1, 0))
    assert_same(whole, weights_of(resumed))


def test_the_log_can_be_followed_and_a_resumed_one_has_no_line_twice(tmp_path):
    with pytest.raises(StoppedError):
        train_some(tmp_path, seeds=(0,), stop=100)
    (live,) = tmp_path.glob(".unfinished-*/parity_check*.jsonl")
    steps = [json.loads(line)["step"] for line in live.read_text().splitlines()]
    assert steps == [40, 80]
    runs = train_some(tmp_path, seeds=(0,))
    assert [entry.step for entry in runs["parity_check"][0].log] == [40, 80, 120]
    assert not list(tmp_path.glob(".unfinished-*"))


def test_a_second_stop_after_some_were_done_before(tmp_path):
    alone = weights_of(train_some(tmp_path, seeds=(0,)))
    with pytest.raises(StoppedError):
        train_some(tmp_path, stop=50)
    with pytest.raises(StoppedError):
        train_some(tmp_path, stop=100)
    both = weights_of(train_some(tmp_path))
    assert_same(alone, {key: both[key] for key in alone})
    assert len(both) == 4


def test_a_finished_run_that_was_moved_away_is_trained_again(tmp_path):
    whole = train_some(tmp_path)
    lost = whole["parity_check"][1]
    shutil.move(lost.folder, tmp_path / "elsewhere")
    again = train_some(tmp_path)["parity_check"][1]
    assert again.folder == lost.folder
    assert again.record.final.step == 120


def test_weights_that_are_no_numbers_are_never_kept(tmp_path):
    with pytest.raises(ldru.LdruError, match=r"weights of .* no longer finite after step 1"):
        ldru.train(
            "parity_check",
            model=ldru.LDRUSpec(dim=4),
            settings=replace(SMALL, steps=1, warmup=0.0, learning_rate=1e38),
            out=tmp_path,
        )
    assert not list(tmp_path.rglob("*.safetensors"))


def test_a_loss_that_is_no_number_names_the_step_and_keeps_the_checkpoint(tmp_path, monkeypatch):
    step = Fleet.step

    def spoiled(fleet, *shape):
        losses = step(fleet, *shape)
        return losses * float("nan") if int(fleet.step_number) == 73 else losses

    monkeypatch.setattr(Fleet, "step", spoiled)
    arguments = {
        "model": ldru.LDRUSpec(dim=4),
        "steps": 120,
        "settings": SMALL,
        "out": tmp_path,
        "checkpoint_seconds": 0.0,
    }
    with pytest.raises(ldru.LdruError, match=r"became nan at step 73; step 50 is kept"):
        ldru.train("parity_check", **arguments)
    monkeypatch.undo()
    with pytest.raises(ldru.LdruError, match="stopped at step 50; go on with --resume"):
        ldru.train("parity_check", **arguments)
    resumed = ldru.train("parity_check", resume=True, **arguments)
    fresh = ldru.train("parity_check", **{**arguments, "out": None})
    for name, tensor in fresh[0].model.state_dict().items():
        assert torch.equal(tensor, resumed[0].model.state_dict()[name])


@pytest.fixture
def ctrl_c():
    """The usual handlers, also where the parent process ignores Ctrl-C (`make test &`)."""
    before = {one: signal.signal(one, usual) for one, usual in USUAL.items()}
    yield
    for one, handler in before.items():
        signal.signal(one, handler)


@pytest.mark.parametrize(
    ("done", "sent"),
    [
        *((67, signal.SIGINT), (80, signal.SIGINT), (90, signal.SIGINT), (67, signal.SIGTERM)),
        *((67, signal.SIGUSR1), (67, signal.SIGALRM)),
    ],
)
def test_ctrl_c_keeps_the_step_it_fell_into_and_training_goes_on_to_the_same_bits(
    done, sent, tmp_path, monkeypatch, ctrl_c
):
    """Also the step before a validation, and the last; and SIGTERM, as clusters end a job.

    Their warning, and the end of a time limit, are another error.
    """
    step = Fleet.step

    def interrupted(fleet, *shape):
        if int(fleet.step_number) == done - 1:
            os.kill(os.getpid(), sent)  # before the step changes anything
        return step(fleet, *shape)

    monkeypatch.setattr(Fleet, "step", interrupted)
    arguments = {"model": ldru.LDRUSpec(dim=4), "steps": 90, "settings": SMALL, "out": tmp_path}
    is_warning = sent in (signal.SIGUSR1, signal.SIGALRM)
    with (
        ldru.time_limit(hours=1),
        pytest.raises(ldru.OutOfTimeError if is_warning else KeyboardInterrupt),
    ):
        ldru.train("parity_check", **arguments)
    assert all(signal.getsignal(one) is usual for one, usual in USUAL.items())
    assert signal.getsignal(signal.SIGUSR1) is signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
    monkeypatch.undo()
    with pytest.raises(ldru.LdruError, match=f"stopped at step {done}; go on with --resume"):
        ldru.train("parity_check", **arguments)
    resumed = ldru.train("parity_check", resume=True, **arguments)
    fresh = ldru.train("parity_check", **{**arguments, "out": None})
    assert [entry.step for entry in resumed[0].log] == [40, 80, 90]
    assert [e.loss for e in resumed[0].log] == pytest.approx([e.loss for e in fresh[0].log])
    for name, tensor in fresh[0].model.state_dict().items():
        assert torch.equal(tensor, resumed[0].model.state_dict()[name])


def test_a_second_ctrl_c_acts_at_once_and_other_handlers_are_left_alone(ctrl_c):
    with Interruption() as interruption:
        os.kill(os.getpid(), signal.SIGINT)
        assert interruption.is_asked
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    seen = []
    before = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        with Interruption() as interruption:
            os.kill(os.getpid(), signal.SIGINT)
        assert seen == [signal.SIGINT]
        assert not interruption.is_asked
    finally:
        signal.signal(signal.SIGINT, before)


def test_fine_tuning_starts_from_a_run(tmp_path):
    model = ldru.LDRUSpec(dim=4)
    first = ldru.train("parity_check", model=model, steps=30, settings=SMALL, out=tmp_path / "a")
    tiny = replace(SMALL, steps=1, learning_rate=1e-12)
    second = ldru.train(
        "even_pairs", model=model, seeds=(5,), settings=tiny, init_from=first[0].folder
    )
    for name, tensor in first[0].model.state_dict().items():
        torch.testing.assert_close(second[5].model.state_dict()[name], tensor, rtol=0, atol=1e-7)
    assert second[5].spec.init_from == first[0].spec.digest
    with pytest.raises(ldru.LdruError, match="cannot be continued on 'cycle_navigation'"):
        ldru.train("cycle_navigation", model=model, settings=tiny, init_from=first[0].folder)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("logs", '{"/somewhere/data": []}'),
        ("logs", '{"../../x": []}'),
        ("logs", '{".hidden": []}'),
        ("logs", '{"a": [{"unknown": 1}]}'),
        ("logs", "[" * 100_000),
        ("names", '["a/b"]'),
        ("names", "7"),
        ("step", "many"),
        ("data", "[1, 2]"),
    ],
)
def test_a_checkpoint_of_others_leads_nowhere(tmp_path, field, value):
    metadata = {"step": "3", "names": '["a"]', "logs": '{"a": []}', "data": "{}"}
    folder = tmp_path / "inner" / "training"
    folder.mkdir(parents=True)
    checkpoint = Checkpoint(folder)
    save_tensors(folder / "checkpoint.safetensors", {"x": torch.zeros(1)}, metadata)
    assert checkpoint.load().step == 3
    save_tensors(
        folder / "checkpoint.safetensors", {"x": torch.zeros(1)}, {**metadata, field: value}
    )
    with pytest.raises(ldru.LdruError, match=r"is not a checkpoint of this training: .*; remove"):
        checkpoint.load()
