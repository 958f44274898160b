"""The embedding's kernels against PyTorch's own look-up."""

import pytest
import torch
from torch.func import functional_call, vmap
from torch.nn import functional

from ldru.layers.embedding import Embedding, LookUp, can_fuse

pytest.importorskip("triton")
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.parametrize(("vocabulary", "dim"), [(2, 16), (19, 24), (64, 3), (3, 100)])
def test_rows_and_their_gradient(vocabulary, dim):
    torch.manual_seed(0)
    tokens = torch.randint(0, vocabulary, (7, 70), device=DEVICE)
    weights = torch.randn(3, vocabulary, dim, device=DEVICE, requires_grad=True)
    slopes = torch.randn(3, 7, 70, dim, device=DEVICE)
    layer = Embedding(vocabulary, dim).to(DEVICE)
    assert can_fuse(layer.weight)

    got = vmap(lambda weight: functional_call(layer, {"weight": weight}, tokens))(weights)
    want = torch.stack([functional.embedding(tokens, weight) for weight in weights])
    assert torch.equal(got, want)
    got_gradient, want_gradient = (
        torch.autograd.grad((rows * slopes).sum(), weights)[0] for rows in (got, want)
    )
    torch.testing.assert_close(got_gradient, want_gradient, rtol=1e-5, atol=1e-4)


def test_without_vmap_it_is_an_ordinary_layer():
    layer = Embedding(5, 8).to(DEVICE)
    tokens = torch.tensor([[4, 0], [1, 1]], device=DEVICE)
    layer(tokens).sum().backward()
    counts = torch.tensor([1.0, 2, 0, 0, 1], device=DEVICE)
    assert torch.equal(layer.weight.grad, counts[:, None].expand(5, 8))
    assert isinstance(LookUp.apply(layer.weight[None], tokens[:1]), torch.Tensor)
