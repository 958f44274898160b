"""Layers whose randomness a key can drive; dropout is one."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from ldru.base.errors import LdruError
from ldru.base.randomness import bits
from ldru.kernels.support import apply_to_all, can_run

PLACES = 2**24
"""How many elements of a row one call of dropout can tell apart."""


class Keyed(nn.Module):
    """A layer whose randomness in training is a function of one key per word: keys [batch, 2].

    A fleet sets `keys` at every step, so that a member draws the same alone and in a fleet; it
    leaves out layers that do nothing. Without keys, the layer draws from PyTorch's default
    generator.
    """

    keys: Tensor | None

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("keys", None, persistent=False)


def rate_buffers(rate: Tensor, *, dtype: torch.dtype) -> dict[str, Tensor]:
    """Dropout rates as a layer takes them: [...] -> [...] each.

    cut: a signed 32-bit word below which an element is dropped; scale: of the others.
    """
    rate = rate.double()
    cut = (rate * 2**32).round().clamp(max=2**32 - 1) - 2**31
    return {"cut": cut.to(torch.int32), "scale": (1 / (1 - rate)).to(dtype)}


class Dropout(Keyed):
    """Dropout whose mask is a function of each row's key, a call number and a place in the row.

    A fleet also sets the buffers `cut` [] and `scale` [] (see `rate_buffers`), since its members
    may differ in their rate. The mask of a row is the same however far the batch is padded.

    >>> ldru.Dropout(rate=0.5).eval()(torch.ones(2, 3)).sum()
    tensor(6.)
    """

    cut: Tensor | None
    scale: Tensor | None

    def __init__(self, *, rate: float) -> None:
        super().__init__()
        if not isinstance(rate, float | int) or not 0 <= rate < 1:
            raise LdruError(f"dropout must be a number in [0, 1), got {rate!r}")
        self.rate = rate
        for name in ("cut", "scale"):
            self.register_buffer(name, None, persistent=False)

    @property
    def is_on(self) -> bool:
        """Whether anything may be dropped."""
        return self.training and (self.keys is not None or self.rate > 0)

    def forward(self, x: Tensor, call: int = 0) -> Tensor:
        """Drop elements: [batch, ..., dim] -> [batch, ..., dim].

        call: sets apart the calls of one forward pass, such as the levels of a tree.
        """
        if not self.is_on:
            return x
        if self.keys is None or self.cut is None or self.scale is None:
            return functional.dropout(x, self.rate)
        begin = call * PLACES
        if can_run(x):
            flat, keys = x.flatten(1)[None], self.keys[None]
            dropped = Dropped.apply(flat, keys, self.cut[None], self.scale[None], begin)
            return dropped.reshape(x.shape)
        words = bits(self.keys, x[0].numel(), begin=begin).reshape(x.shape)
        return x * torch.where(words >= self.cut, self.scale, 0)

    def drop(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor] | None:
        """Keys of the rows, cut and scale, for kernels that drop the same; None in evaluation.

        Without a fleet's keys, fresh ones: [batch, ..., dim] -> [batch, 2], [], [].
        """
        if not self.is_on:
            return None
        if self.keys is not None and self.cut is not None and self.scale is not None:
            return self.keys, self.cut, self.scale
        low, high = -(2**31), 2**31
        keys = torch.randint(low, high, (x.shape[0], 2), device=x.device).to(torch.int32)
        rate = torch.tensor(self.rate, dtype=torch.float64, device=x.device)
        buffers = rate_buffers(rate, dtype=x.dtype)
        return keys, buffers["cut"], buffers["scale"]

    def extra_repr(self) -> str:
        return f"rate={self.rate}"


class Dropped(torch.autograd.Function):
    """Dropout of each member: x [members, words, count], keys [members, words, 2], cut, scale.

    begin: the place of a word's first element in the bits of its key.
    """

    @staticmethod
    def forward(x: Tensor, keys: Tensor, cut: Tensor, scale: Tensor, begin: int) -> Tensor:
        from ldru.kernels.dropout import drop

        return drop(x, keys, cut, scale, begin=begin)

    @staticmethod
    def setup_context(ctx, inputs: tuple, output: Tensor) -> None:  # type: ignore[no-untyped-def]
        _, *tensors, ctx.begin = inputs
        ctx.save_for_backward(*tensors)

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, None, None, None, None]:  # type: ignore[no-untyped-def]
        return Dropped.apply(gradient, *ctx.saved_tensors, ctx.begin), None, None, None, None

    @staticmethod
    def vmap(info, in_dims: tuple, *inputs) -> tuple[Tensor, int]:  # type: ignore[no-untyped-def]
        return apply_to_all(Dropped, info, in_dims, *inputs)
