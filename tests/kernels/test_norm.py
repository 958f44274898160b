"""The kernel of a residual sum's norm against PyTorch's own in float64: values and gradients."""

import pytest
import torch
from torch.func import functional_call, vmap
from torch.nn import functional

from ldru.kernels.support import can_run
from ldru.layers.norm import AddNorm

pytest.importorskip("triton")
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def formula(x, update, weight, bias):
    normed = functional.layer_norm(x + update, x.shape[-1:])
    return normed * weight[:, None, None] + bias[:, None, None]


@pytest.mark.parametrize(
    ("rows", "dim"), [((1, 1), 16), ((5, 7), 24), ((40, 21), 64), ((3, 2), 300)]
)
def test_values_and_gradients(rows, dim):
    torch.manual_seed(0)
    x, update, slopes = torch.randn(3, 3, *rows, dim, device=DEVICE)
    weight, bias = torch.randn(2, 3, dim, device=DEVICE)
    layer = AddNorm(dim)
    results = []
    for dtype in (torch.float32, torch.float64):
        own = [part.to(dtype).requires_grad_() for part in (x, update, weight, bias)]
        if dtype == torch.float64:
            found = formula(*own)
        else:
            assert can_run(own[0])
            found = vmap(
                lambda x, update, weight, bias: functional_call(
                    layer, {"weight": weight, "bias": bias}, (x, update)
                )
            )(*own)
        results.append((found, *torch.autograd.grad((found * slopes).sum(), own)))
    for got, want in zip(*results, strict=True):
        torch.testing.assert_close(got.double(), want, rtol=1e-4, atol=1e-4)


def test_without_a_fleet_it_is_an_ordinary_layer():
    layer = AddNorm(8).to(DEVICE)
    x, update = torch.randn(2, 3, 4, 8, device=DEVICE)
    want = functional.layer_norm(x + update, (8,))
    torch.testing.assert_close(layer(x, update), want, rtol=1e-5, atol=1e-5)
    layer(x, update).square().sum().backward()
    torch.testing.assert_close(layer.weight.grad, 2 * want.square().sum(dim=(0, 1)))
