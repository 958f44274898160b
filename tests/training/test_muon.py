"""Muon: against singular values, and that each matrix takes the steps it would take alone."""

import numpy as np
import pytest
import torch

import ldru
from ldru.training.fleet import Fleet
from ldru.training.member import Member
from ldru.training.muon import orthogonalised

SETTINGS = ldru.TrainSpec(
    steps=12, learning_rate=0.01, batch_size=8, optimizer="muon", precision="float64", l2=0.0
)


def quintic(values):
    """What five iterations make of singular values."""
    values = values / (np.sqrt((values**2).sum()) + 1e-7)
    for _ in range(5):
        values = 3.4445 * values - 4.7750 * values**3 + 2.0315 * values**5
    return values


def literal(matrix):
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    return left @ np.diag(quintic(values)) @ right


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (2, 5), (6, 6), (5, 30)])
def test_singular_values_become_about_one_and_directions_stay(rows, columns):
    generator = torch.Generator().manual_seed(0)
    matrices = torch.randn(30, rows, columns, dtype=torch.float64, generator=generator)
    found = orthogonalised(matrices)
    for matrix, each in zip(matrices.numpy(), found.numpy(), strict=True):
        np.testing.assert_allclose(each, literal(matrix), atol=1e-9)
    before, after = torch.linalg.svdvals(matrices), torch.linalg.svdvals(found)
    is_large = before > 0.05 * matrices.norm(dim=(1, 2))[:, None]
    assert after[is_large].min() > 0.65
    assert after.max() < 1.25
    assert not orthogonalised(torch.zeros(1, rows, columns)).any()


def member(task, seed, **changes):
    build = ldru.LDRUSpec(dim=4, dropout=0.0, leaf_block=True).build
    settings = ldru.TrainSpec(**{**vars(SETTINGS), **changes})
    return Member(
        name=f"{task}-{seed}", task=ldru.task(task), build=build, seed=seed, settings=settings
    )


def test_steps_equal_the_definition_and_the_rest_is_left_to_amsgrad():
    """Hidden matrices by numpy; all other parameters as by AMSGrad, from the same gradients."""
    fleet = Fleet([member("cycle_navigation", 3)])
    other = Fleet([member("cycle_navigation", 3, optimizer="amsgrad")])
    layout, momentum = fleet.parameters.layout, {}
    assert "encoder.operator.expand.weight" in layout.hidden
    assert not {"embedding.weight", "head.weight"} & set(layout.hidden)
    for step in range(6):
        gradient = torch.randn_like(fleet.parameters.matrix) * 1e-3  # never clipped
        before = fleet.weights(0)
        number = torch.tensor(step)
        other.optimizer.update(other.parameters.matrix, gradient.clone(), number)
        fleet.optimizer.update(fleet.parameters.matrix, gradient.clone(), number)
        rate = float(fleet.optimizer.sizes.rate(number))
        for name, (begin, end, shape) in layout.places.items():
            after = fleet.weights(0)[name]
            if name not in layout.hidden:
                torch.testing.assert_close(after, other.weights(0)[name], rtol=0, atol=1e-15)
                continue
            own = gradient[0, begin:end].view(shape).numpy()
            momentum[name] = 0.95 * momentum.get(name, 0) + 0.05 * own
            ahead = 0.05 * own + 0.95 * momentum[name]
            moved = before[name].numpy() - rate * 0.2 * max(shape) ** 0.5 * literal(ahead)
            np.testing.assert_allclose(after.numpy(), moved, rtol=0, atol=1e-9)


def test_one_large_gradient_does_not_rule_the_momentum():
    fleet = Fleet([member("cycle_navigation", 3)])
    gradient = torch.randn_like(fleet.parameters.matrix)
    fleet.optimizer.update(fleet.parameters.matrix, 1e6 * gradient, torch.tensor(0))
    norm = fleet.optimizer.state["momentum"].norm()
    assert float(norm) == pytest.approx(0.05 * fleet.settings.clip)


def test_a_model_is_the_same_alone_and_in_a_fleet():
    """One fleet of two vocabularies."""
    members = [member("cycle_navigation", 0), member("parity_check", 1)]
    together, alone = Fleet(members), [Fleet([each]) for each in members]
    for length in (3, 1, 8, 5):
        together.step(length)
        for number, fleet in enumerate(alone):
            fleet.step(length)
            for name, tensor in fleet.weights(0).items():
                torch.testing.assert_close(tensor, together.weights(number)[name])


def test_a_fleet_goes_on_to_the_bit_where_another_ended():
    """The momentum is part of what a checkpoint keeps; a part of a fleet takes its own."""
    whole = Fleet([member("cycle_navigation", 0), member("parity_check", 1)])
    for length in (3, 8, 5):
        whole.step(length)
    again = Fleet([member("cycle_navigation", 0), member("parity_check", 1)])
    again.load_state(whole.state(), step=3)
    part = whole.select([1])
    for length in (2, 7, 4):
        for fleet in (whole, again, part):
            fleet.step(length)
    for name, tensor in whole.weights(1).items():
        assert torch.equal(tensor, again.weights(1)[name])
        torch.testing.assert_close(tensor, part.weights(0)[name])


def test_a_model_learns():
    run = ldru.train(
        "parity_check",
        model=ldru.LDRUSpec(dim=8, leaf_block=True, dropout=0.0),
        settings=ldru.TrainSpec(
            steps=400,
            learning_rate=0.01,
            batch_size=32,
            max_length=8,
            optimizer="muon",
            l2=0.0,
            decay="cosine",
            validation_words=64,
        ),
    )[0]
    assert run.evaluate([4, 8]) == {4: 1.0, 8: 1.0}


def test_wrong_settings_are_one_error():
    with pytest.raises(ldru.LdruError, match=r"l2 is no part of a gradient for muon.*weight_decay"):
        ldru.TrainSpec(optimizer="muon", l2=1e-4).check()
    with pytest.raises(ldru.LdruError, match="no hidden matrices"):
        ldru.train("parity_check", model="s5", settings=SETTINGS)
