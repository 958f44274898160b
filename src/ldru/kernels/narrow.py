"""Levels of narrow models, d up to 64: a tile of rows stays in registers through a whole level.

Forward, a level is one launch. Backward it is one too: it computes the level again from its inputs,
goes back through it, and leaves the operands of the weight gradients, ready to be multiplied, in an
array with rows contiguous, the order that the matrix units want. That array collects the rows of
many levels before one launch multiplies it out (`Operands`).
"""

import triton
import triton.language as tl
from torch import Tensor

from ldru.kernels.elements import (
    DOWN,
    DOWN_BIAS,
    EXPAND,
    EXPAND_BIAS,
    GATES,
    GATES_BIAS,
    HIDDEN,
    HIDDEN_BIAS,
    LEFT,
    LEFT_BIAS,
    NORM_BIAS,
    NORM_WEIGHT,
    OUT,
    OUT_BIAS,
    RIGHT,
    RIGHT_BIAS,
    UP,
    UP_BIAS,
    VECTORS,
    activate,
    activation_gradient,
    dropout_factor,
    load_matrix,
    load_pair,
    load_vector,
    norm_input_gradient,
    round_tf32,
    row_state,
    standardised,
)
from ldru.kernels.launch import Level, Settings, Tiling, fitting, slot_count
from ldru.kernels.layout import num_parameters

MAX_DIM = 64  # beyond it a tile no longer fits the registers of one program
MOST_ROWS = 64  # of any backward tiling
SHORT_ROWS = 8192  # a reduction of one model with more rows is long: memory comes first
COLLECTED_ROWS = 131072  # of all members together, at about 33 d numbers a row
LONG_BYTES = 24 * 2**20  # operands of a long reduction
ADDRESSED_ROWS = 2**19  # of each member, so that 32 bits address them

# Measured on an H200 at d = 64. "Few" is for levels with fewer wide tiles than processors.
FORWARD, FORWARD_FEW = Tiling(64, 4, 3, 32), Tiling(32, 4, 3, 64)
BACKWARD, BACKWARD_FEW = Tiling(64, 4, 2, 32), Tiling(16, 4, 2, 64)
READY = Tiling(64, 4, 3)

# Columns of the array of ready operands, in units of d: values of the forward pass ...
READY_PAIR = tl.constexpr(0)  # 2
READY_Z1 = tl.constexpr(2)  # 2
READY_Z2 = tl.constexpr(4)  # 4
READY_GATED = tl.constexpr(8)  # gate * input, 2
READY_MIXED = tl.constexpr(10)  # 1
READY_H = tl.constexpr(11)  # 1
READY_ZU = tl.constexpr(12)  # 4
# ... gradients, in the order of the flat parameters' vectors (DMIXED serves two of them) ...
GRADIENTS = tl.constexpr(16)
READY_DP1 = tl.constexpr(16)  # 2
READY_DP2 = tl.constexpr(18)  # 4
READY_DGATE = tl.constexpr(22)  # 2
READY_DMIXED = tl.constexpr(24)  # 1
READY_DH = tl.constexpr(25)  # 1
READY_DPU = tl.constexpr(26)  # 4
READY_DF = tl.constexpr(30)  # 1
READY_NORM = tl.constexpr(31)  # terms of the norm's two gradients, 2
# ... and what only SiLU needs for its derivative: the values before it.
READY_P1 = tl.constexpr(33)  # 2
READY_P2 = tl.constexpr(35)  # 4
READY_PU = tl.constexpr(39)  # 4
RELU_COLUMNS = 33
SILU_COLUMNS = 43


@triton.jit
def _keep(
    ready,
    capacity,
    FIRST_COLUMN: tl.constexpr,
    column,
    value,
    WIDTH: tl.constexpr,
    MASKED: tl.constexpr,
):
    """Write value [R, C] to the columns below WIDTH after FIRST_COLUMN; `ready`: rows [R, 1]."""
    place = ready + (column + FIRST_COLUMN)[None, :] * capacity
    if MASKED:
        tl.store(place, value, mask=(column < WIDTH)[None, :])
    else:
        tl.store(place, value)


@triton.jit
def _kept(
    ready, capacity, FIRST_COLUMN: tl.constexpr, column, WIDTH: tl.constexpr, MASKED: tl.constexpr
):
    """What `_keep` wrote: [R, C]."""
    place = ready + (column + FIRST_COLUMN)[None, :] * capacity
    if MASKED:
        return tl.load(place, mask=(column < WIDTH)[None, :], other=0.0)
    else:
        return tl.load(place)


@triton.jit
def _slope(
    ready, capacity, BEFORE: tl.constexpr, AFTER: tl.constexpr, column, WIDTH: tl.constexpr,
    MASKED: tl.constexpr, SILU: tl.constexpr,
):  # fmt: skip
    """The activation's derivative, from what was kept before it, or, for ReLU, after it: [R, C]."""
    if SILU:
        return activation_gradient(_kept(ready, capacity, BEFORE, column, WIDTH, MASKED), SILU)
    else:
        return activation_gradient(_kept(ready, capacity, AFTER, column, WIDTH, MASKED), SILU)


@triton.jit
def _forward_tile(
    inputs, computed, paired, weights, ready, capacity, gates,
    ROWS: tl.constexpr, DIM: tl.constexpr, PAD: tl.constexpr, UNITS: tl.constexpr,
    SILU: tl.constexpr,
    PRECISION: tl.constexpr, ROUND: tl.constexpr, KEEP: tl.constexpr,
):  # fmt: skip
    """The level up to the norm: pointers to the inputs [R, 1] -> norm input [R, PAD].

    `weights` points at one member. With KEEP the operands of the weight gradients go to `ready`
    [R, 1], and the gates to where `gates` [R, 1] points, side by side. Hidden layers of 4 d go
    through in blocks. Inputs are read twice: registers are scarcer than cache.
    """
    AREA: tl.constexpr = DIM * DIM
    MASKED: tl.constexpr = PAD != DIM
    vectors = weights + VECTORS * AREA
    channel = tl.arange(0, PAD)
    double = tl.arange(0, 2 * PAD)
    block = tl.arange(0, UNITS)
    channels = (channel < DIM)[None, :]

    p1 = tl.zeros((ROWS, 2 * PAD), dtype=tl.float32)
    p1 += load_vector(vectors + EXPAND_BIAS * DIM, double, 2 * DIM)[None, :]
    for start in range(0, 2 * DIM, 32):
        column = start + tl.arange(0, 32)
        pair = round_tf32(load_pair(inputs, computed, paired, column, 2 * DIM, DIM), ROUND)
        if KEEP:
            _keep(ready, capacity, READY_PAIR * DIM, column, pair, 2 * DIM, False)
        first = load_matrix(
            weights + EXPAND * AREA, column, double, 2 * DIM, 2 * DIM, 2 * DIM, MASKED
        )
        p1 = tl.dot(pair, first, p1, input_precision=PRECISION)
    z1 = round_tf32(activate(p1, SILU), ROUND)
    if KEEP:
        _keep(ready, capacity, READY_Z1 * DIM, double, z1, 2 * DIM, MASKED)
        if SILU:
            _keep(ready, capacity, READY_P1 * DIM, double, p1, 2 * DIM, MASKED)

    gate_left = tl.zeros((ROWS, PAD), dtype=tl.float32)
    gate_right = tl.zeros((ROWS, PAD), dtype=tl.float32)
    for start in range(0, 4 * DIM, UNITS):
        unit = start + block
        second = load_matrix(
            weights + HIDDEN * AREA, double, unit, 2 * DIM, 4 * DIM, 2 * DIM, MASKED
        )
        p2 = tl.dot(z1, second, input_precision=PRECISION)
        p2 += tl.load(vectors + HIDDEN_BIAS * DIM + unit)[None, :]
        z2 = round_tf32(activate(p2, SILU), ROUND)
        if KEEP:
            _keep(ready, capacity, READY_Z2 * DIM, unit, z2, 4 * DIM, False)
            if SILU:
                _keep(ready, capacity, READY_P2 * DIM, unit, p2, 4 * DIM, False)
        third = load_matrix(weights + GATES * AREA, unit, channel, 4 * DIM, DIM, 4 * DIM, MASKED)
        gate_left = tl.dot(z2, third, gate_left, input_precision=PRECISION)
        third = load_matrix(
            weights + (GATES + 4) * AREA, unit, channel, 4 * DIM, DIM, 4 * DIM, MASKED
        )
        gate_right = tl.dot(z2, third, gate_right, input_precision=PRECISION)

    mixed = load_vector(vectors + LEFT_BIAS * DIM, channel, DIM) + load_vector(
        vectors + RIGHT_BIAS * DIM, channel, DIM
    )
    mixed = mixed[None, :] + tl.zeros((ROWS, PAD), dtype=tl.float32)
    both = paired[:, None] & channels
    gate_left += load_vector(vectors + GATES_BIAS * DIM, channel, DIM)[None, :]
    if KEEP:
        tl.store(gates + channel[None, :], gate_left, mask=both)
    left = tl.load(inputs + channel[None, :], mask=computed[:, None] & channels, other=0.0)
    gated = round_tf32(gate_left * left, ROUND)
    if KEEP:
        _keep(ready, capacity, READY_GATED * DIM, channel, gated, DIM, MASKED)
    matrix = load_matrix(weights + LEFT * AREA, channel, channel, DIM, DIM, DIM, MASKED)
    mixed = tl.dot(gated, matrix, mixed, input_precision=PRECISION)
    gate_right += load_vector(vectors + GATES_BIAS * DIM + DIM, channel, DIM)[None, :]
    if KEEP:
        tl.store(gates + DIM + channel[None, :], gate_right, mask=both)
    gated = round_tf32(
        gate_right * tl.load(inputs + DIM + channel[None, :], mask=both, other=0.0), ROUND
    )
    if KEEP:
        _keep(ready, capacity, (READY_GATED + 1) * DIM, channel, gated, DIM, MASKED)
    matrix = load_matrix(weights + RIGHT * AREA, channel, channel, DIM, DIM, DIM, MASKED)
    mixed = round_tf32(tl.dot(gated, matrix, mixed, input_precision=PRECISION), ROUND)
    if KEEP:
        _keep(ready, capacity, READY_MIXED * DIM, channel, mixed, DIM, MASKED)
    h = load_vector(vectors + OUT_BIAS * DIM, channel, DIM)[None, :] + tl.zeros(
        (ROWS, PAD), dtype=tl.float32
    )
    h = tl.dot(
        mixed,
        load_matrix(weights + OUT * AREA, channel, channel, DIM, DIM, DIM, MASKED),
        h,
        input_precision=PRECISION,
    )
    passed = tl.load(
        inputs + channel[None, :], mask=(computed & ~paired)[:, None] & channels, other=0.0
    )
    h = tl.where(paired[:, None], h, passed)

    f = h + load_vector(vectors + DOWN_BIAS * DIM, channel, DIM)[None, :]
    h = round_tf32(h, ROUND)
    if KEEP:
        _keep(ready, capacity, READY_H * DIM, channel, h, DIM, MASKED)
    for start in range(0, 4 * DIM, UNITS):
        unit = start + block
        pu = tl.dot(
            h,
            load_matrix(weights + UP * AREA, channel, unit, DIM, 4 * DIM, DIM, MASKED),
            input_precision=PRECISION,
        )
        pu += tl.load(vectors + UP_BIAS * DIM + unit)[None, :]
        zu = round_tf32(activate(pu, SILU), ROUND)
        if KEEP:
            _keep(ready, capacity, READY_ZU * DIM, unit, zu, 4 * DIM, False)
            if SILU:
                _keep(ready, capacity, READY_PU * DIM, unit, pu, 4 * DIM, False)
        down = load_matrix(weights + DOWN * AREA, unit, channel, 4 * DIM, DIM, 4 * DIM, MASKED)
        f = tl.dot(zu, down, f, input_precision=PRECISION)
    return f


@triton.jit(do_not_specialize=["rows", "nodes", "level"])
def fused_forward_kernel(
    x_ptr, y_ptr, weights_ptr, lengths_ptr, keys_ptr, cut_ptr, scale_ptr,
    rows, nodes, level, x_stride, y_stride, lengths_stride, keys_stride,
    DIM: tl.constexpr, PAD: tl.constexpr, ROWS: tl.constexpr, UNITS: tl.constexpr,
    SILU: tl.constexpr,
    PRECISION: tl.constexpr, ROUND: tl.constexpr, HAS_LENGTHS: tl.constexpr, DROPOUT: tl.constexpr,
):  # fmt: skip
    """One level: x [M, B, nodes, d] -> y [M, B, ceil(nodes / 2), d]. Grid (row tiles, M)."""
    member = tl.program_id(1).to(tl.int64)
    x_ptr += member * x_stride
    y_ptr += member * y_stride
    weights_ptr += member * (31 * DIM * DIM + 18 * DIM)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    word, parent, computed, paired, finished = row_state(
        row, rows, nodes, lengths_ptr + member * lengths_stride, HAS_LENGTHS
    )
    channel = tl.arange(0, PAD)
    inside = (channel < DIM)[None, :]
    inputs = x_ptr + ((word * nodes + 2 * parent) * DIM)[:, None]
    f = _forward_tile(
        inputs, computed, paired, weights_ptr, y_ptr, 0, y_ptr,
        ROWS, DIM, PAD, UNITS, SILU, PRECISION, ROUND, False,
    )  # fmt: skip
    vectors = weights_ptr + VECTORS * DIM * DIM
    y, _ = standardised(f, inside, DIM)
    y *= load_vector(vectors + NORM_WEIGHT * DIM, channel, DIM)[None, :]
    y += load_vector(vectors + NORM_BIAS * DIM, channel, DIM)[None, :]
    if DROPOUT:
        y *= dropout_factor(
            keys_ptr + member * keys_stride, cut_ptr + member, scale_ptr + member,
            level, word, parent, computed, channel, DIM,
        )  # fmt: skip
    if HAS_LENGTHS:
        whole = tl.load(inputs + channel[None, :], mask=finished[:, None] & inside, other=0.0)
        y = tl.where(finished[:, None], whole, y)
    tl.store(
        y_ptr + (row * DIM)[:, None] + channel[None, :],
        y,
        mask=(computed | finished)[:, None] & inside,
    )


@triton.jit(do_not_specialize=["begin", "end", "nodes", "level"])
def fused_backward_kernel(
    x_ptr, dy_ptr, dx_ptr, ready_ptr, weights_ptr, transposed_ptr, lengths_ptr, keys_ptr, cut_ptr,
    scale_ptr,
    begin, end, nodes, level, offset, capacity,
    x_stride, dy_stride, dx_stride, ready_stride, lengths_stride, keys_stride,
    DIM: tl.constexpr, PAD: tl.constexpr, ROWS: tl.constexpr, UNITS: tl.constexpr,
    SILU: tl.constexpr,
    PRECISION: tl.constexpr, ROUND: tl.constexpr, HAS_LENGTHS: tl.constexpr, DROPOUT: tl.constexpr,
):  # fmt: skip
    """Recompute rows begin to end of one level and go back through them: dy -> dx, ready operands.

    The operands go to ready [M, columns, capacity] from row `offset` on, whole tiles, so that up
    to the next multiple of ROWS nothing there is left undefined. Grid (row tiles, M). What the
    first half keeps there the second half reads back in another layout of threads, hence the
    barriers. Two things wait where there is room, so that no thread reads what another overwrites:
    the gates in dx, and the part of dx that comes through `left` and `right` in column DP1.
    """
    AREA: tl.constexpr = DIM * DIM
    MASKED: tl.constexpr = PAD != DIM
    member = tl.program_id(1).to(tl.int64)
    x_ptr += member * x_stride
    dy_ptr += member * dy_stride
    dx_ptr += member * dx_stride
    weights_ptr += member * (31 * AREA + 18 * DIM)
    matrices = transposed_ptr + member * (31 * AREA)
    tile = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    ready = ready_ptr + member * ready_stride + (offset + tile)[:, None]
    row = begin + tile
    word, parent, computed, paired, finished = row_state(
        row, end, nodes, lengths_ptr + member * lengths_stride, HAS_LENGTHS
    )
    channel = tl.arange(0, PAD)
    double = tl.arange(0, 2 * PAD)
    block = tl.arange(0, UNITS)
    inside = (channel < DIM)[None, :]
    inputs = ((word * nodes + 2 * parent) * DIM)[:, None]
    place = inputs + channel[None, :]
    f = _forward_tile(
        x_ptr + inputs, computed, paired, weights_ptr, ready, capacity, dx_ptr + inputs,
        ROWS, DIM, PAD, UNITS, SILU, PRECISION, ROUND, True,
    )  # fmt: skip

    dy_place = dy_ptr + (row * DIM)[:, None] + channel[None, :]
    dnorm = tl.load(dy_place, mask=computed[:, None] & inside, other=0.0)
    if DROPOUT:
        dnorm *= dropout_factor(
            keys_ptr + member * keys_stride, cut_ptr + member, scale_ptr + member,
            level, word, parent, computed, channel, DIM,
        )  # fmt: skip
    normed, inverse = standardised(f, inside, DIM)
    norm_weight = load_vector(weights_ptr + VECTORS * AREA + NORM_WEIGHT * DIM, channel, DIM)
    _keep(ready, capacity, READY_NORM * DIM, channel, dnorm * normed, DIM, MASKED)
    _keep(ready, capacity, (READY_NORM + 1) * DIM, channel, dnorm, DIM, MASKED)
    dh = norm_input_gradient(dnorm * norm_weight[None, :], normed, inverse, DIM)
    df = round_tf32(dh, ROUND)
    _keep(ready, capacity, READY_DF * DIM, channel, df, DIM, MASKED)
    tl.debug_barrier()

    for start in range(0, 4 * DIM, UNITS):
        unit = start + block
        down = load_matrix(matrices + DOWN * AREA, channel, unit, DIM, 4 * DIM, DIM, MASKED)
        dpu = tl.dot(df, down, input_precision=PRECISION)
        dpu = round_tf32(
            dpu
            * _slope(ready, capacity, READY_PU * DIM, READY_ZU * DIM, unit, 4 * DIM, False, SILU),
            ROUND,
        )
        _keep(ready, capacity, READY_DPU * DIM, unit, dpu, 4 * DIM, False)
        up = load_matrix(matrices + UP * AREA, unit, channel, 4 * DIM, DIM, 4 * DIM, MASKED)
        dh = tl.dot(dpu, up, dh, input_precision=PRECISION)

    dx = dh
    if HAS_LENGTHS:
        dx += tl.load(dy_place, mask=finished[:, None] & inside, other=0.0)
    alone = (row < end) & ~paired
    tl.store(dx_ptr + place, dx, mask=alone[:, None] & inside)
    tl.store(
        dx_ptr + place + DIM,
        tl.zeros_like(dx),
        mask=(alone & (2 * parent + 1 < nodes))[:, None] & inside,
    )
    dh = round_tf32(tl.where(paired[:, None], dh, 0.0), ROUND)
    _keep(ready, capacity, READY_DH * DIM, channel, dh, DIM, MASKED)
    matrix = load_matrix(matrices + OUT * AREA, channel, channel, DIM, DIM, DIM, MASKED)
    dmixed = round_tf32(tl.dot(dh, matrix, input_precision=PRECISION), ROUND)
    _keep(ready, capacity, READY_DMIXED * DIM, channel, dmixed, DIM, MASKED)
    for start in range(0, 2 * DIM, 32):
        column = start + tl.arange(0, 32)  # of left and right side by side
        sides = load_matrix(matrices + LEFT * AREA, channel, column, DIM, 2 * DIM, DIM, MASKED)
        dgated = tl.dot(dmixed, sides, input_precision=PRECISION)
        dgate = dgated * tl.load(x_ptr + inputs + column[None, :], mask=paired[:, None], other=0.0)
        _keep(ready, capacity, READY_DGATE * DIM, column, round_tf32(dgate, ROUND), 2 * DIM, False)
        dgated *= tl.load(dx_ptr + inputs + column[None, :], mask=paired[:, None], other=0.0)
        _keep(ready, capacity, READY_DP1 * DIM, column, dgated, 2 * DIM, False)
    tl.debug_barrier()

    dgate = _kept(ready, capacity, READY_DGATE * DIM, double, 2 * DIM, MASKED)
    dp1 = tl.zeros((ROWS, 2 * PAD), dtype=tl.float32)
    for start in range(0, 4 * DIM, UNITS):
        unit = start + block
        third = load_matrix(
            matrices + GATES * AREA, double, unit, 2 * DIM, 4 * DIM, 2 * DIM, MASKED
        )
        dp2 = tl.dot(dgate, third, input_precision=PRECISION)
        dp2 = round_tf32(
            dp2
            * _slope(ready, capacity, READY_P2 * DIM, READY_Z2 * DIM, unit, 4 * DIM, False, SILU),
            ROUND,
        )
        _keep(ready, capacity, READY_DP2 * DIM, unit, dp2, 4 * DIM, False)
        second = load_matrix(
            matrices + HIDDEN * AREA, unit, double, 4 * DIM, 2 * DIM, 4 * DIM, MASKED
        )
        dp1 = tl.dot(dp2, second, dp1, input_precision=PRECISION)

    dp1 *= _slope(ready, capacity, READY_P1 * DIM, READY_Z1 * DIM, double, 2 * DIM, MASKED, SILU)
    dp1 = round_tf32(dp1, ROUND)
    for start in range(0, 2 * DIM, 32):
        column = start + tl.arange(0, 32)
        both = _kept(ready, capacity, READY_DP1 * DIM, column, 2 * DIM, False)
        first = load_matrix(
            matrices + EXPAND * AREA, double, column, 2 * DIM, 2 * DIM, 2 * DIM, MASKED
        )
        both = tl.dot(dp1, first, both, input_precision=PRECISION)
        tl.store(dx_ptr + inputs + column[None, :], both, mask=paired[:, None])
    tl.debug_barrier()
    _keep(ready, capacity, READY_DP1 * DIM, double, dp1, 2 * DIM, MASKED)


@triton.jit
def _ready_matrix(
    tile, across, a_ready, a_width, b_ready, b_width, partial, stride, jump, add, begin, end,
    used, capacity,
    SWAPPED: tl.constexpr, DIM: tl.constexpr, PRECISION: tl.constexpr, OUTPUTS: tl.constexpr,
    INPUTS: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """One tile of a product of two operands, of which there are a_width and b_width columns.

    Number (a, b) belongs at a * stride + b of partial or, SWAPPED, at b * stride + a, plus jump for
    every d in a.
    """
    MASKED: tl.constexpr = DIM % INPUTS != 0 or DIM % OUTPUTS != 0
    step = tl.arange(0, ROWS)
    a_index = tile // across * OUTPUTS + tl.arange(0, OUTPUTS)
    b_index = tile % across * INPUTS + tl.arange(0, INPUTS)
    a_inside = (a_index < a_width)[:, None]
    b_inside = (b_index < b_width)[None, :]
    a_place = a_ready + a_index[:, None] * capacity + step[None, :]
    b_place = b_ready + b_index[None, :] * capacity + step[:, None]
    gradient = tl.zeros((OUTPUTS, INPUTS), dtype=tl.float32)
    for start in range(begin, end, ROWS):
        there = start + step < used
        a_there = there[None, :]
        b_there = there[:, None]
        if MASKED:
            a_there &= a_inside
            b_there &= b_inside
        a = tl.load(a_place + start, mask=a_there, other=0.0)
        b = tl.load(b_place + start, mask=b_there, other=0.0)
        gradient = tl.dot(a, b, gradient, input_precision=PRECISION)
    inside = a_inside & b_inside
    if SWAPPED:
        gradient = tl.trans(gradient)
        inside = tl.trans(inside)
        place = partial + (b_index * stride)[:, None] + (a_index + a_index // DIM * jump)[None, :]
    else:
        place = partial + (a_index * stride)[:, None] + b_index[None, :]
    if add != 0:
        gradient += tl.load(place, mask=inside, other=0.0)
    tl.store(place, gradient, mask=inside)


@triton.jit
def _ready_vectors(
    tile, ready, partial, add, begin, end, used, capacity,
    DIM: tl.constexpr, OUTPUTS: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """OUTPUTS numbers of the gradients of all vectors: sums over the rows of columns of `ready`."""
    step = tl.arange(0, ROWS)
    index = tile * OUTPUTS + tl.arange(0, OUTPUTS)
    inside = index < 18 * DIM
    column = tl.where(index < RIGHT_BIAS * DIM, index, index - DIM)
    place = ready + column[:, None] * capacity + step[None, :]
    terms = tl.zeros((OUTPUTS, ROWS), dtype=tl.float32)
    for start in range(begin, end, ROWS):
        there = inside[:, None] & (start + step < used)[None, :]
        terms += tl.load(place + start, mask=there, other=0.0)
    gradient = tl.sum(terms, axis=1) + tl.load(partial + index, mask=inside & (add != 0), other=0.0)
    tl.store(partial + index, gradient, mask=inside)


@triton.jit(do_not_specialize=["add"])
def ready_gradient_kernel(
    ready_ptr, partial_ptr, used, capacity, ready_stride, add,
    DIM: tl.constexpr, PRECISION: tl.constexpr, OUTPUTS: tl.constexpr, INPUTS: tl.constexpr,
    ROWS: tl.constexpr,
):  # fmt: skip
    """All parameter gradients of the first `used` rows of ready [M, columns, capacity].

    They are stored in partial [M, slots, total], or added to it if `add` is not 0. Grid (tiles,
    slots, M), tiles as `ready_gradient_tiles` counts them: an OUTPUTS x INPUTS tile of a matrix,
    or OUTPUTS numbers of the vectors, which are plain sums. The wider operand of a matrix takes the
    OUTPUTS side, so some gradients come out transposed. A slot is a range of rows: each number of
    `partial` is written by one program, in a fixed order.
    """
    AREA: tl.constexpr = DIM * DIM
    tile = tl.program_id(0)
    slot = tl.program_id(1)
    slots = tl.num_programs(1)
    member = tl.program_id(2).to(tl.int64)
    ready_ptr += member * ready_stride
    partial_ptr += (member * slots + slot) * (31 * AREA + 18 * DIM)
    share = (used + slots * ROWS - 1) // (slots * ROWS) * ROWS
    begin = slot * share
    end = tl.minimum(begin + share, used)

    ONE: tl.constexpr = (DIM + OUTPUTS - 1) // OUTPUTS
    TWO: tl.constexpr = (2 * DIM + OUTPUTS - 1) // OUTPUTS
    FOUR: tl.constexpr = (4 * DIM + OUTPUTS - 1) // OUTPUTS
    ONE_IN: tl.constexpr = (DIM + INPUTS - 1) // INPUTS
    TWO_IN: tl.constexpr = (2 * DIM + INPUTS - 1) // INPUTS
    FOUR_IN: tl.constexpr = (4 * DIM + INPUTS - 1) // INPUTS
    AFTER_HIDDEN: tl.constexpr = FOUR * TWO_IN
    AFTER_GATES: tl.constexpr = AFTER_HIDDEN + TWO * FOUR_IN
    AFTER_EXPAND: tl.constexpr = AFTER_GATES + TWO * TWO_IN
    AFTER_UP: tl.constexpr = AFTER_EXPAND + FOUR * ONE_IN
    AFTER_DOWN: tl.constexpr = AFTER_UP + FOUR * ONE_IN
    AFTER_SIDES: tl.constexpr = AFTER_DOWN + TWO * ONE_IN
    AFTER_OUT: tl.constexpr = AFTER_SIDES + ONE * ONE_IN

    if tile < AFTER_UP:
        begins, across, matrix, stride = 0, TWO_IN, HIDDEN, 2  # the matrix and its first tile
        a_column, a_width, b_column, b_width = (
            READY_DP2,
            4,
            READY_Z1,
            2,
        )  # in units of d, like all below
        if tile >= AFTER_HIDDEN:
            begins, across, matrix, stride = AFTER_HIDDEN, FOUR_IN, GATES, 4
            a_column, a_width, b_column, b_width = READY_DGATE, 2, READY_Z2, 4
        if tile >= AFTER_GATES:
            begins, across, matrix, stride = AFTER_GATES, TWO_IN, EXPAND, 2
            a_column, a_width, b_column, b_width = READY_DP1, 2, READY_PAIR, 2
        if tile >= AFTER_EXPAND:
            begins, across, matrix, stride = AFTER_EXPAND, ONE_IN, UP, 1
            a_column, a_width, b_column, b_width = READY_DPU, 4, READY_H, 1
        _ready_matrix(
            tile - begins, across, ready_ptr + capacity * (a_column * DIM), a_width * DIM,
            ready_ptr + capacity * (b_column * DIM), b_width * DIM,
            partial_ptr + matrix * AREA, stride * DIM, 0, add, begin, end, used, capacity,
            False, DIM, PRECISION, OUTPUTS, INPUTS, ROWS,
        )  # fmt: skip
    elif tile < AFTER_OUT:
        begins, matrix, stride, jump = AFTER_UP, DOWN, 4, 0
        a_column, a_width, b_column = READY_ZU, 4, READY_DF
        if tile >= AFTER_DOWN:
            begins, matrix, stride, jump = AFTER_DOWN, LEFT, 1, AREA - DIM  # and RIGHT
            a_column, a_width, b_column = READY_GATED, 2, READY_DMIXED
        if tile >= AFTER_SIDES:
            begins, matrix, stride, jump = AFTER_SIDES, OUT, 1, 0
            a_column, a_width, b_column = READY_MIXED, 1, READY_DH
        _ready_matrix(
            tile - begins, ONE_IN, ready_ptr + capacity * (a_column * DIM), a_width * DIM,
            ready_ptr + capacity * (b_column * DIM), DIM,
            partial_ptr + matrix * AREA, stride * DIM, jump, add, begin, end, used, capacity,
            True, DIM, PRECISION, OUTPUTS, INPUTS, ROWS,
        )  # fmt: skip
    else:
        _ready_vectors(
            tile - AFTER_OUT, ready_ptr + capacity * (GRADIENTS * DIM),
            partial_ptr + VECTORS * AREA,
            add, begin, end, used, capacity, DIM, OUTPUTS, ROWS,
        )  # fmt: skip


def ready_gradient_tiles(dim: int, outputs: int, inputs: int) -> int:
    """How many tiles `ready_gradient_kernel` has per slot and member."""
    one, two, four = (triton.cdiv(k * dim, outputs) for k in (1, 2, 4))
    one_in, two_in, four_in = (triton.cdiv(k * dim, inputs) for k in (1, 2, 4))
    matrices = four * two_in + two * four_in + two * two_in + (2 * four + two + one) * one_in
    return matrices + triton.cdiv(18 * dim, outputs)


class Operands:
    """What the weight gradients are made of, collected over levels until it is multiplied out.

    array: [M, columns, capacity], of which `used` rows are filled.
    partial: sums over parts of the rows [M, slots, parameters], undefined before the first flush.
    """

    def __init__(self, x: Tensor, settings: Settings) -> None:
        members, batch, nodes, dim = x.shape
        self.settings, self.dim = settings, dim
        self.used = self.flushes = 0
        columns = dim * (SILU_COLUMNS if settings.is_silu else RELU_COLUMNS)
        rows = 0
        while nodes > 1:
            nodes = (nodes + 1) // 2
            rows += triton.cdiv(batch * nodes, MOST_ROWS) * MOST_ROWS
        collected = COLLECTED_ROWS // members
        if members == 1 and rows > SHORT_ROWS:
            collected = LONG_BYTES // (4 * columns)
        capacity = max(min(collected // MOST_ROWS * MOST_ROWS, rows, ADDRESSED_ROWS), MOST_ROWS)
        self.tile = (min(64, triton.next_power_of_2(2 * dim)), min(64, triton.next_power_of_2(dim)))
        self.tiles = ready_gradient_tiles(dim, *self.tile)
        slots = slot_count(members, self.tiles)
        self.array = x.new_empty(members, columns, capacity)
        self.partial = x.new_empty(members, slots, num_parameters(dim))

    @property
    def capacity(self) -> int:
        return self.array.shape[2]

    def flush(self) -> None:
        """Turn what was collected into gradients."""
        if not self.used:
            return
        members, slots, _ = self.partial.shape
        ready_gradient_kernel[(self.tiles, slots, members)](
            self.array, self.partial, self.used, self.capacity, self.array.stride(0),
            int(self.flushes > 0),
            DIM=self.dim, PRECISION=self.settings.precision, OUTPUTS=self.tile[0],
            INPUTS=self.tile[1], ROWS=READY.rows, num_warps=READY.warps, num_stages=READY.stages,
        )  # fmt: skip
        self.used = 0
        self.flushes += 1


def level_forward(level: Level, y: Tensor, weights: Tensor, settings: Settings) -> None:
    """One level in one launch: fills y [M, B, ceil(n / 2), d]."""
    members, dim = len(level.x), level.x.shape[-1]
    tiling = fitting(FORWARD, FORWARD_FEW, level.rows, members)
    fused_forward_kernel[(triton.cdiv(level.rows, tiling.rows), members)](
        level.x, y, weights, level.lengths_pointer, *level.drop_pointers,
        level.rows, level.nodes, level.number, level.x.stride(0), y.stride(0),
        level.lengths_stride, level.drop_stride,
        DIM=dim, PAD=triton.next_power_of_2(dim), ROWS=tiling.rows, UNITS=tiling.units,
        **settings.arithmetic, **level.options, num_warps=tiling.warps, num_stages=tiling.stages,
    )  # fmt: skip


def level_backward(
    level: Level, dy: Tensor, dx: Tensor, weights: Tensor, transposed: Tensor, operands: Operands
) -> None:
    """Go back through one level: fills dx, and leaves the rest with the operands."""
    members, dim = len(level.x), level.x.shape[-1]
    settings, rows = operands.settings, level.rows
    if triton.cdiv(rows, MOST_ROWS) * MOST_ROWS > operands.capacity - operands.used:
        operands.flush()
    pieces = triton.cdiv(rows, operands.capacity // MOST_ROWS * MOST_ROWS)
    piece = triton.cdiv(rows, pieces * MOST_ROWS) * MOST_ROWS
    for begin in range(0, rows, piece):
        end = min(begin + piece, rows)
        tiling = fitting(BACKWARD, BACKWARD_FEW, end - begin, members)
        tiles = triton.cdiv(end - begin, tiling.rows)
        if operands.used + tiles * tiling.rows > operands.capacity:
            operands.flush()
        fused_backward_kernel[(tiles, members)](
            level.x, dy, dx, operands.array, weights, transposed, level.lengths_pointer,
            *level.drop_pointers,
            begin, end, level.nodes, level.number, operands.used, operands.capacity,
            level.x.stride(0), dy.stride(0), dx.stride(0), operands.array.stride(0),
            level.lengths_stride, level.drop_stride,
            DIM=dim, PAD=triton.next_power_of_2(dim), ROWS=tiling.rows, UNITS=tiling.units,
            **settings.arithmetic, **level.options,
            num_warps=tiling.warps, num_stages=tiling.stages,
        )  # fmt: skip
        operands.used += tiles * tiling.rows
