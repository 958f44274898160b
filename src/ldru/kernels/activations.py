"""Activations between two products for a whole fleet, in one launch each way.

The plain code they must agree with is that of `ldru.layers.feed_forward`.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from ldru.kernels.norm import row_tile, slots_of_vectors, summed_vectors

ELEMENTS = 1024  # of a program


@triton.jit
def bias_relu_kernel(
    x_ptr, bias_ptr, out_ptr, rows, DIM: tl.constexpr, PAD: tl.constexpr, ROWS: tl.constexpr
):
    """x [M, rows, DIM], bias [M, DIM] -> relu(x + bias). Grid (row blocks, M)."""
    member = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    channel = tl.arange(0, PAD)
    inside = (row < rows)[:, None] & (channel < DIM)[None, :]
    place = (member * rows + row)[:, None] * DIM + channel[None, :]
    bias = tl.load(bias_ptr + member * DIM + channel, mask=channel < DIM, other=0.0)
    x = tl.load(x_ptr + place, mask=inside, other=0.0) + bias[None, :]
    tl.store(out_ptr + place, tl.maximum(x, 0.0), mask=inside)


@triton.jit
def bias_relu_gradient_kernel(
    out_ptr, gradient_ptr, of_x_ptr, partial_ptr, rows,
    DIM: tl.constexpr, PAD: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """The gradient of x, and that of the bias -> partial [M, slots, DIM]. Grid (slots, M)."""
    slot = tl.program_id(0)
    slots = tl.num_programs(0)
    member = tl.program_id(1).to(tl.int64)
    share = (rows + slots * ROWS - 1) // (slots * ROWS) * ROWS
    channel = tl.arange(0, PAD)
    of_bias = tl.zeros((PAD,), dtype=tl.float32)
    for start in range(slot * share, tl.minimum((slot + 1) * share, rows), ROWS):
        row = start + tl.arange(0, ROWS)
        inside = (row < rows)[:, None] & (channel < DIM)[None, :]
        place = (member * rows + row)[:, None] * DIM + channel[None, :]
        is_on = tl.load(out_ptr + place, mask=inside, other=0.0) > 0.0
        gradient = tl.load(gradient_ptr + place, mask=inside, other=0.0)
        of_x = tl.where(is_on, gradient, 0.0)
        of_bias += tl.sum(of_x, axis=0)
        tl.store(of_x_ptr + place, of_x, mask=inside)
    tl.store(partial_ptr + (member * slots + slot) * DIM + channel, of_bias, mask=channel < DIM)


@triton.jit
def silu_product_kernel(gate_ptr, value_ptr, out_ptr, count, ELEMENTS: tl.constexpr):
    """silu(gate) * value, all [count]. Grid (blocks,)."""
    index = tl.program_id(0).to(tl.int64) * ELEMENTS + tl.arange(0, ELEMENTS)
    there = index < count
    gate = tl.load(gate_ptr + index, mask=there, other=0.0)
    value = tl.load(value_ptr + index, mask=there, other=0.0)
    tl.store(out_ptr + index, gate * tl.sigmoid(gate) * value, mask=there)


@triton.jit
def silu_product_gradient_kernel(
    gate_ptr, value_ptr, gradient_ptr, of_gate_ptr, of_value_ptr, count, ELEMENTS: tl.constexpr
):
    """Grid (blocks,)."""
    index = tl.program_id(0).to(tl.int64) * ELEMENTS + tl.arange(0, ELEMENTS)
    there = index < count
    gate = tl.load(gate_ptr + index, mask=there, other=0.0)
    value = tl.load(value_ptr + index, mask=there, other=0.0)
    gradient = tl.load(gradient_ptr + index, mask=there, other=0.0)
    share = tl.sigmoid(gate)
    slope = share * (1.0 + gate * (1.0 - share))
    tl.store(of_gate_ptr + index, gradient * value * slope, mask=there)
    tl.store(of_value_ptr + index, gradient * gate * share, mask=there)


def bias_relu(x: Tensor, bias: Tensor) -> Tensor:
    """[M, rows, dim], [M, dim] -> [M, rows, dim]."""
    members, rows, dim = x.shape
    pad, tile = row_tile(dim)
    x = x.contiguous()
    out = torch.empty_like(x)
    bias_relu_kernel[(triton.cdiv(rows, tile), members)](
        x, bias.contiguous(), out, rows, DIM=dim, PAD=pad, ROWS=tile
    )
    return out


def bias_relu_gradient(out: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients of x [M, rows, dim] and bias [M, dim], from the result and its gradient."""
    members, rows, dim = out.shape
    pad, tile = row_tile(dim)
    of_x = torch.empty_like(out)
    partial = slots_of_vectors(out, tile, vectors=1)
    bias_relu_gradient_kernel[(partial.shape[1], members)](
        out, gradient.contiguous(), of_x, partial, rows, DIM=dim, PAD=pad, ROWS=tile
    )
    (of_bias,) = summed_vectors(partial, vectors=1)
    return of_x, of_bias


def silu_product(gate: Tensor, value: Tensor) -> Tensor:
    """silu(gate) * value, of one shape."""
    gate, value = gate.contiguous(), value.contiguous()
    out = torch.empty_like(gate)
    grid = (triton.cdiv(gate.numel(), ELEMENTS),)
    silu_product_kernel[grid](gate, value, out, gate.numel(), ELEMENTS=ELEMENTS)
    return out


def silu_product_gradient(gate: Tensor, value: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients of gate and value."""
    gate, value, gradient = gate.contiguous(), value.contiguous(), gradient.contiguous()
    found = torch.empty_like(gate), torch.empty_like(value)
    grid = (triton.cdiv(gate.numel(), ELEMENTS),)
    silu_product_gradient_kernel[grid](
        gate, value, gradient, *found, gate.numel(), ELEMENTS=ELEMENTS
    )
    return found
