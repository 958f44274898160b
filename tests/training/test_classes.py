"""Training that is told the classes of all stretches in the monoid of a language."""

from dataclasses import replace

import pytest
import torch
from torch.nn import functional

import ldru
from ldru.models.settings import LDRUSpec, RNNSpec
from ldru.training.fleet import Fleet
from ldru.tree import RandomTrees
from tests.training.test_factors import along, balanced
from tests.training.test_prefixes import SETTINGS, member

TOLD = {"labels": "classes", "random_trees": 0.5}


@pytest.mark.parametrize("is_random", [False, True])
def test_the_loss_is_that_of_labels_and_of_classes(is_random):
    """Against a literal loop over the nodes, which finds classes by running every state."""
    tasks = ["modular_arithmetic", "dyck_2"]
    fleet = Fleet([member(name, spec=LDRUSpec(dim=4, dropout=0.0), **TOLD) for name in tasks])
    batch = fleet.draw(8)
    losses = fleet.losses(batch, is_random=is_random)
    keys = fleet.draws.tree_keys(fleet.step_number, batch_size=8)
    for row, one in enumerate(fleet.members):
        found = ldru.monoid(one.task)
        numbers = {tuple(maps): number for number, maps in enumerate(found.elements)}
        model = one.model().double()
        length = one.task.word_length(8)
        parts = {"labels": [], "classes": []}
        for word, key in zip(batch.tokens[row, :, :length], keys[row], strict=True):
            trees = RandomTrees(key[None], length, None, SETTINGS.merge_share)
            nodes = along(model, word, trees.draw()) if is_random else balanced(model, word)
            for node, begin, end in nodes:
                maps = range(one.task.machine.num_states)
                for token in word[begin:end].tolist():
                    maps = [int(one.task.machine.delta[state, token]) for state in maps]
                label = int(one.task.machine.output[maps[one.task.machine.start]])
                told = {"labels": (model.head, label)}
                told["classes"] = (model.class_head, numbers[tuple(maps)])
                for name, (head, wanted) in told.items():
                    if wanted >= 0:
                        target = torch.tensor([wanted])
                        loss = functional.cross_entropy(head(node)[None], target)
                        parts[name].append((end - begin, loss))
        want = sum(
            sum(size * loss for size, loss in some) / sum(size for size, _ in some)
            for some in parts.values()
        )
        torch.testing.assert_close(losses[row], want, rtol=0, atol=1e-12)


def test_a_run_has_no_head_on_classes_and_a_training_goes_on_from_it(tmp_path):
    settings = ldru.TrainSpec(
        steps=4, batch_size=8, max_length=6, validation_words=8, validation_length=8, **TOLD
    )
    run = ldru.train("dyck_2", model=LDRUSpec(dim=8), settings=settings, out=tmp_path)[0]
    assert not any("monoid" in name for name in run.model.state_dict())
    assert ldru.Run.open(run.folder).predict(["01"])[0].expected == 1
    one = member("dyck_2", spec=LDRUSpec(dim=8), **TOLD)
    again = replace(one, initial=run.model.state_dict()).model()
    assert again.class_head.weight.shape == (15, 8)
    assert torch.equal(again.head.weight, run.model.head.weight)


def test_alone_and_in_a_fleet_steps_are_the_same():
    names = ["dyck_2", "parity_check"]
    members = [member(name, spec=LDRUSpec(dim=4), compositions=0.5, **TOLD) for name in names]
    fleets = [Fleet(members), *(Fleet([one]) for one in members)]
    for fleet in fleets:
        for step, (length, is_random) in enumerate([(7, False), (5, True), (6, False)]):
            fleet.plan(step, step + 1)
            fleet.step(length, is_random)
    for index in range(2):
        for name, weight in fleets[1 + index].weights(0).items():
            torch.testing.assert_close(fleets[0].weights(index)[name], weight, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("task", "changes", "message"),
    [
        ("dyck_2", {"spec": RNNSpec(dim=4)}, "RNNClassifier gives no answer to classes"),
        ("random_10_2_0", {"spec": LDRUSpec(dim=4)}, "has no classes to tell, since its monoid"),
    ],
)
def test_wrong_settings_are_one_clear_error(task, changes, message):
    with pytest.raises(ldru.LdruError, match=message):
        Fleet([member(task, **changes, labels="classes")])
