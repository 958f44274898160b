import itertools
import math

import pytest
import torch

import ldru
from ldru.models.s5 import S5Classifier, StateSpace, hippo_eigenvalues, linear_scan
from ldru.models.settings import S5Spec
from ldru.paper.settings import SIZES
from tests.models.agreement import assert_agrees, scrambled


def make():
    return scrambled(
        S5Classifier, scale=0.2, vocab_size=3, num_classes=4, dim=5, state_dim=8, num_blocks=2
    )


def layer_norm(x, weight, bias):
    return (x - x.mean()) / (x.var(unbiased=False) + 1e-5).sqrt() * weight + bias


def layer(w, prefix, inputs):
    """One S5 block, place by place: list of [dim] -> list of [dim]."""
    real = torch.minimum(w[f"{prefix}.system.decay_rate"], torch.tensor(-1e-4))
    eigenvalues = real + 1j * w[f"{prefix}.system.frequency"]
    into = w[f"{prefix}.system.enter"][..., 0] + 1j * w[f"{prefix}.system.enter"][..., 1]
    out_of = w[f"{prefix}.system.leave"][..., 0] + 1j * w[f"{prefix}.system.leave"][..., 1]
    decay = torch.exp(eigenvalues * torch.exp(w[f"{prefix}.system.log_step"]))
    state = torch.zeros_like(eigenvalues)
    outputs = []
    for u in inputs:
        state = decay * state + (decay - 1) / eigenvalues * (into @ u.to(into.dtype))
        y = 2 * (out_of @ state).real + w[f"{prefix}.system.skip"] * u
        y = 0.5 * y * (1 + torch.erf(y / math.sqrt(2)))
        outputs.append(layer_norm(u + y, w[f"{prefix}.norm.weight"], w[f"{prefix}.norm.bias"]))
    return outputs


def score_word(w, word):
    features = [w["inputs.weight"][symbol] + w["inputs.bias"] for symbol in word]
    for number in range(2):
        features = layer(w, f"layers.{number}", features)
    return w["head.weight"] @ (sum(features) / len(features)) + w["head.bias"]


def test_agrees_with_the_equations():
    assert_agrees(make(), score_word)


@pytest.mark.parametrize("length", range(1, 19))
def test_scan_is_the_recurrence(length):
    torch.manual_seed(length)
    decay = torch.randn(3, dtype=torch.cdouble)
    decay = decay / decay.abs() * torch.tensor([0.3, 0.9, 1.0])
    driven = torch.randn(2, length, 3, dtype=torch.cdouble)
    got = linear_scan(decay, driven)
    state = torch.zeros(2, 3, dtype=torch.cdouble)
    for place in range(length):
        state = decay * state + driven[:, place]
        torch.testing.assert_close(got[:, place], state, rtol=0, atol=1e-12)


def test_gradient_of_the_scan():
    torch.manual_seed(0)
    decay = (0.5 * torch.randn(2, dtype=torch.cdouble)).requires_grad_()
    driven = torch.randn(2, 7, 2, dtype=torch.cdouble, requires_grad=True)
    assert torch.autograd.gradcheck(linear_scan, (decay, driven))


def test_depth_of_the_scan_is_logarithmic():
    """The longest chain of operations behind the result grows by a constant as words double."""

    def depth(length):
        decay = torch.ones(1, dtype=torch.cdouble, requires_grad=True)
        scanned = linear_scan(decay, torch.ones(1, length, 1, dtype=torch.cdouble))
        depths = {}

        def visit(node):
            if node is None:
                return 0
            if node not in depths:
                depths[node] = 1 + max(
                    (visit(parent) for parent, _ in node.next_functions), default=0
                )
            return depths[node]

        return visit(scanned.grad_fn)

    depths = [depth(length) for length in (8, 16, 32, 64, 128)]
    steps = {later - earlier for earlier, later in itertools.pairwise(depths)}
    assert len(steps) == 1, depths


def system(**settings):
    torch.manual_seed(0)
    return StateSpace(**{"dim": 3, "state_dim": 8, "num_blocks": 2, **settings}).double()


def test_eigenvalues_stay_in_the_left_half_plane():
    model = system()
    for rate in (-100.0, -1e-4, 0.0, 1e-3, 50.0):
        torch.nn.init.constant_(model.decay_rate, rate)
        decay, gain = model.discretised()
        assert (decay.abs() < 1).all()
        assert torch.isfinite(gain).all()


def test_zero_order_hold_is_the_continuous_system():
    """Small Euler steps of x' = Lambda x + B u, with u held over each sampling step."""
    model = system()
    decay, gain = model.discretised()
    eigenvalues = torch.complex(model.decay_rate, model.frequency)
    steps = model.log_step.exp()
    driven = torch.randn(6, 4, dtype=torch.cdouble)
    sampled = linear_scan(decay, gain * driven)
    state = torch.zeros(4, dtype=torch.cdouble)
    substeps = 20_000
    for place, held in enumerate(driven):
        shrink = 1 + eigenvalues * steps / substeps
        # The sum of a geometric series: that many Euler steps of the same kind at once.
        total = (shrink**substeps - 1) / (shrink - 1)
        state = shrink**substeps * state + total * steps / substeps * held
        torch.testing.assert_close(sampled[place], state, rtol=1e-3, atol=1e-5)


def test_starts_as_the_real_hippo_system():
    """In its own coordinates the first system is a real one with the normal HiPPO matrix."""
    eigenvalues, basis = hippo_eigenvalues(12, num_blocks=2)
    assert (eigenvalues.imag > 0).all()
    rebuilt = 2 * (basis @ torch.diag(eigenvalues) @ basis.mH).real
    expected = torch.zeros(12, 12, dtype=torch.double)
    for begin in (0, 6):
        for n in range(6):
            for m in range(6):
                # HiPPO-LegS and its low-rank correction.
                legs = -math.sqrt((2 * n + 1) * (2 * m + 1)) if n > m else -(n + 1.0) * (n == m)
                expected[begin + n, begin + m] = legs + math.sqrt((n + 0.5) * (m + 0.5))
    torch.testing.assert_close(rebuilt, expected)


def test_initialisation_is_as_stated():
    model = system(dim=200, state_dim=400, num_blocks=4)
    assert model.log_step.exp().min() >= 1e-3
    assert model.log_step.exp().max() <= 0.1
    middle = (math.log(1e-3) + math.log(0.1)) / 2
    assert model.log_step.mean().item() == pytest.approx(middle, abs=0.3)
    # Each complex number holds half of two real ones of deviation 1/sqrt(inputs), cut at two.
    for weight, fan_in in ((model.enter, 200), (model.leave, 400)):
        std = weight.square().mean().sqrt().item()
        assert std == pytest.approx(0.8796 / math.sqrt(2 * fan_in), rel=0.03)


def test_size_is_the_papers():
    model = S5Spec().build(vocab_size=2, num_classes=2)
    total = sum(parameter.numel() for parameter in model.parameters())
    assert total == 265_730
    assert round(total, -4) == SIZES["s5"].paper


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"num_layers": 0}, "num_layers=0"), ({"state_dim": 24}, "multiple of .* got 24")],
)
def test_bad_settings_are_one_clear_error(settings, message):
    with pytest.raises(ldru.LdruError, match=message):
        S5Classifier(vocab_size=2, num_classes=2, **settings)
