"""Random trees in the kernels against the plain code: tables, values and every gradient."""

import pytest
import torch
from torch.func import stack_module_state, vmap

import ldru
from ldru.base.randomness import Stream, fold, seed_key
from ldru.models import backends
from ldru.tree import RandomTrees
from tests.kernels.test_fused import DEVICE, encoder, in_float64, set_keys

pytest.importorskip("triton")
from ldru.training.fleet import call_method
from ldru.training.loss import weighted_cross_entropy


def tree_keys(count, *, seed=0):
    key = fold(seed_key(seed), Stream.TREES)
    return fold(key, torch.arange(count)).to(DEVICE)


def compare(model, x, lengths, *, tolerance):
    """The fused path against the plain one in float64."""
    exact = in_float64(model)
    wide = x.detach().double().requires_grad_()
    x = x.detach().requires_grad_()
    trees = RandomTrees(tree_keys(len(x)), x.shape[1], lengths, 0.3)
    ours, theirs = model.forward_along(x, trees, lengths), exact.forward_along(wide, trees, lengths)
    torch.testing.assert_close(ours.double(), theirs, rtol=tolerance, atol=tolerance)
    weight = torch.randn_like(theirs)
    (ours * weight.float()).sum().backward()
    (theirs * weight).sum().backward()
    pairs = [(x.grad, wide.grad)]
    pairs += [(a.grad, b.grad) for a, b in zip(model.parameters(), exact.parameters(), strict=True)]
    for found, want in pairs:
        scale = want.norm() + 1e-12
        assert (found.double() - want).norm() / scale < 20 * tolerance


@pytest.mark.parametrize("activation", ["relu", "silu"])
@pytest.mark.parametrize(
    ("length", "is_padded", "dropout"),
    [(2, False, 0.25), (3, True, 0.0), (9, False, 0.0), (13, True, 0.25)],
)
def test_words_are_reduced_along_the_same_trees(activation, length, is_padded, dropout):
    model = encoder(16, activation, dropout)
    if dropout:
        set_keys(model, batch=5, seed=1)
    else:
        model.eval()
    x = torch.randn(5, length, 16, device=DEVICE)
    lengths = torch.tensor([length, 1, 2, max(1, length - 1), 2], device=DEVICE)
    compare(model, x, lengths if is_padded else None, tolerance=1e-5)


@pytest.mark.parametrize(("length", "is_padded"), [(1, False), (2, False), (9, False), (13, True)])
def test_all_nodes_are_given_with_their_stretches(length, is_padded):
    """Nodes get gradients of their own, beside those that come down the tree."""
    model = encoder(16, "relu", 0.25)
    set_keys(model, batch=5, seed=1)
    exact = in_float64(model)
    x = torch.randn(5, length, 16, device=DEVICE, requires_grad=True)
    wide = x.detach().double().requires_grad_()
    lengths = torch.tensor([length, 1, 2, length - 1, 2], device=DEVICE) if is_padded else None
    trees = RandomTrees(tree_keys(5), length, lengths, 0.3)
    ours, theirs = (
        backends.factors_along(m, m.leaves(v, lengths), trees, lengths)
        for m, v in ((model, x), (exact, wide))
    )
    assert torch.equal(ours.begin.long(), theirs.begin)
    assert torch.equal(ours.end.long(), theirs.end)
    is_there = theirs.begin < theirs.end
    size = sum(2 * n - 1 for n in (lengths.tolist() if is_padded else [length] * 5))
    assert int(is_there.sum()) == size
    torch.testing.assert_close(
        ours.nodes[is_there].double(), theirs.nodes[is_there], rtol=1e-5, atol=1e-5
    )
    # Of all sizes, so that a peak that is not looked for would leave the range of half precision.
    sizes = 10 ** torch.linspace(-6, 0, len(is_there), device=DEVICE)[:, None]
    weight = sizes * torch.randn_like(theirs.nodes)
    torch.where(is_there[:, None], ours.nodes * weight.float(), 0).sum().backward()
    torch.where(is_there[:, None], theirs.nodes * weight, 0).sum().backward()
    pairs = [(x.grad, wide.grad)]
    if length > 1:
        both = zip(model.parameters(), exact.parameters(), strict=True)
        pairs += [(a.grad, b.grad) for a, b in both]
    for found, want in pairs:
        assert (found.double() - want).norm() / (want.norm() + 1e-12) < 2e-4


@pytest.mark.skipif(DEVICE == "cuda", reason="fresh memory is filled on the CPU alone")
@pytest.mark.parametrize("is_random", [False, True])
def test_rows_that_no_word_needs_spoil_nothing(is_random):
    """Kernels leave them as memory has them; here all fresh memory is NaN."""
    model = ldru.LDRUClassifier(vocab_size=3, num_classes=2, dim=16, dropout=0.0)
    tokens, lengths = torch.randint(0, 3, (3, 9)), torch.tensor([9, 4, 1])
    trees = RandomTrees(tree_keys(3), 9, lengths, 0.3)
    torch.use_deterministic_algorithms(True)
    try:
        call = (tokens, trees, lengths) if is_random else (tokens, lengths)
        scores, begin, end = (model.factors_along if is_random else model.factors)(*call)
        weights = (end - begin).float()
        labels = torch.zeros_like(begin, dtype=torch.int64)
        classes = torch.tensor([2])
        losses = weighted_cross_entropy(scores[None], labels[None], weights[None], classes)
        losses.sum().backward()
    finally:
        torch.use_deterministic_algorithms(False)
    assert losses.isfinite().all()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())


def test_padding_holds_anything_and_gets_no_gradient():
    model = encoder(16, "relu").eval()
    x = torch.randn(3, 6, 16, device=DEVICE)
    lengths = torch.tensor([6, 3, 1], device=DEVICE)
    trees = RandomTrees(tree_keys(3), 6, lengths, 0.3)
    spoiled = x.clone()
    spoiled[torch.arange(6, device=DEVICE) >= lengths[:, None]] = torch.nan
    spoiled.requires_grad_()
    found = model.forward_along(spoiled, trees, lengths)
    assert torch.equal(found, model.forward_along(x, trees, lengths))
    found.sum().backward()
    beyond = torch.arange(6, device=DEVICE) >= lengths[:, None]
    assert spoiled.grad.isfinite().all()
    assert (spoiled.grad[beyond] == 0).all()


def test_a_fleet_is_one_call_and_agrees_with_each_member():
    models = [encoder(16, "relu", 0.25, seed=seed) for seed in (1, 2)]
    for seed, model in enumerate(models):
        set_keys(model, batch=3, seed=seed)
    x = torch.randn(2, 3, 7, 16, device=DEVICE)
    lengths = torch.tensor([[7, 1, 2], [6, 6, 6]], device=DEVICE)
    keys = torch.stack([tree_keys(3, seed=seed) for seed in (0, 1)])
    parameters, _ = stack_module_state(models)
    parameters = {name: p.detach().requires_grad_() for name, p in parameters.items()}
    buffers = {
        f"dropout.{part}": torch.stack([getattr(model.dropout, part) for model in models])
        for part in ("keys", "cut", "scale")
    }

    def call(parameters, buffers, x, keys, lengths):
        trees = RandomTrees(keys, 7, lengths, 0.3)
        state = {**parameters, **buffers}
        return call_method(models[0], "forward_along", state, x, trees, lengths)

    together = vmap(call)(parameters, buffers, x, keys, lengths)
    together.square().sum().backward()
    for index, model in enumerate(models):
        trees = RandomTrees(keys[index], 7, lengths[index], 0.3)
        alone = model.forward_along(x[index], trees, lengths[index])
        torch.testing.assert_close(together[index], alone, rtol=0, atol=1e-6)
        alone.square().sum().backward()
        for name, parameter in model.named_parameters():
            torch.testing.assert_close(
                parameters[name].grad[index], parameter.grad, rtol=1e-5, atol=1e-5
            )


@pytest.mark.parametrize(("dim", "length", "dropout"), [(80, 9, 0.25), (16, 140, 0.0)])
def test_wide_models_and_long_words_climb_the_trees_level_by_level(dim, length, dropout):
    model = encoder(dim, "silu", dropout)
    if dropout:
        set_keys(model, batch=3, seed=1)
    else:
        model.eval()
    x = torch.randn(3, length, dim, device=DEVICE)
    lengths = torch.tensor([length, 1, 6], device=DEVICE)
    compare(model, x, lengths, tolerance=2e-5)


def test_given_trees_are_climbed_too():
    model = encoder(16, "relu", 0.25)
    set_keys(model, batch=2, seed=3)
    x = torch.randn(2, 5, 16, device=DEVICE)
    given = ldru.draw_trees(tree_keys(2), length=5)
    drawn = model.forward_along(x, RandomTrees(tree_keys(2), 5, None, 0.3))
    torch.testing.assert_close(model.forward_along(x, given), drawn, rtol=0, atol=1e-5)


def test_a_wide_fleet_agrees_with_each_member():
    models = [encoder(80, "relu", 0.25, seed=seed) for seed in (1, 2)]
    for seed, model in enumerate(models):
        set_keys(model, batch=2, seed=seed)
    x = torch.randn(2, 2, 4, 80, device=DEVICE)
    keys = torch.stack([tree_keys(2, seed=seed) for seed in (0, 1)])
    parameters, _ = stack_module_state(models)
    buffers = {
        f"dropout.{part}": torch.stack([getattr(model.dropout, part) for model in models])
        for part in ("keys", "cut", "scale")
    }

    def call(state, x, keys):
        return call_method(models[0], "forward_along", state, x, RandomTrees(keys, 4, None, 0.3))

    together = vmap(call)({**parameters, **buffers}, x, keys)
    for index, model in enumerate(models):
        alone = model.forward_along(x[index], RandomTrees(keys[index], 4, None, 0.3))
        torch.testing.assert_close(together[index], alone, rtol=0, atol=1e-5)
