import pytest
import torch

from ldru.base.errors import LdruError
from ldru.models.rir_grc import RIRGRCClassifier
from ldru.models.settings import RIRGRCSpec
from tests.models.agreement import assert_agrees, scrambled
from tests.models.grc_cell import cell, gelu, layer_norm, linear

DIM = 6


def classifier(chunk_size=12, **settings):
    sizes = {"vocab_size": 5, "num_classes": 3, "dim": DIM}
    return scrambled(RIRGRCClassifier, **sizes, chunk_size=chunk_size, **settings)


def cut(states, chunk):
    """The chunks of one word."""
    if len(states) < chunk + chunk // 2:
        return [states]
    return [states[begin : begin + chunk] for begin in range(0, len(states), chunk)]


def score_word(w, word, chunk):
    """Scores of one word, chunk by chunk."""
    states = [
        layer_norm(w, "leaf_norm", linear(w, "leaf", w["embedding.weight"][token]))
        for token in word
    ]
    while len(states) > 1:
        results = []
        for part in cut(states, chunk):
            h = torch.zeros(DIM, dtype=torch.double)
            for state in part:
                h = cell(w, h, state)
            results.append(h)
        states = results
    return linear(w, "head", gelu(linear(w, "hidden", states[0])))


# With chunks of 2, a word of 40 takes six levels; with 12, one of 17 is a single chunk.
@pytest.mark.parametrize("chunk_size", [2, 3, 5, 12])
def test_agrees_with_the_equations(chunk_size):
    assert_agrees(classifier(chunk_size), lambda w, word: score_word(w, word, chunk_size))


@pytest.mark.parametrize("chunk_size", [2, 3, 5, 12])
@pytest.mark.parametrize("longest", [17, 18, 100])
def test_chunk_boundaries(chunk_size, longest):
    """A word in a batch is cut where it is cut alone; what is left over is empty."""
    model = classifier(chunk_size)
    lengths = range(1, longest + 1)
    sizes = model.chunk_sizes(torch.tensor(lengths), longest=longest)
    for length, row in zip(lengths, sizes.tolist(), strict=True):
        expected = [len(part) for part in cut(list(range(length)), chunk_size)]
        assert row == expected + [0] * (len(row) - len(expected))


def test_a_single_chunk_is_shorter_than_one_and_a_half():
    model = classifier()
    assert model.chunk_sizes(torch.tensor([17]), longest=17).tolist() == [[17]]
    assert model.chunk_sizes(torch.tensor([18]), longest=18).tolist() == [[12, 6]]
    assert model.chunk_sizes(torch.tensor([25]), longest=25).tolist() == [[12, 12, 1]]


def test_chunks_do_not_see_each_other():
    """The first level's states change with the tokens of their own chunk alone."""
    model = classifier()
    x = torch.randn(1, 30, DIM, dtype=torch.double, requires_grad=True)
    states, _ = model._climb(x, None, level=0)
    assert states.shape == (1, 3, DIM)
    for chunk in range(3):
        (gradient,) = torch.autograd.grad(states[0, chunk].sum(), x, retain_graph=True)
        touched = gradient[0].abs().sum(dim=-1).nonzero().flatten().tolist()
        assert touched == list(range(12 * chunk, min(12 * chunk + 12, 30)))


def test_the_cell_drops_at_every_place_of_every_level_by_a_number_of_its_own():
    model = classifier(cell_dropout=0.5)
    calls = []
    model.cell.dropout.register_forward_hook(
        lambda module, inputs, output: calls.append((inputs[0].shape[-1], inputs[1]))
    )
    model(torch.zeros(1, 30, dtype=torch.long))
    level = model.cut_from
    assert calls == [(4 * DIM, place) for place in [*range(12), *range(level, level + 3)]]


def test_size_is_the_papers():
    model = RIRGRCSpec().build(vocab_size=15, num_classes=10)
    assert sum(p.numel() for p in model.parameters()) == pytest.approx(430_000, rel=0.01)


def test_bad_settings_are_one_clear_error():
    for settings, message in (
        ({"chunk_size": 1}, "chunk_size must be at least 2"),
        ({"dim": 0}, "dim=0"),
        ({"dropout": 1.0}, r"\[0, 1\)"),
    ):
        with pytest.raises(LdruError, match=message):
            RIRGRCSpec(**settings).build(vocab_size=2, num_classes=2)
