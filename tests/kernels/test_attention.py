"""Attention's kernels against the formula in float64: values and gradients."""

from dataclasses import replace

import pytest
import torch
from torch.func import vmap

from ldru.kernels.support import without_layer_kernels
from ldru.models.registry import model_spec
from ldru.models.transformer import (
    DotProductAttention,
    PackedAttention,
    PackedRotation,
    can_fuse,
)

pytest.importorskip("triton")
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def formula(query, key, value, bias, is_seen):
    scores = query @ key.mT / query.shape[-1] ** 0.5
    if bias is not None:
        scores = scores + bias
    if is_seen is not None:
        scores = scores.masked_fill(~is_seen, -torch.inf)
    return scores.softmax(dim=-1) @ value


@pytest.mark.parametrize(
    ("asks", "length", "width", "has_bias", "seen"),
    [
        *((7, 7, 8, has_bias, seen) for has_bias in (False, True) for seen in ("all", "by member")),
        (1, 1, 8, True, "all"),
        (1, 20, 16, False, "by member"),
        (41, 41, 8, True, "by member"),
        (3, 33, 20, True, "by member"),
        (3, 33, 20, False, "all"),
    ],
)
def test_values_and_gradients(asks, length, width, has_bias, seen):
    torch.manual_seed(0)
    # As projections lie: heads are slices of channels.
    parts = torch.randn(3, 2, 2, length, 3 * width, device=DEVICE)
    bias = torch.randn(3, asks, length, device=DEVICE) if has_bias else None
    slopes = torch.randn(2, 2, 3, asks, width, device=DEVICE)
    is_seen = seen_by_member(length) if seen == "by member" else None
    results = []
    for attend, dtype in ((DotProductAttention.apply, torch.float32), (formula, torch.float64)):
        own = [part.to(dtype).requires_grad_() for part in parts]
        query, *others = (part.unflatten(-1, (3, width)).transpose(2, 3) for part in own)
        assert can_fuse(query) == (dtype == torch.float32)
        mixed = mixed_by(attend, query[..., -asks:, :], *others, bias, is_seen)
        gradients = torch.autograd.grad((mixed * slopes).sum(), own)
        results.append((mixed, *gradients))
    for got, want in zip(*results, strict=True):
        torch.testing.assert_close(got.double(), want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("length", "width", "has_bias", "seen"),
    [
        *((7, 4, has_bias, seen) for has_bias in (False, True) for seen in ("all", "by member")),
        (1, 8, True, "all"),
        (20, 16, False, "by member"),
        (41, 8, True, "by member"),
        (17, 20, True, "by member"),
        (17, 20, False, "all"),
    ],
)
def test_queries_keys_and_values_side_by_side(length, width, has_bias, seen):
    torch.manual_seed(0)
    packed = torch.randn(2, 2, length, 3, 3, width, device=DEVICE, requires_grad=True)
    bias = torch.randn(3, length, length, device=DEVICE) if has_bias else None
    is_seen = seen_by_member(length) if seen == "by member" else None
    slopes = torch.randn(2, 2, length, 3, width, device=DEVICE)
    axes = (0, None, None if is_seen is None else 0)
    got = vmap(PackedAttention.apply, in_dims=axes)(packed, bias, is_seen)
    (gradient,) = torch.autograd.grad((got * slopes).sum(), packed)
    own = packed.detach().double().requires_grad_()
    heads = (part.transpose(2, 3) for part in own.unbind(dim=3))
    want = mixed_by(formula, *heads, bias, is_seen).transpose(2, 3)
    (expected,) = torch.autograd.grad((want * slopes.double()).sum(), own)
    torch.testing.assert_close(got.double(), want, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(gradient.double(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("angles", "heads", "width"),
    [("by member", 2, 8), ("by word", 3, 6), ("shared", 1, 2)],
)
def test_queries_and_keys_turn_as_complex_numbers_do(angles, heads, width):
    torch.manual_seed(0)
    shape = {"by member": (2, 1), "by word": (2, 3), "shared": (1,)}[angles]
    turns = 6 * torch.randn(*shape, 5, width // 2, device=DEVICE)
    packed = torch.randn(2, 3, 5, 3, heads, width, device=DEVICE, requires_grad=True)
    slopes = torch.randn_like(packed)
    axis = None if angles == "shared" else 0
    got = vmap(PackedRotation.apply, in_dims=(0, axis))(packed, turns)
    (gradient,) = torch.autograd.grad((got * slopes).sum(), packed)

    own = packed.detach().double().requires_grad_()
    number = torch.view_as_complex(own.unflatten(-1, (-1, 2)))
    turn = torch.polar(torch.ones_like(turns), turns).to(number.dtype)
    turn = turn.reshape(-1 if len(shape) == 2 else 1, *turns.shape[-3:])[..., None, :]
    turned = (torch.view_as_real(turn * number[:, :, :, part]) for part in (0, 1))
    parts = [*(part.flatten(start_dim=-2) for part in turned), own[:, :, :, 2]]
    want = torch.stack(parts, dim=3)
    (expected,) = torch.autograd.grad((want * slopes).sum(), own)
    torch.testing.assert_close(got.double(), want, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(gradient.double(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("has_bias", [False, True])
@pytest.mark.parametrize("seen", ["all", "by member"])
def test_long_words(has_bias, seen):
    """In blocks, of which some have no token that is seen; the gradient is PyTorch's."""
    torch.manual_seed(0)
    length = 150
    heads = torch.randn(3, 2, 1, 2, length, 8, device=DEVICE)
    bias = 10 * torch.randn(2, length, length, device=DEVICE) if has_bias else None
    is_seen = seen_by_member(length, words=1) if seen == "by member" else None
    if is_seen is not None:
        is_seen[..., 1:130] = False
    results = []
    for attend, dtype in ((DotProductAttention.apply, torch.float32), (formula, torch.float64)):
        own = heads.to(dtype).requires_grad_()
        mixed = mixed_by(attend, *own, bias, is_seen)
        results.append((mixed, *torch.autograd.grad(mixed.square().sum(), own)))
    for got, want in zip(*results, strict=True):
        torch.testing.assert_close(got.double(), want, rtol=1e-4, atol=1e-5)


def test_a_whole_model_agrees_with_pytorchs():
    """Short words with gradients, long ones without; positions that bias, turn or do nothing."""
    for name in ("transformer_alibi", "transformer_rope", "transformer_nope"):
        torch.manual_seed(0)
        spec = replace(model_spec(name), dim=16, num_heads=2, num_blocks=2)
        model = spec.build(vocab_size=2, num_classes=3).to(DEVICE).eval()
        for length in (9, 70):
            tokens = torch.randint(0, 2, (2, length), device=DEVICE)
            with torch.set_grad_enabled(length == 9):
                got = model(tokens)
                with without_layer_kernels():
                    want = model(tokens)
            torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-4)
            if length == 9:
                ours, theirs = (
                    torch.autograd.grad(scores.square().sum(), list(model.parameters()))
                    for scores in (got, want)
                )
                for one, other in zip(ours, theirs, strict=True):
                    torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)


def seen_by_member(length, words=2):
    is_seen = torch.rand(2, words, 1, 1, length, device=DEVICE) < 0.5
    is_seen[..., 0] = True
    return is_seen


def mixed_by(attend, query, key, value, bias, is_seen):
    given = None if bias is None else bias.to(query.dtype)
    axes = (0, 0, 0, None, None if is_seen is None else 0)
    return vmap(attend, in_dims=axes)(query, key, value, given, is_seen)


def test_wide_heads_are_left_to_pytorch():
    assert not can_fuse(torch.zeros(1, 1, 8, 65, device=DEVICE))
