"""The convolution's kernels against the plain one in float64: values and gradients."""

import pytest
import torch
from torch.func import functional_call, vmap

from ldru.kernels.support import can_run
from ldru.models.gated_deltanet import CausalConvolution

pytest.importorskip("triton")
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.parametrize(("length", "dim", "width"), [(1, 5, 4), (16, 16, 4), (37, 130, 3)])
def test_values_and_gradients(length, dim, width):
    torch.manual_seed(0)
    layer = CausalConvolution(dim=dim, width=width)
    x, slopes = torch.randn(2, 2, 3, length, dim, device=DEVICE)
    weight = torch.randn(2, width, dim, device=DEVICE)
    results = []
    for dtype in (torch.float32, torch.float64):
        own = [part.to(dtype).requires_grad_() for part in (x, weight)]
        found = vmap(lambda x, weight: functional_call(layer, {"weight": weight}, (x,)))(*own)
        assert can_run(own[0]) == (dtype == torch.float32)
        results.append((found, *torch.autograd.grad((found * slopes).sum(), own)))
    for got, want in zip(*results, strict=True):
        torch.testing.assert_close(got.double(), want, rtol=1e-4, atol=1e-5)
