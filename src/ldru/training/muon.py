"""Muon: matrices of hidden layers step along their momentum, made orthogonal.

A batch moves a matrix along few directions far, and along most hardly at all. Of an orthogonal
matrix all directions are of one length, so that rare ones are learned as well.

`torch.optim.Muon` does this for one matrix after another, and multiplies in bfloat16. Here those of
one shape go together, of a whole fleet too, in the numbers that the model has.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

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
        self._places = [layout.places[name] for name in layout.hidden]

    def update(self, parameters: Tensor, gradient: Tensor, step: Tensor) -> None:
        """Change the parameters in place, and the gradient: [members, parameters].

        step: [] how many steps were taken before.
        """
        clip_rows(gradient, self.sizes.clip)
        ahead = _ahead(gradient, self.state["momentum"])
        for begin, end, _ in self._places:
            gradient[:, begin:end] = 0  # then the rest leaves these matrices where they are
        self.rest.update(parameters, gradient, step)
        rate = self.sizes.rate(step).to(parameters.dtype)
        steps = directions([ahead[:, begin:end].unflatten(1, s) for begin, end, s in self._places])
        for (begin, end, _), direction in zip(self._places, steps, strict=True):
            parameters[:, begin:end] -= rate * direction.flatten(1)


class MatrixMuon(torch.optim.Optimizer):
    """Steps of matrices of one model, as PyTorch's optimisers take them."""

    def __init__(self, matrices: Iterable[Tensor], *, lr: float) -> None:
        super().__init__(matrices, {"lr": lr})

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        """Change all matrices, each of which must have a gradient."""
        for group in self.param_groups:
            ahead = [self._ahead(matrix)[None] for matrix in group["params"]]
            for matrix, direction in zip(group["params"], directions(ahead), strict=True):
                matrix.sub_(direction[0], alpha=group["lr"])

    def _ahead(self, matrix: Tensor) -> Tensor:
        state = self.state[matrix]
        if not state:
            state["momentum"] = torch.zeros_like(matrix)
        assert matrix.grad is not None
        return _ahead(matrix.grad, state["momentum"])


def _ahead(gradient: Tensor, momentum: Tensor) -> Tensor:
    """Where the momentum leads, as Nesterov has it; it takes the gradient in."""
    momentum.lerp_(gradient, 1 - MOMENTUM)
    return gradient.lerp(momentum, MOMENTUM)


def directions(matrices: Sequence[Tensor]) -> list[Tensor]:
    """Steps along matrices, for a rate of one: [some, rows, columns] each.

    Matrices of one shape, either way up, are made orthogonal together.
    """
    groups: dict[tuple[int, int], list[int]] = defaultdict(list)
    for number, each in enumerate(matrices):
        rows, columns = each.shape[1:]
        groups[min(rows, columns), max(rows, columns)].append(number)
    found = list(matrices)
    for shape, numbers in groups.items():
        wide = [_turned(matrices[number], shape) for number in numbers]
        steps = orthogonalised(torch.cat(wide)) * (ENTRIES * max(shape) ** 0.5)
        for number, each in zip(numbers, steps.split([len(some) for some in wide]), strict=True):
            found[number] = _turned(each, matrices[number].shape[1:])
    return found


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


def _turned(matrices: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Matrices the way up that has this shape: [some, rows, columns]."""
    return matrices if matrices.shape[1:] == shape else matrices.mT
