"""Training and evaluation on the labels of every prefix."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional

import ldru
from ldru.models.settings import LDRUSpec, RNNSpec
from ldru.training.fleet import Fleet
from ldru.training.member import Member
from ldru.training.spec import TrainSpec

SETTINGS = TrainSpec(
    steps=60,
    learning_rate=3e-3,
    batch_size=8,
    max_length=9,
    validation_words=8,
    validation_length=12,
    validate_every=20,
    precision="float64",
    labels="prefixes",
)
SPEC = LDRUSpec(dim=4, dropout=0.2)


def member(task="parity_check", seed=0, spec=SPEC, **changes):
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


@pytest.mark.parametrize("name", ["tomita_5", "modular_arithmetic", "cycle_navigation"])
def test_the_machine_labels_every_prefix(name):
    task = ldru.task(name)
    generator = torch.Generator().manual_seed(0)
    tokens, labels = task.sample(batch_size=8, length=15, generator=generator, labels="prefixes")
    words = tokens.numpy()
    want = [[int(task.machine.run(word[: end + 1])) for end in range(len(word))] for word in words]
    assert labels.tolist() == want
    assert np.array_equal(task.machine.scan(words), want)
    assert (labels[:, -1] == task.label(tokens)).all()
    with pytest.raises(ldru.LdruError, match="one of words, prefixes, got 'letters'"):
        task.sample(generator=generator, labels="letters")


def test_the_loss_is_the_mean_over_labelled_prefixes():
    """Against the literal loop; modular arithmetic labels every second prefix."""
    tasks = ["modular_arithmetic", "dyck_2"]
    fleet = Fleet([member(name, spec=LDRUSpec(dim=4, dropout=0.0)) for name in tasks])
    batch = fleet.draw(8)
    losses = fleet.losses(batch)
    for row, one in enumerate(fleet.members):
        model = one.build(vocab_size=one.task.vocab_size, num_classes=one.task.num_classes).double()
        model.load_state_dict(fleet.weights(row))
        found = []
        length = one.task.word_length(8)
        for word in batch.tokens[row, :, :length]:
            for end in range(1, length + 1):
                label = int(one.task.machine.run(word[:end].numpy()))
                if label >= 0:
                    scores = model(word[None, :end])
                    found.append(functional.cross_entropy(scores, torch.tensor([label])))
        assert len(found) == (8 * 4 if row == 0 else 8 * 8)
        torch.testing.assert_close(losses[row], torch.stack(found).mean(), rtol=0, atol=1e-12)


def test_alone_as_in_a_fleet_and_along_random_trees():
    kinds = [("modular_arithmetic", 3), ("dyck_2", 1), ("cycle_navigation", 2)]
    together = Fleet([member(*kind, random_trees=0.4) for kind in kinds])
    take(together, 0, 30)
    for index, kind in enumerate(kinds):
        alone = Fleet([member(*kind, random_trees=0.4)])
        take(alone, 0, 30)
        for name, weights in alone.weights(0).items():
            torch.testing.assert_close(together.weights(index)[name], weights, rtol=0, atol=1e-8)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"spec": RNNSpec()}, "RNNClassifier gives no answer to prefixes of words"),
        ({"task": "mine"}, "data set, which labels whole words"),
    ],
)
def test_what_has_no_prefixes_says_so(given, message):
    if "task" in given:
        words = ldru.WordSet.of([[0, 1], [1, 1, 0]], [0, 1])
        task = ldru.DataTask.of("mine", {"train": words, "validation": words, "test": words})
        one = replace(member(), task=task)
    else:
        one = member(**given)
    with pytest.raises(ldru.LdruError, match=message):
        Fleet([one])


def test_settings_that_cannot_be():
    with pytest.raises(ldru.LdruError, match="goes with no associativity loss"):
        replace(SETTINGS, associativity=1.0).check()
    with pytest.raises(ldru.LdruError, match="labels must be one of words, prefixes"):
        replace(SETTINGS, labels="all").check()


def test_a_run_is_evaluated_at_every_position():
    run = ldru.Run.open("tomita_3")
    found = run.compute_evaluation([30], words=64, labels="prefixes")
    result = found.by_part[30]
    assert result.words == 64 * 30
    task = run.language
    tokens = task.draw_test(30, words=64, seed=0).tokens
    right = sum(
        int((run.model(tokens[:, :end]).argmax(dim=-1) == task.label(tokens[:, :end])).sum())
        for end in range(1, 31)
    )
    assert result.correct == right
    odd = ldru.Run.open("modular_arithmetic").compute_evaluation([9], words=8, labels="prefixes")
    assert odd.by_part[9].words == 8 * 5
