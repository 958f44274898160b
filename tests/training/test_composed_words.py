"""Compositions among the words of a training."""

from dataclasses import replace

import pytest
import torch

import ldru
from ldru.tasks.batch import PaddedBatch
from ldru.training import composed_words
from ldru.training.composed_words import ComposedWords
from ldru.training.draws.regular import RegularDraws
from ldru.training.fleet import Fleet
from ldru.training.hard_words import HardWords
from ldru.training.spec import POOL_SIZE
from tests.training.test_fleet import member

CPU = torch.device("cpu")
NAMES = ["dyck_2", "modular_arithmetic", "parity_check"]
TOLD = {"labels": "factors", "compositions": 0.5, "random_trees": 0.5}
SMALL = ldru.TrainSpec(
    batch_size=16, max_length=6, steps=120, validate_every=60, validation_words=8,
    validation_length=8, **TOLD,
)  # fmt: skip


def pool(names, **changes):
    draws = RegularDraws([ldru.task(name) for name in names], range(len(names)), device=CPU)
    return ComposedWords(draws, **{"share": 0.5, "max_length": 9, **changes})


def test_pools_hold_words_of_every_length_anew_after_some_steps():
    words = pool(NAMES)
    words.draw(0)
    first = words.tokens.clone()
    for index, task in enumerate(words.draws.tasks):
        for length in range(1, 10):
            size = task.word_length(length)
            tokens, labels = words.tokens[index, length - 1], words.labels[index, length - 1]
            assert not tokens[:, size:].any()
            assert torch.equal(task.label(tokens[:, :size].long()), labels.long())
    words.draw(999)
    assert torch.equal(words.tokens, first)
    words.draw(1000)
    assert not torch.equal(words.tokens, first)
    words.draw(0)
    assert torch.equal(words.tokens, first)


def test_a_member_draws_in_a_fleet_what_it_draws_alone():
    fleet = pool(NAMES)
    fleet.draw(0)
    for index, name in enumerate(NAMES):
        draws = RegularDraws([ldru.task(name)], [index], device=CPU)
        alone = ComposedWords(draws, share=0.5, max_length=9)
        alone.draw(0)
        assert torch.equal(fleet.tokens[index, ..., : alone.longest], alone.tokens[0])
        assert not fleet.tokens[index, ..., alone.longest :].any()


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
def test_hard_words_and_compositions_have_rows_of_their_own(share):
    words = pool(["dyck_2"], share=share)
    words.draw(0)
    words.tokens.fill_(5)
    hard = HardWords(words.draws, share=1 - share, max_length=9)
    hard.tokens.fill_(7)
    tokens = torch.zeros(1, 16, 8, dtype=torch.int64)
    batch = PaddedBatch(tokens, torch.zeros(1, 16, dtype=torch.int64), None)
    mixed = words.mix(hard.mix(batch, torch.tensor(3), 8), torch.tensor(3), 8).tokens[0, :, 0]
    assert mixed.tolist().count(5) == 16 * share
    assert mixed.tolist().count(7) == 16 * (1 - share)
    words.draw(0)


def test_each_batch_takes_others_of_the_pool():
    words = pool(["dyck_3"], share=1.0)
    words.tokens[...] = torch.arange(POOL_SIZE)[None, None, :, None]
    batch = PaddedBatch(
        torch.zeros(1, 64, 8, dtype=torch.int64), torch.zeros(1, 64, dtype=torch.int64), None
    )
    taken = [words.mix(batch, torch.tensor(step), 8).tokens[0, :, 0] for step in (0, 1)]
    assert not torch.equal(*taken)
    assert len(set(taken[0].tolist())) > 40


def test_training_resumes_to_the_same_bits(tmp_path, monkeypatch):
    monkeypatch.setattr(composed_words, "DRAWN_EVERY", 50)

    class StoppedError(Exception):
        pass

    class Stop:
        def on_steps(self, step, losses):
            if step >= 70:
                raise StoppedError

        def on_log(self, entries):
            pass

    def trained(out, *observers):
        execution = ldru.Execution(
            out=out, resume=True, checkpoint_seconds=0.0, observers=observers
        )
        runs = ldru.train_many(
            ["dyck_2"], model=ldru.LDRUSpec(dim=8, leaf_block=True), settings=SMALL,
            execution=execution,
        )  # fmt: skip
        return runs["dyck_2"][0].model.state_dict()

    whole = trained(tmp_path / "whole")
    with pytest.raises(StoppedError):
        trained(tmp_path / "parts", Stop())
    parts = trained(tmp_path / "parts")
    assert all(torch.equal(parts[name], weight) for name, weight in whole.items())


def test_words_without_a_label_teach_their_stretches():
    """Half of the compositions of arithmetic are no expressions, such as 3+*."""
    fleet = Fleet([member(("modular_arithmetic", 0, 0.0, 1e-3, 120), max_length=6, **TOLD)])
    fleet.plan(0, 1)
    assert (fleet.compositions.labels < 0).any()
    assert torch.isfinite(fleet.step(5)).all()


@pytest.mark.parametrize(
    ("task", "changes", "message"),
    [
        ("dyck_2", {"compositions": 1.5}, r"share of each batch in \[0, 1\], got 1.5"),
        ("dyck_2", {"labels": "words"}, "give labels='factors' or 'classes' too"),
        ("dyck_2", {"hard_words": 0.75}, "at most 1 together"),
        ("random_10_2_0", {}, "'random_10_2_0' has no compositions to draw, since its monoid has"),
    ],
)
def test_wrong_settings_are_one_clear_error(task, changes, message):
    with pytest.raises(ldru.LdruError, match=message):
        ldru.train(task, model=ldru.LDRUSpec(dim=4), settings=replace(SMALL, **changes))
