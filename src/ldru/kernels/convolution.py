"""A causal convolution of every channel by itself, then SiLU, for a whole fleet.

The plain code it must agree with is `ldru.models.gated_deltanet.CausalConvolution`.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from ldru.kernels.elements import activation_gradient

PLACES = 16  # of a program at a time
CHANNELS = 128


@triton.jit
def convolved(x_ptr, weight_ptr, place, channel, inside, DIM: tl.constexpr, WIDTH: tl.constexpr):
    """sum_i w_i x_{t-i}: pointers to a word and a member's weights -> [PLACES, CHANNELS]."""
    total = tl.zeros(inside.shape, dtype=tl.float32)
    for back in tl.static_range(WIDTH):
        weight = tl.load(weight_ptr + back * DIM + channel, mask=channel < DIM, other=0.0)
        there = inside & (place >= back)
        total += weight * tl.load(x_ptr + (place - back) * DIM + channel, mask=there, other=0.0)
    return total


@triton.jit
def convolution_kernel(
    x_ptr, weight_ptr, out_ptr, words, length,
    DIM: tl.constexpr, WIDTH: tl.constexpr, PLACES: tl.constexpr, CHANNELS: tl.constexpr,
):  # fmt: skip
    """x [M, words, length, DIM], weight [M, WIDTH, DIM] -> as x.

    Grid (M words, place blocks, channel blocks).
    """
    word = tl.program_id(0).to(tl.int64)
    place = tl.program_id(1) * PLACES + tl.arange(0, PLACES)[:, None]
    channel = tl.program_id(2) * CHANNELS + tl.arange(0, CHANNELS)[None, :]
    inside = (place < length) & (channel < DIM)
    weight_ptr += word // words * WIDTH * DIM
    total = convolved(x_ptr + word * length * DIM, weight_ptr, place, channel, inside, DIM, WIDTH)
    out = out_ptr + word * length * DIM + place * DIM + channel
    tl.store(out, total * tl.sigmoid(total), mask=inside)


@triton.jit
def slope_kernel(
    x_ptr, weight_ptr, gradient_ptr, slope_ptr, of_weight_ptr, words, length,
    DIM: tl.constexpr, WIDTH: tl.constexpr, PLACES: tl.constexpr, CHANNELS: tl.constexpr,
    WEIGHTS: tl.constexpr,
):  # fmt: skip
    """The gradient of the sums before SiLU, as x, and what each word gives to the weights.

    of_weight [M, words, WIDTH, DIM]. Grid (M words, channel blocks).
    """
    word = tl.program_id(0).to(tl.int64)
    channel = tl.program_id(1) * CHANNELS + tl.arange(0, CHANNELS)[None, :]
    number = tl.arange(0, WEIGHTS)[:, None]
    x_ptr += word * length * DIM
    weight_ptr += word // words * WIDTH * DIM
    of_weight = tl.zeros((WEIGHTS, CHANNELS), dtype=tl.float32)
    for start in range(0, length, PLACES):
        place = start + tl.arange(0, PLACES)[:, None]
        inside = (place < length) & (channel < DIM)
        total = convolved(x_ptr, weight_ptr, place, channel, inside, DIM, WIDTH)
        at = word * length * DIM + place * DIM + channel
        slope = tl.load(gradient_ptr + at, mask=inside, other=0.0)
        slope *= activation_gradient(total, True)
        tl.store(slope_ptr + at, slope, mask=inside)
        for back in tl.static_range(WIDTH):
            there = inside & (place >= back)
            x = tl.load(x_ptr + (place - back) * DIM + channel, mask=there, other=0.0)
            of_weight += tl.where(number == back, tl.sum(slope * x, axis=0)[None, :], 0.0)
    own = (number < WIDTH) & (channel < DIM)
    tl.store(of_weight_ptr + (word * WIDTH + number) * DIM + channel, of_weight, mask=own)


@triton.jit
def input_gradient_kernel(
    slope_ptr, weight_ptr, out_ptr, words, length,
    DIM: tl.constexpr, WIDTH: tl.constexpr, PLACES: tl.constexpr, CHANNELS: tl.constexpr,
):  # fmt: skip
    """sum_i w_i slope_{t+i}, as x. Grid (M words, place blocks, channel blocks)."""
    word = tl.program_id(0).to(tl.int64)
    place = tl.program_id(1) * PLACES + tl.arange(0, PLACES)[:, None]
    channel = tl.program_id(2) * CHANNELS + tl.arange(0, CHANNELS)[None, :]
    at = word * length * DIM + place * DIM + channel
    weight_ptr += word // words * WIDTH * DIM
    total = tl.zeros((PLACES, CHANNELS), dtype=tl.float32)
    for ahead in tl.static_range(WIDTH):
        weight = tl.load(weight_ptr + ahead * DIM + channel, mask=channel < DIM, other=0.0)
        there = (place + ahead < length) & (channel < DIM)
        total += weight * tl.load(slope_ptr + at + ahead * DIM, mask=there, other=0.0)
    tl.store(out_ptr + at, total, mask=(place < length) & (channel < DIM))


def convolution(x: Tensor, weight: Tensor) -> Tensor:
    """[M, words, length, dim], [M, width, dim] -> [M, words, length, dim]."""
    x, weight = x.contiguous(), weight.contiguous()
    out = torch.empty_like(x)
    sizes, (words, places, channels) = _sizes(x, weight)
    convolution_kernel[(words, places, channels)](x, weight, out, *x.shape[1:3], **sizes)
    return out


def convolution_gradient(x: Tensor, weight: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients of x and weight."""
    x, weight = x.contiguous(), weight.contiguous()
    slope, of_x = torch.empty_like(x), torch.empty_like(x)
    of_weight = x.new_empty(*x.shape[:2], *weight.shape[1:])
    sizes, (words, places, channels) = _sizes(x, weight)
    slope_kernel[(words, channels)](
        x, weight, gradient.contiguous(), slope, of_weight, *x.shape[1:3],
        WEIGHTS=triton.next_power_of_2(weight.shape[1]), **sizes,
    )  # fmt: skip
    input_gradient_kernel[(words, places, channels)](slope, weight, of_x, *x.shape[1:3], **sizes)
    return of_x, of_weight.sum(dim=1)


def _sizes(x: Tensor, weight: Tensor) -> tuple[dict[str, int], tuple[int, int, int]]:
    members, words, length, dim = x.shape
    channels = min(CHANNELS, triton.next_power_of_2(dim))
    sizes = {"DIM": dim, "WIDTH": weight.shape[1], "PLACES": PLACES, "CHANNELS": channels}
    return sizes, (members * words, triton.cdiv(length, PLACES), triton.cdiv(dim, channels))
