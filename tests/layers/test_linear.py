import pytest
import torch
from torch.func import functional_call, vmap
from torch.utils._python_dispatch import TorchDispatchMode

from ldru.layers.linear import Linear

MEMBERS, WORDS, WINDOWS, INPUTS, OUTPUTS = 2, 5, 6, 8, 7


class Largest(TorchDispatchMode):
    """How many numbers the largest result has that is no view of others."""

    numbers = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor) and not function.is_view:
            self.numbers = max(self.numbers, result.numel())
        return result


@pytest.mark.parametrize("bias", [True, False])
def test_a_fleet_does_not_copy_its_weights_for_every_word(bias):
    """Of the last tokens of windows, a slice: values, gradients, and what is held for them."""
    layer = Linear(INPUTS, OUTPUTS, bias=bias)
    weights = {
        name: torch.randn(MEMBERS, *parameter.shape, requires_grad=True)
        for name, parameter in layer.named_parameters()
    }
    tokens = torch.randn(MEMBERS, WORDS, WINDOWS, 2, INPUTS, requires_grad=True)
    with Largest() as largest:
        found = vmap(lambda w, x: functional_call(layer, w, (x,)))(weights, tokens[..., -1:, :])
        got = torch.autograd.grad(found.square().sum(), [tokens, *weights.values()])
    assert largest.numbers == tokens.numel()
    want = torch.einsum("moi,mbwti->mbwto", weights["weight"], tokens[..., -1:, :])
    if bias:
        want = want + weights["bias"][:, None, None, None]
    torch.testing.assert_close(found, want)
    for ours, theirs in zip(
        got, torch.autograd.grad(want.square().sum(), [tokens, *weights.values()]), strict=True
    ):
        torch.testing.assert_close(ours, theirs)


def test_single_vectors_pass_too():
    layer, x = Linear(3, 2), torch.randn(3)
    torch.testing.assert_close(layer(x), layer.weight @ x + layer.bias)
