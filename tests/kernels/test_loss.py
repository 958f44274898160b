"""The loss's kernel against the plain loss in float64: values and gradients."""

import pytest
import torch

from ldru.training.loss import cross_entropy, weighted_cross_entropy

pytest.importorskip("triton")
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.parametrize(("batch", "width"), [(5, 2), (300, 5), (3, 19)])
def test_values_and_gradients(batch, width):
    torch.manual_seed(0)
    scores = 10 * torch.randn(3, batch, width, device=DEVICE)
    classes = torch.tensor([2, width, max(2, width - 1)], device=DEVICE)
    labels = torch.stack([torch.randint(0, int(count), (batch,)) for count in classes]).to(DEVICE)
    weight = torch.tensor([1.0, -2.0, 0.5], device=DEVICE)
    results = []
    for dtype in (torch.float32, torch.float64):
        own = scores.to(dtype).requires_grad_()
        losses = cross_entropy(own, labels, classes)
        results.append((losses, torch.autograd.grad((losses * weight).sum(), own)[0]))
    for got, want in zip(*results, strict=True):
        torch.testing.assert_close(got.double(), want, rtol=1e-5, atol=1e-6)


def test_rows_without_a_weight_may_hold_anything():
    torch.manual_seed(0)
    scores, weights = torch.randn(2, 300, 5, device=DEVICE), torch.rand(2, 300, device=DEVICE)
    weights[:, ::3] = 0
    classes = torch.tensor([4, 5], device=DEVICE)
    labels = torch.randint(0, 4, (2, 300), device=DEVICE).masked_fill(weights == 0, -1)
    results = []
    for dtype in (torch.float32, torch.float64):
        own = scores.to(dtype).requires_grad_()
        losses = weighted_cross_entropy(own, labels, weights.to(dtype), classes)
        results.append((losses, torch.autograd.grad(losses.sum(), own)[0]))
    for got, want in zip(*results, strict=True):
        torch.testing.assert_close(got.double(), want, rtol=1e-5, atol=1e-6)
    assert (results[0][1][:, ::3] == 0).all()
