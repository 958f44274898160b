"""The operands of weight gradients, row by row, and the launch that multiplies them out.

A row is one node of a level: the values that its products read, and the gradients that came back.
Going back through a reduction collects the rows of many levels before they become gradients.

In TF32 mode the operands of all products are held as float16, which has TF32's mantissa in half the
bytes; sums are float32. Its narrow range is enough for states that a norm has just left, and for
gradients because every level scales them by the power of two that its largest one asks for. Where
no norm stands between operators, as in the associativity loss, they are float32, rounded to TF32.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from ldru.kernels.elements import (
    DOWN,
    EXPAND,
    GATES,
    HIDDEN,
    LEFT,
    MATRICES,
    NORM_WEIGHT,
    OUT,
    RIGHT,
    RIGHT_BIAS,
    UP,
    VECTORS,
)
from ldru.kernels.reduction.launch import Settings, Tiling, Tilings, slot_count
from ldru.kernels.reduction.layout import num_parameters

# Measured on an H200, at d = 64 and 256.
WEIGHT_TILE = 64
WEIGHT = Tilings(half=(Tiling(64, 3, 48),), full=(Tiling(64, 3, 97), Tiling(32, 1, 17)))

BLOCK_ROWS = tl.constexpr(128)  # rows of operands with one scale; every level begins a new block

# Columns of the array of operands, in units of d: values of the forward pass ...
PAIR = tl.constexpr(0)  # 2
Z1 = tl.constexpr(2)  # 2
Z2 = tl.constexpr(4)  # 4
GATED = tl.constexpr(8)  # gate * input, 2
MIXED = tl.constexpr(10)  # 1
H = tl.constexpr(11)  # 1
ZU = tl.constexpr(12)  # 4
# ... gradients, in the order of the flat parameters' vectors (DMIXED serves two of them) ...
GRADIENTS = tl.constexpr(16)
DP1 = tl.constexpr(16)  # 2
DP2 = tl.constexpr(18)  # 4
DGATE = tl.constexpr(22)  # 2
DMIXED = tl.constexpr(24)  # 1
DH = tl.constexpr(25)  # 1
DPU = tl.constexpr(26)  # 4
DF = tl.constexpr(30)  # 1
NORM = tl.constexpr(31)  # terms of the norm's two gradients, 2
NORM_REST = tl.constexpr(33)  # what rounding takes off them: they are summed as they come, 2
NUM_COLUMNS = 35

# TF32 has 13 bits less than float32: add half of the last one left, cut the rest off. Not of a NaN:
# a GPU's has all bits set, and would become zero.
HALF_STEP = tl.constexpr(0x1000)
KEPT_BITS = tl.constexpr(-0x2000)


@triton.jit
def to_operand(value, KIND: tl.constexpr, ROUND: tl.constexpr):
    """A value as products read it, in the array's type; ROUND: float32, rounded to TF32."""
    if ROUND:
        bits = value.to(tl.int32, bitcast=True)
        rounded = ((bits + HALF_STEP) & KEPT_BITS).to(tl.float32, bitcast=True)
        return tl.where(value == value, rounded, value)
    else:
        return value.to(KIND)


@triton.jit
def _power_of_two(exponent):
    """2 to a biased exponent, as float32: int32 -> float32."""
    return (exponent << 23).to(tl.float32, bitcast=True)


@triton.jit
def gradient_scale(peak_ptr):
    """The factor that scales gradients, and its inverse, from where their peak stands.

    The largest gradient becomes 1 to 2: room above for what a level amplifies, 24 bits below.
    """
    exponent = tl.minimum(tl.maximum(254 - (tl.load(peak_ptr) >> 23), 1), 253)
    return _power_of_two(exponent), _power_of_two(254 - exponent)


@triton.jit
def peak_kernel(value_ptr, peak_ptr, size, value_stride, peak_stride, BLOCK: tl.constexpr):
    """Raise each member's peak to the largest magnitude of its value [M, size], as float32 bits.

    Grid (blocks, M). Bits of positive numbers are in the order of the numbers.
    """
    member = tl.program_id(1).to(tl.int64)
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(value_ptr + member * value_stride + index, mask=index < size, other=0.0)
    bits = tl.max(tl.abs(value), axis=0).to(tl.int32, bitcast=True)
    tl.atomic_max(peak_ptr + member * peak_stride, bits, sem="relaxed")


@triton.jit(do_not_specialize=["add", "used"])
def weight_gradient_kernel(
    operands_ptr, unscale_ptr, partial_ptr, used, operands_stride, unscale_stride, add,
    DIM: tl.constexpr, COLUMNS: tl.constexpr, PRECISION: tl.constexpr, TILE: tl.constexpr,
    ROWS: tl.constexpr,
):  # fmt: skip
    """All parameter gradients of the first `used` rows of operands [M, capacity, columns].

    They are stored in partial [M, slots, total], or added to it if `add` is not 0. Grid (tiles,
    slots, M), tiles as `num_tiles` counts them: a TILE x TILE tile of a matrix, or TILE numbers of
    the vectors, which are plain sums. A slot is a range of rows: each number of `partial` is
    written by one program, in a fixed order.
    """
    AREA: tl.constexpr = DIM * DIM
    ONE: tl.constexpr = (DIM + TILE - 1) // TILE
    TWO: tl.constexpr = (2 * DIM + TILE - 1) // TILE
    FOUR: tl.constexpr = (4 * DIM + TILE - 1) // TILE
    tile = tl.program_id(0)
    slot = tl.program_id(1)
    slots = tl.num_programs(1)
    member = tl.program_id(2).to(tl.int64)
    operands_ptr += member * operands_stride
    unscale_ptr += member * unscale_stride
    partial_ptr += (member * slots + slot) * (MATRICES * AREA + VECTORS * DIM)
    share = (used + slots * BLOCK_ROWS - 1) // (slots * BLOCK_ROWS) * BLOCK_ROWS
    begin = slot * share
    end = tl.minimum(begin + share, used)
    step = tl.arange(0, ROWS)
    index = tl.arange(0, TILE)

    # The matrix of the tile and its first tile; operands and shape in units of d.
    tiles, matrix, gradient, value, outputs, inputs = 0, EXPAND, DP1, PAIR, 2, 2
    after = TWO * TWO
    if tile >= after:
        tiles, matrix, gradient, value, outputs, inputs = after, HIDDEN, DP2, Z1, 4, 2
    after += FOUR * TWO
    if tile >= after:
        tiles, matrix, gradient, value, outputs, inputs = after, GATES, DGATE, Z2, 2, 4
    after += TWO * FOUR
    if tile >= after:
        tiles, matrix, gradient, value, outputs, inputs = after, LEFT, DMIXED, GATED, 1, 1
    after += ONE * ONE
    if tile >= after:
        tiles, matrix, gradient, value, outputs, inputs = after, RIGHT, DMIXED, GATED + 1, 1, 1
    after += ONE * ONE
    if tile >= after:
        tiles, matrix, gradient, value, outputs, inputs = after, OUT, DH, MIXED, 1, 1
    after += ONE * ONE
    if tile >= after:
        tiles, matrix, gradient, value, outputs, inputs = after, UP, DPU, H, 4, 1
    after += FOUR * ONE
    if tile >= after:
        tiles, matrix, gradient, value, outputs, inputs = after, DOWN, DF, ZU, 1, 4
    after += ONE * FOUR

    if tile < after:
        MASKED: tl.constexpr = DIM % TILE != 0
        across = (inputs * DIM + TILE - 1) // TILE
        output = (tile - tiles) // across * TILE + index
        input = (tile - tiles) % across * TILE + index
        a_place = operands_ptr + gradient * DIM + output[:, None] + step[None, :] * COLUMNS
        b_place = operands_ptr + value * DIM + input[None, :] + step[:, None] * COLUMNS
        inside = (output < outputs * DIM)[:, None] & (input < inputs * DIM)[None, :]
        total = tl.zeros((TILE, TILE), dtype=tl.float32)
        for start in range(begin, end, ROWS):
            if MASKED:
                a = tl.load(
                    a_place + start * COLUMNS, mask=(output < outputs * DIM)[:, None], other=0.0
                )
                b = tl.load(
                    b_place + start * COLUMNS, mask=(input < inputs * DIM)[None, :], other=0.0
                )
            else:
                a = tl.load(a_place + start * COLUMNS)
                b = tl.load(b_place + start * COLUMNS)
            scale = tl.load(unscale_ptr + start // BLOCK_ROWS)
            total += tl.dot(a, b, input_precision=PRECISION) * scale
        target = partial_ptr + matrix * AREA + (output * (inputs * DIM))[:, None] + input[None, :]
        if add != 0:
            total += tl.load(target, mask=inside, other=0.0)
        tl.store(target, total, mask=inside)
    else:
        number = (tile - after) * TILE + index
        there = number < VECTORS * DIM
        column = GRADIENTS * DIM + tl.where(number < RIGHT_BIAS * DIM, number, number - DIM)
        term_place = operands_ptr + column[None, :] + step[:, None] * COLUMNS
        terms = tl.zeros((ROWS, TILE), dtype=tl.float32)
        for start in range(begin, end, ROWS):
            scale = tl.load(unscale_ptr + start // BLOCK_ROWS)
            term = tl.load(term_place + start * COLUMNS, mask=there[None, :], other=0.0)
            rest = tl.load(
                term_place + (NORM_REST - NORM) * DIM + start * COLUMNS,
                mask=(there & (number >= NORM_WEIGHT * DIM))[None, :],
                other=0.0,
            )
            terms += (term.to(tl.float32) + rest.to(tl.float32)) * scale
        sum_place = partial_ptr + MATRICES * AREA + number
        sums = tl.sum(terms, axis=0) + tl.load(sum_place, mask=there & (add != 0), other=0.0)
        tl.store(sum_place, sums, mask=there)


def num_tiles(dim: int, tile: int) -> int:
    """How many tiles `weight_gradient_kernel` has per slot and member."""
    one, two, four = (triton.cdiv(k * dim, tile) for k in (1, 2, 4))
    return (
        two * two
        + 2 * four * two
        + 3 * one * one
        + 2 * four * one
        + triton.cdiv(VECTORS.value * dim, tile)
    )


def as_operands(weights: Tensor, settings: Settings) -> Tensor:
    """Weights as products read them."""
    if settings.is_half:
        return weights.half()
    if settings.is_rounded:
        bits = weights.contiguous().view(torch.int32)
        rounded = ((bits + HALF_STEP.value) & KEPT_BITS.value).view(torch.float32)
        return torch.where(weights.isnan(), weights, rounded)
    return weights


def in_blocks(rows: int) -> int:
    """How many rows of operands so many rows of a level take."""
    return triton.cdiv(rows, BLOCK_ROWS.value) * BLOCK_ROWS.value


class Piece(NamedTuple):
    """Rows begin to end of a level, which are `filled` rows of operands from `offset` on.

    Those past the end count as rows of zeros: what is written of them must be finite.
    """

    begin: int
    end: int
    offset: int
    filled: int


def pieces(rows: int, capacity: int) -> Iterator[Piece]:
    """The rows of a level in as few pieces of about equal size as have room."""
    step = in_blocks(triton.cdiv(rows, triton.cdiv(rows, capacity)))
    for begin in range(0, rows, step):
        end = min(begin + step, rows)
        yield Piece(begin, end, 0, in_blocks(end - begin))


class Operands:
    """Collects the rows of levels, and turns them into gradients.

    array: [M, capacity, columns d], of which `used` rows are filled; its type is that of products.
    unscale: what undoes the scale of the gradients in each block [M, capacity / BLOCK_ROWS].
    partial: sums over parts of the rows [M, slots, parameters], undefined before the first flush.
    """

    def __init__(
        self, flat: Tensor, settings: Settings, *, dim: int, capacity: int, columns: int
    ) -> None:
        members = len(flat)
        self.settings, self.dim = settings, dim
        self.used = self.flushes = 0
        self.array = flat.new_empty(members, capacity, columns * dim, dtype=operand_type(settings))
        self.unscale = flat.new_empty(members, capacity // BLOCK_ROWS.value)
        self.tile = min(WEIGHT_TILE, triton.next_power_of_2(2 * dim))
        self.tiles = num_tiles(dim, self.tile)
        slots = slot_count(members, self.tiles)
        self.partial = flat.new_empty(members, slots, num_parameters(dim))

    def room_for(self, rows: int) -> Iterator[Piece]:
        """Where the rows of a level go; each piece is filled before the next is asked for."""
        capacity = self.array.shape[1]
        if in_blocks(rows) > capacity - self.used:
            self.flush()
        for piece in pieces(rows, capacity):
            if self.used + piece.filled > capacity:
                self.flush()
            yield piece._replace(offset=self.used)
            self.used += piece.filled

    def flush(self) -> None:
        """Turn what was collected into gradients."""
        if not self.used:
            return
        members, slots, _ = self.partial.shape
        tiling = WEIGHT.with_room(self.settings)[0]
        weight_gradient_kernel[(self.tiles, slots, members)](
            self.array, self.unscale, self.partial, self.used, self.array.stride(0),
            self.unscale.stride(0), int(self.flushes > 0),
            DIM=self.dim, COLUMNS=self.array.shape[2], PRECISION=self.settings.precision,
            TILE=self.tile,
            ROWS=tiling.rows, num_warps=tiling.warps, num_stages=tiling.stages,
        )  # fmt: skip
        self.used = 0
        self.flushes += 1


def operand_type(settings: Settings) -> torch.dtype:
    """The type of the array of operands."""
    return torch.float16 if settings.is_half else torch.float32


class Peaks:
    """The largest gradient that comes to each level, counted from the leaves: bits [M, levels]."""

    def __init__(self, gradient: Tensor, *, levels: int) -> None:
        self.bits = torch.zeros(len(gradient), levels, dtype=torch.int32, device=gradient.device)
        self.find(levels - 1, gradient)

    def find(self, number: int, gradient: Tensor, *, is_more: bool = False) -> None:
        """Look at all of the gradient that comes to a level: [M, ...], each member's contiguous.

        is_more: there is more than this, which is known already.
        """
        bits, size, block = self.bits[:, number:], gradient[0].numel(), 4096
        if not is_more:
            bits[:, 0] = 0
        peak_kernel[(triton.cdiv(size, block), len(gradient))](
            gradient, bits, size, gradient.stride(0), bits.stride(0), BLOCK=block, num_warps=8
        )
