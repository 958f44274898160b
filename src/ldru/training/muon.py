"""Muon: matrices of hidden layers step along their momentum, made orthogonal.

A batch moves a matrix along few directions far, and along most hardly at all. Of an orthogonal
matrix all directions are of one length, so that rare ones are learned as well. `torch.optim.Muon`
does this for one matrix of one model after another; here matrices of a whole fleet go together.
"""

from collections import defaultdict

import torch
from torch import Tensor

from ldru.base.errors import LdruError
from ldru.training.optimizer import Optimizer, clip_rows
from ldru.training.parameters import Layout

MOMENTUM = 0.95

COEFFICIENTS, ITERATIONS = (3.4445, -4.7750, 2.0315), 5
"""Of the quintic that takes singular values from far below 1 to about 1."""

ENTRIES = 0.2
"""How large the entries of a step are beside its rate, in quadratic mean: as they are by Adam."""


class Muon:
    """Steps of a fleet's hidden matrices by Muon, and of all else by another optimiser."""

    def __init__(self, layout: Layout, like: Tensor, *, rest: Optimizer) -> None:
        if not layout.hidden:
            raise LdruError(
                "the model has no hidden matrices, which muon is for: train it with "
                "optimizer='amsgrad'"
            )
        self.rest, self.sizes = rest, rest.sizes
        self.state = {**rest.state, "momentum": torch.zeros_like(like)}
        # Matrices of one shape, either way up, are made orthogonal together.
        self._groups: dict[tuple[int, int], list[tuple[slice, torch.Size]]] = defaultdict(list)
        for name in layout.hidden:
            begin, end, shape = layout.places[name]
            self._groups[min(shape), max(shape)].append((slice(begin, end), shape))

    def update(self, parameters: Tensor, gradient: Tensor, step: Tensor) -> None:
        """Change the parameters in place, and the gradient: [members, parameters].

        step: [] how many steps were taken before.
        """
        clip_rows(gradient, self.sizes.clip)
        momentum = self.state["momentum"].lerp_(gradient, 1 - MOMENTUM)
        ahead = gradient.lerp(momentum, MOMENTUM)
        for group in self._groups.values():
            for place, _ in group:
                gradient[:, place] = 0  # then the rest leaves these matrices where they are
        self.rest.update(parameters, gradient, step)
        rate = self.sizes.rate(step).to(parameters.dtype)
        for (_, longer), group in self._groups.items():
            wide = [_wide(ahead[:, place].unflatten(1, shape)) for place, shape in group]
            steps = orthogonalised(torch.cat(wide)) * (ENTRIES * longer**0.5)
            for (place, shape), each in zip(group, steps.chunk(len(group)), strict=True):
                turned = each if each.shape[1:] == shape else each.mT
                parameters[:, place] -= rate * turned.flatten(1)


def orthogonalised(matrices: Tensor) -> Tensor:
    """Matrices with their singular values about one: [matrices, rows, columns], rows <= columns.

    By Newton and Schulz's iteration, in products alone: a matrix of zeros stays what it is.
    """
    first, third, fifth = COEFFICIENTS
    found = matrices / (matrices.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(ITERATIONS):
        square = found @ found.mT
        inner = torch.baddbmm(square, square, square, beta=third, alpha=fifth)
        found = torch.baddbmm(found, inner, found, beta=first)
    return found


def _wide(matrix: Tensor) -> Tensor:
    return matrix if matrix.shape[-2] <= matrix.shape[-1] else matrix.mT
