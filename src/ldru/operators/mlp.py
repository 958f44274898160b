"""The operator of MLP-LDRU."""

import torch
from torch import Tensor, nn

from ldru.base.errors import unknown_name
from ldru.layers.activations import activation_named
from ldru.layers.linear import GlorotLinear, IdentityLinear

GATES = {"centred": 0.0, "open": 1.0}
"""What gates begin around: zero, as the paper has it, or one."""


class MLPOperator(nn.Module):
    """Sum of two neighbours, each gated by an MLP that reads both (equations 1 to 3).

    [g_l; g_r] = W3 act(W2 act(W1 [l; r] + b1) + b2) + b3        2d -> 2d -> 4d -> 2d
    out = Wout(V_l (g_l * l) + b_l + V_r (g_r * r) + b_r) + b_out

    The projections start as the identity, so that it starts near a gated sum. (Without gates a sum
    is associative.)

    gates: what they start around. "centred" ones start around zero, as the paper's: then a tree
        begins as a product of many random factors, and one changed leaf changes much of a code.
        "open" ones start around one: then it begins near the sum of its leaves.
    """

    def __init__(self, *, dim: int, activation: str = "relu", gates: str = "centred") -> None:
        super().__init__()
        if not isinstance(gates, str) or gates not in GATES:
            raise unknown_name("start of gates", gates, GATES)
        self.dim, self.activation = dim, activation
        self.expand = GlorotLinear(2 * dim, 2 * dim)
        self.hidden = GlorotLinear(2 * dim, 4 * dim)
        self.gates = GlorotLinear(4 * dim, 2 * dim, offset=GATES[gates])
        self.left = IdentityLinear(dim, dim)
        self.right = IdentityLinear(dim, dim)
        self.out = IdentityLinear(dim, dim)

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        """Combine neighbours: [..., dim], [..., dim] -> [..., dim]."""
        act = activation_named(self.activation)
        hidden = act(self.expand(torch.cat([left, right], dim=-1)))
        gate_left, gate_right = self.gates(act(self.hidden(hidden))).chunk(2, dim=-1)
        return self.out(self.left(gate_left * left) + self.right(gate_right * right))
