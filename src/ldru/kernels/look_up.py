"""Rows of a matrix by number, for a whole fleet; the gradient is the same bits every time.

The plain code it must agree with is `nn.Embedding`.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from ldru.kernels import gpu
from ldru.kernels.elements import sum_slots_kernel

ROWS = 64
CHANNELS = 64  # of a program, at most


@triton.jit
def look_up_kernel(
    weight_ptr, tokens_ptr, out_ptr, count, vocabulary, dim,
    ROWS: tl.constexpr, CHANNELS: tl.constexpr,
):  # fmt: skip
    """weight [M, vocabulary, dim], tokens [M, count] -> [M, count, dim].

    Grid (row blocks, channel blocks, M).
    """
    member = tl.program_id(2).to(tl.int64)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    channel = (tl.program_id(1) * CHANNELS + tl.arange(0, CHANNELS))[None, :]
    there = (row < count)[:, None] & (channel < dim)
    token = tl.load(tokens_ptr + member * count + row, mask=row < count, other=0)
    place = weight_ptr + (member * vocabulary + token)[:, None] * dim + channel
    value = tl.load(place, mask=there, other=0.0)
    tl.store(out_ptr + (member * count + row)[:, None] * dim + channel, value, mask=there)


@triton.jit
def look_up_gradient_kernel(
    gradient_ptr, tokens_ptr, partial_ptr, count, vocabulary, dim,
    ROWS: tl.constexpr, TOKENS: tl.constexpr, CHANNELS: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Sum the gradients [M, count, dim] of each token -> partial [M, slots, vocabulary, dim].

    Grid (slots, channel blocks, M): a slot is a range of rows, summed in a fixed order.
    """
    slot = tl.program_id(0)
    slots = tl.num_programs(0)
    member = tl.program_id(2).to(tl.int64)
    share = (count + slots * ROWS - 1) // (slots * ROWS) * ROWS
    number = tl.arange(0, TOKENS)[:, None]
    channel = (tl.program_id(1) * CHANNELS + tl.arange(0, CHANNELS))[None, :]
    total = tl.zeros((TOKENS, CHANNELS), dtype=tl.float32)
    for start in range(slot * share, tl.minimum((slot + 1) * share, count), ROWS):
        row = start + tl.arange(0, ROWS)
        there = row < count
        token = tl.load(tokens_ptr + member * count + row, mask=there, other=-1)
        gradient = tl.load(
            gradient_ptr + (member * count + row)[:, None] * dim + channel,
            mask=there[:, None] & (channel < dim),
            other=0.0,
        )
        is_token = (number == token[None, :]).to(tl.float32)
        total = tl.dot(is_token, gradient, total, input_precision=PRECISION)
    place = ((member * slots + slot) * vocabulary + number) * dim + channel
    tl.store(partial_ptr + place, total, mask=(number < vocabulary) & (channel < dim))


def look_up(weight: Tensor, tokens: Tensor) -> Tensor:
    """[M, vocabulary, dim], [M, count] -> [M, count, dim]."""
    (members, vocabulary, dim), count = weight.shape, tokens.shape[1]
    out = weight.new_empty(members, count, dim)
    channels = _channels(dim)
    look_up_kernel[(triton.cdiv(count, ROWS), triton.cdiv(dim, channels), members)](
        weight.contiguous(), tokens.contiguous(), out, count, vocabulary, dim,
        ROWS=ROWS, CHANNELS=channels,
    )  # fmt: skip
    return out


def look_up_gradient(gradient: Tensor, tokens: Tensor, *, vocabulary: int) -> Tensor:
    """[M, count, dim], [M, count] -> [M, vocabulary, dim]."""
    members, count, dim = gradient.shape
    slots = max(1, min(64, count // (4 * ROWS), 1024 // members))
    partial = gradient.new_empty(members, slots, vocabulary, dim)
    channels = _channels(dim)
    look_up_gradient_kernel[(slots, triton.cdiv(dim, channels), members)](
        gradient.contiguous(), tokens.contiguous(), partial, count, vocabulary, dim,
        ROWS=ROWS, TOKENS=max(16, triton.next_power_of_2(vocabulary)), CHANNELS=channels,
        PRECISION=gpu.current().precision(is_tf32=False),
    )  # fmt: skip
    total = torch.empty_like(partial[:, 0])
    size = vocabulary * dim
    sum_slots_kernel[(triton.cdiv(size, 512), members)](partial, total, slots, size, 512)
    return total


def _channels(dim: int) -> int:
    """Channels of a program; a matrix product has at least 16."""
    return min(CHANNELS, max(16, triton.next_power_of_2(dim)))
