"""The plain sum."""

from torch import Tensor, nn


class ElementSumOperator(nn.Module):
    """Add two neighbours: l + r. Associative, and without weights."""

    def __init__(self, *, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        """Combine neighbours: [..., dim], [..., dim] -> [..., dim]."""
        return left + right
