"""Training on the labels of all stretches of words that a random tree has a node for."""

from dataclasses import replace

import pytest
import torch
from torch.nn import functional

import ldru
from ldru.models.settings import LDRUSpec, RNNSpec
from ldru.tasks.listops.expressions import decode
from ldru.training.fleet import Fleet
from ldru.training.spec import TrainSpec
from ldru.tree import RandomTrees
from tests.tasks.test_listops_stretches import completed
from tests.training.test_prefixes import SETTINGS, member, take

TOLD = {"labels": "factors", "random_trees": 0.5}


@pytest.mark.parametrize("is_random", [False, True])
def test_the_loss_is_the_mean_over_all_labelled_stretches_by_size(is_random):
    """Against the literal loop; modular arithmetic labels stretches that begin with a digit."""
    tasks = ["modular_arithmetic", "dyck_2"]
    fleet = Fleet([member(name, spec=LDRUSpec(dim=4, dropout=0.0), **TOLD) for name in tasks])
    batch = fleet.draw(8)
    losses = fleet.losses(batch, is_random=is_random)
    keys = fleet.draws.tree_keys(fleet.step_number, batch_size=8)
    for row, one in enumerate(fleet.members):
        model = one.build(vocab_size=one.task.vocab_size, num_classes=one.task.num_classes).double()
        model.load_state_dict(fleet.weights(row))
        length = one.task.word_length(8)
        parts, sizes = [], []
        for word, key in zip(batch.tokens[row, :, :length], keys[row], strict=True):
            trees = RandomTrees(key[None], length, None, SETTINGS.merge_share)
            nodes = along(model, word, trees.draw()) if is_random else balanced(model, word)
            for node, begin, end in nodes:
                label = int(one.task.machine.run(word[begin:end].numpy()))
                if label >= 0:
                    loss = functional.cross_entropy(model.head(node)[None], torch.tensor([label]))
                    parts.append((end - begin) * loss)
                    sizes.append(end - begin)
        assert sizes.count(length) == 8
        want = torch.stack(parts).sum() / sum(sizes)
        torch.testing.assert_close(losses[row], want, rtol=0, atol=1e-12)


@pytest.mark.parametrize("labels", ["factors", "classes"])
@pytest.mark.parametrize("is_random", [False, True])
def test_listops_is_told_the_values_of_stretches(is_random, labels, small_listops):
    """Against the literal loop, over words of unlike lengths; every stretch is written out.

    Told classes, the second head names the stretches, and the first one words alone.
    """
    spec, told = LDRUSpec(dim=4, dropout=0.0), {**TOLD, "labels": labels}
    kinds = [("listops_40", 0), ("listops_40", 1), ("listops_50", 1)]
    fleet = Fleet([member(*kind, spec=spec, **told) for kind in kinds])
    batch = fleet.draw(fleet.plan(0, 1)[0].length)
    losses = fleet.losses(batch, is_random=is_random)
    keys = fleet.draws.tree_keys(fleet.step_number, batch_size=8)
    for row, one in enumerate(fleet.members):
        model = one.model().double()
        head = model.head if labels == "factors" else model.class_head
        loss = size = of_words = 0
        for tokens, length, key in zip(
            batch.tokens[row], batch.lengths[row], keys[row], strict=True
        ):
            word = tokens[:length]
            trees = RandomTrees(key[None], len(word), None, SETTINGS.merge_share)
            nodes = along(model, word, trees.draw()) if is_random else balanced(model, word)
            for node, begin, end in nodes:
                text = completed(decode(word[begin:end]))
                if text is not None:
                    label = torch.tensor([ldru.listops.evaluate(text)])
                    own = functional.cross_entropy(head(node)[None], label)
                    loss, size = loss + (end - begin) * own, size + end - begin
            label = torch.tensor([ldru.listops.evaluate(decode(word))])
            of_words += functional.cross_entropy(model.head(nodes[-1][0])[None], label) / 8
        want = loss / size + (of_words if labels == "classes" else 0)
        torch.testing.assert_close(losses[row], want, rtol=0, atol=1e-12)


def leaves(model, word):
    nodes = model.encoder.leaves(model.embedding(word[None]))[0]
    return [(leaf, place, place + 1) for place, leaf in enumerate(nodes)]


def along(model, word, trees):
    """The nodes of one word's tree, by walking through its choices: (vector, begin, end)."""
    encoder, nodes = model.encoder, leaves(model, word)
    found = list(nodes)
    for level in trees.levels:
        waiting, nodes = iter(nodes), []
        for takes_two in level[0].tolist():
            node, begin, end = next(waiting)
            if takes_two:
                other, _, end = next(waiting)
                node = encoder.block(encoder.operator(node, other))
                found.append((node, begin, end))
            nodes.append((node, begin, end))
    return found


def balanced(model, word):
    """The nodes of the balanced tree; one without a neighbour goes through the block as well."""
    encoder, nodes = model.encoder, leaves(model, word)
    found = list(nodes)
    while len(nodes) > 1:
        waiting, nodes = iter(nodes), []
        for node, begin, end in waiting:
            other = next(waiting, None)
            if other is not None:
                node, end = encoder.operator(node, other[0]), other[2]
            nodes.append((encoder.block(node), begin, end))
        found += nodes
    return found


def test_alone_as_in_a_fleet():
    """Also where one member's words have a single symbol and the others' are longer."""
    kinds = [("modular_arithmetic", 3), ("dyck_2", 1), ("cycle_navigation", 2)]
    together = Fleet([member(*kind, **TOLD) for kind in kinds])
    take(together, 0, 30)
    for index, kind in enumerate(kinds):
        alone = Fleet([member(*kind, **TOLD)])
        take(alone, 0, 30)
        for name, weights in alone.weights(0).items():
            torch.testing.assert_close(together.weights(index)[name], weights, rtol=0, atol=1e-8)


def test_what_has_no_factors_says_so(small_listops):
    with pytest.raises(ldru.LdruError, match="'factors' goes with no associativity loss"):
        replace(SETTINGS, labels="factors", associativity=1.0).check()
    with pytest.raises(ldru.LdruError, match="no prefixes: train it with labels='words', "):
        Fleet([member("listops_40", labels="prefixes")])
    one, other = (member("listops_40", seed, labels="factors") for seed in range(2))
    other = replace(other, task=replace(other.task, label_stretches=lambda *places: places[1]))
    with pytest.raises(ldru.LdruError, match="listops_40, listops_40 have several: train each by"):
        Fleet([one, other])
    with pytest.raises(ldru.LdruError, match="labels no other words: train it with compositions=0"):
        Fleet([member("listops_40", labels="factors", compositions=0.5)])
    with pytest.raises(ldru.LdruError, match="RNNClassifier gives no answer to factors of words"):
        Fleet([member(spec=RNNSpec(), labels="factors")])


def test_a_small_model_learns_from_them():
    settings = TrainSpec(steps=300, learning_rate=0.01, batch_size=64, max_length=10, **TOLD)
    runs = ldru.train("parity_check", model=LDRUSpec(dim=8, dropout=0.0), settings=settings)
    assert runs[0].compute_evaluation([50], words=64).mean_accuracy() == 1
