"""Activations between two linear layers; on a GPU as one kernel each, also for a whole fleet."""

import torch
from torch import Tensor
from torch.nn import functional

from ldru.kernels.support import apply_to_all, can_run
from ldru.layers.linear import Linear


def feed_forward(x: Tensor, up: Linear, down: Linear) -> Tensor:
    """down(relu(up(x))): [..., inputs] -> [..., outputs]."""
    if not can_run(x):
        return down(functional.relu(up(x)))
    rows = functional.linear(x.reshape(-1, x.shape[-1]), up.weight)
    hidden = BiasReLU.apply(rows[None], up.bias[None]).squeeze(0)
    return down(hidden).reshape(*x.shape[:-1], down.out_features)


def silu_product(gate: Tensor, value: Tensor) -> Tensor:
    """silu(gate) * value, of one shape."""
    if not (can_run(gate) and can_run(value)):
        return functional.silu(gate) * value
    return SiLUProduct.apply(gate[None], value[None]).squeeze(0)


class BiasReLU(torch.autograd.Function):
    """relu(x + bias) of each member: x [members, rows, dim], bias [members, dim]."""

    @staticmethod
    def forward(x: Tensor, bias: Tensor) -> Tensor:
        from ldru.kernels.activations import bias_relu

        return bias_relu(x, bias)

    @staticmethod
    def setup_context(ctx, inputs: tuple, output: Tensor) -> None:  # type: ignore[no-untyped-def]
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[no-untyped-def]
        from ldru.kernels.activations import bias_relu_gradient

        (output,) = ctx.saved_tensors
        return bias_relu_gradient(output, gradient)

    @staticmethod
    def vmap(info, in_dims: tuple, *inputs: Tensor) -> tuple[Tensor, int]:  # type: ignore[no-untyped-def]
        return apply_to_all(BiasReLU, info, in_dims, *inputs)


class SiLUProduct(torch.autograd.Function):
    """silu(gate) * value of each member: [members, ...] both."""

    @staticmethod
    def forward(gate: Tensor, value: Tensor) -> Tensor:
        from ldru.kernels import activations

        return activations.silu_product(gate, value)

    @staticmethod
    def setup_context(ctx, inputs: tuple, output: Tensor) -> None:  # type: ignore[no-untyped-def]
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[no-untyped-def]
        from ldru.kernels.activations import silu_product_gradient

        gate, value = ctx.saved_tensors
        return silu_product_gradient(gate, value, gradient)

    @staticmethod
    def vmap(info, in_dims: tuple, *inputs: Tensor) -> tuple[Tensor, int]:  # type: ignore[no-untyped-def]
        return apply_to_all(SiLUProduct, info, in_dims, *inputs)
