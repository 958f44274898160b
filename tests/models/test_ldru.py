import io

import pytest
import torch

import ldru
from ldru.base.randomness import bits, fold, seed_key
from ldru.layers.dropout import Dropout, rate_buffers


def classifier(**settings):
    torch.manual_seed(0)
    return ldru.LDRUClassifier(vocab_size=5, num_classes=3, dim=8, **settings).double().eval()


def test_size_is_what_the_equations_give():
    model = ldru.LDRUClassifier(vocab_size=16, num_classes=2, dim=64)
    assert sum(p.numel() for p in model.parameters()) == 129_282
    # The paper prints 162k, 1.01M and 2.6M; the variant with a block on the leaves fits them.
    for dim, printed in ((64, 162_000), (160, 1_010_000), (256, 2_600_000)):
        variant = ldru.LDRUClassifier(vocab_size=16, num_classes=2, dim=dim, leaf_block=True)
        assert sum(p.numel() for p in variant.parameters()) == pytest.approx(printed, rel=0.015)


def test_the_reference_says_that_it_has_no_levels():
    model = classifier(backend="reference")
    tokens = torch.tensor([[0, 1, 2]])
    torch.testing.assert_close(model(tokens), classifier()(tokens))
    with pytest.raises(ldru.LdruError, match=r"'reference' gives neither levels.*take 'batched'"):
        model.forward_with_associativity(tokens)


FROZEN_KEYS = [
    "embedding.weight",
    *(
        f"encoder.operator.{layer}.{part}"
        for layer in ("expand", "hidden", "gates", "left", "right", "out")
        for part in ("weight", "bias")
    ),
    *(
        f"encoder.block.{layer}.{part}"
        for layer in ("up", "down", "norm")
        for part in ("weight", "bias")
    ),
    "head.weight",
    "head.bias",
]


def test_names_of_the_weights_are_frozen():
    """Saved runs hang on these names."""
    assert list(classifier().state_dict()) == FROZEN_KEYS
    extra = set(classifier(leaf_block=True).state_dict()) - set(FROZEN_KEYS)
    assert extra == {
        f"encoder.leaf_block.{layer}.{part}"
        for layer in ("up", "down", "norm")
        for part in ("weight", "bias")
    }


def test_initialisation_is_as_stated():
    before = torch.get_rng_state()
    model = ldru.build(
        "ldru", vocab_size=2000, num_classes=2, generator=torch.Generator().manual_seed(0)
    )
    assert torch.equal(before, torch.get_rng_state())
    operator, block = model.encoder.operator, model.encoder.block
    for layer in (operator.left, operator.right, operator.out):
        assert torch.equal(layer.weight, torch.eye(64))
    assert model.embedding.weight.std().item() == pytest.approx(0.02, rel=0.02)
    glorot = (2 / (128 + 256)) ** 0.5
    assert operator.hidden.weight.std().item() == pytest.approx(glorot, rel=0.02)
    # A normal cut at two deviations keeps 0.8796 of its deviation.
    assert block.up.weight.std().item() == pytest.approx(0.8796 / 8, rel=0.02)
    assert block.up.weight.abs().max().item() <= 2 / 8
    biases = [p for name, p in model.named_parameters() if name.endswith("bias")]
    assert all(not bias.any() for bias in biases)


def test_open_gates_start_around_the_sum():
    operator = ldru.LDRU(8, gates="open").double().operator
    left, right = torch.randn(2, 5, 8, dtype=torch.double)
    with torch.no_grad():
        assert not torch.equal(operator(left, right), left + right)
        operator.gates.weight.zero_()  # what is drawn around it
        torch.testing.assert_close(operator(left, right), left + right, rtol=0, atol=0)


@pytest.mark.parametrize(("gates", "low", "high"), [("centred", 0.5, 0.8), ("open", 0.97, 1.0)])
def test_an_untrained_encoder_tells_what_leaves_have_in_common(gates, low, high):
    """Of 128 leaves one changes: by open gates the code moves as little as their mean would."""
    torch.manual_seed(0)
    encoder = ldru.LDRU(64, activation="silu", gates=gates).eval()
    words = 0.02 * torch.randn(100, 128, 64)
    changed = words.clone()
    changed[:, 37] = 0.02 * torch.randn(100, 64)
    with torch.no_grad():
        codes = [encoder(each) for each in (words, changed)]
    codes = [code - code.mean(dim=0) for code in codes]
    alike = torch.nn.functional.cosine_similarity(*codes).mean()
    assert low < alike < high


def test_a_generator_decides_the_weights():
    def weights(seed):
        generator = torch.Generator().manual_seed(seed)
        return ldru.build("ldru", vocab_size=3, num_classes=2, generator=generator).state_dict()

    first, again, other = weights(1), weights(1), weights(2)
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not torch.equal(first["embedding.weight"], other["embedding.weight"])


@pytest.mark.parametrize("operator", ldru.OPERATORS)
@pytest.mark.parametrize("leaf_block", [False, True])
def test_law_of_padding(operator, leaf_block):
    """Row i equals word i alone, values and gradients, whatever the padding holds."""
    model = classifier(operator=operator, leaf_block=leaf_block)
    tokens = torch.randint(0, 5, (7, 11))
    lengths = torch.tensor([1, 2, 3, 4, 7, 8, 11])
    padded = tokens.clone()
    for row, length in enumerate(lengths):
        padded[row, length:] = torch.tensor([-7, 10**6])[row % 2]
    together = model(padded, lengths)
    alone = torch.cat([model(tokens[i : i + 1, :n]) for i, n in enumerate(lengths.tolist())])
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-12)
    parameters = list(model.parameters())
    for got, want in zip(
        torch.autograd.grad(together.square().sum(), parameters),
        torch.autograd.grad(alone.square().sum(), parameters),
        strict=True,
    ):
        torch.testing.assert_close(got, want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("shape", [(1, 3), (4, 9)])  # fewer tokens than symbols, and more
def test_the_leaf_block_of_symbols_is_that_of_tokens(shape):
    model = classifier(leaf_block=True).double()
    assert shape[0] * shape[1] != model.vocab_size
    tokens = torch.randint(model.vocab_size, shape, generator=torch.Generator().manual_seed(1))
    lengths = torch.arange(shape[1] - shape[0] + 1, shape[1] + 1)
    results = []
    for scores in (
        model(tokens, lengths),
        model.head(model.encoder(model.embedding(tokens), lengths)),
    ):
        gradients = torch.autograd.grad(scores.square().sum(), list(model.parameters()))
        results.append((scores, *gradients))
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


def test_padding_never_reaches_the_leaf_block():
    encoder = ldru.LDRU(dim=4, leaf_block=True, dropout=0.0).double()
    x = torch.randn(3, 5, 4, dtype=torch.double)
    lengths = torch.tensor([1, 3, 5])
    padded = x.clone()
    for row, length in enumerate(lengths):
        padded[row, length:] = float("nan")
    padded.requires_grad_()
    y = encoder(padded, lengths)
    torch.testing.assert_close(y[1], encoder(x[1:2, :3])[0], rtol=0, atol=1e-12)
    gradients = torch.autograd.grad(y.sum(), [padded, *encoder.parameters()])
    assert all(torch.isfinite(gradient).all() for gradient in gradients)


def test_encoder_takes_vectors_and_a_module_as_operator():
    encoder = ldru.LDRU(dim=6, operator=torch.nn.Bilinear(6, 6, 6), dropout=0.0)
    assert encoder(torch.randn(3, 5, 6)).shape == (3, 6)


def test_levels_are_every_node_of_the_tree():
    model = classifier()
    tokens, lengths = torch.randint(0, 5, (2, 6)), torch.tensor([6, 3])
    scores, levels = model(tokens, lengths), model.levels(tokens, lengths)
    assert [level.nodes.shape[1] for level in levels] == [6, 3, 2, 1]
    assert [level.lengths.tolist() for level in levels] == [[6, 3], [3, 2], [2, 1], [1, 1]]
    torch.testing.assert_close(scores, model(tokens, lengths))
    # Node (level 1, second) of the first word is the reduction of its symbols 3 and 4.
    pair = model.levels(tokens[:1, 2:4])
    torch.testing.assert_close(levels[1].nodes[0, 1], pair[1].nodes[0, 0])
    torch.testing.assert_close(scores, model.head(levels[-1].nodes[:, 0]))


def test_dropout_is_off_in_evaluation_and_random_in_training():
    model = classifier(dropout=0.5)
    tokens = torch.randint(0, 5, (4, 9))
    assert torch.equal(model(tokens), model(tokens))
    model.train()
    assert not torch.equal(model(tokens), model(tokens))


def test_keyed_dropout_is_the_stated_function():
    layer = Dropout(rate=0.25)
    keys = fold(seed_key(3)[None], torch.arange(4))
    layer.keys = keys
    for name, value in rate_buffers(torch.tensor(layer.rate), dtype=torch.double).items():
        setattr(layer, name, value)
    x = torch.ones(4, 6, 5, dtype=torch.double)
    out = layer(x, 2)
    for row in range(4):
        for node in range(6):
            for channel in range(5):
                place = 2 * 2**24 + node * 5 + channel
                word = bits(keys[row], 1, begin=place).item() + 2**31
                kept = word / 2**32 >= 0.25
                assert out[row, node, channel].item() == pytest.approx(kept / 0.75)
    # Shorter padding, same masks.
    assert torch.equal(layer(x[:, :3], 2), out[:, :3])
    assert not torch.equal(layer(x, 1), out)
    assert (layer(torch.ones(4, 500, 50)) == 0).double().mean().item() == pytest.approx(
        0.25, abs=0.01
    )


def test_compiles_without_a_graph_break():
    model = classifier()
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    tokens, lengths = torch.randint(0, 5, (3, 9)), torch.tensor([1, 5, 9])
    torch.testing.assert_close(compiled(tokens), model(tokens))
    torch.testing.assert_close(compiled(tokens, lengths), model(tokens, lengths))
    compiled(tokens, lengths).sum().backward()
    assert model.encoder.operator.expand.weight.grad.abs().sum() > 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # in the compiler itself
def test_compiles_with_the_default_compiler():
    model = classifier()
    compiled = torch.compile(model, fullgraph=True)
    tokens, lengths = torch.randint(0, 5, (3, 9)), torch.tensor([1, 5, 9])
    torch.testing.assert_close(compiled(tokens, lengths), model(tokens, lengths))


@pytest.mark.parametrize("operator", ldru.OPERATORS)
def test_bfloat16_autocast(operator):
    model = classifier(operator=operator, dropout=0.1).float().train()
    tokens, lengths = torch.randint(0, 5, (3, 9)), torch.tensor([1, 5, 9])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for given in (None, lengths):
            scores = model(tokens, given)
            assert scores.dtype == torch.bfloat16
            scores.float().sum().backward()
            assert torch.isfinite(scores).all()
    reference = model.eval()(tokens, lengths)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        torch.testing.assert_close(model(tokens, lengths).float(), reference, rtol=0.1, atol=0.1)


@pytest.mark.filterwarnings("ignore")  # the exporter warns about its own parts
def test_exports_to_onnx_at_a_fixed_length():
    pytest.importorskip("onnxscript")
    onnxruntime = pytest.importorskip("onnxruntime")
    model = classifier().float()
    tokens = torch.randint(0, 5, (4, 13))
    buffer = io.BytesIO()
    torch.onnx.export(model, (tokens,), dynamo=True, verbose=False).save(buffer)
    session = onnxruntime.InferenceSession(buffer.getvalue())
    (scores,) = session.run(None, {session.get_inputs()[0].name: tokens.numpy()})
    torch.testing.assert_close(torch.from_numpy(scores), model(tokens), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dim": 0}, "dim must be a whole number of at least 1"),
        ({"dropout": 1.0}, r"\[0, 1\)"),
        ({"operator": "mpl"}, "unknown operator 'mpl'.*did you mean 'mlp'"),
        ({"activation": "tanh"}, "unknown activation"),
        ({"gates": ["open"]}, "name of the start of gates is text, got list"),
        ({"embedding_std": 0.0}, r"deviation in \(0, 100\], got 0.0"),
        ({"embedding_std": "small"}, "got 'small'"),
        ({"gates": "opne"}, "unknown start of gates 'opne'.*did you mean 'open'"),
        ({"gates": "open", "operator": "grc"}, "'grc' has no gates that start open: leave gates"),
        ({"gates": "open", "operator": torch.nn.Identity()}, "let Identity start so"),
    ],
)
def test_bad_settings_are_one_clear_error(settings, message):
    with pytest.raises(ldru.LdruError, match=message):
        ldru.LDRUClassifier(vocab_size=2, num_classes=2, **settings)


def test_bad_calls_are_one_clear_error():
    model = classifier()
    with pytest.raises(ldru.LdruError, match="at least 1"):
        model(torch.zeros(2, 0, dtype=torch.long))
    with pytest.raises(ldru.LdruError, match="empty word"):
        model(torch.zeros(2, 3, dtype=torch.long), torch.tensor([0, 3]))
    with pytest.raises(ldru.LdruError, match="width 8"):
        model.encoder(torch.zeros(2, 3, 7, dtype=torch.double))
    with pytest.raises(ldru.LdruError, match=r"unknown model 'ldur'.*'ldru'"):
        ldru.build("ldur", vocab_size=2, num_classes=2)


def test_lengths_may_be_a_list_or_a_mask():
    encoder = ldru.LDRU(8, dropout=0.0).double()
    x = torch.randn(3, 5, 8, dtype=torch.double)
    lengths = torch.tensor([5, 1, 3])
    want = encoder(x, lengths)
    assert torch.equal(encoder(x, [5, 1, 3]), want)
    mask = torch.tensor([[1, 1, 1, 1, 1], [1, 0, 0, 0, 0], [1, 1, 1, 0, 0]])
    for kind in (torch.bool, torch.int64, torch.float32):
        assert torch.equal(encoder(x, attention_mask=mask.to(kind)), want)


@pytest.mark.parametrize("empty", ["zero", "learned"])
@pytest.mark.parametrize("leaf_block", [False, True])
def test_empty_rows_have_a_code_of_their_own(empty, leaf_block):
    encoder = ldru.LDRU(8, dropout=0.0, empty=empty, leaf_block=leaf_block).double()
    x = torch.randn(3, 5, 8, dtype=torch.double)
    x[1] = torch.nan  # padding may hold anything
    x.requires_grad_()
    code = encoder(x, [2, 0, 5])
    own = torch.zeros(8, dtype=torch.double)
    if empty == "learned":
        with torch.no_grad():
            encoder.empty_code.copy_(torch.arange(8.0))
        own, code = encoder.empty_code, encoder(x, [2, 0, 5])
    assert torch.equal(code[1], own)
    strict = ldru.LDRU(8, dropout=0.0, leaf_block=leaf_block).double()
    strict.load_state_dict(encoder.state_dict(), strict=False)
    torch.testing.assert_close(code[[0, 2]], strict(x[[0, 2]], [2, 5]))
    code.sum().backward()
    assert x.grad.isfinite().all()
    assert not x.grad[1].any()
    if empty == "learned":
        assert torch.equal(encoder.empty_code.grad, torch.ones(8, dtype=torch.double))


def test_wrong_lengths_and_masks():
    encoder, x = ldru.LDRU(8), torch.zeros(2, 3, 8)
    with pytest.raises(ldru.LdruError, match="between 1 and the padded length 3, got 0 to 3"):
        encoder(x, [0, 3])
    with pytest.raises(ldru.LdruError, match="not both"):
        encoder(x, [1, 3], attention_mask=torch.ones(2, 3))
    with pytest.raises(ldru.LdruError, match=r"one number for each vector, \[2, 3\], got \[3, 2\]"):
        encoder(x, attention_mask=torch.ones(3, 2))
    with pytest.raises(ldru.LdruError, match="ones and then zeros"):
        encoder(x, attention_mask=torch.tensor([[0, 1, 1], [1, 1, 1]]))
    with pytest.raises(ldru.LdruError, match="did you mean 'zero'"):
        ldru.LDRU(8, empty="zeros")


def test_the_reference_does_not_train_with_another_dropout_than_the_others():
    model = ldru.LDRUClassifier(vocab_size=2, num_classes=2, dim=4, backend="reference")
    with pytest.raises(ldru.LdruError, match="train with backend='batched', or with dropout=0"):
        model(torch.tensor([[0, 1, 1]]))
    assert model.eval()(torch.tensor([[0, 1, 1]])).shape == (1, 2)
