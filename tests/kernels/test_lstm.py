"""The gates' kernels against the plain ones in float64: values and gradients."""

import pytest
import torch
from torch.func import vmap

import ldru
from ldru.kernels.support import can_run, without_layer_kernels
from ldru.models.lstm import Gates, plain_gates

pytest.importorskip("triton")
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.parametrize(("words", "dim"), [(1, 16), (5, 40), (3, 1100)])
def test_values_and_gradients(words, dim):
    torch.manual_seed(0)
    inputs = torch.randn(3, words, 2, 4 * dim, device=DEVICE)  # of which one place is given
    recurrent = torch.randn(3, words, 4 * dim, device=DEVICE)
    state, slopes = torch.randn(2, 3, words, 2 * dim, device=DEVICE)
    results = []
    for step, dtype in (
        (lambda *parts: Gates.apply(*(part[None] for part in parts))[0], torch.float32),
        (plain_gates, torch.float64),
    ):
        own = [part.to(dtype).requires_grad_() for part in (inputs, recurrent, state)]
        assert can_run(own[1]) == (dtype == torch.float32)
        found = vmap(step)(own[0][:, :, 1], own[1], own[2][..., dim:])
        results.append((found, *torch.autograd.grad((found * slopes).sum(), own)))
    for got, want in zip(*results, strict=True):
        torch.testing.assert_close(got.double(), want, rtol=1e-4, atol=1e-5)


def test_the_model_computes_by_them():
    torch.manual_seed(0)
    model = ldru.build("lstm", vocab_size=3, num_classes=2).to(DEVICE)
    tokens = torch.randint(0, 3, (2, 5), device=DEVICE)
    lengths = torch.tensor([2, 5], device=DEVICE)
    got = model(tokens, lengths)
    with without_layer_kernels():
        assert not can_run(got)
        plain = model(tokens, lengths)
    assert can_run(got)
    torch.testing.assert_close(got, plain, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(got.double(), model.double()(tokens, lengths), rtol=1e-4, atol=1e-5)
