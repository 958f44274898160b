"""What every operator must satisfy in the reduction."""

import pytest
import torch

from ldru.layers.residual_block import ResidualBlock
from ldru.operators import OPERATORS, build_operator
from ldru.tree import BACKENDS, tree_reduce

DIM = 4


def make(name, seed=0):
    torch.manual_seed(seed)
    operator = build_operator(name, dim=DIM, activation="relu").double()
    with torch.no_grad():  # away from the identity it starts at
        for parameter in operator.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    return operator, ResidualBlock(dim=DIM).double()


# Every length with one operator; the others differ in what a pair becomes, not in what is paired.
@pytest.mark.parametrize(
    ("operator_name", "length"),
    [
        (name, length)
        for name in OPERATORS
        for length in (range(1, 34) if name == "mlp" else (1, 2, 5, 8, 13))
    ],
)
@pytest.mark.parametrize("backend", [name for name in BACKENDS if name != "reference"])
def test_backend_agrees_with_reference(operator_name, backend, length):
    operator, block = make(operator_name)
    x = torch.randn(4, length, DIM, dtype=torch.double)
    lengths = torch.randint(1, length + 1, (4,))
    lengths[0] = length
    for given in (None, lengths):
        garbage, clean = x.clone(), x.clone().requires_grad_()
        if given is not None:
            for row, count in enumerate(given):
                garbage[row, count:] = float("nan")
        garbage.requires_grad_()
        got = tree_reduce(operator, garbage, given, block, backend=backend)
        want = tree_reduce(operator, clean, given, block, backend="reference")
        torch.testing.assert_close(got, want, rtol=0, atol=1e-12)
        parameters = [*operator.parameters(), *block.parameters()]
        got_grads = gradients(got, [garbage, *parameters])
        want_grads = gradients(want, [clean, *parameters])
        for got_grad, want_grad in zip(got_grads, want_grads, strict=True):
            torch.testing.assert_close(got_grad, want_grad, rtol=1e-10, atol=1e-12)


def gradients(result, inputs):
    return torch.autograd.grad(result.square().sum(), inputs, materialize_grads=True)


@pytest.mark.parametrize("operator_name", OPERATORS)
def test_operator_keeps_shape_and_acts_on_each_pair_alone(operator_name):
    operator, _ = make(operator_name)
    left, right = torch.randn(2, 3, 5, DIM, dtype=torch.double)
    together = operator(left, right)
    assert together.shape == left.shape
    torch.testing.assert_close(together[1, 2], operator(left[1, 2], right[1, 2]))


def test_mlp_operator_is_the_papers_equations():
    operator, _ = make("mlp")
    w = dict(operator.named_parameters())
    left, right = torch.randn(2, DIM, dtype=torch.double)
    z = torch.relu(w["expand.weight"] @ torch.cat([left, right]) + w["expand.bias"])
    z = torch.relu(w["hidden.weight"] @ z + w["hidden.bias"])
    g = w["gates.weight"] @ z + w["gates.bias"]
    f = w["left.weight"] @ (g[:DIM] * left) + w["left.bias"]
    f = f + w["right.weight"] @ (g[DIM:] * right) + w["right.bias"]
    expected = w["out.weight"] @ f + w["out.bias"]
    torch.testing.assert_close(operator(left, right), expected)


def test_grc_operator_is_its_equations():
    operator, _ = make("grc")
    w = dict(operator.named_parameters())
    left, right = torch.randn(2, DIM, dtype=torch.double)
    x = torch.cat([left, right])
    z = w["expand.weight"] @ x + w["expand.bias"]
    z = 0.5 * z * (1 + torch.erf(z / 2**0.5))
    a, b, c, u = (w["gates.weight"] @ z + w["gates.bias"]).split(DIM)
    h = left / (1 + (-a).exp()) + right / (1 + (-b).exp()) + u / (1 + (-c).exp())
    normed = (h - h.mean()) / (h.var(unbiased=False) + 1e-5).sqrt()
    expected = normed * w["norm.weight"] + w["norm.bias"]
    torch.testing.assert_close(operator(left, right), expected)


def test_simple_operators_are_their_equations():
    left, right = torch.randn(2, DIM, dtype=torch.double)
    pair = torch.cat([left, right])
    linear, _ = make("linear")
    expected = linear.project.weight @ pair + linear.project.bias
    torch.testing.assert_close(linear(left, right), expected)
    gated, _ = make("gated_sum")
    gate = 1 / (1 + (-(gated.gate.weight @ pair + gated.gate.bias)).exp())
    torch.testing.assert_close(gated(left, right), gate * left + (1 - gate) * right)
    summed, _ = make("element_sum")
    torch.testing.assert_close(summed(left, right), left + right)
