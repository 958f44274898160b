"""A gated average."""

import torch
from torch import Tensor, nn

from ldru.layers.linear import Linear


class GatedSumOperator(nn.Module):
    """Weigh two neighbours against each other: g * l + (1 - g) * r, g = sigmoid(W [l; r] + b)."""

    def __init__(self, *, dim: int) -> None:
        super().__init__()
        self.dim = dim
        self.gate = Linear(2 * dim, dim)

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        """Combine neighbours: [..., dim], [..., dim] -> [..., dim]."""
        gate = self.gate(torch.cat([left, right], dim=-1)).sigmoid()
        return gate * left + (1 - gate) * right
