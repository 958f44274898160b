"""How the kernels see the weights of an MLP-LDRU: one vector per model, matrices first.

All matrices (31 d^2 numbers), then all vectors (18 d), so that a rounded copy of the matrices is
one range. A matrix keeps the layout of `nn.Linear`, [outputs, inputs].
"""

import torch
from torch import Tensor, nn

# (outputs, inputs) in units of d, in the order in which they lie.
OPERATOR = {
    "expand": (2, 2),
    "hidden": (4, 2),
    "gates": (2, 4),
    "left": (1, 1),
    "right": (1, 1),
    "out": (1, 1),
}
BLOCK = {"up": (4, 1), "down": (1, 4)}

MATRICES = sum(outputs * inputs for outputs, inputs in (OPERATOR | BLOCK).values())
VECTORS = sum(outputs for outputs, _ in (OPERATOR | BLOCK).values()) + 2


def num_parameters(dim: int) -> int:
    """Numbers in the vector of one model."""
    return MATRICES * dim**2 + VECTORS * dim


def flatten(operator: nn.Module, block: nn.Module) -> Tensor:
    """The weights of an operator and its block as one vector; gradients flow back to each."""
    layers = [operator.get_submodule(name) for name in OPERATOR]
    layers += [block.get_submodule(name) for name in BLOCK]
    norm = block.get_submodule("norm")
    names = [(layer, part) for part in ("weight", "bias") for layer in layers]
    names += [(norm, "weight"), (norm, "bias")]
    return torch.cat([getattr(layer, part).flatten() for layer, part in names])


def matrices_of(flat: Tensor, *, dim: int) -> dict[str, Tensor]:
    """The matrices by name, as views [members, outputs, inputs] of vectors that begin with them."""
    sizes = (OPERATOR | BLOCK).items()
    counts = [outputs * inputs * dim**2 for _, (outputs, inputs) in sizes]
    parts = flat[:, : sum(counts)].split(counts, dim=1)
    return {
        name: part.unflatten(1, (outputs * dim, inputs * dim))
        for part, (name, (outputs, inputs)) in zip(parts, sizes, strict=True)
    }
