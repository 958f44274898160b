"""A whole reduction through the kernels, forward and backward; see `ldru.kernels.fused`."""

import triton
from torch import Tensor

from ldru.kernels import narrow, wide
from ldru.kernels.elements import prepare_matrices_kernel, sum_slots_kernel
from ldru.kernels.fused import Drop, inner_nodes
from ldru.kernels.launch import Level, Settings
from ldru.kernels.layout import MATRICES


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
    weights, _ = _prepare(flat, dim, settings, is_backward=False)
    nodes = x.new_empty(members, batch * sum(inner_nodes(length)), dim)
    root = x.new_empty(members, batch, 1, dim)
    scratch = None if dim <= narrow.MAX_DIM else wide.Scratch(x, settings, is_backward=False)
    outputs = [*_levels_of(nodes, batch, length), root]
    for level, y in zip(_levels(x, outputs, lengths, drop), outputs, strict=True):
        if scratch is None:
            narrow.level_forward(level, y, weights, settings)
        else:
            wide.level_forward(level, y, weights, settings, scratch)
    return root[:, :, 0], nodes


def backward(
    gradient: Tensor,
    x: Tensor,
    nodes: Tensor,
    flat: Tensor,
    lengths: Tensor | None,
    drop: Drop | None,
    is_silu: bool,
    is_tf32: bool,
) -> tuple[Tensor, Tensor]:
    """Gradients of x [M, B, n, d] and of the weights [M, parameters]."""
    settings = Settings(is_silu, is_tf32)
    members, batch, length, dim = x.shape
    x, flat = x.contiguous(), flat.contiguous()
    weights, transposed = _prepare(flat, dim, settings, is_backward=True)
    is_narrow = dim <= narrow.MAX_DIM
    collected: narrow.Operands | wide.Scratch = (
        narrow.Operands(x, settings) if is_narrow else wide.Scratch(x, settings, is_backward=True)
    )
    go_back = narrow.level_backward if is_narrow else wide.level_backward
    outputs = _levels_of(nodes, batch, length)
    dx = gradient[:, :, None]
    for level in reversed([*_levels(x, [*outputs, dx], lengths, drop)]):
        dy, dx = dx, x.new_empty(level.x.shape)
        go_back(level, dy, dx, weights, transposed, collected)  # type: ignore[arg-type]
    collected.flush()
    return dx, _sum_slots(collected.partial)


def _levels_of(nodes: Tensor, batch: int, length: int) -> list[Tensor]:
    """The levels between leaves and roots as views: [M, rows, d] -> [M, B, n, d] each."""
    views, begin = [], 0
    for count in inner_nodes(length):
        end = begin + batch * count
        views.append(nodes[:, begin:end].unflatten(1, (batch, count)))
        begin = end
    return views


def _levels(
    x: Tensor, outputs: list[Tensor], lengths: Tensor | None, drop: Drop | None
) -> list[Level]:
    """The inputs of each level, for the outputs of each."""
    levels = []
    for number, inputs in enumerate([x, *outputs[:-1]]):
        levels.append(Level(inputs, lengths, drop, number))
        lengths = None if lengths is None else (lengths + 1) // 2
    return levels


def _prepare(
    flat: Tensor, dim: int, settings: Settings, *, is_backward: bool
) -> tuple[Tensor, Tensor]:
    """Weights with the matrices rounded for the matrix units, and the same matrices transposed.

    The second only for the backward pass: there each matrix is multiplied from the other side.
    """
    if not (settings.is_rounding or is_backward):
        return flat, flat
    weights = flat.new_empty(flat.shape) if settings.is_rounding else flat
    transposed = flat.new_empty(len(flat), MATRICES * dim**2) if is_backward else flat
    tile = 32 if dim % 32 == 0 else 16
    prepare_matrices_kernel[(MATRICES * (dim // tile) ** 2 + 1, len(flat))](
        flat, weights, transposed,
        DIM=dim, TILE=tile, ROUND=settings.is_rounding, TRANSPOSE=is_backward, num_warps=tile // 8,
    )  # fmt: skip
    return weights, transposed


def _sum_slots(partial: Tensor) -> Tensor:
    """[M, slots, parameters] -> [M, parameters]."""
    members, slots, total = partial.shape
    if slots == 1:
        return partial[:, 0].contiguous()
    gradient = partial.new_empty(members, total)
    block = 512
    sum_slots_kernel[(triton.cdiv(total, block), members)](partial, gradient, slots, total, block)
    return gradient
