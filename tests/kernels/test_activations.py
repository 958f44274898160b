"""Norms and activations in kernels against the plain ones in float64: values and gradients."""

import pytest
import torch
from torch.func import functional_call, vmap

from ldru.kernels.support import can_run
from ldru.layers.feed_forward import feed_forward, silu_product
from ldru.layers.linear import Linear
from ldru.layers.norm import RMSNorm

pytest.importorskip("triton")
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class FeedForward(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.up, self.down = Linear(dim, 4 * dim), Linear(4 * dim, dim)

    def forward(self, x):
        return feed_forward(x, self.up, self.down)


class Gated(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.gate = Linear(dim, dim, bias=False)

    def forward(self, x):
        return silu_product(self.gate(x), x)


@pytest.mark.parametrize("layer", [FeedForward, Gated, RMSNorm])
@pytest.mark.parametrize(("shape", "dim"), [((1,), 5), ((3, 7), 16), ((2, 3, 33), 20)])
def test_values_and_gradients(layer, shape, dim):
    torch.manual_seed(0)
    model = layer(dim)
    names = [name for name, _ in model.named_parameters()]
    weights = [torch.randn(2, *weight.shape, device=DEVICE) for weight in model.parameters()]
    x, slopes = torch.randn(2, 2, *shape, dim, device=DEVICE)
    results = []
    for dtype in (torch.float32, torch.float64):
        own = [part.to(dtype).requires_grad_() for part in (x, *weights)]
        assert can_run(own[0]) == (dtype == torch.float32)
        found = vmap(lambda x, *w: functional_call(model, dict(zip(names, w, strict=True)), (x,)))(
            *own
        )
        results.append((found, *torch.autograd.grad((found * slopes).sum(), own)))
    for got, want in zip(*results, strict=True):
        torch.testing.assert_close(got.double(), want, rtol=1e-4, atol=1e-4)
