"""Folders of unfinished trainings that hold something else than was written."""

import shutil
from dataclasses import replace

import pytest
import torch

import ldru
from ldru.base.safetensors import load_tensors, save_tensors

SMALL = ldru.TrainSpec(batch_size=4, validation_words=4, validation_length=8, validate_every=2)
MODEL = ldru.LDRUSpec(dim=2)


class StopError(Exception):
    """Ends a training from the inside."""


class Stopper:
    def on_steps(self, step, losses):
        if step >= 4:
            raise StopError

    def on_log(self, entries):
        pass


def train(out, **more):
    return ldru.train("parity_check", model=MODEL, steps=6, settings=SMALL, out=out, **more)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """A training that ended after four of six steps."""
    out = tmp_path_factory.mktemp("stopped")
    with pytest.raises(StopError):
        train(out, observers=[Stopper()])
    return out


@pytest.fixture
def copy(stopped, tmp_path):
    return shutil.copytree(stopped, tmp_path / "copy")


@pytest.mark.parametrize("name", ["checkpoint.safetensors", "", "LOG", "RUN"])
def test_files_and_folders_that_take_each_others_place_are_one_error(name, copy):
    (folder,) = copy.glob(".unfinished-*")
    (log,) = folder.glob("*.jsonl")
    path = {"": folder, "LOG": log, "RUN": copy / log.stem}.get(name, folder / name)
    if path.is_dir():
        shutil.rmtree(path)
        path.write_text("")
    elif name == "RUN":
        path.write_text("")
    else:
        path.unlink()
        (path / "inner").mkdir(parents=True)
    with pytest.raises(ldru.LdruError, match=str(copy)):
        train(copy, resume=True)


def changed(path, *, tensors=None, **metadata):
    """A checkpoint that somebody made, with a checksum that fits."""
    known, said = load_tensors(path)
    save_tensors(path, {**known, **(tensors or {})}, {**said, **metadata})


@pytest.mark.parametrize(
    "change",
    [
        {"tensors": {"parameters": torch.zeros(1, 2)}},
        {"tensors": {"parameters": torch.zeros(1, 2, dtype=torch.int64)}},
        {"tensors": {"more": torch.zeros(1)}},
        {"tensors": {"loss_sum": torch.zeros(2, 9, dtype=torch.float64)}},
        {"step": "7"},
        {"step": "9" * 30},
        {"names": "[]"},
        {"names": '["stranger"]'},
        {"logs": "{}"},
    ],
    ids=str,
)
def test_a_checkpoint_that_cannot_be_of_this_training_is_one_error(change, copy):
    (path,) = copy.glob(".unfinished-*/checkpoint.safetensors")
    changed(path, **change)
    with pytest.raises(ldru.LdruError, match="not a checkpoint of this training"):
        train(copy, resume=True)


def test_hard_words_of_no_language_are_refused(tmp_path):
    settings = replace(SMALL, hard_words=0.5, max_length=4)
    more = {"model": MODEL, "steps": 6, "settings": settings, "out": tmp_path}
    with pytest.raises(StopError):
        ldru.train("parity_check", observers=[Stopper()], **more)
    (path,) = tmp_path.glob(".unfinished-*/checkpoint.safetensors")
    known, _ = load_tensors(path)
    changed(path, tensors={"hard_tokens": known["hard_tokens"] + 2})
    with pytest.raises(ldru.LdruError, match="hard_tokens are not of these tasks"):
        ldru.train("parity_check", resume=True, **more)


def test_an_untouched_one_goes_on(copy):
    assert train(copy, resume=True)[0].record.final.step == 6
