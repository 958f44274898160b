"""Binary operators: two neighbouring states become one."""

from collections.abc import Callable

from torch import nn

from ldru.base.errors import unknown_name
from ldru.operators.element_sum import ElementSumOperator
from ldru.operators.gated_sum import GatedSumOperator
from ldru.operators.grc import GRCOperator
from ldru.operators.linear import LinearOperator
from ldru.operators.mlp import MLPOperator

OPERATORS: dict[str, Callable[..., nn.Module]] = {
    "mlp": MLPOperator,
    "grc": GRCOperator,
    "gated_sum": GatedSumOperator,
    "linear": LinearOperator,
    "element_sum": ElementSumOperator,
}

__all__ = [
    "OPERATORS",
    "ElementSumOperator",
    "GRCOperator",
    "GatedSumOperator",
    "LinearOperator",
    "MLPOperator",
    "build_operator",
]


def build_operator(name: str, *, dim: int, activation: str) -> nn.Module:
    """An operator by name; the activation is the MLP operator's, the others state their own."""
    if name not in OPERATORS:
        raise unknown_name("operator", name, OPERATORS)
    if name == "mlp":
        return MLPOperator(dim=dim, activation=activation)
    return OPERATORS[name](dim=dim)
