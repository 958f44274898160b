"""Levels of narrow models, d up to 64: a tile of rows stays in registers through a whole level.

Forward, a level is one launch. Backward it is one too: it computes the level again from its inputs,
goes back through it, and leaves the operands of the weight gradients in an array, row by row. That
array collects the rows of many levels before one launch multiplies it out (`Operands`).
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
    MATRICES,
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
    load_vector,
    norm_input_gradient,
    row_state,
    standardised,
)
from ldru.kernels.reduction.fused import inner_nodes
from ldru.kernels.reduction.launch import Level, Settings, Tiling, Tilings
from ldru.kernels.reduction.operands import (
    BLOCK_ROWS,
    DF,
    DGATE,
    DH,
    DMIXED,
    DP1,
    DP2,
    DPU,
    GATED,
    MIXED,
    NORM,
    NORM_REST,
    NUM_COLUMNS,
    PAIR,
    Z1,
    Z2,
    ZU,
    H,
    Operands,
    Peaks,
    Piece,
    as_operands,
    gradient_scale,
    in_blocks,
)

MAX_DIM = 64  # beyond it a tile no longer fits the registers of one program
SHORT_ROWS = 8192  # a reduction of one model with more rows is long: memory comes first
COLLECTED_ROWS = 262144  # of all members together
LONG_BYTES = 12 * 2**20  # operands of a long reduction
ADDRESSED_ROWS = 2**19  # of each member, so that 32 bits address them

# Rows, stages, memory: the fastest on an H200 at d = 64, and one stage for GPUs with less memory.
FORWARD = Tilings(
    half=(
        *(Tiling(64, 3, 96), Tiling(64, 1, 32)),
        *(Tiling(32, 3, 77), Tiling(32, 1, 32)),
        *(Tiling(16, 3, 77), Tiling(16, 1, 32)),
    ),
    full=(
        *(Tiling(64, 3, 193), Tiling(64, 1, 65)),
        *(Tiling(32, 3, 161), Tiling(32, 1, 48)),
        *(Tiling(16, 3, 145), Tiling(16, 1, 40)),
    ),
)
BACKWARD = Tilings(
    half=(
        *(Tiling(64, 2, 91), Tiling(64, 1, 48)),
        *(Tiling(32, 2, 64), Tiling(32, 1, 32)),
        *(Tiling(16, 2, 64), Tiling(16, 1, 32)),
    ),
    full=(
        *(Tiling(64, 2, 145), Tiling(64, 1, 65)),
        *(Tiling(32, 2, 105), Tiling(32, 1, 48)),
        *(Tiling(16, 2, 84), Tiling(16, 1, 40)),
    ),
)

# Columns that only SiLU needs for its derivative: the values before it.
P1 = tl.constexpr(35)  # 2
P2 = tl.constexpr(37)  # 4
PU = tl.constexpr(41)  # 4
SILU_COLUMNS = 45


@triton.jit
def _store(place, column, value, WIDTH: tl.constexpr, MASKED: tl.constexpr):
    """Write value [R, C] to the columns below WIDTH of rows that begin at `place` [R, 1]."""
    if MASKED:
        tl.store(place + column[None, :], value, mask=(column < WIDTH)[None, :])
    else:
        tl.store(place + column[None, :], value)


@triton.jit
def _load(place, column, WIDTH: tl.constexpr, MASKED: tl.constexpr):
    """Load a tile that `_store` wrote: [R, C]."""
    if MASKED:
        return tl.load(place + column[None, :], mask=(column < WIDTH)[None, :], other=0.0)
    else:
        return tl.load(place + column[None, :])


@triton.jit
def _slope(
    operands, before, after, column, WIDTH: tl.constexpr, MASKED: tl.constexpr, SILU: tl.constexpr
):
    """The activation's derivative, from what was kept before it, or, for ReLU, after it: [R, C]."""
    if SILU:
        kept = _load(operands + before, column, WIDTH, MASKED)
    else:
        kept = _load(operands + after, column, WIDTH, MASKED)
    return activation_gradient(kept.to(tl.float32), SILU)


@triton.jit
def _untransposed(
    ptr,
    outer,
    inner,
    OUTER: tl.constexpr,
    INNER: tl.constexpr,
    STRIDE: tl.constexpr,
    MASKED: tl.constexpr,
):
    """Tile [outer, inner] of a matrix with rows of STRIDE, as it lies; MASKED: zero past its ends.

    What `load_matrix` gives, transposed.
    """
    place = ptr + outer[:, None] * STRIDE + inner[None, :]
    if MASKED:
        return tl.load(place, mask=(outer[:, None] < OUTER) & (inner[None, :] < INNER), other=0.0)
    else:
        return tl.load(place)


@triton.jit
def forward_tile(
    here, beside, computed, paired, matrices, vectors, operands, gate_here, gate_beside,
    ROWS: tl.constexpr, DIM: tl.constexpr, PAD: tl.constexpr, UNITS: tl.constexpr,
    SILU: tl.constexpr, PRECISION: tl.constexpr, KEEP: tl.constexpr,
):  # fmt: skip
    """The level up to the norm: pointers to both inputs [R, 1] -> norm input [R, PAD].

    `matrices` and `vectors` point at one member's. With KEEP the operands of the weight gradients
    go to `operands` [R, 1], and the gates to where `gate_here` and `gate_beside` [R, 1] point.
    Hidden layers of 4 d go through in blocks. Inputs are read twice: registers are scarcer than
    cache.
    """
    AREA: tl.constexpr = DIM * DIM
    MASKED: tl.constexpr = PAD != DIM
    kind = matrices.dtype.element_ty
    channel = tl.arange(0, PAD)
    double = tl.arange(0, 2 * PAD)
    block = tl.arange(0, UNITS)
    channels = (channel < DIM)[None, :]
    here = here + channel[None, :]
    beside = beside + channel[None, :]
    some = computed[:, None] & channels
    both = paired[:, None] & channels

    p1 = tl.zeros((ROWS, 2 * PAD), dtype=tl.float32)
    p1 += load_vector(vectors + EXPAND_BIAS * DIM, double, 2 * DIM)[None, :]
    left = tl.load(here, mask=some, other=0.0).to(kind)
    right = tl.load(beside, mask=both, other=0.0).to(kind)
    first = load_matrix(matrices + EXPAND * AREA, channel, double, DIM, 2 * DIM, 2 * DIM, MASKED)
    p1 = tl.dot(left, first, p1, input_precision=PRECISION)
    first = load_matrix(
        matrices + EXPAND * AREA + DIM, channel, double, DIM, 2 * DIM, 2 * DIM, MASKED
    )
    p1 = tl.dot(right, first, p1, input_precision=PRECISION)
    z1 = activate(p1, SILU).to(kind)
    if KEEP:
        _store(operands + PAIR * DIM, channel, left, DIM, MASKED)
        _store(operands + (PAIR + 1) * DIM, channel, right, DIM, MASKED)
        _store(operands + Z1 * DIM, double, z1, 2 * DIM, MASKED)
        if SILU:
            _store(operands + P1 * DIM, double, p1.to(kind), 2 * DIM, MASKED)

    gate_left = tl.zeros((ROWS, PAD), dtype=tl.float32)
    gate_right = tl.zeros((ROWS, PAD), dtype=tl.float32)
    for start in range(0, 4 * DIM, UNITS):
        unit = start + block
        second = load_matrix(
            matrices + HIDDEN * AREA, double, unit, 2 * DIM, 4 * DIM, 2 * DIM, MASKED
        )
        p2 = tl.dot(z1, second, input_precision=PRECISION)
        p2 += tl.load(vectors + HIDDEN_BIAS * DIM + unit)[None, :]
        z2 = activate(p2, SILU).to(kind)
        if KEEP:
            _store(operands + Z2 * DIM, unit, z2, 4 * DIM, False)
            if SILU:
                _store(operands + P2 * DIM, unit, p2.to(kind), 4 * DIM, False)
        third = load_matrix(matrices + GATES * AREA, unit, channel, 4 * DIM, DIM, 4 * DIM, MASKED)
        gate_left = tl.dot(z2, third, gate_left, input_precision=PRECISION)
        third = load_matrix(
            matrices + (GATES + 4) * AREA, unit, channel, 4 * DIM, DIM, 4 * DIM, MASKED
        )
        gate_right = tl.dot(z2, third, gate_right, input_precision=PRECISION)

    mixed = load_vector(vectors + LEFT_BIAS * DIM, channel, DIM) + load_vector(
        vectors + RIGHT_BIAS * DIM, channel, DIM
    )
    mixed = mixed[None, :] + tl.zeros((ROWS, PAD), dtype=tl.float32)
    gate_left += load_vector(vectors + GATES_BIAS * DIM, channel, DIM)[None, :]
    gate_right += load_vector(vectors + GATES_BIAS * DIM + DIM, channel, DIM)[None, :]
    gated = (gate_left * tl.load(here, mask=both, other=0.0)).to(kind)
    matrix = load_matrix(matrices + LEFT * AREA, channel, channel, DIM, DIM, DIM, MASKED)
    mixed = tl.dot(gated, matrix, mixed, input_precision=PRECISION)
    if KEEP:
        tl.store(gate_here + channel[None, :], gate_left, mask=both)
        _store(operands + GATED * DIM, channel, gated, DIM, MASKED)
    gated = (gate_right * tl.load(beside, mask=both, other=0.0)).to(kind)
    matrix = load_matrix(matrices + RIGHT * AREA, channel, channel, DIM, DIM, DIM, MASKED)
    mixed = tl.dot(gated, matrix, mixed, input_precision=PRECISION).to(kind)
    if KEEP:
        tl.store(gate_beside + channel[None, :], gate_right, mask=both)
        _store(operands + (GATED + 1) * DIM, channel, gated, DIM, MASKED)
        _store(operands + MIXED * DIM, channel, mixed, DIM, MASKED)
    h = load_vector(vectors + OUT_BIAS * DIM, channel, DIM)[None, :] + tl.zeros(
        (ROWS, PAD), dtype=tl.float32
    )
    matrix = load_matrix(matrices + OUT * AREA, channel, channel, DIM, DIM, DIM, MASKED)
    h = tl.dot(mixed, matrix, h, input_precision=PRECISION)
    passed = tl.load(here, mask=(computed & ~paired)[:, None] & channels, other=0.0)
    h = tl.where(paired[:, None], h, passed)

    f = h + load_vector(vectors + DOWN_BIAS * DIM, channel, DIM)[None, :]
    state = h.to(kind)
    if KEEP:
        _store(operands + H * DIM, channel, state, DIM, MASKED)
    for start in range(0, 4 * DIM, UNITS):
        unit = start + block
        up = load_matrix(matrices + UP * AREA, channel, unit, DIM, 4 * DIM, DIM, MASKED)
        pu = tl.dot(state, up, input_precision=PRECISION)
        pu += tl.load(vectors + UP_BIAS * DIM + unit)[None, :]
        zu = activate(pu, SILU).to(kind)
        if KEEP:
            _store(operands + ZU * DIM, unit, zu, 4 * DIM, False)
            if SILU:
                _store(operands + PU * DIM, unit, pu.to(kind), 4 * DIM, False)
        down = load_matrix(matrices + DOWN * AREA, unit, channel, 4 * DIM, DIM, 4 * DIM, MASKED)
        f = tl.dot(zu, down, f, input_precision=PRECISION)
    return f


@triton.jit
def normed_tile(
    f, vectors, keys_ptr, cut_ptr, scale_ptr, level, word, node, computed,
    DIM: tl.constexpr, PAD: tl.constexpr, DROPOUT: tl.constexpr,
):  # fmt: skip
    """The end of a level: layer norm and dropout of what `forward_tile` gave: [R, PAD]."""
    channel = tl.arange(0, PAD)
    y, _ = standardised(f, (channel < DIM)[None, :], DIM)
    y *= load_vector(vectors + NORM_WEIGHT * DIM, channel, DIM)[None, :]
    y += load_vector(vectors + NORM_BIAS * DIM, channel, DIM)[None, :]
    if DROPOUT:
        y *= dropout_factor(keys_ptr, cut_ptr, scale_ptr, level, word, node, computed, channel, DIM)
    return y


@triton.jit(do_not_specialize=["rows", "nodes", "level"])
def fused_forward_kernel(
    x_ptr, y_ptr, matrices_ptr, flat_ptr, lengths_ptr, keys_ptr, cut_ptr, scale_ptr,
    rows, nodes, level, x_stride, y_stride, matrices_stride, lengths_stride, keys_stride,
    DIM: tl.constexpr, PAD: tl.constexpr, ROWS: tl.constexpr, UNITS: tl.constexpr,
    SILU: tl.constexpr, PRECISION: tl.constexpr, HAS_LENGTHS: tl.constexpr, DROPOUT: tl.constexpr,
):  # fmt: skip
    """One level: x [M, B, nodes, d] -> y [M, B, ceil(nodes / 2), d]. Grid (row tiles, M)."""
    member = tl.program_id(1).to(tl.int64)
    x_ptr += member * x_stride
    y_ptr += member * y_stride
    matrices_ptr += member * matrices_stride
    vectors = flat_ptr + member * (MATRICES * DIM * DIM + VECTORS * DIM) + MATRICES * DIM * DIM
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    word, parent, computed, paired, finished = row_state(
        row, rows, nodes, lengths_ptr + member * lengths_stride, HAS_LENGTHS
    )
    channel = tl.arange(0, PAD)
    inside = (channel < DIM)[None, :]
    inputs = x_ptr + ((word * nodes + 2 * parent) * DIM)[:, None]
    f = forward_tile(
        inputs, inputs + DIM, computed, paired, matrices_ptr, vectors, matrices_ptr, y_ptr, y_ptr,
        ROWS, DIM, PAD, UNITS, SILU, PRECISION, False,
    )  # fmt: skip
    y = normed_tile(
        f, vectors, keys_ptr + member * keys_stride, cut_ptr + member, scale_ptr + member,
        level, word, parent, computed, DIM, PAD, DROPOUT,
    )  # fmt: skip
    if HAS_LENGTHS:
        whole = tl.load(inputs + channel[None, :], mask=finished[:, None] & inside, other=0.0)
        y = tl.where(finished[:, None], whole, y)
    tl.store(
        y_ptr + (row * DIM)[:, None] + channel[None, :],
        y,
        mask=(computed | finished)[:, None] & inside,
    )


@triton.jit
def block_gradient(
    dnorm, f, operands, matrices_ptr, vectors,
    DIM: tl.constexpr, PAD: tl.constexpr, UNITS: tl.constexpr, SILU: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    """Go back through norm and residual block: gradient of the norm's result -> of its input h.

    f: what the norm was given. The operands of the weight gradients go to `operands` [R, 1].
    """
    AREA: tl.constexpr = DIM * DIM
    MASKED: tl.constexpr = PAD != DIM
    kind = matrices_ptr.dtype.element_ty
    channel = tl.arange(0, PAD)
    block = tl.arange(0, UNITS)
    inside = (channel < DIM)[None, :]
    normed, inverse = standardised(f, inside, DIM)
    norm_weight = load_vector(vectors + NORM_WEIGHT * DIM, channel, DIM)
    for part in tl.static_range(2):
        term = dnorm * normed if part == 0 else dnorm
        rounded = term.to(kind)
        rest = (term - rounded.to(tl.float32)).to(kind)
        _store(operands + (NORM + part) * DIM, channel, rounded, DIM, MASKED)
        _store(operands + (NORM_REST + part) * DIM, channel, rest, DIM, MASKED)
    dh = norm_input_gradient(dnorm * norm_weight[None, :], normed, inverse, DIM)
    df = dh.to(kind)
    _store(operands + DF * DIM, channel, df, DIM, MASKED)
    tl.debug_barrier()

    for start in range(0, 4 * DIM, UNITS):
        unit = start + block
        down = _untransposed(
            matrices_ptr + DOWN * AREA, channel, unit, DIM, 4 * DIM, 4 * DIM, MASKED
        )
        dpu = tl.dot(df, down, input_precision=PRECISION)
        dpu *= _slope(operands, PU * DIM, ZU * DIM, unit, 4 * DIM, False, SILU)
        dpu = dpu.to(kind)
        _store(operands + DPU * DIM, unit, dpu, 4 * DIM, False)
        up = _untransposed(matrices_ptr + UP * AREA, unit, channel, 4 * DIM, DIM, DIM, MASKED)
        dh = tl.dot(dpu, up, dh, input_precision=PRECISION)
    return dh


@triton.jit
def operator_gradient(
    x_ptr, dx_ptr, here, beside, paired, dh, operands, matrices_ptr, down_scale,
    ROWS: tl.constexpr, DIM: tl.constexpr, PAD: tl.constexpr, UNITS: tl.constexpr,
    SILU: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Go back through the operator: dh [R, PAD] -> gradients of both inputs, and the largest.

    here, beside: where the inputs lie in x, and their gradients in dx, as offsets [R, 1]. The gates
    wait in dx until dx is known.
    """
    AREA: tl.constexpr = DIM * DIM
    MASKED: tl.constexpr = PAD != DIM
    kind = matrices_ptr.dtype.element_ty
    channel = tl.arange(0, PAD)
    double = tl.arange(0, 2 * PAD)
    block = tl.arange(0, UNITS)
    both = paired[:, None] & (channel < DIM)[None, :]
    here = here + channel[None, :]
    beside = beside + channel[None, :]
    largest = 0.0
    dh = tl.where(paired[:, None], dh, 0.0).to(kind)
    _store(operands + DH * DIM, channel, dh, DIM, MASKED)
    matrix = _untransposed(matrices_ptr + OUT * AREA, channel, channel, DIM, DIM, DIM, MASKED)
    dmixed = tl.dot(dh, matrix, input_precision=PRECISION).to(kind)
    _store(operands + DMIXED * DIM, channel, dmixed, DIM, MASKED)
    matrix = _untransposed(matrices_ptr + LEFT * AREA, channel, channel, DIM, DIM, DIM, MASKED)
    dgated = tl.dot(dmixed, matrix, input_precision=PRECISION)
    dgate_left = (dgated * tl.load(x_ptr + here, mask=both, other=0.0)).to(kind)
    _store(operands + DGATE * DIM, channel, dgate_left, DIM, MASKED)
    dgated *= tl.load(dx_ptr + here, mask=both, other=0.0)
    tl.debug_barrier()
    tl.store(dx_ptr + here, dgated, mask=both)
    matrix = _untransposed(matrices_ptr + RIGHT * AREA, channel, channel, DIM, DIM, DIM, MASKED)
    dgated = tl.dot(dmixed, matrix, input_precision=PRECISION)
    dgate_right = (dgated * tl.load(x_ptr + beside, mask=both, other=0.0)).to(kind)
    _store(operands + (DGATE + 1) * DIM, channel, dgate_right, DIM, MASKED)
    dgated *= tl.load(dx_ptr + beside, mask=both, other=0.0)
    tl.debug_barrier()
    tl.store(dx_ptr + beside, dgated, mask=both)

    dp1 = tl.zeros((ROWS, 2 * PAD), dtype=tl.float32)
    for start in range(0, 4 * DIM, UNITS):
        unit = start + block
        third = _untransposed(
            matrices_ptr + GATES * AREA, channel, unit, DIM, 4 * DIM, 4 * DIM, MASKED
        )
        dp2 = tl.dot(dgate_left, third, input_precision=PRECISION)
        third = _untransposed(
            matrices_ptr + (GATES + 4) * AREA, channel, unit, DIM, 4 * DIM, 4 * DIM, MASKED
        )
        dp2 = tl.dot(dgate_right, third, dp2, input_precision=PRECISION)
        dp2 *= _slope(operands, P2 * DIM, Z2 * DIM, unit, 4 * DIM, False, SILU)
        dp2 = dp2.to(kind)
        _store(operands + DP2 * DIM, unit, dp2, 4 * DIM, False)
        second = _untransposed(
            matrices_ptr + HIDDEN * AREA, unit, double, 4 * DIM, 2 * DIM, 2 * DIM, MASKED
        )
        dp1 = tl.dot(dp2, second, dp1, input_precision=PRECISION)

    dp1 *= _slope(operands, P1 * DIM, Z1 * DIM, double, 2 * DIM, MASKED, SILU)
    dp1 = dp1.to(kind)
    _store(operands + DP1 * DIM, double, dp1, 2 * DIM, MASKED)
    tl.debug_barrier()
    for side in tl.static_range(2):
        first = _untransposed(
            matrices_ptr + EXPAND * AREA + side * DIM,
            double,
            channel,
            2 * DIM,
            DIM,
            2 * DIM,
            MASKED,
        )
        place = here if side == 0 else beside
        dx = tl.load(dx_ptr + place, mask=both, other=0.0)
        dx = tl.dot(dp1, first, dx, input_precision=PRECISION) * down_scale
        tl.store(dx_ptr + place, dx, mask=both)
        side_largest = tl.max(tl.where(both, tl.abs(dx), 0.0))
        largest = tl.maximum(largest, side_largest)
    return largest


@triton.jit(do_not_specialize=["begin", "end", "nodes", "level", "offset"])
def fused_backward_kernel(
    x_ptr, dy_ptr, dx_ptr, operands_ptr, unscale_ptr, peaks_ptr, matrices_ptr, flat_ptr,
    lengths_ptr, keys_ptr, cut_ptr, scale_ptr,
    begin, end, nodes, level, offset,
    x_stride, dy_stride, dx_stride, operands_stride, unscale_stride, peaks_stride,
    matrices_stride, lengths_stride, keys_stride,
    DIM: tl.constexpr, PAD: tl.constexpr, ROWS: tl.constexpr, UNITS: tl.constexpr,
    COLUMNS: tl.constexpr,
    SILU: tl.constexpr, PRECISION: tl.constexpr, HAS_LENGTHS: tl.constexpr, DROPOUT: tl.constexpr,
):  # fmt: skip
    """Recompute rows begin to end of one level and go back through them: dy -> dx, operands.

    The operands go to operands [M, capacity, columns] from row `offset` on, and the factor that
    undoes the scale of their gradients to unscale [M, capacity / BLOCK_ROWS]. The scale comes from
    peaks [M, levels + 1], the largest magnitude in dy at `level + 1`; that of dx goes to `level`.
    Grid (row tiles, M). What one part writes another may read in another layout of threads, hence
    the barriers.
    """
    AREA: tl.constexpr = DIM * DIM
    member = tl.program_id(1).to(tl.int64)
    x_ptr += member * x_stride
    dy_ptr += member * dy_stride
    dx_ptr += member * dx_stride
    matrices_ptr += member * matrices_stride
    vectors = flat_ptr + member * (MATRICES * AREA + VECTORS * DIM) + MATRICES * AREA
    tile = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    operands = (operands_ptr + member * operands_stride) + ((offset + tile) * COLUMNS)[:, None]
    row = begin + tile
    word, parent, computed, paired, finished = row_state(
        row, end, nodes, lengths_ptr + member * lengths_stride, HAS_LENGTHS
    )
    channel = tl.arange(0, PAD)
    inside = (channel < DIM)[None, :]
    inputs = ((word * nodes + 2 * parent) * DIM)[:, None]
    place = inputs + channel[None, :]
    f = forward_tile(
        x_ptr + inputs, x_ptr + inputs + DIM, computed, paired, matrices_ptr, vectors, operands,
        dx_ptr + inputs, dx_ptr + inputs + DIM,
        ROWS, DIM, PAD, UNITS, SILU, PRECISION, True,
    )  # fmt: skip

    up_scale, down_scale = gradient_scale(peaks_ptr + member * peaks_stride + level + 1)
    first_row = offset + tl.program_id(0) * ROWS
    tl.store(unscale_ptr + member * unscale_stride + first_row // BLOCK_ROWS, down_scale)

    dy_place = dy_ptr + (row * DIM)[:, None] + channel[None, :]
    dnorm = tl.load(dy_place, mask=computed[:, None] & inside, other=0.0) * up_scale
    if DROPOUT:
        dnorm *= dropout_factor(
            keys_ptr + member * keys_stride, cut_ptr + member, scale_ptr + member,
            level, word, parent, computed, channel, DIM,
        )  # fmt: skip
    dh = block_gradient(dnorm, f, operands, matrices_ptr, vectors, DIM, PAD, UNITS, SILU, PRECISION)

    alone = (row < end) & ~paired
    dx = tl.where(computed[:, None], dh * down_scale, 0.0)
    if HAS_LENGTHS:
        dx += tl.load(dy_place, mask=finished[:, None] & inside, other=0.0)
    tl.store(dx_ptr + place, dx, mask=alone[:, None] & inside)
    beside = (alone & (2 * parent + 1 < nodes))[:, None] & inside
    tl.store(dx_ptr + place + DIM, tl.zeros_like(dx), mask=beside)
    largest = tl.max(tl.where(alone[:, None] & inside, tl.abs(dx), 0.0))

    side_largest = operator_gradient(
        x_ptr, dx_ptr, inputs, inputs + DIM, paired, dh, operands, matrices_ptr, down_scale,
        ROWS, DIM, PAD, UNITS, SILU, PRECISION,
    )  # fmt: skip
    largest = tl.maximum(largest, side_largest)
    bits = largest.to(tl.int32, bitcast=True)
    tl.atomic_max(peaks_ptr + member * peaks_stride + level, bits, sem="relaxed")


class Forward:
    """Goes up through levels."""

    def __init__(self, x: Tensor, flat: Tensor, settings: Settings) -> None:
        self.settings, self.flat = settings, flat
        self.matrices = as_operands(flat, settings)

    def level(self, level: Level, y: Tensor) -> None:
        """One level in one launch: fills y [M, B, ceil(n / 2), d]."""
        members, dim = len(level.x), level.x.shape[-1]
        tiling = FORWARD.fitting(self.settings, rows=level.rows, others=members)
        fused_forward_kernel[(triton.cdiv(level.rows, tiling.rows), members)](
            level.x, y, self.matrices, self.flat, level.lengths_pointer, *level.drop_pointers,
            level.rows, level.nodes, level.number, level.x.stride(0), y.stride(0),
            self.matrices.stride(0), level.lengths_stride, level.drop_stride,
            DIM=dim, PAD=triton.next_power_of_2(dim), ROWS=tiling.rows, UNITS=tiling.units,
            SILU=self.settings.is_silu, PRECISION=self.settings.precision, **level.options,
            num_warps=tiling.warps, num_stages=tiling.stages,
        )  # fmt: skip


class Backward:
    """Goes back through levels, and collects what the weight gradients are made of."""

    def __init__(self, x: Tensor, flat: Tensor, settings: Settings, gradient: Tensor) -> None:
        members, batch, nodes, dim = x.shape
        self.settings, self.flat, self.dim = settings, flat, dim
        self.matrices = as_operands(flat, settings)
        columns = SILU_COLUMNS if settings.is_silu else NUM_COLUMNS
        block, counts = BLOCK_ROWS.value, [*inner_nodes(nodes), 1]
        rows = sum(in_blocks(batch * count) for count in counts)
        collected = COLLECTED_ROWS // members
        if members == 1 and rows > SHORT_ROWS:
            collected = LONG_BYTES // (columns * dim * self.matrices.element_size())
        capacity = max(min(collected // block * block, rows, ADDRESSED_ROWS), block)
        self.operands = Operands(flat, settings, dim=dim, capacity=capacity, columns=columns)
        self.peaks = Peaks(gradient, levels=len(counts) + 1)

    def level(self, level: Level, dy: Tensor, dx: Tensor) -> None:
        """Go back through one level: fills dx, and leaves the rest with the operands."""
        for piece in self.operands.room_for(level.rows):
            self._launch(level, dy, dx, piece)

    def _launch(self, level: Level, dy: Tensor, dx: Tensor, piece: Piece) -> None:
        members, dim = len(level.x), self.dim
        array, unscale, peaks = self.operands.array, self.operands.unscale, self.peaks.bits
        tiling = BACKWARD.fitting(self.settings, rows=piece.end - piece.begin, others=members)
        fused_backward_kernel[(piece.filled // tiling.rows, members)](
            level.x, dy, dx, array, unscale, peaks, self.matrices, self.flat,
            level.lengths_pointer, *level.drop_pointers,
            piece.begin, piece.end, level.nodes, level.number, piece.offset,
            level.x.stride(0), dy.stride(0), dx.stride(0), array.stride(0),
            unscale.stride(0), peaks.stride(0), self.matrices.stride(0),
            level.lengths_stride, level.drop_stride,
            DIM=dim, PAD=triton.next_power_of_2(dim), ROWS=tiling.rows, UNITS=tiling.units,
            COLUMNS=array.shape[2],
            SILU=self.settings.is_silu, PRECISION=self.settings.precision, **level.options,
            num_warps=tiling.warps, num_stages=tiling.stages,
        )  # fmt: skip
