"""A member of a fleet is what it would be alone."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import stats

import ldru
from ldru.base.errors import LdruError
from ldru.layers.dropout import Dropout
from ldru.training.draws.regular import training_lengths
from ldru.training.fleet import Fleet
from ldru.training.member import Member
from ldru.training.spec import TrainSpec

# Differ in task, seed, dropout, learning rate, steps, vocabulary, classes and word length.
KINDS = [
    ("parity_check", 0, 0.1, 1e-3, 60),
    ("modular_arithmetic", 1, 0.0, 3e-4, 80),
    ("prefix_2_4", 2, 0.25, 1e-3, 50),
    ("parity_check", 7, 0.1, 5e-4, 60),
    ("tomita_3", 0, 0.4, 1e-3, 100),
]


def member(kind, operator="mlp", **changes):
    name, seed, dropout, rate, steps = kind
    settings = replace(
        TrainSpec(steps=steps, learning_rate=rate, batch_size=12, precision="float64"), **changes
    )
    return Member(
        name=f"{name}-{seed}",
        task=ldru.task(name),
        build=ldru.LDRUSpec(dim=6, dropout=dropout, operator=operator).build,
        seed=seed,
        settings=settings,
    )


def step_many(fleet, count):
    for length in training_lengths(0, count, max_length=15):
        fleet.step(length)


def test_data_and_masks_are_bit_equal_alone_and_in_a_fleet():
    together = Fleet([member(kind) for kind in KINDS])
    step_many(together, 3)
    for index, kind in enumerate(KINDS):
        alone = Fleet([member(kind)])
        step_many(alone, 3)
        for length in (1, 8, 10):
            ours = alone.draw(length)
            theirs = together.draw(length)
            width = ours.tokens.shape[-1]
            assert torch.equal(ours.tokens[0], theirs.tokens[index, :, :width])
            assert torch.equal(ours.labels[0], theirs.labels[index])
        ours, theirs = alone.random_buffers(12), together.random_buffers(12)
        if not kind[2]:  # without dropout, a member alone draws nothing, and in a fleet in vain
            assert not ours
            assert mask(theirs, index).eq(1).all()
            continue
        assert set(ours) == set(theirs)
        for name in ours:
            assert torch.equal(ours[name][0], theirs[name][index])
        assert torch.equal(mask(ours, 0), mask(theirs, index))


def mask(buffers, row):
    """What dropout makes of ones with the buffers of one member."""
    layer = Dropout(rate=0.5)
    for part in ("keys", "cut", "scale"):
        setattr(layer, part, buffers[f"encoder.dropout.{part}"][row])
    return layer(torch.ones(12, 7, 6, dtype=torch.double), 3)


@pytest.mark.parametrize("operator", ldru.OPERATORS)
def test_weights_agree_after_20_steps(operator):
    together = Fleet([member(kind, operator) for kind in KINDS])
    step_many(together, 20)
    for index, kind in enumerate(KINDS):
        alone = Fleet([member(kind, operator)])
        step_many(alone, 20)
        for name, weights in alone.weights(0).items():
            other = together.weights(index)[name]
            assert other.shape == weights.shape
            torch.testing.assert_close(other, weights, rtol=0, atol=1e-8)


def test_what_is_not_a_members_own_stays_zero():
    fleet = Fleet([member(kind) for kind in KINDS])
    step_many(fleet, 20)
    head = fleet.parameters.views["head.weight"].detach()
    assert head[0, :2].abs().sum() > 0
    assert not head[0, 2:].any()
    embedding = fleet.parameters.views["embedding.weight"].detach()
    assert not embedding[0, 2:].any()


def test_scores_leave_out_other_members_classes():
    fleet = Fleet([member(kind) for kind in KINDS])
    scores = fleet.scores(torch.zeros(len(KINDS), 3, 4, dtype=torch.long))
    assert torch.isinf(scores[0, :, 2:]).all()
    assert torch.isfinite(scores[2]).all()


def test_select_goes_on_as_if_nothing_had_happened():
    fleet = Fleet([member(kind) for kind in KINDS])
    step_many(fleet, 5)
    some = fleet.select([2, 0])
    for each in (fleet, some):
        for length in training_lengths(5, 12, max_length=15):
            each.step(length)
    for ours, theirs in ((0, 2), (1, 0)):
        for name, weights in some.weights(ours).items():
            torch.testing.assert_close(weights, fleet.weights(theirs)[name], rtol=0, atol=1e-9)


def test_lengths_are_uniform_and_a_function_of_the_step():
    lengths = training_lengths(0, 40_000, max_length=40)
    counts = np.bincount(lengths, minlength=41)
    assert counts[0] == 0
    assert stats.chisquare(counts[1:]).pvalue > 1e-4
    assert training_lengths(100, 150, max_length=40) == lengths[100:150]


def test_members_that_cannot_share_a_fleet_are_named():
    first, second = member(KINDS[0]), member(KINDS[1])
    other = TrainSpec(steps=5, learning_rate=1.0, batch_size=13, precision="float64")
    second = Member(name="other", task=second.task, build=second.build, seed=1, settings=other)
    with pytest.raises(LdruError, match=r"share batch_size.*12.*other 13"):
        Fleet([first, second])
    with pytest.raises(LdruError, match="same name"):
        Fleet([first, first])
    with pytest.raises(LdruError, match="at least one"):
        Fleet([])
