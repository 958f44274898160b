"""A linear map of both neighbours."""

import torch
from torch import Tensor, nn

from ldru.layers.linear import Linear


class LinearOperator(nn.Module):
    """Project two neighbours together: W [l; r] + b."""

    def __init__(self, *, dim: int) -> None:
        super().__init__()
        self.dim = dim
        self.project = Linear(2 * dim, dim)

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        """Combine neighbours: [..., dim], [..., dim] -> [..., dim]."""
        return self.project(torch.cat([left, right], dim=-1))
