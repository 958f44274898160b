"""The delta rule's kernels against the recurrence itself in float64: values and gradients."""

import pytest
import torch
from torch.func import vmap

from ldru.models.gated_deltanet import can_fuse, delta_rule

pytest.importorskip("triton")
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def recurrence(query, key, value, beta, log_alpha):
    """Place by place: [batch, length, heads, dim] and so on, as `delta_rule`."""
    memory, read = 0, []
    for place in range(key.shape[1]):
        q, k, v = (x[:, place, :, :, None] for x in (query, key, value))
        strength = beta[:, place, :, None, None]
        faded = log_alpha[:, place, :, None, None].exp() * memory
        old = faded @ k if place else 0
        memory = faded + strength * (v - old) @ k.mT
        read.append((memory @ q)[..., 0])
    return torch.stack(read, dim=1)


@pytest.mark.parametrize(
    ("length", "keys", "values"), [(1, 12, 24), (16, 12, 24), (37, 5, 20), (33, 17, 16)]
)
def test_values_and_gradients(length, keys, values):
    torch.manual_seed(0)
    query, key = torch.randn(2, 2, 1, length, 3, keys, device=DEVICE)
    key = key / key.norm(dim=-1, keepdim=True)
    value, slopes = torch.randn(2, 2, 1, length, 3, values, device=DEVICE)
    beta = 2 * torch.rand(2, 1, length, 3, device=DEVICE)
    log_alpha = -0.3 * torch.rand(2, 1, length, 3, device=DEVICE)
    results = []
    for rule, dtype in ((delta_rule, torch.float32), (recurrence, torch.float64)):
        own = [x.to(dtype).requires_grad_() for x in (query, key, value, beta, log_alpha)]
        assert can_fuse(own[1], own[2]) == (dtype == torch.float32)
        read = vmap(rule)(*own)
        gradients = torch.autograd.grad((read * slopes).sum(), own, materialize_grads=True)
        results.append((read, *gradients))
    for got, want in zip(*results, strict=True):
        torch.testing.assert_close(got.double(), want, rtol=1e-3, atol=1e-4)


def test_equal_keys_corrected_in_full():
    """The memory's answer changes its sign at every place: powers of the system would overflow."""
    key = torch.zeros(1, 40, 1, 8, device=DEVICE)
    key[..., 0] = 1
    value, ones = torch.randn(1, 40, 1, 8, device=DEVICE), torch.ones(1, 40, 1, device=DEVICE)
    inputs = key, key, value, 2 * ones, 0 * ones
    want = recurrence(*(part.double() for part in inputs))
    torch.testing.assert_close(delta_rule(*inputs).double(), want, rtol=1e-3, atol=1e-2)


def test_wide_heads_are_left_to_pytorch():
    key = torch.zeros(1, 8, 1, 8, device=DEVICE)
    assert can_fuse(key, key)
    assert not can_fuse(key.repeat(1, 1, 1, 9), key)
