"""Extraction of LDRU models: hand-built ones, spoiled ones, and what cannot be extracted."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

import ldru
from ldru.analysis.extract import sampled_words, short_words


class LookUp(nn.Module):
    """The class of two neighbours from the monoid's table; a state's largest entry is its class."""

    def __init__(self, monoid):
        super().__init__()
        self.table = torch.from_numpy(monoid.table)

    def forward(self, left, right):
        classes = self.table[left.argmax(-1), right.argmax(-1)]
        return nn.functional.one_hot(classes, len(self.table)).to(left.dtype)


@torch.no_grad()
def exact_model(task, *, leaf_block=False):
    """An LDRU that is right on every word."""
    monoid = ldru.monoid(task.machine.minimal())
    model = ldru.LDRUClassifier(
        vocab_size=task.vocab_size,
        num_classes=task.num_classes,
        dim=monoid.size,
        operator=LookUp(monoid),
        leaf_block=leaf_block,
    )
    one_hot = torch.eye(monoid.size)
    model.embedding.weight.copy_(one_hot[torch.from_numpy(monoid.step[0])])
    for block in (model.encoder.block, model.encoder.leaf_block):
        if block is not None:
            block.down.weight.zero_()  # what is left is the layer norm, which keeps the order
    model.head.weight.zero_()
    model.head.weight[monoid.output.clip(0), torch.arange(monoid.size)] = 1
    return model.eval()


@pytest.mark.parametrize(
    "name", ["parity_check", "cycle_navigation", "dyck_2", "tomita_5", "prefix_1_4"]
)
@pytest.mark.parametrize("leaf_block", [False, True])
def test_an_exact_model_is_correct_at_every_length(name, leaf_block):
    task = ldru.task(name)
    found = ldru.extract(exact_model(task, leaf_block=leaf_block), task, tolerances=[0.2])
    assert found.is_correct
    assert found.summary == "correct at every length"
    assert found.is_onto_monoid
    assert found.chosen.disagreements == 0
    tokens = task.sample(batch_size=32, length=999, generator=torch.Generator()).tokens.numpy()
    assert (found.algebra.run(tokens) == task.machine.run(tokens)).all()


def test_a_swapped_head_row_is_caught_by_a_word_that_the_network_confirms():
    task = ldru.task("cycle_navigation")
    model = exact_model(task)
    with torch.no_grad():
        model.head.weight[[2, 3]] = model.head.weight[[3, 2]]
    found = ldru.extract(model, task)
    assert not found.is_correct
    word = torch.tensor([found.wrong])
    assert int(model(word).argmax()) != int(task.machine.run(found.wrong))
    # Two steps in one direction are the shortest way to places 2 and 3.
    assert len(found.wrong) == 2
    assert found.summary.startswith("wrong, a shortest word is")
    assert found.chosen.is_confirmed


def test_a_regex_and_a_machine_with_words_outside_its_domain():
    task = ldru.task(regex="(ab)*|c+")
    assert ldru.extract(exact_model(task), task, tolerances=[0.2]).is_correct
    partial = ldru.MooreMachine(alphabet="ab", delta=[[1, 2], [0, 2], [2, 2]], output=[0, 1, -1])
    task = ldru.task(machine=partial)
    found = ldru.extract(exact_model(task), task, tolerances=[0.2])
    assert found.is_correct
    assert found.predict(["a", "aa", "aaa", "ab"])[:3] == [1, 0, 1]


def test_words_to_compare_on_are_all_short_ones_and_long_ones_of_the_domain():
    task = ldru.task("modular_arithmetic")
    short = list(short_words(task.machine))
    assert [len(words) for words in short] == [5, 5 * 3 * 5]
    assert all((task.machine.run(words) >= 0).all() for words in short)
    lengths = [words.shape[1] for words in sampled_words(task, seed=0)]
    assert max(lengths) == 9_999
    counted = ldru.task(regex="(01)*")
    lengths = [words.shape[1] for words in sampled_words(counted, seed=0)]
    assert max(lengths) == 10_000


@pytest.fixture(scope="module")
def run():
    settings = ldru.TrainSpec(batch_size=4, validation_words=4, validation_length=8)
    model = ldru.LDRUSpec(dim=4)
    trained = ldru.train("parity_check", model=model, steps=2, settings=settings)[0]
    return replace(trained, model=exact_model(trained.task))


def test_the_exact_machine_of_a_run_answers_a_million_symbols(run):
    tokens = np.random.default_rng(0).integers(2, size=10**6)
    word = "".join(map(str, tokens))
    assert run.exact().predict([word, "0", "1"]) == [int(tokens.sum() % 2 == 0), 1, 0]


def test_what_cannot_be_extracted_is_said(run):
    task = ldru.task("parity_check")
    with pytest.raises(ldru.LdruError, match=r"only an LDRU has states.* got RNN"):
        ldru.extract(ldru.build("rnn", vocab_size=2, num_classes=2), task)
    with pytest.raises(ldru.LdruError, match=r"2 symbols and 2 classes.*has 3 and 5"):
        ldru.extract(run.model, ldru.task("cycle_navigation"))
    with pytest.raises(ldru.LdruError, match=r"model.eval\(\)"):
        ldru.extract(ldru.build("ldru", vocab_size=2, num_classes=2), task)
    with pytest.raises(ldru.LdruError, match="more than 1 elements"):
        ldru.extract(run.model, task, limit=1)
    with pytest.raises(ldru.LdruError, match=r"got 0\.5, 7"):
        ldru.extract(run.model, task, tolerances=[0.5, 7])
