"""Layers with the paper's initialisation, and layers whose randomness a key can drive."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from ldru.errors import LdruError, unknown_name
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

    def reset_parameters(self) -> None:
        std = self.in_features**-0.5
        nn.init.trunc_normal_(self.weight, std=std, a=-2 * std, b=2 * std)
        if self.bias is not None:
            nn.init.zeros_(self.bias)


class GlorotLinear(Linear):
    """Linear layer; Glorot normal, zero bias."""

    def reset_parameters(self) -> None:
        nn.init.xavier_normal_(self.weight)
        nn.init.zeros_(self.bias)


class IdentityLinear(Linear):
    """Linear layer that starts as the identity map."""

    def reset_parameters(self) -> None:
        nn.init.eye_(self.weight)
        nn.init.zeros_(self.bias)


class Keyed(nn.Module):
    """A layer whose randomness in training is a function of one key per word: keys [batch, 2].

    A fleet sets `keys` at every step, so that a member draws the same alone and in a fleet.
    Without keys, the layer draws from PyTorch's default generator.
    """

    keys: Tensor | None

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("keys", None, persistent=False)


class Dropout(Keyed):
    """Dropout whose mask is a function of each row's key, a call number and a place in the row.

    A fleet also sets the buffers `cut` [] and `scale` [] (see `rate_buffers`), since its members
    may differ in their rate. The mask of a row is the same however far the batch is padded.
    """

    cut: Tensor | None
    scale: Tensor | None

    def __init__(self, *, rate: float) -> None:
        super().__init__()
        if not 0 <= rate < 1:
            raise LdruError(f"dropout must lie in [0, 1), got {rate}")
        self.rate = rate
        for name in ("cut", "scale"):
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


def drawn(make: Callable[[], nn.Module], *, seed: int) -> nn.Module:
    """A new module whose weights, and whatever else its making draws, depend on the seed alone.

    PyTorch's default CPU generator is put back as it was.
    """
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        return make()
