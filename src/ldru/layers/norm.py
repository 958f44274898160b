"""The layer norm of a residual sum."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from ldru.kernels import support
from ldru.kernels.support import merged

EPSILON = 1e-5  # of the kernels, and of `nn.LayerNorm`


class AddNorm(nn.Module):
    """LayerNorm(x + update); on a GPU as one kernel, also for a whole fleet."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim
        self.weight, self.bias = nn.Parameter(torch.ones(dim)), nn.Parameter(torch.zeros(dim))

    def forward(self, x: Tensor, update: Tensor) -> Tensor:
        """[..., dim], [..., dim] -> [..., dim]."""
        if not can_fuse(x, update):
            return functional.layer_norm(x + update, (self.dim,), self.weight, self.bias, EPSILON)
        rows = x.flatten(0, -2)[None], update.flatten(0, -2)[None]
        return AddedNorm.apply(*rows, self.weight[None], self.bias[None]).reshape(x.shape)


def can_fuse(x: Tensor, update: Tensor) -> bool:
    """Whether our kernel adds and normalises these."""
    return (
        x.dtype == update.dtype
        and support.why_not(x.device, x.dtype) is None
        and not torch.compiler.is_compiling()  # it makes kernels of its own
    )


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
        """A mapped axis joins the members' axis."""
        size = info.batch_size
        joined = [merged(part, axis, size) for part, axis in zip(inputs, in_dims, strict=True)]
        return AddedNorm.apply(*joined).unflatten(0, (size, -1)), 0
