"""The scan's kernels against the plain one in double precision: values and gradients."""

import pytest
import torch
from torch.func import vmap

import ldru
from ldru.kernels.support import can_run, without_layer_kernels
from ldru.models.s5 import linear_scan

pytest.importorskip("triton")
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.parametrize(("length", "states"), [(1, 3), (2, 128), (7, 130), (40, 16)])
def test_values_and_gradients(length, states):
    torch.manual_seed(0)
    decay = 0.9 * torch.exp(1j * torch.rand(3, states, device=DEVICE) * 6)
    driven, slopes = torch.randn(2, 3, 2, length, states, device=DEVICE, dtype=torch.complex64)
    results = []
    for dtype in (torch.complex64, torch.complex128):
        own = [part.to(dtype).requires_grad_() for part in (decay, driven)]
        assert can_run(own[0].real) == (dtype == torch.complex64)
        found = vmap(linear_scan)(*own)
        loss = (found * slopes).real.sum()
        results.append((found, *torch.autograd.grad(loss, own, materialize_grads=True)))
    for got, want in zip(*results, strict=True):
        torch.testing.assert_close(got.to(want.dtype), want, rtol=1e-4, atol=1e-5)


def test_the_model_computes_by_them():
    torch.manual_seed(0)
    model = ldru.build("s5", vocab_size=3, num_classes=2).to(DEVICE)
    tokens = torch.randint(0, 3, (2, 5), device=DEVICE)
    got = model(tokens)
    with without_layer_kernels():
        plain = model(tokens)
    torch.testing.assert_close(got, plain, rtol=1e-4, atol=1e-5)
