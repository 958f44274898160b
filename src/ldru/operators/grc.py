"""The gated recursive cell."""

import torch
from torch import Tensor, nn

from ldru.layers.activations import activation_named
from ldru.layers.dropout import Dropout
from ldru.layers.linear import Linear


class GRCOperator(nn.Module):
    """Gated sum of two neighbours and of a candidate read from both, normalised.

    [a; b; c; u] = W2 act(W1 [l; r] + b1) + b2        2d -> 4d -> 4d
    out = LayerNorm(sigmoid(a) * l + sigmoid(b) * r + sigmoid(c) * u)

    dropout: rate on the activations between W1 and W2; None makes no such layer.
    """

    def __init__(self, *, dim: int, activation: str = "gelu", dropout: float | None = None) -> None:
        super().__init__()
        self.dropout = None if dropout is None else Dropout(rate=dropout)
        self.dim, self.activation = dim, activation
        self.expand = Linear(2 * dim, 4 * dim)
        self.gates = Linear(4 * dim, 4 * dim)
        self.norm = nn.LayerNorm(dim)

    def forward(self, left: Tensor, right: Tensor, call: int = 0) -> Tensor:
        """Combine neighbours: [..., dim], [..., dim] -> [..., dim].

        call: sets apart the calls of one forward pass, for dropout.
        """
        act = activation_named(self.activation)
        hidden = act(self.expand(torch.cat([left, right], dim=-1)))
        z = self.gates(hidden if self.dropout is None else self.dropout(hidden, call))
        keep_left, keep_right, take, candidate = z.chunk(4, dim=-1)
        mixed = keep_left.sigmoid() * left + keep_right.sigmoid() * right
        return self.norm(mixed + take.sigmoid() * candidate)
