"""Answers at every position, and words that grow: an LDRU against itself on every prefix."""

import pytest
import torch

import ldru
from ldru.models import streams


def encoder(operator="mlp", *, leaf_block=True, **settings):
    torch.manual_seed(0)
    model = ldru.LDRU(8, operator=operator, leaf_block=leaf_block, **settings)
    return model.double().eval()


def classifier(kind=ldru.LDRUClassifier, **settings):
    torch.manual_seed(0)
    return kind(vocab_size=3, num_classes=4, dim=8, leaf_block=True, **settings).double().eval()


def close(got, want, tolerance=1e-12):
    torch.testing.assert_close(got, want, rtol=0, atol=tolerance)


@pytest.mark.parametrize("operator", ldru.OPERATORS)
def test_entries_are_the_codes_of_prefixes(operator):
    model = encoder(operator)
    x = torch.randn(2, 21, 8, dtype=torch.double, requires_grad=True)
    got = model.scan(x)
    want = torch.stack([model(x[:, : end + 1]) for end in range(21)], dim=1)
    close(got, want)
    slopes = torch.randn_like(got)
    inputs = [x, *model.parameters()]
    for found, expected in zip(
        torch.autograd.grad((got * slopes).sum(), inputs),
        torch.autograd.grad((want * slopes).sum(), inputs),
        strict=True,
    ):
        close(found, expected, 1e-9)


@pytest.mark.parametrize("given", ["lengths", "list", "mask"])
def test_padded_words(given):
    model = encoder(empty="zero")
    x, lengths = torch.randn(4, 9, 8, dtype=torch.double), torch.tensor([9, 0, 1, 6])
    mask = torch.arange(9) < lengths[:, None]
    padded = torch.where(mask[..., None], x, torch.nan)
    how = {
        "lengths": {"lengths": lengths},
        "list": {"lengths": lengths.tolist()},
        "mask": {"attention_mask": mask},
    }[given]
    got = model.scan(padded, **how)
    assert not got[~mask].any()
    close(got[mask], model.scan(x)[mask])


def test_the_cheap_order_is_near_for_an_associative_operator():
    model = encoder("element_sum", leaf_block=False)
    x = torch.randn(2, 37, 8, dtype=torch.double)
    close(ldru.tree_scan(model.operator, x, order="blelloch"), x.cumsum(dim=1), 1e-12)
    assert not torch.equal(model.scan(x, order="blelloch"), model.scan(x))  # blocks come elsewhere


def test_a_tagger_answers_at_every_position():
    tagger, model = classifier(ldru.LDRUTagger), classifier()
    tokens = torch.randint(0, 3, (3, 13))
    scores = tagger(tokens)
    assert scores.shape == (3, 13, 4)
    close(scores, torch.stack([model(tokens[:, : end + 1]) for end in range(13)], dim=1))
    lengths = torch.tensor([13, 5, 1])
    some = tagger(tokens, lengths)
    for row, length in enumerate(lengths):
        close(some[row, :length], scores[row, :length])


def test_compiles_without_a_graph_break():
    model = classifier(ldru.LDRUTagger)
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    tokens, lengths = torch.randint(0, 3, (3, 6)), torch.tensor([6, 4, 1])
    got = compiled(tokens, lengths)
    close(got, model(tokens, lengths))
    got.sum().backward()


def test_bfloat16_autocast():
    model = classifier(ldru.LDRUTagger).float()
    tokens = torch.randint(0, 3, (2, 20))
    want = model(tokens)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        got = model(tokens)
    assert got.dtype == torch.bfloat16
    assert (got.float() - want).abs().max() < 0.1


def test_dropout_is_off_in_evaluation_and_random_in_training():
    model = classifier(ldru.LDRUTagger, dropout=0.5)
    tokens = torch.randint(0, 3, (2, 9))
    assert torch.equal(model(tokens), model(tokens))
    model.train()
    assert not torch.equal(model(tokens), model(tokens))


@pytest.mark.parametrize(
    ("sizes", "fused"),
    [([1] * 40, 0), ([7, 1, 13, 64, 3], 0), ([7, 1, 13, 64, 3], 2), ([300, 5, 511], 0),
     ([300, 5, 511], 4)],
)  # fmt: skip
def test_streams_are_the_whole_word(sizes, fused, monkeypatch):
    """Long chunks of few symbols look stretches up, at places that no chunk is cut at.

    fused: levels above these that are computed at once, as on a GPU.
    """
    monkeypatch.setitem(streams.FUSED_LEVELS, "cpu", fused)
    model, tokens = classifier(), torch.randint(0, 3, (2, sum(sizes)))
    x = model.embedding(tokens).detach()
    of_tokens, of_vectors = model.stream(batch=2), model.encoder.stream(batch=2)
    begin = 0
    for size in sizes:
        part = slice(begin, begin + size)
        of_tokens.push(tokens[:, part].to(torch.uint8))
        of_vectors.push(x[:, part])
        begin += size
        with torch.no_grad():
            close(of_tokens.scores(), model(tokens[:, :begin]))
            close(of_vectors.code(), model.encoder(x[:, :begin]))
            close(of_tokens.code(), of_vectors.code())
    assert of_tokens.lengths == of_vectors.lengths == [sum(sizes)] * 2


def test_streams_of_unequal_words():
    model, tokens = classifier(), torch.randint(0, 3, (2, 9))
    padded = tokens.clone()
    padded[0, 3:] = 99
    stream = model.stream(batch=2).push(padded, [3, 9])
    close(stream.scores(), model(tokens, torch.tensor([3, 9])).detach())


def test_a_stream_goes_on_from_its_state_and_from_no_other_models():
    model, tokens = classifier(), torch.randint(0, 3, (1, 30))
    state = model.stream().push(tokens[:, :17]).state()
    assert set(state) == {"lengths", "nodes", "model"}
    close(model.stream(state=state).push(tokens[:, 17:]).scores(), model(tokens).detach())
    with torch.no_grad():
        model.head.bias += 1
    with pytest.raises(ldru.LdruError, match="state of another model's stream"):
        model.stream(state=state)
    with pytest.raises(ldru.LdruError, match="state of another model's stream"):
        model.encoder.stream(state=state)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda model: model.stream().push(torch.tensor([3])), "tokens run from 0 to 2 here"),
        (lambda model: model.stream().push(torch.tensor([0, 1])), r"takes tokens \[1\]"),
        (lambda model: model.stream().push(torch.tensor([0.0])), "got torch.float32"),
        (lambda model: model.stream().scores(), "empty word"),
        (lambda model: model.train().stream(), r"call eval\(\)"),
        (lambda model: model.encoder.stream().push(torch.zeros(1, 5)), "vectors of width 8"),
        (lambda model: model.encoder.scan(torch.zeros(1, 0, 8).double()), "at least 1"),
        (lambda model: reference(model).scan(torch.tensor([[1]])), "take 'batched' for a scan"),
    ],
)
def test_bad_calls_are_one_clear_error(act, message):
    with pytest.raises(ldru.LdruError, match=message):
        act(classifier())


def reference(model):
    model.encoder.backend = "reference"
    return model
