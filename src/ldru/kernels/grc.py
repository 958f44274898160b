"""The gates and the norm of the gated recursive cell for a whole fleet, in one launch each way.

The plain code it must agree with is `ldru.operators.grc.plain_gates`. The four parts of the gates
lie side by side: keep left, keep right, take, candidate.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from ldru.kernels.elements import norm_input_gradient, standardised
from ldru.kernels.norm import row_tile, slots_of_vectors, summed_vectors


@triton.jit
def load_parts(gates_ptr, left_ptr, right_ptr, row, channel, inside, DIM: tl.constexpr):
    """Gates after their sigmoids, candidate, left and right: row [R] -> [R, C] each."""
    gate = gates_ptr + row[:, None] * 4 * DIM + channel[None, :]
    place = row[:, None] * DIM + channel[None, :]
    keep_left = tl.sigmoid(tl.load(gate, mask=inside, other=0.0))
    keep_right = tl.sigmoid(tl.load(gate + DIM, mask=inside, other=0.0))
    take = tl.sigmoid(tl.load(gate + 2 * DIM, mask=inside, other=0.0))
    candidate = tl.load(gate + 3 * DIM, mask=inside, other=0.0)
    left = tl.load(left_ptr + place, mask=inside, other=0.0)
    right = tl.load(right_ptr + place, mask=inside, other=0.0)
    return keep_left, keep_right, take, candidate, left, right


@triton.jit
def cell_kernel(
    gates_ptr, left_ptr, right_ptr, weight_ptr, bias_ptr, out_ptr, rows,
    DIM: tl.constexpr, PAD: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """gates [M, rows, 4 DIM], left, right [M, rows, DIM], weight, bias [M, DIM] -> [M, rows, DIM].

    Grid (row blocks, M).
    """
    member = tl.program_id(1).to(tl.int64)
    number = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    row, channel = member * rows + number, tl.arange(0, PAD)
    is_channel = (channel < DIM)[None, :]
    inside = (number < rows)[:, None] & is_channel
    keep_left, keep_right, take, candidate, left, right = load_parts(
        gates_ptr, left_ptr, right_ptr, row, channel, inside, DIM
    )
    mixed = keep_left * left + keep_right * right + take * candidate
    normed, _ = standardised(mixed, is_channel, DIM)
    weight = tl.load(weight_ptr + member * DIM + channel, mask=channel < DIM, other=0.0)
    bias = tl.load(bias_ptr + member * DIM + channel, mask=channel < DIM, other=0.0)
    place = row[:, None] * DIM + channel[None, :]
    tl.store(out_ptr + place, normed * weight[None, :] + bias[None, :], mask=inside)


@triton.jit
def cell_gradient_kernel(
    gates_ptr, left_ptr, right_ptr, weight_ptr, gradient_ptr,
    of_gates_ptr, of_left_ptr, of_right_ptr, partial_ptr, rows,
    DIM: tl.constexpr, PAD: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """The gradients of gates, left and right; of weight and bias -> partial [M, slots, 2, DIM].

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
        number = start + tl.arange(0, ROWS)
        row = member * rows + number
        inside = (number < rows)[:, None] & is_channel
        keep_left, keep_right, take, candidate, left, right = load_parts(
            gates_ptr, left_ptr, right_ptr, row, channel, inside, DIM
        )
        mixed = keep_left * left + keep_right * right + take * candidate
        normed, inverse = standardised(mixed, is_channel, DIM)
        place = row[:, None] * DIM + channel[None, :]
        gradient = tl.load(gradient_ptr + place, mask=inside, other=0.0)
        of_weight += tl.sum(gradient * normed, axis=0)
        of_bias += tl.sum(gradient, axis=0)
        slope = norm_input_gradient(gradient * weight[None, :], normed, inverse, DIM)
        tl.store(of_left_ptr + place, slope * keep_left, mask=inside)
        tl.store(of_right_ptr + place, slope * keep_right, mask=inside)
        gate = of_gates_ptr + row[:, None] * 4 * DIM + channel[None, :]
        tl.store(gate, slope * left * keep_left * (1.0 - keep_left), mask=inside)
        tl.store(gate + DIM, slope * right * keep_right * (1.0 - keep_right), mask=inside)
        tl.store(gate + 2 * DIM, slope * candidate * take * (1.0 - take), mask=inside)
        tl.store(gate + 3 * DIM, slope * take, mask=inside)
    place = partial_ptr + (member * slots + slot) * 2 * DIM + channel
    tl.store(place, of_weight, mask=channel < DIM)
    tl.store(place + DIM, of_bias, mask=channel < DIM)


def cell(gates: Tensor, left: Tensor, right: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """[M, rows, 4 dim], [M, rows, dim] twice, [M, dim] twice -> [M, rows, dim]."""
    members, rows, dim = left.shape
    pad, tile = row_tile(dim)
    gates, left, right = (part.contiguous() for part in (gates, left, right))
    out = torch.empty_like(left)
    cell_kernel[(triton.cdiv(rows, tile), members)](
        gates, left, right, weight.contiguous(), bias.contiguous(), out, rows,
        DIM=dim, PAD=pad, ROWS=tile,
    )  # fmt: skip
    return out


def cell_gradient(
    gates: Tensor, left: Tensor, right: Tensor, weight: Tensor, gradient: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """The gradients of gates, left, right, weight and bias."""
    members, rows, dim = left.shape
    pad, tile = row_tile(dim)
    gates, left, right, gradient = (part.contiguous() for part in (gates, left, right, gradient))
    of_gates, of_left, of_right = (torch.empty_like(part) for part in (gates, left, right))
    partial = slots_of_vectors(left, tile, vectors=2)
    cell_gradient_kernel[(partial.shape[1], members)](
        gates, left, right, weight.contiguous(), gradient, of_gates, of_left, of_right, partial,
        rows, DIM=dim, PAD=pad, ROWS=tile,
    )  # fmt: skip
    of_weight, of_bias = summed_vectors(partial, vectors=2)
    return of_gates, of_left, of_right, of_weight, of_bias
