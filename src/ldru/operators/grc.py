"""The gated recursive cell."""

import torch
from torch import Tensor, nn

from ldru.kernels.support import apply_to_all, can_run
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
        gates = self.gates(hidden if self.dropout is None else self.dropout(hidden, call))
        if not (can_run(gates) and can_run(left)):
            return self.norm(plain_gates(gates, left, right))
        rows = (part.flatten(0, -2)[None] for part in (gates, left, right))
        mixed = NormedGates.apply(*rows, self.norm.weight[None], self.norm.bias[None])
        return mixed.reshape(left.shape)


def plain_gates(gates: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """The gated sum: [..., 4 dim], [..., dim], [..., dim] -> [..., dim]."""
    keep_left, keep_right, take, candidate = gates.chunk(4, dim=-1)
    mixed = keep_left.sigmoid() * left + keep_right.sigmoid() * right
    return mixed + take.sigmoid() * candidate


class NormedGates(torch.autograd.Function):
    """`plain_gates` and the norm of each member, in one kernel.

    gates [members, rows, 4 dim], left, right [members, rows, dim], weight, bias [members, dim]
    """

    @staticmethod
    def forward(gates: Tensor, left: Tensor, right: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        from ldru.kernels.grc import cell

        return cell(gates, left, right, weight, bias)

    @staticmethod
    def setup_context(ctx, inputs: tuple, output: Tensor) -> None:  # type: ignore[no-untyped-def]
        ctx.save_for_backward(*inputs[:4])

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:  # type: ignore[no-untyped-def]
        from ldru.kernels.grc import cell_gradient

        gates, left, right, weight = ctx.saved_tensors
        return cell_gradient(gates, left, right, weight, gradient)

    @staticmethod
    def vmap(info, in_dims: tuple, *inputs: Tensor) -> tuple[Tensor, int]:  # type: ignore[no-untyped-def]
        return apply_to_all(NormedGates, info, in_dims, *inputs)
