import pytest
import torch
from torch.func import functional_call, vmap

from ldru.base.errors import LdruError
from ldru.base.randomness import bits, fold, seed_key
from ldru.models import transformer
from ldru.models.positions import LIMIT
from ldru.models.settings import (
    TransformerAlibiSpec,
    TransformerNopeSpec,
    TransformerRopeSpec,
    TransformerSinusoidalSpec,
)
from tests.models.agreement import assert_agrees, scrambled

SPECS = {
    "nope": TransformerNopeSpec,
    "alibi": TransformerAlibiSpec,
    "rope": TransformerRopeSpec,
    "sinusoidal": TransformerSinusoidalSpec,
}
DIM, HEADS, BLOCKS = 8, 2, 2
WIDTH = DIM // HEADS


def classifier(encoding, **settings):
    spec = SPECS[encoding](dim=DIM, num_heads=HEADS, num_blocks=BLOCKS, **settings)
    return scrambled(spec.build, vocab_size=5, num_classes=3)


def layer_norm(x, w, name):
    x = (x - x.mean()) / (x.var(unbiased=False) + 1e-5).sqrt()
    return x * w[f"{name}.weight"] + w[f"{name}.bias"]


def turned(vector, position):
    """Pair (2i, 2i + 1) turned by position / 10000**(2i / width)."""
    result = []
    for i in range(0, WIDTH, 2):
        angle = torch.tensor(position / 10_000 ** (i / WIDTH), dtype=torch.double)
        a, b = vector[i], vector[i + 1]
        result += [a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()]
    return torch.stack(result)


def drawn_positions(block, length):
    value = bits(fold(seed_key(0), block), LIMIT).tolist()
    return sorted(sorted(range(LIMIT), key=lambda position: value[position])[:length])


def score_word(w, word, encoding):
    """Scores of one word, token by token and head by head."""
    x = [DIM**0.5 * w["embedding.weight"][token] for token in word]
    x.append(DIM**0.5 * w["empty.weight"][0])
    if encoding == "sinusoidal":
        for place in range(len(x)):
            angle = [(len(x) - place) / 10_000 ** (2 * i / DIM) for i in range(DIM // 2)]
            angle = torch.tensor(angle, dtype=torch.double)
            x[place] = x[place] + torch.cat([angle.sin(), angle.cos()])
    for block in range(BLOCKS):
        name = f"blocks.{block}"
        query, key, value = (
            [w[f"{name}.attention.{part}.weight"] @ state for state in x]
            for part in ("query", "key", "value")
        )
        mixed = [[] for _ in x]
        for head in range(HEADS):
            channels = slice(head * WIDTH, (head + 1) * WIDTH)
            q, k = ([vector[channels] for vector in vectors] for vectors in (query, key))
            if encoding == "rope":
                positions = drawn_positions(block, len(x))
                q = [turned(vector, p) for vector, p in zip(q, positions, strict=True)]
                k = [turned(vector, p) for vector, p in zip(k, positions, strict=True)]
            for to in range(len(x)):
                scores = torch.stack([q[to] @ other for other in k]) / WIDTH**0.5
                if encoding == "alibi":
                    distance = [max(source - to, to - source - 0.5) for source in range(len(x))]
                    distance = torch.tensor(distance, dtype=torch.double).clamp(min=0)
                    scores = scores - 2 ** (-8 * (head + 1) / HEADS) * distance
                weights = scores.exp() / scores.exp().sum()
                mixed[to].append(weights @ torch.stack(value)[:, channels])
        for place in range(len(x)):
            attended = w[f"{name}.attention.out.weight"] @ torch.cat(mixed[place])
            h = layer_norm(x[place] + attended, w, f"{name}.attention_norm")
            hidden = torch.relu(w[f"{name}.up.weight"] @ h + w[f"{name}.up.bias"])
            update = w[f"{name}.down.weight"] @ hidden + w[f"{name}.down.bias"]
            x[place] = layer_norm(h + update, w, f"{name}.norm")
    return w["head.weight"] @ x[-1] + w["head.bias"]


@pytest.mark.parametrize("encoding", SPECS)
def test_agrees_with_the_equations(encoding):
    assert_agrees(classifier(encoding), lambda w, word: score_word(w, word, encoding))


def test_without_positions_a_word_is_a_set_and_with_them_it_is_not():
    tokens = torch.tensor([[0, 1, 2, 3, 3, 4], [3, 1, 4, 0, 3, 2]])
    for encoding in SPECS:
        first, second = classifier(encoding)(tokens)
        assert torch.allclose(first, second) == (encoding == "nope"), encoding


@pytest.mark.parametrize("encoding", ["nope", "sinusoidal"])
def test_dropout_draws_anew_in_every_branch_and_is_off_in_evaluation(encoding):
    """Waves are added to the embeddings, and on the sum there is dropout too."""
    model = classifier(encoding, dropout=0.5)
    tokens = torch.randint(0, 5, (4, 9))
    assert torch.equal(model(tokens), model(tokens))
    calls = []
    model.dropout.register_forward_hook(lambda module, inputs, output: calls.append(inputs[1]))
    model.train()
    assert not torch.equal(model(tokens), model(tokens))
    first = [2 * BLOCKS] if encoding == "sinusoidal" else []
    assert calls == 2 * (first + list(range(2 * BLOCKS)))


@pytest.mark.parametrize("has_bias", [False, True])
@pytest.mark.parametrize("seen", ["all", "by member", "alike"])
@pytest.mark.parametrize("scores", [2**28, 1])
def test_attention_maps_over_members(monkeypatch, has_bias, seen, scores):
    monkeypatch.setattr(transformer, "SCORES", scores)  # 1: word by word
    query, key, value = torch.randn(3, 4, 2, 3, 5, 6, dtype=torch.double, requires_grad=True)
    bias = torch.randn(3, 5, 5, dtype=torch.double) if has_bias else None
    is_seen = torch.rand(4, 2, 1, 1, 5) < 0.5
    is_seen[..., 0] = True
    is_seen = {"all": None, "by member": is_seen, "alike": is_seen[0]}[seen]
    axes = (0, 0, 0, None, 0 if seen == "by member" else None)

    def plain(query, key, value, bias, is_seen):
        scores = query @ key.mT / 6**0.5
        if bias is not None:
            scores = scores + bias
        if is_seen is not None:
            scores = scores.masked_fill(~is_seen, -torch.inf)
        return scores.softmax(dim=-1) @ value

    got, want = (
        vmap(attend, in_dims=axes)(query, key, value, bias, is_seen)
        for attend in (transformer.DotProductAttention.apply, plain)
    )
    torch.testing.assert_close(got, want)
    for ours, theirs in zip(
        torch.autograd.grad(got.square().sum(), (query, key, value)),
        torch.autograd.grad(want.square().sum(), (query, key, value)),
        strict=True,
    ):
        torch.testing.assert_close(ours, theirs)


def test_members_of_a_fleet_draw_their_own_positions():
    model = classifier("rope").train()
    keys = fold(seed_key([1, 2])[:, None], torch.arange(4))
    tokens = torch.randint(0, 5, (4, 9))

    def call(keys):
        buffers = {f"positions.draws.{block}.keys": keys for block in range(BLOCKS)}
        return functional_call(model, buffers, (tokens,))

    mapped = vmap(call)(keys)
    torch.testing.assert_close(mapped, torch.stack([call(member) for member in keys]))
    assert not torch.allclose(mapped[0], mapped[1])


def test_bfloat16_autocast():
    tokens, lengths = torch.randint(0, 5, (3, 9)), torch.tensor([1, 5, 9])
    for encoding in SPECS:
        model = classifier(encoding).float()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            scores = model(tokens, lengths)
            scores.float().sum().backward()
        torch.testing.assert_close(scores.float(), model(tokens, lengths), rtol=0.1, atol=0.15)
        assert all(torch.isfinite(parameter.grad).all() for parameter in model.parameters())


def test_listops_settings_have_the_papers_size():
    model = TransformerAlibiSpec(dim=128).build(vocab_size=15, num_classes=10)
    assert sum(p.numel() for p in model.parameters()) == pytest.approx(1_000_000, rel=0.02)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_heads": 0}, "at least 1.*num_heads=0"),
        ({"dim": 12}, "dim must be a multiple of num_heads, got 12 and 8"),
        ({"dropout": 1.0}, r"\[0, 1\), got 1.0"),
    ],
)
def test_bad_settings_are_one_clear_error(settings, message):
    with pytest.raises(LdruError, match=message):
        TransformerNopeSpec(**settings).build(vocab_size=2, num_classes=2)


def test_random_positions_bound_the_length_of_a_word():
    model = classifier("rope")
    model(torch.zeros(1, LIMIT - 1, dtype=torch.long))
    with pytest.raises(LdruError, match="at most 2047"):
        model(torch.zeros(1, LIMIT, dtype=torch.long))
