"""Nodes that words share, against the plain reduction."""

import pytest
import torch

import ldru
from ldru.models.stretches import MOST_STRETCHES, nodes_above, shared_levels
from tests.models.agreement import scrambled


def classifier(symbols=2, **settings):
    return scrambled(ldru.LDRUClassifier, vocab_size=symbols, num_classes=3, dim=6, **settings)


@pytest.mark.parametrize("levels", [1, 2, 3])
@pytest.mark.parametrize("symbols", [1, 2, 3])
def test_looked_up_nodes_are_those_of_the_tree(symbols, levels):
    """Of words of all lengths up to 40, with and without a shorter stretch at the end."""
    model = classifier(symbols, leaf_block=True)
    for length in range(2**levels, 41):
        tokens = torch.randint(symbols, (5, length))
        with torch.no_grad():
            found = nodes_above(
                model.symbol_leaves(),
                tokens,
                levels=levels,
                combine=model.encoder.operator,
                finish=model.encoder.block,
            )
            want = model.levels(tokens)
        if len(want) > levels:
            torch.testing.assert_close(found, want[levels].nodes, rtol=0, atol=1e-12)


@pytest.mark.parametrize("symbols", [2, 3, 8])
def test_answers_are_those_of_the_plain_reduction(symbols):
    model = classifier(symbols)
    plain = classifier(symbols, backend="batched")
    for length in (1, 2, 3, 15, 16, 17, 31, 64, 257):
        tokens = torch.randint(symbols, (400, length))
        with torch.no_grad():
            torch.testing.assert_close(model(tokens), plain(tokens), rtol=0, atol=1e-12)


def test_tables_pay_where_words_are_many_and_symbols_few():
    assert shared_levels(2, batch=512, length=500) == 3
    assert shared_levels(3, batch=512, length=500) == 3
    assert shared_levels(8, batch=512, length=500) == 2
    assert shared_levels(2, batch=1, length=500) == 2
    assert shared_levels(2, batch=1, length=8) == 0
    assert shared_levels(30_000, batch=512, length=500) == 0
    for symbols in range(1, 100):
        levels = shared_levels(symbols, batch=10**6, length=1000)
        assert symbols == 1 or symbols ** (2**levels) <= MOST_STRETCHES


def test_training_gradients_and_other_backends_take_the_plain_way(monkeypatch):
    def fail(*arguments, **settings):
        raise AssertionError("looked up")

    monkeypatch.setattr("ldru.models.ldru.nodes_above", fail)
    tokens = torch.zeros(512, 40, dtype=torch.int64)
    model = classifier()
    with pytest.raises(AssertionError, match="looked up"), torch.no_grad():
        model(tokens)
    model(tokens)  # somebody may want gradients
    with torch.no_grad():
        model.train()(tokens)
        classifier(backend="batched")(tokens)
        model.eval()(tokens, torch.full((512,), 40))


def test_a_token_outside_the_vocabulary_is_still_an_error():
    with torch.no_grad(), pytest.raises(IndexError):
        classifier()(torch.full((512, 40), 2))
