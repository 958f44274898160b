"""The windows' kernels against the plain layer in float64: values and gradients."""

import pytest
import torch
from torch.func import functional_call, vmap

from ldru.models.regular_gpt import WindowAttention, can_fuse

pytest.importorskip("triton")
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.parametrize(
    ("dim", "heads", "chunk", "words", "windows"),
    [(16, 4, 2, 3, 5), (32, 2, 3, 1, 1), (256, 8, 2, 2, 9), (8, 8, 5, 40, 3)],
)
def test_values_and_gradients(dim, heads, chunk, words, windows):
    torch.manual_seed(0)
    layer = WindowAttention(dim=dim, num_heads=heads, chunk_size=chunk)
    names = [name for name, _ in layer.named_parameters()]
    weights = [
        torch.randn(2, *w.shape, device=DEVICE) * (1 if name == "bias" else dim**-0.5)
        for name, w in layer.named_parameters()
    ]
    x = torch.randn(2, words, windows, chunk, dim, device=DEVICE)
    slopes = torch.randn(2, words, windows, 1, dim, device=DEVICE)
    results = []
    for dtype in (torch.float32, torch.float64):
        own = [part.to(dtype).requires_grad_() for part in (x, *weights)]
        assert can_fuse(layer, own[0][0, ..., -1:, :]) == (dtype == torch.float32)

        def mix(x, *weights):
            given = dict(zip(names, weights, strict=True))
            return functional_call(layer, given, (x, x[..., -1:, :]))

        found = vmap(mix)(*own)
        results.append((found, *torch.autograd.grad((found * slopes).sum(), own)))
    for got, want in zip(*results, strict=True):
        torch.testing.assert_close(got.double(), want, rtol=1e-4, atol=1e-4)


def test_several_queries_long_windows_and_odd_sizes_are_left_to_pytorch():
    queries = torch.zeros(1, 1, 16, device=DEVICE)
    assert can_fuse(WindowAttention(dim=16, num_heads=4, chunk_size=2), queries)
    assert not can_fuse(WindowAttention(dim=16, num_heads=4, chunk_size=17), queries)
    assert not can_fuse(WindowAttention(dim=18, num_heads=3, chunk_size=2), torch.zeros(1, 1, 18))
    assert not can_fuse(WindowAttention(dim=16, num_heads=4, chunk_size=2), queries.repeat(1, 2, 1))
