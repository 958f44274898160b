"""Norms for a whole fleet, in one launch each way and a sum over slots.

The plain code they must agree with is that of `ldru.layers.norm`.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from ldru.kernels.elements import norm_input_gradient, standardised, sum_slots_kernel

TILE = 2048  # elements of a program at a time


@triton.jit
def add_norm_kernel(
    x_ptr, update_ptr, weight_ptr, bias_ptr, out_ptr, rows,
    DIM: tl.constexpr, PAD: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """x, update [M, rows, DIM], weight, bias [M, DIM] -> [M, rows, DIM]. Grid (row blocks, M)."""
    member = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    channel = tl.arange(0, PAD)
    is_channel = (channel < DIM)[None, :]
    inside = (row < rows)[:, None] & is_channel
    place = (member * rows + row)[:, None] * DIM + channel[None, :]
    total = tl.load(x_ptr + place, mask=inside, other=0.0)
    total += tl.load(update_ptr + place, mask=inside, other=0.0)
    normed, _ = standardised(total, is_channel, DIM)
    weight = tl.load(weight_ptr + member * DIM + channel, mask=channel < DIM, other=0.0)
    bias = tl.load(bias_ptr + member * DIM + channel, mask=channel < DIM, other=0.0)
    tl.store(out_ptr + place, normed * weight[None, :] + bias[None, :], mask=inside)


@triton.jit
def add_norm_gradient_kernel(
    x_ptr, update_ptr, weight_ptr, gradient_ptr, sum_gradient_ptr, partial_ptr, rows,
    DIM: tl.constexpr, PAD: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """The gradient of the sum, and those of weight and bias -> partial [M, slots, 2, DIM].

    Grid (slots, M): a slot is a range of rows, summed in a fixed order.
    """
    slot = tl.program_id(0)
    slots = tl.num_programs(0)
    member = tl.program_id(1).to(tl.int64)
    share = (rows + slots * ROWS - 1) // (slots * ROWS) * ROWS
    channel = tl.arange(0, PAD)
    is_channel = (channel < DIM)[None, :]
    weight = tl.load(weight_ptr + member * DIM + channel, mask=channel < DIM, other=0.0)
    of_weight = tl.zeros((PAD,), dtype=tl.float32)
    of_bias = tl.zeros((PAD,), dtype=tl.float32)
    for start in range(slot * share, tl.minimum((slot + 1) * share, rows), ROWS):
        row = start + tl.arange(0, ROWS)
        inside = (row < rows)[:, None] & is_channel
        place = (member * rows + row)[:, None] * DIM + channel[None, :]
        total = tl.load(x_ptr + place, mask=inside, other=0.0)
        total += tl.load(update_ptr + place, mask=inside, other=0.0)
        gradient = tl.load(gradient_ptr + place, mask=inside, other=0.0)
        normed, inverse = standardised(total, is_channel, DIM)
        of_weight += tl.sum(gradient * normed, axis=0)
        of_bias += tl.sum(gradient, axis=0)
        of_sum = norm_input_gradient(gradient * weight[None, :], normed, inverse, DIM)
        tl.store(sum_gradient_ptr + place, of_sum, mask=inside)
    place = partial_ptr + (member * slots + slot) * 2 * DIM + channel
    tl.store(place, of_weight, mask=channel < DIM)
    tl.store(place + DIM, of_bias, mask=channel < DIM)


@triton.jit
def inverse_size(x, DIM: tl.constexpr):
    """1 / sqrt(mean square) of rows that are zero outside the channels: [R, C] -> [R, 1]."""
    return 1.0 / tl.sqrt(tl.sum(x * x, axis=1)[:, None] / DIM + 1e-6)


@triton.jit
def rms_norm_kernel(
    x_ptr, weight_ptr, out_ptr, rows, DIM: tl.constexpr, PAD: tl.constexpr, ROWS: tl.constexpr
):
    """x [M, rows, DIM], weight [M, DIM] -> [M, rows, DIM]. Grid (row blocks, M)."""
    member = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    channel = tl.arange(0, PAD)
    inside = (row < rows)[:, None] & (channel < DIM)[None, :]
    place = (member * rows + row)[:, None] * DIM + channel[None, :]
    x = tl.load(x_ptr + place, mask=inside, other=0.0)
    weight = tl.load(weight_ptr + member * DIM + channel, mask=channel < DIM, other=0.0)
    tl.store(out_ptr + place, x * inverse_size(x, DIM) * weight[None, :], mask=inside)


@triton.jit
def rms_norm_gradient_kernel(
    x_ptr, weight_ptr, gradient_ptr, of_x_ptr, partial_ptr, rows,
    DIM: tl.constexpr, PAD: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """The gradient of x, and that of the weight -> partial [M, slots, DIM]. Grid (slots, M)."""
    slot = tl.program_id(0)
    slots = tl.num_programs(0)
    member = tl.program_id(1).to(tl.int64)
    share = (rows + slots * ROWS - 1) // (slots * ROWS) * ROWS
    channel = tl.arange(0, PAD)
    weight = tl.load(weight_ptr + member * DIM + channel, mask=channel < DIM, other=0.0)
    of_weight = tl.zeros((PAD,), dtype=tl.float32)
    for start in range(slot * share, tl.minimum((slot + 1) * share, rows), ROWS):
        row = start + tl.arange(0, ROWS)
        inside = (row < rows)[:, None] & (channel < DIM)[None, :]
        place = (member * rows + row)[:, None] * DIM + channel[None, :]
        x = tl.load(x_ptr + place, mask=inside, other=0.0)
        gradient = tl.load(gradient_ptr + place, mask=inside, other=0.0)
        inverse = inverse_size(x, DIM)
        normed = x * inverse
        of_weight += tl.sum(gradient * normed, axis=0)
        of_normed = gradient * weight[None, :]
        along = tl.sum(of_normed * normed, axis=1)[:, None] / DIM
        tl.store(of_x_ptr + place, inverse * (of_normed - normed * along), mask=inside)
    tl.store(partial_ptr + (member * slots + slot) * DIM + channel, of_weight, mask=channel < DIM)


def add_norm(x: Tensor, update: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """[M, rows, dim] twice, [M, dim] twice -> [M, rows, dim]."""
    members, rows, dim = x.shape
    pad, tile = row_tile(dim)
    x, update = x.contiguous(), update.contiguous()
    out = torch.empty_like(x)
    add_norm_kernel[(triton.cdiv(rows, tile), members)](
        x, update, weight.contiguous(), bias.contiguous(), out, rows, DIM=dim, PAD=pad, ROWS=tile
    )
    return out


def add_norm_gradient(
    x: Tensor, update: Tensor, weight: Tensor, gradient: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of the sum [M, rows, dim], of weight and of bias [M, dim]."""
    members, rows, dim = x.shape
    pad, tile = row_tile(dim)
    x, update, gradient = x.contiguous(), update.contiguous(), gradient.contiguous()
    of_sum = torch.empty_like(x)
    partial = slots_of_vectors(x, tile, vectors=2)
    add_norm_gradient_kernel[(partial.shape[1], members)](
        x, update, weight.contiguous(), gradient, of_sum, partial, rows,
        DIM=dim, PAD=pad, ROWS=tile,
    )  # fmt: skip
    of_weight, of_bias = summed_vectors(partial, vectors=2)
    return of_sum, of_weight, of_bias


def rms_norm(x: Tensor, weight: Tensor) -> Tensor:
    """[M, rows, dim], [M, dim] -> [M, rows, dim]."""
    members, rows, dim = x.shape
    pad, tile = row_tile(dim)
    x = x.contiguous()
    out = torch.empty_like(x)
    rms_norm_kernel[(triton.cdiv(rows, tile), members)](
        x, weight.contiguous(), out, rows, DIM=dim, PAD=pad, ROWS=tile
    )
    return out


def rms_norm_gradient(x: Tensor, weight: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients of x [M, rows, dim] and weight [M, dim]."""
    members, rows, dim = x.shape
    pad, tile = row_tile(dim)
    x = x.contiguous()
    of_x = torch.empty_like(x)
    partial = slots_of_vectors(x, tile, vectors=1)
    rms_norm_gradient_kernel[(partial.shape[1], members)](
        x, weight.contiguous(), gradient.contiguous(), of_x, partial, rows,
        DIM=dim, PAD=pad, ROWS=tile,
    )  # fmt: skip
    (of_weight,) = summed_vectors(partial, vectors=1)
    return of_x, of_weight


def row_tile(dim: int) -> tuple[int, int]:
    """Channels with those that pad them, and rows, of a program."""
    pad = triton.next_power_of_2(dim)
    return pad, max(1, TILE // pad)


def slots_of_vectors(x: Tensor, tile: int, *, vectors: int) -> Tensor:
    """Room for the gradients of some vectors: [M, rows, dim] -> [M, slots, vectors dim].

    tile: rows of a program at a time.
    """
    members, rows, dim = x.shape
    slots = max(1, min(triton.cdiv(rows, 4 * tile), 2048 // members))
    return x.new_empty(members, slots, vectors * dim)


def summed_vectors(partial: Tensor, *, vectors: int) -> tuple[Tensor, ...]:
    """The gradients of the vectors: [M, slots, vectors dim] -> [M, dim] each."""
    members, slots, size = partial.shape
    total = torch.empty_like(partial[:, 0])
    sum_slots_kernel[(triton.cdiv(size, 512), members)](partial, total, slots, size, 512)
    return total.chunk(vectors, dim=1)
