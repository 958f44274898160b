"""Recurrent cells in kernels against the plain models in float64: values and gradients."""

import pytest
import torch
from torch.func import functional_call, stack_module_state, vmap

from ldru.layers.recurrence import can_fuse
from ldru.models.registry import MODELS

pytest.importorskip("triton")
from ldru.kernels import recurrence

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.parametrize("name", ["rnn", "lstm", "sd_ssm"])
@pytest.mark.parametrize(("dim", "is_padded"), [(5, True), (16, False), (40, True)])
def test_values_and_gradients(name, dim, is_padded, monkeypatch):
    monkeypatch.setattr(recurrence, "TILE", 16)  # so that forty channels are three blocks
    torch.manual_seed(0)
    models = [MODELS[name](dim=dim).build(vocab_size=3, num_classes=2).to(DEVICE) for _ in range(2)]
    with torch.no_grad():  # away from biases of zero
        for parameter in (p for model in models for p in model.parameters() if p.ndim == 1):
            parameter += torch.randn_like(parameter)
    tokens = torch.randint(0, 3, (2, 4, 5), device=DEVICE)
    lengths = torch.tensor([[1, 5, 3, 2], [5, 4, 4, 1]], device=DEVICE) if is_padded else None
    results = []
    for dtype in (torch.float32, torch.float64):
        own = [model.to(dtype) for model in models]
        assert can_fuse(own[0].inputs.weight) == (dtype == torch.float32)
        weights, _ = stack_module_state(own)

        def score(weights, tokens, lengths):
            return functional_call(models[0], weights, (tokens, lengths))

        axes = (0, 0, None if lengths is None else 0)
        scores = vmap(score, in_dims=axes)(weights, tokens, lengths)
        gradients = torch.autograd.grad(scores.square().sum(), list(weights.values()))
        results.append((scores, *gradients))
        with torch.no_grad():  # keeps no states
            asked = vmap(score, in_dims=axes)(weights, tokens, lengths)
        torch.testing.assert_close(asked, scores, rtol=1e-5, atol=1e-6)
    for got, want in zip(*results, strict=True):
        torch.testing.assert_close(got.double(), want, rtol=1e-4, atol=1e-5)


def test_large_vocabularies_are_left_to_pytorch():
    assert not can_fuse(torch.zeros(65, 4, device=DEVICE))
