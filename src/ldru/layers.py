"""Layers with a stated initialisation, and dropout that a key can drive.

PyTorch's own layers draw from the global generator and with another law than the paper's. These
draw from the generator they are given, and from PyTorch's default one only when given none.
"""

from collections.abc import Callable

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional

from ldru.errors import unknown_name
from ldru.randomness import bits

PLACES = 2**24
"""How many elements of a row one call of dropout can tell apart."""

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


class Linear(nn.Linear):
    """Linear layer; truncated normal of deviation 1/sqrt(inputs), zero bias."""

    def reset_parameters(self, generator: Generator | None = None) -> None:
        std = self.in_features**-0.5
        nn.init.trunc_normal_(self.weight, std=std, a=-2 * std, b=2 * std, generator=generator)
        nn.init.zeros_(self.bias)


class GlorotLinear(Linear):
    """Linear layer; Glorot normal, zero bias."""

    def reset_parameters(self, generator: Generator | None = None) -> None:
        nn.init.xavier_normal_(self.weight, generator=generator)
        nn.init.zeros_(self.bias)


class IdentityLinear(Linear):
    """Linear layer that starts as the identity map."""

    def reset_parameters(self, generator: Generator | None = None) -> None:
        nn.init.eye_(self.weight)
        nn.init.zeros_(self.bias)


class Dropout(nn.Module):
    """Dropout whose mask is a function of each row's key, a call number and a place in the row.

    Without keys it draws from PyTorch's default generator, as `nn.Dropout` does. A fleet sets the
    buffers `keys` [batch, 2], `cut` [] and `scale` [] of every member (see `rate_buffers`): then
    the mask of a row is the same alone and in a fleet, however far the batch is padded.
    """

    keys: Tensor | None
    cut: Tensor | None
    scale: Tensor | None

    def __init__(self, *, rate: float) -> None:
        super().__init__()
        self.rate = rate
        for name in ("keys", "cut", "scale"):
            self.register_buffer(name, None, persistent=False)

    def rate_buffers(self, *, dtype: torch.dtype) -> dict[str, Tensor]:
        """The rate as tensors: a signed 32-bit word below which an element is dropped, a scale."""
        return {
            "cut": torch.tensor(
                min(round(self.rate * 2**32), 2**32 - 1) - 2**31, dtype=torch.int32
            ),
            "scale": torch.tensor(1 / (1 - self.rate), dtype=dtype),
        }

    def forward(self, x: Tensor, call: int = 0) -> Tensor:
        """Drop elements: [batch, ..., dim] -> [batch, ..., dim].

        call: sets apart the calls of one forward pass, such as the levels of a tree.
        """
        if not self.training:
            return x
        if self.keys is None or self.cut is None or self.scale is None:
            return functional.dropout(x, self.rate)
        words = bits(self.keys, x[0].numel(), begin=call * PLACES).reshape(x.shape)
        return x * torch.where(words >= self.cut, self.scale, 0)

    def extra_repr(self) -> str:
        return f"rate={self.rate}"


def drawn(make: Callable[[], nn.Module], generator: Generator) -> nn.Module:
    """A module of these layers with every weight drawn from one generator, in module order."""
    with torch.random.fork_rng(devices=[]):  # making layers draws too: leave no trace of that
        module = make()
    for part in module.modules():
        if isinstance(part, Linear | nn.Embedding):
            part.reset_parameters(generator)  # type: ignore[call-arg]
        elif isinstance(part, nn.LayerNorm):
            part.reset_parameters()
    return module
