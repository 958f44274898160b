import pytest
import torch

import ldru
from ldru.models.lstm import LSTMClassifier
from ldru.models.settings import LSTMSpec
from tests.models.agreement import assert_agrees, scrambled


def make():
    return scrambled(LSTMClassifier, vocab_size=3, num_classes=4, dim=5)


def score_word(w, word):
    """One symbol at a time, then the empty input."""
    dim = w["recurrent.weight"].shape[1]
    h = c = torch.zeros(dim, dtype=torch.double)
    rows = torch.cat([w["inputs.weight"], w["inputs.empty"]])
    for symbol in [*word, len(rows) - 1]:
        x = torch.zeros(len(rows), dtype=torch.double)
        x[symbol] = 1
        z = rows.T @ x + w["recurrent.weight"] @ h + w["inputs.bias"]
        i, f, u, o = z[:dim], z[dim : 2 * dim], z[2 * dim : 3 * dim], z[3 * dim :]
        c = c / (1 + torch.exp(-(f + 1))) + torch.tanh(u) / (1 + torch.exp(-i))
        h = torch.tanh(c) / (1 + torch.exp(-o))
    return w["head.weight"] @ h.clamp(min=0) + w["head.bias"]


def test_agrees_with_the_equations():
    assert_agrees(make(), score_word)


def test_cell_is_pytorchs():
    """Its own LSTM, with the weights copied, 1 added to the forget bias, and the empty input."""
    model = make()
    theirs = torch.nn.LSTM(4, 5, batch_first=True).double()
    with torch.no_grad():
        theirs.weight_ih_l0.copy_(torch.cat([model.inputs.weight, model.inputs.empty]).T)
        theirs.weight_hh_l0.copy_(model.recurrent.weight)
        theirs.bias_ih_l0.copy_(model.inputs.bias)
        theirs.bias_hh_l0.zero_()
        theirs.bias_hh_l0[5:10] = 1
    tokens = torch.randint(0, 3, (6, 9))
    x = torch.nn.functional.one_hot(torch.nn.functional.pad(tokens, (0, 1), value=3), 4).double()
    _, (last, _) = theirs(x)
    torch.testing.assert_close(model(tokens), model.head(last[0].relu()), rtol=0, atol=1e-12)


def test_both_halves_start_with_the_deviation_of_one_layer():
    model = LSTMClassifier(vocab_size=100, num_classes=2, dim=300)
    # A normal cut at two deviations keeps 0.8796 of its deviation.
    for half in (model.inputs, model.recurrent):
        assert half.weight.std().item() == pytest.approx(0.8796 / 20, rel=0.02)
    assert not model.inputs.bias.any()


@pytest.mark.parametrize(
    ("spec", "sizes", "total", "printed"),
    [(LSTMSpec(), (2, 2), 266_754, 270_000), (LSTMSpec(dim=1024), (15, 10), 4_274_186, 4_300_000)],
)
def test_size_is_the_papers(spec, sizes, total, printed):
    with torch.device("meta"):
        model = spec.build(vocab_size=sizes[0], num_classes=sizes[1])
    assert sum(parameter.numel() for parameter in model.parameters()) == total
    assert float(f"{total:.1e}") == printed


def test_bad_settings_are_one_clear_error():
    with pytest.raises(ldru.LdruError, match=r"at least 1, got .*dim=-3"):
        LSTMClassifier(vocab_size=2, num_classes=2, dim=-3)
