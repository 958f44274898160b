import math

import pytest
import torch

from ldru.base.errors import LdruError
from ldru.models.regular_gpt import RegularGPTClassifier, align_right
from ldru.models.settings import RegularGPTSpec
from ldru.paper.settings import REGULAR_RATES
from tests.models.agreement import assert_agrees, scrambled

DIM, HEADS = 8, 2


def classifier(chunk_size=2, thickness=1):
    settings = {"dim": DIM, "num_heads": HEADS, "chunk_size": chunk_size, "thickness": thickness}
    return scrambled(RegularGPTClassifier, vocab_size=5, num_classes=3, **settings)


def layer_norm(x, w, name):
    x = (x - x.mean()) / (x.var(unbiased=False) + 1e-5).sqrt()
    return x * w[f"{name}.weight"] + w[f"{name}.bias"]


def score_word(w, word, chunk, thickness):
    """Scores of one word: every token of a level looks back at its chunk, some are kept."""
    x = [DIM**0.5 * w["embedding.weight"][token] for token in word]
    is_first = True
    while len(x) > 1 or is_first:
        is_first = False
        while len(x) % chunk:
            x.insert(0, w["filler.weight"][0])
        for number in range(thickness):
            x = [refined(w, f"layers.{number}", x, place, chunk) for place in range(len(x))]
        x = x[::-1][::chunk][::-1]
    return w["head.weight"] @ x[0] + w["head.bias"]


def refined(w, name, x, place, chunk):
    """A token after one layer."""
    window, mixed = x[place - place % chunk : place + 1], []
    for head in range(HEADS):
        channels = slice(head * DIM // HEADS, (head + 1) * DIM // HEADS)
        query = (w[f"{name}.attention.query.weight"] @ x[place])[channels]
        keys = [(w[f"{name}.attention.key.weight"] @ other)[channels] for other in window]
        values = [(w[f"{name}.attention.value.weight"] @ other)[channels] for other in window]
        scores = torch.stack([query @ key for key in keys]) / (DIM // HEADS) ** 0.5
        weights = (scores + w[f"{name}.attention.bias"][head, : len(window)]).exp()
        mixed.append(sum(a * v for a, v in zip(weights, values, strict=True)) / weights.sum())
    attended = w[f"{name}.attention.out.weight"] @ torch.cat(mixed)
    h = layer_norm(x[place] + attended, w, f"{name}.attention_norm")
    hidden = torch.relu(w[f"{name}.up.weight"] @ h + w[f"{name}.up.bias"])
    update = w[f"{name}.down.weight"] @ hidden + w[f"{name}.down.bias"]
    return layer_norm(h + update, w, f"{name}.norm")


@pytest.mark.parametrize(("chunk_size", "thickness"), [(2, 1), (3, 1), (2, 2), (3, 3)])
def test_agrees_with_the_equations(chunk_size, thickness):
    model = classifier(chunk_size, thickness)
    assert_agrees(model, lambda w, word: score_word(w, word, chunk_size, thickness))


@pytest.mark.parametrize("chunk_size", [2, 3])
def test_depth_is_the_logarithm_of_the_length(chunk_size):
    model = classifier(chunk_size)
    levels = []
    model.layers[0].norm.register_forward_hook(
        lambda module, inputs, output: levels.append(output.shape[1])
    )
    for length in range(1, 83):
        levels.clear()
        model(torch.zeros(1, length, dtype=torch.long))
        depth = next(d for d in range(1, length + 1) if chunk_size**d >= length)
        assert len(levels) == depth
        assert levels == [math.ceil(length / chunk_size**level) for level in range(1, depth + 1)]


def test_words_move_to_the_right_edge():
    tokens = torch.tensor([[1, 2, 3, 4], [5, 6, 0, 0], [7, 0, 0, 0]])
    moved = align_right(tokens, torch.tensor([4, 2, 1]))
    assert moved[0].tolist() == [1, 2, 3, 4]
    assert moved[1, 2:].tolist() == [5, 6]
    assert moved[2, 3:].tolist() == [7]


def test_papers_size_is_that_of_a_thickness_of_four():
    one, four = (
        sum(part.numel() for part in spec.build(vocab_size=2, num_classes=2).parameters())
        for spec in (RegularGPTSpec(), RegularGPTSpec(thickness=4))
    )
    assert one == 790_034
    assert four == pytest.approx(3_200_000, rel=0.02)
    assert REGULAR_RATES["regular_gpt"] == 1e-4


def test_bad_settings_are_one_clear_error():
    for settings, message in (
        ({"chunk_size": 1}, "chunk_size must be at least 2"),
        ({"num_heads": 7}, "dim must be a multiple of num_heads, got 256 and 7"),
        ({"dim": 0}, "dim=0"),
    ):
        with pytest.raises(LdruError, match=message):
            RegularGPTSpec(**settings).build(vocab_size=2, num_classes=2)
