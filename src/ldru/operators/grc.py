"""The gated recursive cell."""

import torch
from torch import Tensor, nn

from ldru.layers.activations import activation_named
from ldru.layers.linear import Linear


class GRCOperator(nn.Module):
    """Gated sum of two neighbours and of a candidate read from both, normalised.

    [a; b; c; u] = W2 act(W1 [l; r] + b1) + b2        2d -> 4d -> 4d
    out = LayerNorm(sigmoid(a) * l + sigmoid(b) * r + sigmoid(c) * u)
    """

    def __init__(self, *, dim: int, activation: str = "gelu") -> None:
        super().__init__()
        self.dim, self.activation = dim, activation
        self.expand = Linear(2 * dim, 4 * dim)
        self.gates = Linear(4 * dim, 4 * dim)
        self.norm = nn.LayerNorm(dim)

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        """Combine neighbours: [..., dim], [..., dim] -> [..., dim]."""
        act = activation_named(self.activation)
        z = self.gates(act(self.expand(torch.cat([left, right], dim=-1))))
        keep_left, keep_right, take, candidate = z.chunk(4, dim=-1)
        mixed = keep_left.sigmoid() * left + keep_right.sigmoid() * right
        return self.norm(mixed + take.sigmoid() * candidate)
