"""Analyses of trained runs."""

import numpy as np
import pytest
import torch
from torch import nn

import ldru
from ldru.analysis.associativity import analyse_associativity
from ldru.analysis.embeddings import analyse_embeddings
from ldru.figures.analysis import associativity_figure

SETTINGS = ldru.TrainSpec(
    batch_size=4, max_length=4, validation_words=4, validation_length=6, validate_every=2
)


def trained(task, model):
    return ldru.train(task, model=model, steps=2, settings=SETTINGS)[0]


class Exact(nn.Module):
    """The monoid's product on one-hot states."""

    def __init__(self, monoid):
        super().__init__()
        self.table = torch.tensor(monoid.table)

    def forward(self, left, right):
        products = self.table[left.argmax(-1), right.argmax(-1)]
        return nn.functional.one_hot(products, len(self.table)).float()


@pytest.fixture(scope="module")
def exact_run():
    """A run whose model was replaced by the monoid itself."""
    task = ldru.task("dyck_2")
    monoid = ldru.monoid(task.machine)
    run = trained(task, ldru.LDRUSpec(dim=monoid.size))
    model = run.model
    model.encoder.operator = Exact(monoid)
    model.encoder.block = nn.Identity()
    identity = torch.eye(monoid.size)
    with torch.no_grad():
        model.embedding.weight.copy_(identity[torch.tensor(monoid.step[0])])
        model.head.weight.copy_(nn.functional.one_hot(torch.tensor(monoid.output)).T)
        model.head.bias.zero_()
    return run


def test_an_exact_model_is_associative(exact_run):
    found = analyse_associativity(
        exact_run.model, exact_run.language, [7, 16], words=32, bracketings=3
    )
    assert all(row.relative == row.block_relative == 0 for row in found.by_level)
    assert [(row.length, row.level) for row in found.by_level] == [
        (7, 0),
        (7, 1),
        (16, 0),
        (16, 1),
        (16, 2),
    ]
    assert [row.triples for row in found.by_level] == [32 * n for n in (5, 2, 14, 6, 2)]
    assert sum(row.triples for row in found.by_class) == sum(row.triples for row in found.by_level)
    assert {(row.length, row.balanced) for row in found.agreement} == {
        *((7, k) for k in range(3)),
        *((16, k) for k in range(4)),
    }
    for row in found.agreement:
        assert row.agreement == row.accuracy == row.bracketed_accuracy == 1


def test_the_figure_of_associativity_has_every_length(exact_run):
    lengths = list(range(4, 10))
    found = analyse_associativity(
        exact_run.model, exact_run.language, lengths, words=4, bracketings=1
    )
    by_level, _, brackets = associativity_figure({"run": found}).axes
    assert [line.get_label() for line in by_level.lines] == [f"run, length {n}" for n in lengths]
    assert len(brackets.lines) == len(lengths)


def test_states_of_an_exact_model_are_its_classes(exact_run):
    found = analyse_embeddings(exact_run.model, exact_run.language, max_length=7, counts=[14])
    assert len(found.states) == 2**8 - 2
    np.testing.assert_array_equal(found.states.argmax(axis=1), found.classes)
    assert found.scores[14].ari == 1  # every class but that of the empty word


def test_other_models_have_no_such_states():
    run = trained("parity_check", ldru.MODELS["rnn"](dim=4))
    for analyse in (analyse_associativity, analyse_embeddings):
        with pytest.raises(ldru.LdruError, match="only an LDRU has states"):
            analyse(run.model, run.language)


def test_nothing_to_measure(exact_run):
    with pytest.raises(ldru.LdruError, match="at least one word"):
        analyse_associativity(exact_run.model, exact_run.language, [8], words=0)
    with pytest.raises(ldru.LdruError, match="three symbols"):
        analyse_associativity(exact_run.model, exact_run.language, [2])
