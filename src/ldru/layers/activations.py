"""Activation functions by name."""

from collections.abc import Callable

from torch import Tensor
from torch.nn import functional

from ldru.base.errors import unknown_name

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": functional.relu,
    "silu": functional.silu,
    "gelu": functional.gelu,
}


def activation_named(name: str) -> Callable[[Tensor], Tensor]:
    """The activation function of that name."""
    if name not in ACTIVATIONS:
        raise unknown_name("activation", name, ACTIVATIONS)
    return ACTIVATIONS[name]
