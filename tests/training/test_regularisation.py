"""Associativity loss and weight decay in a fleet's step, and what they mean for settings."""

from dataclasses import replace

import pytest
import torch

import ldru
from ldru.base.json import from_json, to_json
from ldru.models.settings import TransformerAlibiSpec
from ldru.training.fleet import Fleet
from ldru.training.member import Member
from ldru.training.spec import TrainSpec

SETTINGS = TrainSpec(steps=20, learning_rate=1e-2, batch_size=6, precision="float64", l2=0.0)


def member(seed=0, model="ldru", task="cycle_navigation", **changes):
    kinds = {"ldru": ldru.LDRUSpec(dim=4, dropout=0.3), "lstm": ldru.MODELS["lstm"](dim=4)}
    return Member(
        name=f"{seed}-{changes}",
        task=ldru.task(task),
        build=kinds[model].build,
        seed=seed,
        settings=replace(SETTINGS, **changes),
    )


def test_the_weighted_loss_is_added_to_the_cross_entropy():
    plain, weighed = Fleet([member()]), Fleet([member(associativity=2.5)])
    batch = plain.draw(9)
    model = plain.members[0].model().double().train()
    for name, buffer in plain.random_buffers(6).items():
        module, part = name.rsplit(".", 1)
        setattr(model.get_submodule(module), part, buffer[0])
    _, lost = model.forward_with_associativity(batch.tokens[0])
    want = plain.losses(batch) + 2.5 * lost.mean()
    torch.testing.assert_close(weighed.losses(batch), want)
    torch.testing.assert_close(weighed.step(9), want.detach())


def test_members_may_weigh_it_differently_and_are_as_alone():
    weights = (0.1, 5.0)
    fleet = Fleet([member(seed, associativity=w) for seed, w in enumerate(weights)])
    alone = [Fleet([member(seed, associativity=w)]) for seed, w in enumerate(weights)]
    for length in (9, 3, 2, 1, 16):
        for each in (fleet, *alone):
            each.step(length)
    for index, single in enumerate(alone):
        for name, tensor in single.weights(0).items():
            torch.testing.assert_close(fleet.weights(index)[name], tensor, rtol=0, atol=1e-9)
    with pytest.raises(ldru.LdruError, match="share associativity"):
        Fleet([member(0), member(1, associativity=1.0)])


def test_it_makes_an_operator_more_associative():
    def loss_after_training(weight):
        fleet = Fleet([member(associativity=weight, batch_size=32)])
        for _ in range(60):
            fleet.step(8)
        model = fleet.members[0].model().double().eval()
        model.load_state_dict(fleet.weights(0))
        _, lost = model.forward_with_associativity(fleet.draw(8).tokens[0])
        return lost.mean().item()

    assert loss_after_training(10.0) < 0.5 * loss_after_training(1e-9)


def test_a_model_without_an_operator_says_so():
    with pytest.raises(ldru.LdruError, match=r"LSTMClassifier reduces words by no operator"):
        Fleet([member(model="lstm", associativity=1.0)])


def test_weight_decay_is_that_of_adamw():
    changes = {"optimizer": "adam", "centralise": False, "clip": 1e9, "warmup": 0.0}
    fleet = Fleet([member(**changes, weight_decay=0.3, learning_rate=0.02)])
    model = fleet.members[0].model().double()
    theirs = torch.optim.AdamW(model.parameters(), lr=0.02, weight_decay=0.3)
    for length in (7, 3, 12):
        buffers = fleet.random_buffers(6)
        for name, buffer in buffers.items():
            module, part = name.rsplit(".", 1)
            setattr(model.get_submodule(module), part, buffer[0])
        batch = fleet.draw(length)
        loss = torch.nn.functional.cross_entropy(model(batch.tokens[0]), batch.labels[0])
        theirs.zero_grad()
        loss.backward()
        theirs.step()
        fleet.step(length)
    named = dict(model.named_parameters())
    for name, tensor in fleet.weights(0).items():
        torch.testing.assert_close(tensor, named[name].detach(), rtol=1e-9, atol=1e-12)


def test_a_default_that_changed_is_not_read_into_older_settings():
    """Runs from before have the value of before; the new default is written out."""
    old = TransformerAlibiSpec(variant="original")
    assert "variant" not in to_json(old)
    assert from_json(TransformerAlibiSpec, to_json(old)) == old
    assert to_json(TransformerAlibiSpec())["variant"] == "benchmark"
    assert from_json(TransformerAlibiSpec, to_json(TransformerAlibiSpec())).variant == "benchmark"


def test_settings_of_runs_made_before_keep_their_digests():
    assert not {"associativity", "weight_decay"} & set(to_json(TrainSpec()))
    some = TrainSpec(associativity=0.5)
    assert to_json(some)["associativity"] == 0.5
    for settings in (TrainSpec(), some):
        assert from_json(TrainSpec, to_json(settings)) == settings


@pytest.mark.parametrize("name", ["associativity", "weight_decay", "l2"])
def test_negative_weights_are_an_error(name):
    with pytest.raises(ldru.LdruError, match=f"{name} must not be negative"):
        TrainSpec(**{name: -0.1}).check()
