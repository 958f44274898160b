"""Attention's kernels against the formula in float64: values and gradients."""

import pytest
import torch
from torch.func import vmap

from ldru.models.transformer import DotProductAttention, can_fuse

pytest.importorskip("triton")
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def formula(query, key, value, bias, is_seen):
    scores = query @ key.mT / query.shape[-1] ** 0.5
    if bias is not None:
        scores = scores + bias
    if is_seen is not None:
        scores = scores.masked_fill(~is_seen, -torch.inf)
    return scores.softmax(dim=-1) @ value


@pytest.mark.parametrize(("length", "width"), [(1, 8), (7, 8), (16, 16), (41, 8), (33, 20)])
@pytest.mark.parametrize("has_bias", [False, True])
@pytest.mark.parametrize("seen", ["all", "by member"])
def test_values_and_gradients(length, width, has_bias, seen):
    torch.manual_seed(0)
    # As projections lie: heads are slices of channels.
    parts = torch.randn(3, 2, 2, length, 3 * width, device=DEVICE)
    bias = torch.randn(3, length, length, device=DEVICE) if has_bias else None
    is_seen = None
    if seen == "by member":
        is_seen = torch.rand(2, 2, 1, 1, length, device=DEVICE) < 0.5
        is_seen[..., 0] = True
    slopes = torch.randn(2, 2, 3, length, width, device=DEVICE)
    results = []
    for attend, dtype in ((DotProductAttention.apply, torch.float32), (formula, torch.float64)):
        own = [part.to(dtype).requires_grad_() for part in parts]
        heads = [part.unflatten(-1, (3, width)).transpose(2, 3) for part in own]
        assert can_fuse(heads[0]) == (dtype == torch.float32)
        axes = (0, 0, 0, None, None if is_seen is None else 0)
        given = None if bias is None else bias.to(dtype)
        mixed = vmap(attend, in_dims=axes)(*heads, given, is_seen)
        gradients = torch.autograd.grad((mixed * slopes).sum(), own)
        results.append((mixed, *gradients))
    for got, want in zip(*results, strict=True):
        torch.testing.assert_close(got.double(), want, rtol=1e-4, atol=1e-5)


def test_long_words_and_wide_heads_are_left_to_pytorch():
    assert not can_fuse(torch.zeros(1, 1, 65, 8, device=DEVICE))
    assert not can_fuse(torch.zeros(1, 1, 8, 65, device=DEVICE))
