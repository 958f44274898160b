"""Reductions and the operator alone through the kernels, and back; see `fused`."""

import triton
from torch import Tensor

from ldru.kernels.elements import sum_slots_kernel
from ldru.kernels.reduction import narrow, wide
from ldru.kernels.reduction.fused import Drop, inner_nodes, split_levels
from ldru.kernels.reduction.launch import Level, Settings


def forward(
    x: Tensor,
    flat: Tensor,
    lengths: Tensor | None,
    drop: Drop | None,
    is_silu: bool,
    is_tf32: bool,
) -> tuple[Tensor, Tensor]:
    """Roots [M, B, d], and the nodes between leaves and roots, level after level [M, rows, d]."""
    settings = Settings(is_silu, is_tf32)
    members, batch, length, dim = x.shape
    x, flat = x.contiguous(), flat.contiguous()
    nodes = x.new_empty(members, batch * sum(inner_nodes(length)), dim)
    root = x.new_empty(members, batch, 1, dim)
    outputs = [*split_levels(nodes, batch=batch, length=length), root]
    kernels = (narrow if dim <= narrow.MAX_DIM else wide).Forward(x, flat, settings)
    for level, y in zip(_levels(x, outputs, lengths, drop), outputs, strict=True):
        kernels.level(level, y)
    return root[:, :, 0], nodes


def backward(
    gradient: Tensor,
    node_gradient: Tensor | None,
    x: Tensor,
    nodes: Tensor,
    flat: Tensor,
    lengths: Tensor | None,
    drop: Drop | None,
    is_silu: bool,
    is_tf32: bool,
) -> tuple[Tensor, Tensor]:
    """Gradients of x [M, B, n, d] and of the weights [M, parameters].

    gradient, node_gradient: of the roots, and of the nodes where they are used elsewhere.
    """
    settings = Settings(is_silu, is_tf32)
    members, batch, length, dim = x.shape
    x, flat = x.contiguous(), flat.contiguous()
    kernels = (narrow if dim <= narrow.MAX_DIM else wide).Backward(x, flat, settings, gradient)
    outputs = split_levels(nodes, batch=batch, length=length)
    more = [] if node_gradient is None else split_levels(node_gradient, batch=batch, length=length)
    dx = gradient[:, :, None]
    for level in reversed([*_levels(x, [*outputs, dx], lengths, drop)]):
        dy, dx = dx, x.new_empty(level.x.shape)
        kernels.level(level, dy, dx)
        if more and level.number > 0:
            dx += more[level.number - 1]
            kernels.peaks.find(level.number, dx)
    kernels.operands.flush()
    return dx, sum_slots(kernels.operands.partial)


def combine(pairs: Tensor, flat: Tensor, is_silu: bool, is_tf32: bool) -> Tensor:
    """The operator alone: [M, rows, 2, d] -> [M, rows, d]."""
    settings = Settings(is_silu, is_tf32, is_bounded=False)
    return wide.Combination(pairs.contiguous(), flat.contiguous(), settings).forward()


def combine_backward(
    gradient: Tensor, pairs: Tensor, flat: Tensor, is_silu: bool, is_tf32: bool
) -> tuple[Tensor, Tensor]:
    """Gradients of the pairs, and of the weights: those of the block are zero."""
    settings = Settings(is_silu, is_tf32, is_bounded=False)
    combination = wide.Combination(pairs.contiguous(), flat.contiguous(), settings)
    return combination.backward(gradient.contiguous())


def _levels(
    x: Tensor, outputs: list[Tensor], lengths: Tensor | None, drop: Drop | None
) -> list[Level]:
    """The inputs of each level, for the outputs of each."""
    levels = []
    for number, inputs in enumerate([x, *outputs[:-1]]):
        levels.append(Level(inputs, lengths, drop, number))
        lengths = None if lengths is None else (lengths + 1) // 2
    return levels


def sum_slots(partial: Tensor) -> Tensor:
    """[M, slots, parameters] -> [M, parameters]."""
    members, slots, total = partial.shape
    if slots == 1:
        return partial[:, 0].contiguous()
    gradient = partial.new_empty(members, total)
    block = 512
    sum_slots_kernel[(triton.cdiv(total, block), members)](partial, gradient, slots, total, block)
    return gradient
