import pytest
import torch

import ldru
from ldru.models.sd_ssm import SDSSMClassifier, unit_columns
from ldru.models.settings import SDSSMSpec
from ldru.paper.settings import SIZES
from tests.models.agreement import assert_agrees, scrambled


def make(num_transitions=2):
    return scrambled(
        SDSSMClassifier,
        vocab_size=3,
        num_classes=4,
        dim=5,
        num_transitions=num_transitions,
        norm_order=1.2,
    )


def transition(w, x, order):
    """A(x), column by column."""
    rows = torch.cat([w["choice.weight"], w["choice.empty"]])
    scores = torch.exp(rows.T @ x + w["choice.bias"])
    weights = scores / scores.sum()
    mixed = sum(s * matrix for s, matrix in zip(weights, w["transitions"], strict=True))
    columns = [
        column / (column.abs() ** order).sum() ** (1 / order) for column in mixed.unbind(dim=1)
    ]
    return torch.stack(columns, dim=1)


def score_word(w, word):
    """One symbol at a time, then the empty input."""
    h = torch.zeros(w["transitions"].shape[1], dtype=torch.double)
    rows = torch.cat([w["inputs.weight"], w["inputs.empty"]])
    for symbol in [*word, len(rows) - 1]:
        x = torch.zeros(len(rows), dtype=torch.double)
        x[symbol] = 1
        h = transition(w, x, 1.2) @ h + rows.T @ x
    h = (h - h.mean()) / (h.var(unbiased=False) + 1e-5).sqrt()
    return w["head.weight"] @ (h * w["norm.weight"] + w["norm.bias"]) + w["head.bias"]


@pytest.mark.parametrize("num_transitions", [2, 3])
def test_agrees_with_the_equations(num_transitions):
    """Of more symbols than transitions, and of no more."""
    assert_agrees(make(num_transitions), score_word)


def test_columns_have_unit_norm():
    matrices = make().symbol_transitions()
    assert matrices.shape == (4, 5, 5)
    norms = (matrices.abs() ** 1.2).sum(dim=1) ** (1 / 1.2)
    torch.testing.assert_close(norms, torch.ones_like(norms))
    assert not torch.allclose(norms, (matrices.abs() ** 1.2).sum(dim=2) ** (1 / 1.2))


def test_states_stay_bounded_without_input():
    """Columns of L_1 norm 1 make a map that enlarges no state in that norm."""
    torch.manual_seed(0)
    matrices = unit_columns(torch.randn(40, 7, 7, dtype=torch.double), order=1.0)
    start = state = torch.randn(7, dtype=torch.double)
    for matrix in matrices:
        state = matrix @ state
        assert state.abs().sum() <= start.abs().sum() + 1e-12


def test_gradient_of_the_normalisation():
    torch.manual_seed(0)
    matrices = torch.randn(2, 3, 3, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: unit_columns(x, order=1.2), matrices)


def test_initialisation_is_as_stated():
    model = SDSSMSpec().build(vocab_size=2, num_classes=2)
    bound = (6 / 512) ** 0.5
    assert model.transitions.abs().max().item() <= bound
    assert model.transitions.std().item() == pytest.approx(bound / 3**0.5, rel=0.01)


def test_size_is_the_papers():
    model = SDSSMSpec().build(vocab_size=2, num_classes=2)
    total = sum(parameter.numel() for parameter in model.parameters())
    assert total == 526_114
    assert round(total, -4) == SIZES["sd_ssm"].paper


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"num_transitions": 0}, "num_transitions=0"), ({"norm_order": 0.5}, "norm_order .* got 0.5")],
)
def test_bad_settings_are_one_clear_error(settings, message):
    with pytest.raises(ldru.LdruError, match=message):
        SDSSMClassifier(vocab_size=2, num_classes=2, **settings)
