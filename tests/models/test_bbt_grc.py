import pytest
import torch

from ldru.base.errors import LdruError
from ldru.models.bbt_grc import BBTGRCClassifier
from ldru.models.settings import BBTGRCSpec
from tests.models.agreement import assert_agrees, scrambled
from tests.models.grc_cell import cell, gelu, layer_norm, linear

DIM = 6


def classifier(**settings):
    sizes = {"vocab_size": 5, "num_classes": 3, "embedding_dim": 4, "dim": DIM}
    return scrambled(BBTGRCClassifier, **sizes, **settings)


def score_word(w, word):
    """Scores of one word; an element without a partner is handed up as it is."""
    nodes = [
        layer_norm(w, "leaf_norm", linear(w, "leaf", w["embedding.weight"][token]))
        for token in word
    ]
    while len(nodes) > 1:
        pairs = [nodes[i : i + 2] for i in range(0, len(nodes), 2)]
        nodes = [cell(w, *pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return linear(w, "head", gelu(linear(w, "hidden", nodes[0])))


def test_agrees_with_the_equations():
    assert_agrees(classifier(), score_word)


def test_embeddings_start_as_standard_normal():
    torch.manual_seed(0)
    weight = BBTGRCSpec().build(vocab_size=500, num_classes=2).embedding.weight
    assert weight.std().item() == pytest.approx(1, rel=0.02)
    assert weight.mean().item() == pytest.approx(0, abs=0.02)


def test_dropout_acts_on_the_way_in_and_out_and_not_in_evaluation():
    model = classifier(dropout=0.5)
    tokens = torch.randint(0, 5, (4, 9))
    assert torch.equal(model(tokens), model(tokens))
    seen = []
    model.dropout.register_forward_hook(
        lambda module, inputs, output: seen.append((list(inputs[0].shape), inputs[1]))
    )
    model.train()
    assert not torch.equal(model(tokens), model(tokens))
    assert seen[:3] == [([4, 9, 4], 0), ([4, DIM], 1), ([4, DIM], 2)]


def test_the_cell_drops_what_lies_between_its_two_layers():
    """Of one pair: the same as the cell with the dropped activations set to zero by hand."""
    model = classifier(cell_dropout=0.5).train()
    left, right = torch.randn(2, 1, DIM, dtype=torch.double)
    seen = []
    model.cell.dropout.register_forward_hook(lambda module, inputs, output: seen.append(output))
    found = model.cell(left, right)
    w = dict(model.cell.named_parameters())
    hidden = gelu(linear(w, "expand", torch.cat([left[0], right[0]])))
    assert set((seen[0][0] / hidden).round(decimals=6).tolist()) == {0.0, 2.0}
    a, b, c, u = linear(w, "gates", seen[0][0]).split(DIM)
    mixed = left[0] * a.sigmoid() + right[0] * b.sigmoid() + u * c.sigmoid()
    torch.testing.assert_close(found[0], layer_norm(w, "norm", mixed))


def test_every_level_of_the_tree_has_a_number_of_its_own():
    model = classifier()
    calls = []
    model.cell.dropout.register_forward_hook(lambda module, inputs, _: calls.append(inputs[1]))
    for _ in range(2):
        model(torch.zeros(2, 9, dtype=torch.long), torch.tensor([9, 3]))
    assert calls == 2 * [0, 1, 2, 3]


def test_sizes_are_the_papers():
    for spec, vocab_size, num_classes, printed in (
        (BBTGRCSpec(), 2, 2, 240_000),
        (BBTGRCSpec(embedding_dim=128, dim=128, dropout=0.1), 15, 10, 430_000),
    ):
        model = spec.build(vocab_size=vocab_size, num_classes=num_classes)
        assert sum(p.numel() for p in model.parameters()) == pytest.approx(printed, rel=0.01)


def test_bad_settings_are_one_clear_error():
    for settings, message in (
        ({"embedding_dim": 0}, "embedding_dim=0"),
        ({"dropout": -0.1}, r"\[0, 1\), got -0.1"),
    ):
        with pytest.raises(LdruError, match=message):
            BBTGRCSpec(**settings).build(vocab_size=2, num_classes=2)
