"""The residual block that refines the states of a tree."""

from torch import Tensor, nn

from ldru.layers.activations import activation_named
from ldru.layers.feed_forward import feed_forward
from ldru.layers.linear import Linear
from ldru.layers.norm import AddNorm


class ResidualBlock(nn.Module):
    """h <- LayerNorm(h + FFN(h)), with FFN: d -> 4d -> d."""

    def __init__(self, *, dim: int, activation: str = "relu") -> None:
        super().__init__()
        self.dim, self.activation = dim, activation
        self.up = Linear(dim, 4 * dim)
        self.down = Linear(4 * dim, dim)
        self.norm = AddNorm(dim)

    def forward(self, state: Tensor) -> Tensor:
        """Refine states: [..., dim] -> [..., dim]."""
        if self.activation == "relu":
            return self.norm(state, feed_forward(state, self.up, self.down))
        act = activation_named(self.activation)
        return self.norm(state, self.down(act(self.up(state))))
