"""Sets of vectors against vectors: whatever is drawn from a set must be found in its image."""

import pytest
import torch

from ldru.analysis.bounds import (
    balls,
    pairs_of_balls,
    spectral_bound,
    through_block,
    through_operator,
)
from ldru.layers.residual_block import ResidualBlock
from ldru.operators.mlp import MLPOperator

DIM = 12


@pytest.fixture
def maps():
    """An operator and a block, with weights as large as trained ones."""
    torch.manual_seed(0)
    operator, block = MLPOperator(dim=DIM), ResidualBlock(dim=DIM)
    with torch.no_grad():
        for module in (operator, block):
            for parameter in module.parameters():
                parameter.add_(0.15 * torch.randn_like(parameter))
    return operator, block


def on_spheres(centres, radius, count):
    """Vectors at a distance from each centre: [batch, dim] -> [count, batch, dim]."""
    step = torch.randn(count, *centres.shape, dtype=torch.double)
    return centres + radius * step / step.norm(dim=-1, keepdim=True)


def steepest(apply, inputs, radius, goals, steps=30):
    """Inputs moved by a radius each, to where the image lies far from its goals."""
    moved = [on_spheres(x, radius, 1)[0] for x in inputs]
    for _ in range(steps):
        moved = [x.detach().requires_grad_() for x in moved]
        (apply(*moved) - goals).norm(dim=-1).sum().backward()
        moved = [
            x + radius * m.grad / m.grad.norm(dim=-1, keepdim=True)
            for x, m in zip(inputs, moved, strict=True)
        ]
    return [x.detach() for x in moved]


@torch.no_grad()
def test_the_spectral_bound_is_above_the_norm_and_close_to_it():
    torch.manual_seed(0)
    matrices = (
        torch.randn(20, 64, 64, dtype=torch.double) * torch.logspace(-8, 8, 20)[:, None, None]
    )
    norms = torch.linalg.matrix_norm(matrices, 2)
    bound = spectral_bound(matrices)
    assert (bound >= norms * (1 - 1e-12)).all()
    assert (bound <= 1.04 * norms).all()
    assert spectral_bound(torch.zeros(3, 2, dtype=torch.double)) < 1e-9


@pytest.mark.parametrize("radius", [1e-4, 0.01, 0.1])
def test_vectors_of_a_ball_are_in_the_image_of_the_ball(maps, radius):
    operator, block = (module.double() for module in maps)
    left, right = 3 * torch.randn(2, 40, DIM, dtype=torch.double)

    def joined(x, y):
        return block(operator(x, y))

    goals = joined(left, right).detach()
    pairs = pairs_of_balls(left, right, radius=radius)
    with torch.no_grad():
        image = through_operator(pairs, operator)
        farthest = through_block(image, block).farthest_from(goals)
        alone = through_block(balls(left, radius=radius), block).farthest_from(block(left))
    tried = [
        (on_spheres(left, radius, 50), on_spheres(right, radius, 50)),
        steepest(joined, [left, right], radius, goals),
    ]
    for x, y in tried:
        with torch.no_grad():
            inner = (operator(x, y) - image.centre).abs()
            assert (inner <= image.reach * (1 + 1e-9) + 1e-12).all()
            assert ((joined(x, y) - goals).norm(dim=-1) <= farthest).all()
            assert ((block(x) - block(left)).norm(dim=-1) <= alone).all()
    if radius == 1e-4:  # where no unit bends, the bound is that of the derivative
        reached = (joined(*tried[1]) - goals).norm(dim=-1)
        rounded = through_block(
            through_operator(pairs_of_balls(left, right, radius=0.0), operator), block
        ).farthest_from(goals)
        assert ((farthest - rounded).median() < 1.3 * reached.median()).all()


def test_rounding_in_float32_is_within_its_bound(maps):
    operator, block = maps
    left, right = 3 * torch.randn(2, 200, DIM)
    exact = [module.double() for module in (MLPOperator(dim=DIM), ResidualBlock(dim=DIM))]
    exact[0].load_state_dict(operator.state_dict())
    exact[1].load_state_dict(block.state_dict())
    with torch.no_grad():
        found = block(operator(left, right)).double()
        pairs = pairs_of_balls(left.double(), right.double(), radius=0.0)
        image = through_block(through_operator(pairs, exact[0]), exact[1])
        off = (found - exact[1](exact[0](left.double(), right.double()))).norm(dim=-1)
        bound = image.farthest_from(image.inside.centre)
    assert (off > 0).any()
    assert (off <= bound).all()
    assert bound.max() < 0.05
