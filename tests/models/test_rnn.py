import pytest
import torch

import ldru
from ldru.models.rnn import RNNClassifier
from ldru.models.settings import RNNSpec
from ldru.paper.settings import SIZES
from tests.models.agreement import assert_agrees, scrambled


def make():
    return scrambled(RNNClassifier, scale=0.2, vocab_size=3, num_classes=4, dim=12)


def score_word(w, word):
    """One symbol at a time, then the empty input."""
    state = torch.zeros(len(w["recurrent.bias"]), dtype=torch.double)
    rows = torch.cat([w["inputs.weight"], w["inputs.empty"]])
    for symbol in [*word, len(rows) - 1]:
        x = torch.zeros(len(rows), dtype=torch.double)
        x[symbol] = 1
        given = rows.T @ x + w["inputs.bias"]
        state = torch.relu(given + w["recurrent.weight"] @ state + w["recurrent.bias"])
    return w["head.weight"] @ state + w["head.bias"]


def test_agrees_with_the_equations():
    assert_agrees(make(), score_word)


def test_cell_is_pytorchs():
    """Its own recurrent network, with the weights copied and the empty input appended."""
    model = make()
    theirs = torch.nn.RNN(4, 12, nonlinearity="relu", batch_first=True).double()
    with torch.no_grad():
        theirs.weight_ih_l0.copy_(torch.cat([model.inputs.weight, model.inputs.empty]).T)
        theirs.bias_ih_l0.copy_(model.inputs.bias)
        theirs.weight_hh_l0.copy_(model.recurrent.weight)
        theirs.bias_hh_l0.copy_(model.recurrent.bias)
    tokens = torch.randint(0, 3, (5, 9))
    x = torch.nn.functional.one_hot(torch.nn.functional.pad(tokens, (0, 1), value=3), 4).double()
    _, last = theirs(x)
    torch.testing.assert_close(model(tokens), model.head(last[0]), rtol=0, atol=1e-12)


def test_size_is_the_papers():
    model = RNNSpec().build(vocab_size=2, num_classes=2)
    total = sum(parameter.numel() for parameter in model.parameters())
    assert total == 67_330
    assert round(total, -3) == SIZES["rnn"].paper


def test_bad_settings_are_one_clear_error():
    with pytest.raises(ldru.LdruError, match=r"at least 1, got .*dim=0"):
        RNNClassifier(vocab_size=2, num_classes=2, dim=0)
