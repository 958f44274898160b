"""Norms with kernels of their own."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from ldru.kernels.support import apply_to_all, can_run

EPSILON = 1e-5  # of the kernels, and of `nn.LayerNorm`
RMS_EPSILON = 1e-6  # of the kernels


class AddNorm(nn.Module):
    """LayerNorm(x + update); on a GPU as one kernel, also for a whole fleet."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim
        self.weight, self.bias = nn.Parameter(torch.ones(dim)), nn.Parameter(torch.zeros(dim))

    def forward(self, x: Tensor, update: Tensor) -> Tensor:
        """[..., dim], [..., dim] -> [..., dim]."""
        if not (can_run(x) and can_run(update)):
            return functional.layer_norm(x + update, (self.dim,), self.weight, self.bias, EPSILON)
        rows = x.reshape(1, -1, self.dim), update.reshape(1, -1, self.dim)
        return AddedNorm.apply(*rows, self.weight[None], self.bias[None]).reshape(x.shape)


class AddedNorm(torch.autograd.Function):
    """Of each member: x, update [members, rows, dim], weight, bias [members, dim]."""

    @staticmethod
    def forward(x: Tensor, update: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        from ldru.kernels.norm import add_norm

        return add_norm(x, update, weight, bias)

    @staticmethod
    def setup_context(ctx, inputs: tuple, output: Tensor) -> None:  # type: ignore[no-untyped-def]
        ctx.save_for_backward(*inputs[:3])

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # type: ignore[no-untyped-def]
        from ldru.kernels.norm import add_norm_gradient

        x, update, weight = ctx.saved_tensors
        of_sum, of_weight, of_bias = add_norm_gradient(x, update, weight, gradient)
        return of_sum, of_sum, of_weight, of_bias

    @staticmethod
    def vmap(info, in_dims: tuple, *inputs: Tensor) -> tuple[Tensor, int]:  # type: ignore[no-untyped-def]
        return apply_to_all(AddedNorm, info, in_dims, *inputs)


class RMSNorm(nn.Module):
    """x / sqrt(mean square of x) * weight; on a GPU as one kernel, also for a whole fleet."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x: Tensor) -> Tensor:
        """[..., dim] -> [..., dim]."""
        if not can_run(x):
            return functional.rms_norm(x, (self.dim,), self.weight, RMS_EPSILON)
        return RMSNormed.apply(x.flatten(0, -2)[None], self.weight[None]).reshape(x.shape)


class RMSNormed(torch.autograd.Function):
    """Of each member: x [members, rows, dim], weight [members, dim]."""

    @staticmethod
    def forward(x: Tensor, weight: Tensor) -> Tensor:
        from ldru.kernels.norm import rms_norm

        return rms_norm(x, weight)

    @staticmethod
    def setup_context(ctx, inputs: tuple, output: Tensor) -> None:  # type: ignore[no-untyped-def]
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[no-untyped-def]
        from ldru.kernels.norm import rms_norm_gradient

        x, weight = ctx.saved_tensors
        return rms_norm_gradient(x, weight, gradient)

    @staticmethod
    def vmap(info, in_dims: tuple, *inputs: Tensor) -> tuple[Tensor, int]:  # type: ignore[no-untyped-def]
        return apply_to_all(RMSNormed, info, in_dims, *inputs)
