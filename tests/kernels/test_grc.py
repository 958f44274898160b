"""The kernel of the gated recursive cell against the plain cell in float64."""

import pytest
import torch
from torch.func import functional_call, vmap

from ldru.operators.grc import GRCOperator

pytest.importorskip("triton")
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.parametrize(("rows", "dim"), [((1, 1), 16), ((9, 5), 24), ((300,), 96)])
def test_values_and_gradients(rows, dim):
    torch.manual_seed(0)
    model = GRCOperator(dim=dim).to(DEVICE)
    with torch.no_grad():
        model.norm.weight.normal_()
    left, right, slopes = torch.randn(3, 3, *rows, dim, device=DEVICE)
    parameters = {name: part.detach() for name, part in model.named_parameters()}
    results = []
    for dtype in (torch.float32, torch.float64):
        # Members of other weights: once, twice and three times the same.
        weights = {
            name: torch.stack([part, 2 * part, 3 * part]).to(dtype).requires_grad_()
            for name, part in parameters.items()
        }
        pair = [side.to(dtype).requires_grad_() for side in (left, right)]
        found = vmap(lambda w, left, right: functional_call(model, w, (left, right)))(
            weights, *pair
        )
        gradients = torch.autograd.grad((found * slopes).sum(), [*weights.values(), *pair])
        results.append((found, *gradients))
    for got, want in zip(*results, strict=True):
        torch.testing.assert_close(got.double(), want, rtol=1e-3, atol=1e-3)
