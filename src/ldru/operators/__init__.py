"""Binary operators: two neighbouring states become one."""

from collections.abc import Callable

from torch import nn

from ldru.base.errors import LdruError, unknown_name
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
    "register_operator",
]


def register_operator(name: str, operator: Callable[..., nn.Module]) -> None:
    """Make an operator of your own known by a name, to `LDRU` and to `--operator`.

    operator: called with `dim=`, it gives a module [..., dim], [..., dim] -> [..., dim]. A program
        that opens runs with it has to register it too, before.

    >>> class Largest(nn.Module):
    ...     def __init__(self, *, dim):
    ...         super().__init__()
    ...
    ...     def forward(self, left, right):
    ...         return torch.maximum(left, right)
    >>> ldru.register_operator("greatest", Largest)
    >>> ldru.LDRU(dim=4, operator="greatest")(torch.zeros(2, 5, 4)).shape
    torch.Size([2, 4])
    """
    if name in OPERATORS and OPERATORS[name] is not operator:
        raise LdruError(f"there is already an operator {name!r}; choose another name")
    if not name.isidentifier() or not callable(operator):
        raise LdruError(
            f"register_operator takes a name of letters, digits and underscores and a class of "
            f"modules, got {name!r} and {operator!r}"
        )
    OPERATORS[name] = operator


def build_operator(name: str, *, dim: int, activation: str, gates: str = "centred") -> nn.Module:
    """An operator by name; activation and gates are those of the MLP operator alone."""
    if name not in OPERATORS:
        raise unknown_name("operator", name, OPERATORS)
    if name == "mlp":
        return MLPOperator(dim=dim, activation=activation, gates=gates)
    if gates != "centred":
        raise LdruError(f"the operator {name!r} has no gates that start {gates}: leave gates out")
    return OPERATORS[name](dim=dim)
