"""Levels of wide models, d up to 256: one launch per product, with what comes before and after it.

What lies between two products is in one scratch array [M, rows, columns], for a slice of the level
at a time.
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
    UP,
    UP_BIAS,
    VECTORS,
    activate,
    activation_gradient,
    add_dot,
    dropout_factor,
    load_matrix,
    load_pair,
    load_vector,
    norm_input_gradient,
    prepare_matrices_kernel,
    round_tf32,
    row_state,
    standardised,
)
from ldru.kernels.launch import Level, Settings, Tiling, fitting, slot_count
from ldru.kernels.layout import MATRICES, num_parameters

FORWARD_WIDTH, BACKWARD_WIDTH = 15, 31  # columns of scratch, in units of d

# Measured on an H200 at d = 160 and 256. "Few" as in `narrow`.
LINEAR, LINEAR_FEW = Tiling(64, 4, 3), Tiling(32, 4, 3)
LINEAR_COLUMNS, LINEAR_STEP = 64, 32
WEIGHT, WEIGHT_TILE = Tiling(32, 4, 3), (128, 64)
NORM_ROWS = 4

# Columns of the `linear_*` kernels' scratch array, in units of d: values of the forward pass ...
P1 = tl.constexpr(0)  # before the first activation, 2
P2 = tl.constexpr(2)  # before the second, 4
GATE = tl.constexpr(6)  # 2
MIXED = tl.constexpr(8)  # input of `out`, 1
H = tl.constexpr(9)  # the operator's result, 1
PU = tl.constexpr(10)  # before the feed-forward block's activation, 4
F = tl.constexpr(14)  # input of the norm, 1; later the terms of the norm's gradients, 2
# ... and gradients with respect to them.
NORM_TERMS = tl.constexpr(14)
DF = tl.constexpr(16)  # 1
DPU = tl.constexpr(17)  # 4
DH = tl.constexpr(21)  # zero where the operator was skipped, 1
DMIXED = tl.constexpr(22)  # 1
DGATED = tl.constexpr(23)  # of gate * input, 2
DP2 = tl.constexpr(25)  # 4
DP1 = tl.constexpr(29)  # 2

# How an operand is read from scratch.
PLAIN = tl.constexpr(0)
ACTIVATED = tl.constexpr(1)  # activation(scratch)
PAIR = tl.constexpr(2)  # the two inputs of the row, side by side
GATED = tl.constexpr(3)  # scratch * pair

# What becomes of a product in `linear_kernel`.
STORE = tl.constexpr(0)  # product + bias, if any
SELECT = tl.constexpr(1)  # product + bias, or the left input where the operator is skipped
RESIDUAL = tl.constexpr(2)  # product + bias + H
ACTIVATION_GRADIENT = tl.constexpr(3)  # product * activation'(scratch)
SPLIT_GRADIENT = tl.constexpr(4)  # DF + product, to DH or, where the operator is skipped, to dx
INPUT_GRADIENT = tl.constexpr(5)  # product + DGATED * GATE, to dx


@triton.jit
def _operand(
    scratch, inputs, row, rows, computed, paired, column,
    SCRATCH_WIDTH: tl.constexpr, WIDTH: tl.constexpr, MODE: tl.constexpr, DIM: tl.constexpr,
    SILU: tl.constexpr,
):  # fmt: skip
    """Columns below WIDTH of one scratch value, read as MODE says, zero outside: [R, C]."""
    if MODE == PAIR:
        value = load_pair(inputs, computed, paired, column, WIDTH, DIM)
    else:
        inside = (row < rows)[:, None] & (column < WIDTH)[None, :]
        value = tl.load(
            scratch + (row * SCRATCH_WIDTH)[:, None] + column[None, :], mask=inside, other=0.0
        )
        if MODE == ACTIVATED:
            value = activate(value, SILU)
        if MODE == GATED:
            value *= load_pair(inputs, computed, paired, column, WIDTH, DIM)
    return value


@triton.jit(do_not_specialize=["rows", "nodes"])
def linear_kernel(
    x_ptr, dy_ptr, dx_ptr, scratch_ptr, matrices_ptr, vectors_ptr, lengths_ptr,
    rows, nodes, x_stride, dy_stride, dx_stride, scratch_stride, matrices_stride, vectors_stride,
    lengths_stride,
    SOURCE: tl.constexpr, MODE: tl.constexpr, INNER: tl.constexpr,
    TARGET: tl.constexpr, EPILOGUE: tl.constexpr, OUTER: tl.constexpr, OTHER: tl.constexpr,
    MATRIX: tl.constexpr, BIASES: tl.constexpr, BIAS: tl.constexpr, SIDE_BY_SIDE: tl.constexpr,
    DIM: tl.constexpr, SCRATCH_WIDTH: tl.constexpr, SILU: tl.constexpr, PRECISION: tl.constexpr,
    ROUND: tl.constexpr,
    HAS_LENGTHS: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, STEP: tl.constexpr,
):  # fmt: skip
    """One product for all rows of a level, with what comes before and after it.

    SOURCE and TARGET are scratch columns and OTHER the one an epilogue also reads, INNER and OUTER
    widths, all in units of d. The matrix at MATRIX lies [OUTER, INNER]; SIDE_BY_SIDE says it is
    two [OUTER, d] after each other. BIASES counts the vectors from BIAS on that are added.
    Grid (row tiles, column tiles, M).
    """
    MASKED: tl.constexpr = (INNER * DIM) % STEP != 0 or (OUTER * DIM) % COLUMNS != 0
    member = tl.program_id(2).to(tl.int64)
    x_ptr += member * x_stride
    matrix = matrices_ptr + member * matrices_stride + MATRIX * DIM * DIM
    scratch = scratch_ptr + member * scratch_stride
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    outer = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    word, parent, computed, paired, finished = row_state(
        row, rows, nodes, lengths_ptr + member * lengths_stride, HAS_LENGTHS
    )
    inputs = ((word * nodes + 2 * parent) * DIM)[:, None]
    product = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for start in range(0, INNER * DIM, STEP):
        inner = start + tl.arange(0, STEP)
        a = _operand(
            scratch + SOURCE * DIM, x_ptr + inputs, row, rows, computed, paired, inner,
            SCRATCH_WIDTH, INNER * DIM, MODE, DIM, SILU,
        )  # fmt: skip
        if SIDE_BY_SIDE:
            place = (inner // DIM * (DIM * DIM) + inner % DIM)[:, None] + outer[None, :] * DIM
            b = tl.load(
                matrix + place,
                mask=(inner < INNER * DIM)[:, None] & (outer < OUTER * DIM)[None, :],
                other=0.0,
            )
        else:
            b = load_matrix(matrix, inner, outer, INNER * DIM, OUTER * DIM, INNER * DIM, MASKED)
        product = add_dot(a, b, product, PRECISION, ROUND)

    vectors = vectors_ptr + member * vectors_stride
    for extra in tl.static_range(BIASES):
        product += load_vector(vectors + (BIAS + extra * OUTER) * DIM, outer, OUTER * DIM)[None, :]
    columns = (outer < OUTER * DIM)[None, :]
    inside = (row < rows)[:, None] & columns
    here = (row * SCRATCH_WIDTH)[:, None] + outer[None, :]
    input_place = inputs + outer[None, :]
    if EPILOGUE == SELECT:
        left = tl.load(x_ptr + input_place, mask=computed[:, None] & columns, other=0.0)
        product = tl.where(paired[:, None], product, left)
    if EPILOGUE == RESIDUAL or EPILOGUE == SPLIT_GRADIENT:
        product += tl.load(scratch + OTHER * DIM + here, mask=inside, other=0.0)
    if EPILOGUE == ACTIVATION_GRADIENT:
        product *= activation_gradient(
            tl.load(scratch + OTHER * DIM + here, mask=inside, other=0.0), SILU
        )
    if EPILOGUE == SPLIT_GRADIENT:
        dx_ptr += member * dx_stride
        dy_place = dy_ptr + member * dy_stride + (row * DIM)[:, None] + outer[None, :]
        dy = tl.load(dy_place, mask=finished[:, None] & columns, other=0.0)
        skipped = inside & ~paired[:, None]
        tl.store(dx_ptr + input_place, product + dy, mask=skipped)
        tl.store(
            dx_ptr + input_place + DIM,
            tl.zeros_like(product),
            mask=skipped & (2 * parent + 1 < nodes)[:, None],
        )
        product = tl.where(paired[:, None], product, 0.0)
    if EPILOGUE == INPUT_GRADIENT:
        gate = tl.load(scratch + GATE * DIM + here, mask=inside, other=0.0)
        product += gate * tl.load(scratch + OTHER * DIM + here, mask=inside, other=0.0)
        tl.store(dx_ptr + member * dx_stride + input_place, product, mask=paired[:, None] & columns)
    else:
        tl.store(scratch + TARGET * DIM + here, product, mask=inside)


@triton.jit(do_not_specialize=["rows", "nodes", "level"])
def norm_forward_kernel(
    x_ptr, y_ptr, scratch_ptr, vectors_ptr, lengths_ptr, keys_ptr, cut_ptr, scale_ptr,
    rows, nodes, level, x_stride, y_stride, scratch_stride, vectors_stride, lengths_stride,
    keys_stride,
    DIM: tl.constexpr, PAD: tl.constexpr, SCRATCH_WIDTH: tl.constexpr, HAS_LENGTHS: tl.constexpr,
    DROPOUT: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """Norm and dropout of column F, or x where a word is finished -> y. Grid (row tiles, M)."""
    member = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    word, parent, computed, paired, finished = row_state(
        row, rows, nodes, lengths_ptr + member * lengths_stride, HAS_LENGTHS
    )
    channel = tl.arange(0, PAD)
    inside = (channel < DIM)[None, :]
    place = (
        scratch_ptr
        + member * scratch_stride
        + (row * SCRATCH_WIDTH)[:, None]
        + F * DIM
        + channel[None, :]
    )
    vectors = vectors_ptr + member * vectors_stride
    y, _ = standardised(tl.load(place, mask=computed[:, None] & inside, other=0.0), inside, DIM)
    y *= load_vector(vectors + NORM_WEIGHT * DIM, channel, DIM)[None, :]
    y += load_vector(vectors + NORM_BIAS * DIM, channel, DIM)[None, :]
    if DROPOUT:
        y *= dropout_factor(
            keys_ptr + member * keys_stride, cut_ptr + member, scale_ptr + member,
            level, word, parent, computed, channel, DIM,
        )  # fmt: skip
    place = (
        x_ptr + member * x_stride + ((word * nodes + 2 * parent) * DIM)[:, None] + channel[None, :]
    )
    y = tl.where(finished[:, None], tl.load(place, mask=finished[:, None] & inside, other=0.0), y)
    place = y_ptr + member * y_stride + (row * DIM)[:, None] + channel[None, :]
    tl.store(place, y, mask=(computed | finished)[:, None] & inside)


@triton.jit(do_not_specialize=["rows", "nodes", "level"])
def norm_backward_kernel(
    dy_ptr, scratch_ptr, vectors_ptr, lengths_ptr, keys_ptr, cut_ptr, scale_ptr,
    rows, nodes, level, dy_stride, scratch_stride, vectors_stride, lengths_stride, keys_stride,
    DIM: tl.constexpr, PAD: tl.constexpr, SCRATCH_WIDTH: tl.constexpr, HAS_LENGTHS: tl.constexpr,
    DROPOUT: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """dy and column F -> columns DF and NORM_TERMS, which overwrites F. Grid (row tiles, M)."""
    member = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    word, parent, computed, paired, finished = row_state(
        row, rows, nodes, lengths_ptr + member * lengths_stride, HAS_LENGTHS
    )
    channel = tl.arange(0, PAD)
    inside = (channel < DIM)[None, :]
    stored = (row < rows)[:, None] & inside
    column = (
        scratch_ptr + member * scratch_stride + (row * SCRATCH_WIDTH)[:, None] + channel[None, :]
    )
    place = dy_ptr + member * dy_stride + (row * DIM)[:, None] + channel[None, :]
    dnorm = tl.load(place, mask=computed[:, None] & inside, other=0.0)
    if DROPOUT:
        dnorm *= dropout_factor(
            keys_ptr + member * keys_stride, cut_ptr + member, scale_ptr + member,
            level, word, parent, computed, channel, DIM,
        )  # fmt: skip
    normed, inverse = standardised(tl.load(column + F * DIM, mask=stored, other=0.0), inside, DIM)
    norm_weight = load_vector(
        vectors_ptr + member * vectors_stride + NORM_WEIGHT * DIM, channel, DIM
    )
    tl.store(column + NORM_TERMS * DIM, dnorm * normed, mask=stored)
    tl.store(column + NORM_TERMS * DIM + DIM, dnorm, mask=stored)
    df = norm_input_gradient(dnorm * norm_weight[None, :], normed, inverse, DIM)
    tl.store(column + DF * DIM, df, mask=stored)


@triton.jit
def _weight_tile(
    tile, slot, slots, x_ptr, scratch, partial, lengths_ptr, rows, nodes,
    GRADIENT: tl.constexpr, GRADIENT_MODE: tl.constexpr, OUTER: tl.constexpr,
    INPUT: tl.constexpr, INPUT_MODE: tl.constexpr, INNER: tl.constexpr,
    MATRIX: tl.constexpr, SIDE_BY_SIDE: tl.constexpr, BIASES: tl.constexpr, BIAS: tl.constexpr,
    DIM: tl.constexpr, SILU: tl.constexpr, PRECISION: tl.constexpr, ROUND: tl.constexpr,
    HAS_LENGTHS: tl.constexpr,
    OUTPUTS: tl.constexpr, INPUTS: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """Add one tile of gradient^T @ input over the rows of one slot to that slot's partial sums."""
    across: tl.constexpr = (INNER * DIM + INPUTS - 1) // INPUTS
    outer = tile // across * OUTPUTS + tl.arange(0, OUTPUTS)
    inner = tile % across * INPUTS + tl.arange(0, INPUTS)
    weight_gradient = tl.zeros((OUTPUTS, INPUTS), dtype=tl.float32)
    bias_gradient = tl.zeros((OUTPUTS,), dtype=tl.float32)
    for start in range(slot * ROWS, rows, slots * ROWS):
        row = start + tl.arange(0, ROWS)
        word, parent, computed, paired, finished = row_state(
            row, rows, nodes, lengths_ptr, HAS_LENGTHS
        )
        inputs = x_ptr + ((word * nodes + 2 * parent) * DIM)[:, None]
        gradient = _operand(
            scratch + GRADIENT * DIM, inputs, row, rows, computed, paired, outer,
            31 * DIM, OUTER * DIM, GRADIENT_MODE, DIM, SILU,
        )  # fmt: skip
        value = _operand(
            scratch + INPUT * DIM, inputs, row, rows, computed, paired, inner,
            31 * DIM, INNER * DIM, INPUT_MODE, DIM, SILU,
        )  # fmt: skip
        bias_gradient += tl.sum(gradient, axis=0)
        weight_gradient = tl.dot(
            round_tf32(tl.trans(gradient), ROUND),
            round_tf32(value, ROUND),
            weight_gradient,
            input_precision=PRECISION,
        )
    if SIDE_BY_SIDE:
        place = outer[:, None] * DIM + (inner // DIM * (DIM * DIM) + inner % DIM)[None, :]
    else:
        place = outer[:, None] * (INNER * DIM) + inner[None, :]
    place += partial + MATRIX * DIM * DIM
    inside = (outer < OUTER * DIM)[:, None] & (inner < INNER * DIM)[None, :]
    tl.store(place, tl.load(place, mask=inside, other=0.0) + weight_gradient, mask=inside)
    if tile % across == 0:
        for extra in tl.static_range(BIASES):
            biases = partial + VECTORS * DIM * DIM + (BIAS + extra * OUTER) * DIM + outer
            outputs = outer < OUTER * DIM
            tl.store(biases, tl.load(biases, mask=outputs, other=0.0) + bias_gradient, mask=outputs)


@triton.jit(do_not_specialize=["rows", "nodes"])
def weight_gradient_kernel(
    x_ptr, scratch_ptr, partial_ptr, lengths_ptr,
    rows, nodes, x_stride, scratch_stride, lengths_stride,
    DIM: tl.constexpr, SILU: tl.constexpr, PRECISION: tl.constexpr, ROUND: tl.constexpr,
    HAS_LENGTHS: tl.constexpr,
    OUTPUTS: tl.constexpr, INPUTS: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """All parameter gradients of a level, added to partial [M, slots, total].

    Grid (tiles, slots, M), tiles as `weight_gradient_tiles` counts them. Slot s takes the row tiles
    s, s + slots, ...: each number of `partial` is written by one program, in a fixed order.
    """
    tile = tl.program_id(0)
    slot = tl.program_id(1)
    slots = tl.num_programs(1)
    if slot * ROWS >= rows:
        return
    member = tl.program_id(2).to(tl.int64)
    x_ptr += member * x_stride
    scratch = scratch_ptr + member * scratch_stride
    lengths_ptr += member * lengths_stride
    partial = partial_ptr + (member * slots + slot) * (31 * DIM * DIM + 18 * DIM)

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
    AFTER_DOWN: tl.constexpr = AFTER_UP + ONE * FOUR_IN
    AFTER_SIDES: tl.constexpr = AFTER_DOWN + ONE * TWO_IN
    AFTER_OUT: tl.constexpr = AFTER_SIDES + ONE * ONE_IN

    if tile < AFTER_HIDDEN:
        _weight_tile(
            tile, slot, slots, x_ptr, scratch, partial, lengths_ptr, rows, nodes,
            DP2, PLAIN, 4, P1, ACTIVATED, 2, HIDDEN, False, 1, HIDDEN_BIAS,
            DIM, SILU, PRECISION, ROUND, HAS_LENGTHS, OUTPUTS, INPUTS, ROWS,
        )  # fmt: skip
    elif tile < AFTER_GATES:
        _weight_tile(
            tile - AFTER_HIDDEN, slot, slots, x_ptr, scratch, partial, lengths_ptr, rows, nodes,
            DGATED, GATED, 2, P2, ACTIVATED, 4, GATES, False, 1, GATES_BIAS,
            DIM, SILU, PRECISION, ROUND, HAS_LENGTHS, OUTPUTS, INPUTS, ROWS,
        )  # fmt: skip
    elif tile < AFTER_EXPAND:
        _weight_tile(
            tile - AFTER_GATES, slot, slots, x_ptr, scratch, partial, lengths_ptr, rows, nodes,
            DP1, PLAIN, 2, 0, PAIR, 2, EXPAND, False, 1, EXPAND_BIAS,
            DIM, SILU, PRECISION, ROUND, HAS_LENGTHS, OUTPUTS, INPUTS, ROWS,
        )  # fmt: skip
    elif tile < AFTER_UP:
        _weight_tile(
            tile - AFTER_EXPAND, slot, slots, x_ptr, scratch, partial, lengths_ptr, rows, nodes,
            DPU, PLAIN, 4, H, PLAIN, 1, UP, False, 1, UP_BIAS,
            DIM, SILU, PRECISION, ROUND, HAS_LENGTHS, OUTPUTS, INPUTS, ROWS,
        )  # fmt: skip
    elif tile < AFTER_DOWN:
        _weight_tile(
            tile - AFTER_UP, slot, slots, x_ptr, scratch, partial, lengths_ptr, rows, nodes,
            DF, PLAIN, 1, PU, ACTIVATED, 4, DOWN, False, 1, DOWN_BIAS,
            DIM, SILU, PRECISION, ROUND, HAS_LENGTHS, OUTPUTS, INPUTS, ROWS,
        )  # fmt: skip
    elif tile < AFTER_SIDES:
        _weight_tile(
            tile - AFTER_DOWN, slot, slots, x_ptr, scratch, partial, lengths_ptr, rows, nodes,
            DMIXED, PLAIN, 1, GATE, GATED, 2, LEFT, True, 2, LEFT_BIAS,
            DIM, SILU, PRECISION, ROUND, HAS_LENGTHS, OUTPUTS, INPUTS, ROWS,
        )  # fmt: skip
    elif tile < AFTER_OUT:
        _weight_tile(
            tile - AFTER_SIDES, slot, slots, x_ptr, scratch, partial, lengths_ptr, rows, nodes,
            DH, PLAIN, 1, MIXED, PLAIN, 1, OUT, False, 1, OUT_BIAS,
            DIM, SILU, PRECISION, ROUND, HAS_LENGTHS, OUTPUTS, INPUTS, ROWS,
        )  # fmt: skip
    else:
        column = (tile - AFTER_OUT) * OUTPUTS + tl.arange(0, OUTPUTS)
        inside = column < 2 * DIM
        place = partial + VECTORS * DIM * DIM + NORM_WEIGHT * DIM + column
        gradient = tl.load(place, mask=inside, other=0.0)
        for start in range(slot * ROWS, rows, slots * ROWS):
            row = start + tl.arange(0, ROWS)
            terms = scratch + (row * (31 * DIM))[:, None] + NORM_TERMS * DIM + column[None, :]
            gradient += tl.sum(
                tl.load(terms, mask=(row < rows)[:, None] & inside[None, :], other=0.0), axis=0
            )
        tl.store(place, gradient, mask=inside)


def weight_gradient_tiles(dim: int, outputs: int, inputs: int) -> int:
    """How many tiles `weight_gradient_kernel` has per slot and member."""
    one, two, four = (triton.cdiv(k * dim, outputs) for k in (1, 2, 4))
    one_in, two_in, four_in = (triton.cdiv(k * dim, inputs) for k in (1, 2, 4))
    return (
        four * two_in
        + two * four_in
        + two * two_in
        + four * one_in
        + one * (four_in + two_in + one_in)
        + two
    )


class Forward:
    """Goes up through levels."""

    def __init__(self, x: Tensor, flat: Tensor, settings: Settings) -> None:
        self.weights, _ = _prepared(flat, x.shape[-1], settings, is_backward=False)
        self.scratch = Scratch(x, settings, width=FORWARD_WIDTH)

    def level(self, level: Level, y: Tensor) -> None:
        """One level, product by product: fills y [M, B, ceil(n / 2), d]."""
        dim, scratch = level.x.shape[-1], self.scratch
        for part in level.slices(scratch.rows):
            own = self.weights[part.members]
            vectors = own[:, MATRICES * dim**2 :]
            _Products(part.level, scratch, vectors).forward(own)
            where = y[part.members, part.words]
            lower = part.level
            norm_forward_kernel[_norm_grid(lower)](
                lower.x, where, scratch.array, vectors, lower.lengths_pointer,
                *lower.drop_pointers,
                lower.rows, lower.nodes, lower.number, lower.x.stride(0), where.stride(0),
                lower.rows * scratch.width, vectors.stride(0), lower.lengths_stride,
                lower.drop_stride,
                SCRATCH_WIDTH=scratch.width, DIM=dim, PAD=triton.next_power_of_2(dim),
                ROWS=NORM_ROWS, **lower.options, num_warps=4,
            )  # fmt: skip


class Backward:
    """Goes back through levels; every slice adds its weight gradients at once.

    partial: sums over parts of the rows [M, slots, parameters].
    """

    def __init__(self, x: Tensor, flat: Tensor, settings: Settings, gradient: Tensor) -> None:
        members, dim = len(x), x.shape[-1]
        self.weights, self.transposed = _prepared(flat, dim, settings, is_backward=True)
        self.scratch = Scratch(x, settings, width=BACKWARD_WIDTH)
        slots = slot_count(members, weight_gradient_tiles(dim, *WEIGHT_TILE))
        self.partial = x.new_zeros(members, slots, num_parameters(dim))

    def level(self, level: Level, dy: Tensor, dx: Tensor) -> None:
        """Go back through one level: fills dx."""
        dim, scratch = level.x.shape[-1], self.scratch
        for part in level.slices(scratch.rows):
            own, lower = self.weights[part.members], part.level
            vectors = own[:, MATRICES * dim**2 :]
            dy_part, dx_part = dy[part.members, part.words], dx[part.members, part.words]
            products = _Products(lower, scratch, vectors, dy_part, dx_part)
            products.forward(own)
            norm_backward_kernel[_norm_grid(lower)](
                dy_part, scratch.array, vectors, lower.lengths_pointer, *lower.drop_pointers,
                lower.rows, lower.nodes, lower.number, dy_part.stride(0),
                lower.rows * scratch.width, vectors.stride(0), lower.lengths_stride,
                lower.drop_stride,
                SCRATCH_WIDTH=scratch.width, DIM=dim, PAD=triton.next_power_of_2(dim),
                ROWS=NORM_ROWS, **lower.options, num_warps=4,
            )  # fmt: skip
            products.backward(self.transposed[part.members])
            partial = self.partial[part.members]
            tiles = weight_gradient_tiles(dim, *WEIGHT_TILE)
            weight_gradient_kernel[(tiles, partial.shape[1], len(lower.x))](
                lower.x, scratch.array, partial, lower.lengths_pointer,
                lower.rows, lower.nodes, lower.x.stride(0), lower.rows * scratch.width,
                lower.lengths_stride,
                DIM=dim, **scratch.settings.arithmetic, HAS_LENGTHS=lower.lengths is not None,
                OUTPUTS=WEIGHT_TILE[0], INPUTS=WEIGHT_TILE[1], ROWS=WEIGHT.rows,
                num_warps=WEIGHT.warps, num_stages=WEIGHT.stages,
            )  # fmt: skip

    def changed(self, level: Level, dx: Tensor) -> None:
        """Nothing depends on how large dx is."""

    def flush(self) -> None:
        """Nothing waits."""


class Scratch:
    """Room for one slice of a level; width: numbers of a row, in units of d."""

    def __init__(self, x: Tensor, settings: Settings, *, width: int) -> None:
        members, batch, nodes, dim = x.shape
        self.settings = settings
        self.width = width * dim
        parents = (nodes + 1) // 2
        total = members * batch * parents
        # A sixteenth of the rows for memory's sake, but enough to occupy the processors.
        self.rows = min(total, max(min(max(total // 16, 4096), 65536), parents))
        self.array = x.new_empty(self.rows * self.width)


def _prepared(
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


class _Products:
    """Launches `linear_kernel` for one slice of a level, product after product."""

    def __init__(
        self,
        level: Level,
        scratch: Scratch,
        vectors: Tensor,
        dy: Tensor | None = None,
        dx: Tensor | None = None,
    ) -> None:
        self.level, self.scratch, self.vectors = level, scratch, vectors
        self.dy, self.dx = level.x if dy is None else dy, level.x if dx is None else dx

    def __call__(
        self, matrices: Tensor, matrix: int, source: int, inner: int, target: int, outer: int, *,
        mode: int = PLAIN, epilogue: int = STORE, other: int = 0, biases: int = 0, bias: int = 0,
        side_by_side: bool = False,
    ) -> None:  # fmt: skip
        """scratch[target] = epilogue(mode(scratch[source]) @ matrix^T); sizes in units of d."""
        level, dim = self.level, self.level.x.shape[-1]
        tiles = triton.cdiv(outer * dim, LINEAR_COLUMNS)
        tiling = fitting(LINEAR, LINEAR_FEW, level.rows, len(level.x) * tiles)
        linear_kernel[(triton.cdiv(level.rows, tiling.rows), tiles, len(level.x))](
            level.x, self.dy, self.dx, self.scratch.array, matrices, self.vectors,
            level.lengths_pointer,
            level.rows, level.nodes, level.x.stride(0), self.dy.stride(0), self.dx.stride(0),
            level.rows * self.scratch.width, matrices.stride(0), self.vectors.stride(0),
            level.lengths_stride,
            SOURCE=source, MODE=mode, INNER=inner, TARGET=target, EPILOGUE=epilogue, OUTER=outer,
            OTHER=other, MATRIX=matrix, BIASES=biases, BIAS=bias, SIDE_BY_SIDE=side_by_side,
            DIM=dim, SCRATCH_WIDTH=self.scratch.width, **self.scratch.settings.arithmetic,
            HAS_LENGTHS=level.lengths is not None,
            ROWS=tiling.rows, COLUMNS=LINEAR_COLUMNS, STEP=LINEAR_STEP,
            num_warps=tiling.warps, num_stages=tiling.stages,
        )  # fmt: skip

    def forward(self, weights: Tensor) -> None:
        """Columns P1 to F of scratch."""
        self(weights, EXPAND, 0, 2, P1, 2, mode=PAIR, biases=1, bias=EXPAND_BIAS)
        self(weights, HIDDEN, P1, 2, P2, 4, mode=ACTIVATED, biases=1, bias=HIDDEN_BIAS)
        self(weights, GATES, P2, 4, GATE, 2, mode=ACTIVATED, biases=1, bias=GATES_BIAS)
        sides = {"mode": GATED, "biases": 2, "bias": LEFT_BIAS, "side_by_side": True}
        self(weights, LEFT, GATE, 2, MIXED, 1, **sides)
        self(weights, OUT, MIXED, 1, H, 1, epilogue=SELECT, biases=1, bias=OUT_BIAS)
        self(weights, UP, H, 1, PU, 4, biases=1, bias=UP_BIAS)
        last = {"epilogue": RESIDUAL, "other": H, "biases": 1, "bias": DOWN_BIAS}
        self(weights, DOWN, PU, 4, F, 1, mode=ACTIVATED, **last)

    def backward(self, transposed: Tensor) -> None:
        """Columns DPU to DP1 of scratch, and dx, from column DF."""
        self(transposed, DOWN, DF, 1, DPU, 4, epilogue=ACTIVATION_GRADIENT, other=PU)
        self(transposed, UP, DPU, 4, DH, 1, epilogue=SPLIT_GRADIENT, other=DF)
        self(transposed, OUT, DH, 1, DMIXED, 1)
        self(transposed, LEFT, DMIXED, 1, DGATED, 2)
        gates = {"mode": GATED, "epilogue": ACTIVATION_GRADIENT, "other": P2}
        self(transposed, GATES, DGATED, 2, DP2, 4, **gates)
        self(transposed, HIDDEN, DP2, 4, DP1, 2, epilogue=ACTIVATION_GRADIENT, other=P1)
        self(transposed, EXPAND, DP1, 2, 0, 2, epilogue=INPUT_GRADIENT, other=DGATED)


def _norm_grid(level: Level) -> tuple[int, int]:
    return triton.cdiv(level.rows, NORM_ROWS), len(level.x)
