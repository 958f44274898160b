"""The optimiser against a literal numpy version of its definition."""

import math

import numpy as np
import pytest
import torch
from torch.nn import functional

import ldru
from ldru.training.fleet import Fleet
from ldru.training.member import Member
from ldru.training.spec import TrainSpec


def literal_step(weights, gradients, state, t, *, steps, base_rate, is_amsgrad):
    """One step on dictionaries of arrays; t counts from 0."""
    adjusted = {}
    for name, gradient in gradients.items():
        gradient = gradient + 5e-4 * weights[name]
        if gradient.ndim == 2:
            # In [in, out] layout: over all axes but the first. An embedding is [tokens, dim].
            is_embedding = name.startswith("embedding")
            laid = gradient if is_embedding else gradient.T
            laid = laid - laid.mean(axis=1, keepdims=True)
            gradient = laid if is_embedding else laid.T
        adjusted[name] = gradient
    norm = math.sqrt(sum((g**2).sum() for g in adjusted.values()))
    warm = int(0.2 * steps)
    rate = 1e-8 + (base_rate - 1e-8) * min(t / warm, 1)
    for name, gradient in adjusted.items():
        if norm >= 1:
            gradient = gradient / norm
        m, v, top = state.setdefault(name, [np.zeros_like(gradient) for _ in range(3)])
        m[:] = 0.9 * m + 0.1 * gradient
        v[:] = 0.999 * v + 0.001 * gradient**2
        m_hat, v_hat = m / (1 - 0.9 ** (t + 1)), v / (1 - 0.999 ** (t + 1))
        if is_amsgrad:
            v_hat = top[:] = np.maximum(top, v_hat)
        weights[name] = weights[name] - rate * m_hat / (np.sqrt(v_hat) + 1e-8)


@pytest.mark.parametrize("optimizer", ["amsgrad", "adam"])
def test_ten_steps_equal_the_definition(optimizer):
    task = ldru.task("cycle_navigation")
    settings = TrainSpec(
        steps=15, learning_rate=0.01, batch_size=16, optimizer=optimizer, precision="float64"
    )
    build = ldru.LDRUSpec(dim=4, dropout=0.0).build
    member = Member(name="one", task=task, build=build, seed=3, settings=settings)
    fleet = Fleet([member])
    model = member.model().double()
    weights = {name: p.detach().numpy().copy() for name, p in model.named_parameters()}
    state: dict = {}
    for t, length in enumerate([7, 1, 12, 2, 1, 5, 8, 3, 20, 4]):
        batch = fleet.draw(length)
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                parameter.copy_(torch.from_numpy(weights[name]))
        loss = functional.cross_entropy(model(batch.tokens[0]), batch.labels[0])
        named = dict(model.named_parameters())
        grads = torch.autograd.grad(loss, list(named.values()), materialize_grads=True)
        gradients = {name: g.numpy() for name, g in zip(named, grads, strict=True)}
        if length == 1:  # zero, not absent: L2 and the moments still act
            assert not gradients["encoder.operator.expand.weight"].any()
        literal_step(
            weights,
            gradients,
            state,
            t,
            steps=15,
            base_rate=0.01,
            is_amsgrad=optimizer == "amsgrad",
        )
        losses = fleet.step(length)
        assert losses[0].item() == pytest.approx(loss.item(), abs=1e-12)
    for name, tensor in fleet.weights(0).items():
        np.testing.assert_allclose(tensor.numpy(), weights[name], rtol=0, atol=1e-11)


def test_amsgrad_keeps_the_largest_corrected_moment():
    """The corrected second moment falls after a large first gradient; its maximum must not."""
    fleet = Fleet([make_member(steps=10, learning_rate=1.0, clip=1e9, l2=0.0, centralise=False)])
    optimizer, matrix = fleet.optimizer, fleet.parameters.matrix
    for step, gradient in enumerate([8.0, 0.0, 0.0]):
        optimizer.update(matrix, torch.full_like(matrix, gradient), torch.tensor(step))
    # torch.optim would keep the uncorrected 0.001 * 64 instead.
    assert optimizer.state["largest_moment"].tolist()[0] == pytest.approx([64.0] * matrix.numel())


def test_warm_up_is_linear_then_constant():
    fleet = Fleet([make_member(steps=10, learning_rate=1.0)])
    rates = []
    for _ in range(4):
        rates.extend(fleet.learning_rates())
        fleet.step(2)
    assert rates == pytest.approx([1e-8, 0.5, 1.0, 1.0])


def make_member(**settings):
    build = ldru.LDRUSpec(dim=4, dropout=0.0).build
    settings = TrainSpec(batch_size=4, **settings)
    return Member(
        name="one", task=ldru.task("parity_check"), build=build, seed=0, settings=settings
    )
