"""Training along random trees, decay of the rate, and averages of weights."""

import math
from dataclasses import replace

import pytest
import torch

import ldru
from ldru.base.randomness import Stream, fold, seed_key
from ldru.models.settings import LDRUSpec, RNNSpec
from ldru.training.draws.base import random_tree_steps
from ldru.training.fleet import Fleet
from ldru.training.member import Member
from ldru.training.spec import TrainSpec
from ldru.tree import draw_trees, tree_reduce

SETTINGS = TrainSpec(
    steps=60,
    learning_rate=1e-3,
    batch_size=8,
    max_length=9,
    validation_words=8,
    validation_length=12,
    validate_every=20,
    precision="float64",
    random_trees=0.5,
    decay="cosine",
    average=0.2,
    keep="average",
)


def member(task="parity_check", seed=0, **changes):
    spec = LDRUSpec(dim=4, dropout=0.2, leaf_block=True)
    return Member(
        name=f"{task}-{seed}",
        task=ldru.task(task),
        build=spec.build,
        seed=seed,
        settings=replace(SETTINGS, **changes),
    )


def take(fleet, begin, end):
    for shape in fleet.plan(begin, end):
        fleet.step(*shape)


def test_the_share_of_steps_is_as_asked_and_a_function_of_the_step():
    steps = random_tree_steps(0, 20_000, share=0.3)
    assert sum(steps) / len(steps) == pytest.approx(0.3, abs=0.015)
    assert random_tree_steps(700, 900, share=0.3) == steps[700:900]
    assert not any(random_tree_steps(0, 1000, share=0.0))
    assert all(random_tree_steps(0, 1000, share=1.0))


def test_a_random_step_is_the_loss_along_drawn_trees():
    """Against the literal loop, for the words, trees and weights of one member."""
    build = LDRUSpec(dim=4, dropout=0.0, leaf_block=True).build
    one = member(seed=5, average=0.0, keep="last", random_trees=1.0)
    fleet = Fleet([replace(one, build=build)])
    batch = fleet.draw(9)
    model = fleet.members[0].model().double().eval()
    key = fold(fold(seed_key([5]), Stream.TREES), 0)[0]
    trees = draw_trees(fold(key, torch.arange(8)), length=9, share=SETTINGS.merge_share)
    roots = tree_reduce(
        model.encoder.operator,
        model.symbol_leaves()[batch.tokens[0]],
        finish=model.encoder.block,
        trees=trees,
        backend="reference",
    )
    want = torch.nn.functional.cross_entropy(model.head(roots), batch.labels[0])
    assert fleet.losses(batch, is_random=True).item() == pytest.approx(want.item(), rel=1e-10)


def test_a_member_is_alone_what_it_is_in_a_fleet():
    """Of several tasks, one with shorter words; weights and averages, after 50 steps."""
    kinds = [("parity_check", 0), ("parity_check", 1), ("modular_arithmetic", 2), ("dyck_2", 0)]
    together = Fleet([member(*kind) for kind in kinds])
    take(together, 0, 50)
    for index, kind in enumerate(kinds):
        alone = Fleet([member(*kind)])
        take(alone, 0, 50)
        for name, tensor in alone.weights(0).items():
            torch.testing.assert_close(together.weights(index)[name], tensor, rtol=0, atol=1e-8)


def test_a_stopped_training_goes_on_to_the_same_bits(tmp_path):
    class Stop:
        def on_steps(self, step, losses):
            if step == 40:
                raise KeyboardInterrupt

        def on_log(self, entries):
            pass

    arguments = {"model": LDRUSpec(dim=4, leaf_block=True), "settings": SETTINGS, "seeds": (0, 1)}
    with pytest.raises(KeyboardInterrupt):
        ldru.train(
            "parity_check", out=tmp_path, checkpoint_seconds=0.0, observers=[Stop()], **arguments
        )
    resumed = ldru.train("parity_check", out=tmp_path, resume=True, **arguments)
    fresh = ldru.train("parity_check", **arguments)
    for seed in (0, 1):
        for name, tensor in fresh[seed].model.state_dict().items():
            assert torch.equal(tensor, resumed[seed].model.state_dict()[name])
        assert [e.validation_loss for e in fresh[seed].log] == [
            e.validation_loss for e in resumed[seed].log
        ]


def test_the_average_is_that_of_a_literal_loop_and_is_what_a_run_keeps():
    fleet = Fleet([member(seed=1), member(seed=2, steps=30)])
    horizons, mean = (12, 6), fleet.parameters.matrix.clone()
    for number, shape in enumerate(fleet.plan(0, 25)):
        fleet.step(*shape)
        for row, horizon in enumerate(horizons):
            weight = 1 / min(number + 1, horizon)
            mean[row] = (1 - weight) * mean[row] + weight * fleet.parameters.matrix[row]
    torch.testing.assert_close(fleet.average.matrix, mean, rtol=0, atol=1e-12)
    kept = fleet.weights(0)
    torch.testing.assert_close(
        kept["head.weight"], fleet.parameters.layout.member(mean, 0)["head.weight"]
    )
    tokens = torch.zeros(2, 3, 5, dtype=torch.int64)
    model = fleet.members[0].model().double().eval()
    model.load_state_dict(kept)
    torch.testing.assert_close(fleet.scores(tokens)[0], model(tokens[0]))
    last = Fleet([member(seed=1, keep="last")])
    take(last, 0, 25)
    rows = last.parameters.layout.member(last.parameters.matrix, 0)
    assert torch.equal(last.weights(0)["head.weight"], rows["head.weight"])


@pytest.mark.parametrize("decay", ["none", "cosine", "linear"])
def test_the_rate_decays_to_zero_after_the_warm_up(decay):
    fleet = Fleet([member(decay=decay, steps=40), member(seed=1, decay=decay)])
    for step in (0, 5, 8, 11, 25, 39):
        fleet.step_number.fill_(step)
        rates = fleet.learning_rates()
        for rate, steps, warmup in zip(rates, (40, 60), (8, 12), strict=True):
            want = 1e-8 + (1e-3 - 1e-8) * min(1, step / warmup)
            done = min(1, max(0, (step - warmup) / (steps - warmup)))
            want *= {
                "none": 1,
                "linear": 1 - done,
                "cosine": (1 + math.cos(math.pi * done)) / 2,
            }[decay]
            assert rate == pytest.approx(want, rel=1e-9, abs=1e-15)


def test_a_model_without_a_tree_cannot_be_trained_along_one():
    settings = replace(SETTINGS, steps=1, average=0.0, keep="last")
    with pytest.raises(ldru.LdruError, match=r"no operator in a tree.*random_trees=0"):
        ldru.train("parity_check", model=RNNSpec(dim=4), settings=settings)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"random_trees": 1.5}, r"random_trees is a share of the steps in \[0, 1\], got 1.5"),
        ({"random_trees": -0.1}, "random_trees is a share"),
        ({"merge_share": 0.0}, r"merge_share is a share of the nodes in \(0, 1\], got 0.0"),
        ({"average": 2.0}, "average is a share of the steps"),
        ({"decay": "exponential"}, "decay must be one of none, cosine, linear, got 'exponential'"),
        ({"average": 0.0}, "keep='average' needs an average"),
        ({"keep": "best"}, "keep must be one of last, average"),
    ],
)
def test_settings_that_make_no_sense_are_one_clear_error(changes, message):
    with pytest.raises(ldru.LdruError, match=message):
        replace(SETTINGS, **changes).check()


def test_training_along_random_trees_learns():
    settings = replace(
        SETTINGS, precision="tf32", batch_size=32, learning_rate=5e-3, validate_every=300
    )
    model = LDRUSpec(dim=16, leaf_block=True, dropout=0.0)
    (run,) = ldru.train("parity_check", model=model, steps=300, settings=settings).values()
    assert run.evaluate([9], words=64)[9] > 0.95
