"""Levels of wide models, d up to 256, and the operator alone: products by the vendor's library.

At such widths one product of all rows of a level fills the processors by itself, and PyTorch's
batched product is hard to beat. Between two products stands one launch of `between_kernel`: it adds
the bias to what the first gave, in float32, and leaves the operand of the second in the array of
operands (see `operands`), where the weight gradients find it.
"""

from collections.abc import Iterator
from functools import partial

import torch
import triton
import triton.language as tl
from torch import Tensor

from ldru.kernels.elements import (
    DOWN_BIAS,
    EXPAND_BIAS,
    GATES_BIAS,
    HIDDEN_BIAS,
    LEFT_BIAS,
    NORM_BIAS,
    NORM_WEIGHT,
    OUT_BIAS,
    RIGHT_BIAS,
    UP_BIAS,
    activate,
    activation_gradient,
    dropout_factor,
    load_pair,
    load_vector,
    norm_input_gradient,
    row_state,
    standardised,
)
from ldru.kernels.reduction.fused import inner_nodes
from ldru.kernels.reduction.launch import Level, Settings
from ldru.kernels.reduction.layout import MATRICES, matrices_of
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
    GRADIENTS,
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
    operand_type,
    pieces,
    to_operand,
)

COLLECTED_BYTES = 2**30  # of operands, of all members together

BETWEEN_ROWS, BETWEEN_COLUMNS = 8, 256  # of 8, 16 and 32 rows the fastest on an H200 at d = 256
NORM_ROWS = 4

# What happens between two products: t is what the one before gave.
JOIN = tl.constexpr(0)  # operand TARGET = the two inputs side by side
ACTIVATE = tl.constexpr(1)  # TARGET = activation(t + bias)
SHIFT = tl.constexpr(2)  # TARGET = t + biases
GATE = tl.constexpr(3)  # t += bias, TARGET = t * inputs
STATE = tl.constexpr(4)  # t += bias, or the left input where the operator is skipped; TARGET = t
# ... and going back, with t the gradient of what a product read:
SLOPE = tl.constexpr(5)  # TARGET = t * activation'(more + bias)
CAST = tl.constexpr(6)  # TARGET = t
STATE_GRADIENT = tl.constexpr(7)  # t + more, to TARGET or, where the operator is skipped, to dx
GATE_GRADIENT = tl.constexpr(8)  # TARGET = t * inputs, t *= more
INPUT_GRADIENT = tl.constexpr(9)  # t + more, to dx
WITH_BIAS = (ACTIVATE, SHIFT, GATE, STATE, SLOPE)

# The operands whose products are the gradients of the operator's matrices.
FACTORS = {
    "expand": (DP1, PAIR),
    "hidden": (DP2, Z1),
    "gates": (DGATE, Z2),
    "left": (DMIXED, GATED),
    "right": (DMIXED, GATED + 1),
    "out": (DH, MIXED),
}


@triton.jit(do_not_specialize=["begin", "end", "nodes", "level", "offset"])
def between_kernel(
    t_ptr, more_ptr, x_ptr, dy_ptr, dx_ptr, operands_ptr, unscale_ptr, peaks_ptr, vectors_ptr,
    lengths_ptr,
    begin, end, nodes, level, offset, t_stride, x_stride, dy_stride, dx_stride, operands_stride,
    unscale_stride, peaks_stride, vectors_stride, lengths_stride,
    STAGE: tl.constexpr, WIDTH: tl.constexpr, TARGET: tl.constexpr, BIAS: tl.constexpr,
    BIASES: tl.constexpr, HAS_BLOCK: tl.constexpr,
    DIM: tl.constexpr, COLUMNS: tl.constexpr, SILU: tl.constexpr, HAS_LENGTHS: tl.constexpr,
    ROUND: tl.constexpr, ROWS: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """One of the stages above for rows begin to end of a level; t and more [M, filled, WIDTH d].

    TARGET is a column of the operands [M, capacity, COLUMNS] and BIAS the first of BIASES vectors,
    in units of d. Without HAS_BLOCK the operator stands alone: dy is the gradient of the state, and
    gradients are not scaled. Grid (row tiles, column tiles, M).
    """
    member = tl.program_id(2).to(tl.int64)
    tile = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(1) * TILE + tl.arange(0, TILE)
    x_ptr += member * x_stride
    operands = operands_ptr + member * operands_stride + ((offset + tile) * COLUMNS)[:, None]
    operands += column[None, :]
    kind: tl.constexpr = operands_ptr.dtype.element_ty
    inside = (column < WIDTH * DIM)[None, :]
    word, parent, computed, paired, finished = row_state(
        begin + tile, end, nodes, lengths_ptr + member * lengths_stride, HAS_LENGTHS
    )
    inputs = ((word.to(tl.int64) * nodes + 2 * parent) * DIM)[:, None]
    both = paired[:, None] & inside
    t_place = t_ptr + member * t_stride + (tile * (WIDTH * DIM))[:, None] + column[None, :]
    more_place = more_ptr + member * t_stride + (tile * (WIDTH * DIM))[:, None] + column[None, :]

    bias = tl.zeros((TILE,), dtype=tl.float32)
    vectors = vectors_ptr + member * vectors_stride
    for extra in tl.static_range(BIASES):
        bias += load_vector(vectors + (BIAS + extra * WIDTH) * DIM, column, WIDTH * DIM)
    dy_place = dy_ptr + member * dy_stride + ((begin + tile).to(tl.int64) * DIM)[:, None]
    dy_place += column[None, :]
    if STAGE == JOIN:
        t = load_pair(x_ptr + inputs, computed, paired, column, WIDTH * DIM, DIM)
    elif STAGE == STATE_GRADIENT and not HAS_BLOCK:
        t = tl.load(dy_place, mask=computed[:, None] & inside, other=0.0)
    else:
        t = tl.load(t_place, mask=inside, other=0.0)

    if STAGE == ACTIVATE:
        t = activate(t + bias[None, :], SILU)
    if STAGE == SLOPE:
        before = tl.load(more_place, mask=inside, other=0.0) + bias[None, :]
        t *= activation_gradient(before, SILU)
    if STAGE == SHIFT or STAGE == GATE or STAGE == STATE:
        t += bias[None, :]
    if STAGE == GATE:
        tl.store(t_place, t, mask=inside)
        t *= tl.load(x_ptr + inputs + column[None, :], mask=both, other=0.0)
    if STAGE == STATE:
        alone = (computed & ~paired)[:, None] & inside
        left = tl.load(x_ptr + inputs + column[None, :], mask=alone, other=0.0)
        t = tl.where(paired[:, None], t, left)
        tl.store(t_place, t, mask=inside)
    if STAGE == GATE_GRADIENT:
        gate = tl.load(more_place, mask=inside, other=0.0)
        tl.store(t_place, t * gate, mask=inside)
        t *= tl.load(x_ptr + inputs + column[None, :], mask=both, other=0.0)
    if STAGE == STATE_GRADIENT or STAGE == INPUT_GRADIENT:
        peaks_ptr += member * peaks_stride + level
        dx_place = dx_ptr + member * dx_stride + inputs + column[None, :]
        down_scale = 1.0
        if HAS_BLOCK:
            _, down_scale = gradient_scale(peaks_ptr + 1)
        dx_mask = both
        if STAGE == STATE_GRADIENT:
            if HAS_BLOCK:
                first = offset + tl.program_id(0) * ROWS
                tl.store(unscale_ptr + member * unscale_stride + first // BLOCK_ROWS, down_scale)
                t += tl.load(more_place, mask=inside, other=0.0)
            dx = tl.where(computed[:, None], t * down_scale, 0.0)
            if HAS_LENGTHS:
                dx += tl.load(dy_place, mask=finished[:, None] & inside, other=0.0)
            alone = (begin + tile < end) & ~paired
            dx_mask = alone[:, None] & inside
            beside = (alone & (2 * parent + 1 < nodes))[:, None] & inside
            tl.store(dx_place + DIM, tl.zeros_like(dx), mask=beside)
            t = tl.where(paired[:, None], t, 0.0)
        else:
            dx = (t + tl.load(more_place, mask=inside, other=0.0)) * down_scale
        tl.store(dx_place, dx, mask=dx_mask)
        if HAS_BLOCK:
            largest = tl.max(tl.max(tl.where(dx_mask, tl.abs(dx), 0.0), axis=1), axis=0)
            tl.atomic_max(peaks_ptr, largest.to(tl.int32, bitcast=True), sem="relaxed")
    if STAGE != INPUT_GRADIENT:
        tl.store(operands + TARGET * DIM, to_operand(t, kind, ROUND), mask=inside)


@triton.jit(do_not_specialize=["begin", "end", "nodes", "level"])
def norm_forward_kernel(
    t_ptr, state_ptr, x_ptr, y_ptr, vectors_ptr, lengths_ptr, keys_ptr, cut_ptr, scale_ptr,
    begin, end, nodes, level, t_stride, x_stride, y_stride, vectors_stride, lengths_stride,
    keys_stride,
    DIM: tl.constexpr, PAD: tl.constexpr, HAS_LENGTHS: tl.constexpr, DROPOUT: tl.constexpr,
    ROWS: tl.constexpr,
):  # fmt: skip
    """Norm and dropout of t + bias + state, or x where a word is finished -> y.

    t and state [M, filled, d]. Grid (row tiles, M).
    """
    member = tl.program_id(1).to(tl.int64)
    tile = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    row = begin + tile
    word, parent, computed, paired, finished = row_state(
        row, end, nodes, lengths_ptr + member * lengths_stride, HAS_LENGTHS
    )
    channel = tl.arange(0, PAD)
    inside = (channel < DIM)[None, :]
    vectors = vectors_ptr + member * vectors_stride
    y, _ = standardised(
        _norm_input(t_ptr, state_ptr, member * t_stride, vectors, tile, channel, DIM), inside, DIM
    )
    y *= load_vector(vectors + NORM_WEIGHT * DIM, channel, DIM)[None, :]
    y += load_vector(vectors + NORM_BIAS * DIM, channel, DIM)[None, :]
    if DROPOUT:
        y *= dropout_factor(
            keys_ptr + member * keys_stride, cut_ptr + member, scale_ptr + member,
            level, word, parent, computed, channel, DIM,
        )  # fmt: skip
    if HAS_LENGTHS:
        place = x_ptr + member * x_stride
        place += ((word.to(tl.int64) * nodes + 2 * parent) * DIM)[:, None]
        whole = tl.load(place + channel[None, :], mask=finished[:, None] & inside, other=0.0)
        y = tl.where(finished[:, None], whole, y)
    place = y_ptr + member * y_stride + (row.to(tl.int64) * DIM)[:, None] + channel[None, :]
    tl.store(place, y, mask=(computed | finished)[:, None] & inside)


@triton.jit(do_not_specialize=["begin", "end", "nodes", "level", "offset"])
def norm_backward_kernel(
    t_ptr, state_ptr, dy_ptr, operands_ptr, peaks_ptr, vectors_ptr, lengths_ptr, keys_ptr,
    cut_ptr, scale_ptr,
    begin, end, nodes, level, offset, t_stride, dy_stride, operands_stride, peaks_stride,
    vectors_stride, lengths_stride, keys_stride,
    DIM: tl.constexpr, PAD: tl.constexpr, COLUMNS: tl.constexpr, HAS_LENGTHS: tl.constexpr,
    DROPOUT: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """dy -> the gradient of the norm's input, scaled: to t and operand DF; terms of the norm's own.

    Grid (row tiles, M).
    """
    member = tl.program_id(1).to(tl.int64)
    tile = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    row = begin + tile
    word, parent, computed, paired, finished = row_state(
        row, end, nodes, lengths_ptr + member * lengths_stride, HAS_LENGTHS
    )
    channel = tl.arange(0, PAD)
    inside = (channel < DIM)[None, :]
    vectors = vectors_ptr + member * vectors_stride
    up_scale, _ = gradient_scale(peaks_ptr + member * peaks_stride + level + 1)
    place = dy_ptr + member * dy_stride + (row.to(tl.int64) * DIM)[:, None] + channel[None, :]
    dnorm = tl.load(place, mask=computed[:, None] & inside, other=0.0) * up_scale
    if DROPOUT:
        dnorm *= dropout_factor(
            keys_ptr + member * keys_stride, cut_ptr + member, scale_ptr + member,
            level, word, parent, computed, channel, DIM,
        )  # fmt: skip
    normed, inverse = standardised(
        _norm_input(t_ptr, state_ptr, member * t_stride, vectors, tile, channel, DIM), inside, DIM
    )
    norm_weight = load_vector(vectors + NORM_WEIGHT * DIM, channel, DIM)
    df = norm_input_gradient(dnorm * norm_weight[None, :], normed, inverse, DIM)
    kind = operands_ptr.dtype.element_ty
    operands = operands_ptr + member * operands_stride + ((offset + tile) * COLUMNS)[:, None]
    operands += channel[None, :]
    for part in tl.static_range(2):
        term = dnorm * normed if part == 0 else dnorm
        rounded = term.to(kind)
        rest = (term - rounded.to(tl.float32)).to(kind)
        tl.store(operands + (NORM + part) * DIM, rounded, mask=inside)
        tl.store(operands + (NORM_REST + part) * DIM, rest, mask=inside)
    tl.store(operands + DF * DIM, df.to(kind), mask=inside)
    place = t_ptr + member * t_stride + (tile * DIM)[:, None] + channel[None, :]
    tl.store(place, df, mask=inside)


@triton.jit
def _norm_input(t_ptr, state_ptr, member_place, vectors, tile, channel, DIM: tl.constexpr):
    """t + bias + state [R, C], zero outside the channels."""
    inside = (channel < DIM)[None, :]
    place = member_place + (tile * DIM)[:, None] + channel[None, :]
    f = tl.load(t_ptr + place, mask=inside, other=0.0)
    f += load_vector(vectors + DOWN_BIAS * DIM, channel, DIM)[None, :]
    return f + tl.load(state_ptr + place, mask=inside, other=0.0)


class Weights:
    """The weights of all members as the products read them."""

    def __init__(self, flat: Tensor, settings: Settings, *, dim: int) -> None:
        matrices = matrices_of(as_operands(flat[:, : MATRICES * dim**2], settings), dim=dim)
        # V_l and V_r share one product.
        sides = torch.cat([matrices.pop("left"), matrices.pop("right")], dim=2)
        self.matrices = {**matrices, "sides": sides}
        self.vectors = flat[:, MATRICES * dim**2 :]


class Rows:
    """Some rows of a level on their way through the products, forward and back.

    before: what the products before each activation gave, by name of the layer, for the way back.
    """

    def __init__(
        self, level: Level, piece: Piece, weights: Weights, array: Tensor, settings: Settings
    ) -> None:
        self.level, self.piece, self.weights = level, piece, weights
        self.array, self.settings = array, settings
        self.dim = level.x.shape[-1]
        self.goes_back = array.shape[2] > GRADIENTS.value * self.dim
        self.before: dict[str, Tensor] = {}

    def mix(self) -> Tensor:
        """The operator up to its last layer: its gates [M, filled, 2 d]."""
        self._between(JOIN, None, width=2, target=PAIR)
        self._hidden("expand", PAIR, Z1, EXPAND_BIAS)
        self._hidden("hidden", Z1, Z2, HIDDEN_BIAS)
        gates = self._product("gates", Z2)
        self._between(GATE, gates, target=GATED, bias=GATES_BIAS)
        mixed = self._product("sides", GATED)
        self._between(SHIFT, mixed, target=MIXED, bias=LEFT_BIAS, biases=2)
        return gates

    def state(self) -> Tensor:
        """The operator's result [M, filled, d], after `mix`."""
        state = self._product("out", MIXED)
        self._between(STATE, state, target=H, bias=OUT_BIAS)
        return state

    def block(self) -> Tensor:
        """The residual block's part of the state, but for a bias: [M, filled, d]."""
        self._hidden("up", H, ZU, UP_BIAS)
        return self._product("down", ZU)

    def norm(self, t: Tensor, state: Tensor, y: Tensor) -> None:
        """The rows' part of y, from the state and what the block adds."""
        level, piece, vectors = self.level, self.piece, self.weights.vectors
        norm_forward_kernel[(triton.cdiv(piece.filled, NORM_ROWS), len(t))](
            t, state, level.x, y, vectors, level.lengths_pointer, *level.drop_pointers,
            piece.begin, piece.end, level.nodes, level.number, t.stride(0), level.x.stride(0),
            y.stride(0), vectors.stride(0), level.lengths_stride, level.drop_stride,
            DIM=self.dim, PAD=triton.next_power_of_2(self.dim), ROWS=NORM_ROWS, **level.options,
            num_warps=4,
        )  # fmt: skip

    def norm_back(self, t: Tensor, state: Tensor, dy: Tensor, peaks: Tensor) -> Tensor:
        """The gradient of the norm's input [M, filled, d], in place of t."""
        level, piece, vectors, array = self.level, self.piece, self.weights.vectors, self.array
        norm_backward_kernel[(triton.cdiv(piece.filled, NORM_ROWS), len(t))](
            t, state, dy, array, peaks, vectors, level.lengths_pointer, *level.drop_pointers,
            piece.begin, piece.end, level.nodes, level.number, piece.offset, t.stride(0),
            dy.stride(0), array.stride(0), peaks.stride(0), vectors.stride(0),
            level.lengths_stride, level.drop_stride,
            DIM=self.dim, PAD=triton.next_power_of_2(self.dim), COLUMNS=array.shape[2],
            ROWS=NORM_ROWS, **level.options, num_warps=4,
        )  # fmt: skip
        return t

    def block_back(self) -> Tensor:
        """The gradient of the state [M, filled, d] that comes through the block."""
        self._slope("up", self._product_back("down", DF), DPU, UP_BIAS)
        return self._product_back("up", DPU)

    def operator_back(
        self, gates: Tensor, dy: Tensor, dx: Tensor, *,
        through_block: Tensor | None = None, past_block: Tensor | None = None,
        unscale: Tensor | None = None, peaks: Tensor | None = None,
    ) -> None:  # fmt: skip
        """Fills dx. The gradient of the state is what comes through and past the block, else dy."""
        back = partial(
            self._between,
            dy=dy,
            dx=dx,
            unscale=unscale,
            peaks=peaks,
            has_block=through_block is not None,
        )
        back(STATE_GRADIENT, through_block, more=past_block, target=DH, width=1)
        self._between(CAST, self._product_back("out", DH), target=DMIXED)
        gated = self._product_back("sides", DMIXED)
        self._between(GATE_GRADIENT, gated, more=gates, target=DGATE)
        self._slope("hidden", self._product_back("gates", DGATE), DP2, HIDDEN_BIAS)
        self._slope("expand", self._product_back("hidden", DP2), DP1, EXPAND_BIAS)
        back(INPUT_GRADIENT, self._product_back("expand", DP1), more=gated)

    def add_gradients(self, gradient: Tensor) -> None:
        """Add what the rows contribute to the gradients of the operator's weights.

        gradient: of the flat parameters [M, parameters].
        """
        dim, matrices = self.dim, matrices_of(gradient, dim=self.dim)
        for name, (outer, inner) in FACTORS.items():
            outputs, inputs = matrices[name].shape[1:]
            left = self._operand(outer, outputs).transpose(1, 2)
            matrices[name].baddbmm_(left, self._operand(inner, inputs))
        # In the order of the biases, but that V_l and V_r share one.
        sums = self._operand(GRADIENTS, (DPU.value - GRADIENTS.value) * dim).sum(dim=1)
        vectors, right = gradient[:, MATRICES * dim**2 :], RIGHT_BIAS.value * dim
        vectors[:, :right] += sums[:, :right]
        vectors[:, right : right + 2 * dim] += sums[:, right - dim :]

    def _hidden(self, name: str, source: int, target: int, bias: int) -> None:
        """A layer with an activation, from one operand to another."""
        t = self._product(name, source)
        if self.goes_back:
            self.before[name] = t
        self._between(ACTIVATE, t, target=target, bias=bias)

    def _slope(self, name: str, t: Tensor, target: int, bias: int) -> None:
        """Back through that activation."""
        self._between(SLOPE, t, more=self.before.pop(name), target=target, bias=bias)

    def _product(self, name: str, operand: int) -> Tensor:
        """An operand through a layer, without its bias: [M, filled, outputs]."""
        matrix = self.weights.matrices[name]
        return product(self._operand(operand, matrix.shape[2]), matrix.transpose(1, 2))

    def _product_back(self, name: str, operand: int) -> Tensor:
        """The product's gradient with respect to its inputs: [M, filled, inputs]."""
        matrix = self.weights.matrices[name]
        return product(self._operand(operand, matrix.shape[1]), matrix)

    def _operand(self, column: int, width: int) -> Tensor:
        begin, first = self.piece.offset, int(column) * self.dim
        return self.array[:, begin : begin + self.piece.filled, first : first + width]

    def _between(
        self, stage: int, t: Tensor | None, *, target: int = 0, bias: int = 0, biases: int = 1,
        width: int = 0, more: Tensor | None = None, has_block: bool = True,
        dy: Tensor | None = None, dx: Tensor | None = None,
        unscale: Tensor | None = None, peaks: Tensor | None = None,
    ) -> None:  # fmt: skip
        """Launch `between_kernel`; what is absent is never read."""
        level, piece, array, vectors = self.level, self.piece, self.array, self.weights.vectors
        width = width if t is None else t.shape[2] // self.dim
        shape = (piece.filled, width * self.dim)
        grid = triton.cdiv(shape[0], BETWEEN_ROWS), triton.cdiv(shape[1], BETWEEN_COLUMNS)
        t, more, dy, dx, unscale, peaks = (
            level.x if value is None else value for value in (t, more, dy, dx, unscale, peaks)
        )
        between_kernel[(*grid, len(level.x))](
            t, more, level.x, dy, dx, array, unscale, peaks, vectors, level.lengths_pointer,
            piece.begin, piece.end, level.nodes, level.number, piece.offset, shape[0] * shape[1],
            level.x.stride(0), dy.stride(0), dx.stride(0), array.stride(0), unscale.stride(0),
            peaks.stride(0), vectors.stride(0), level.lengths_stride,
            STAGE=stage, WIDTH=width, TARGET=target, BIAS=bias,
            BIASES=biases if stage in WITH_BIAS else 0, HAS_BLOCK=has_block,
            DIM=self.dim, COLUMNS=array.shape[2], SILU=self.settings.is_silu,
            HAS_LENGTHS=level.lengths is not None, ROUND=self.settings.is_rounded,
            ROWS=BETWEEN_ROWS, TILE=BETWEEN_COLUMNS, num_warps=4,
        )  # fmt: skip


def product(a: Tensor, b: Tensor) -> Tensor:
    """Batched a @ b, summed and returned in float32, also where a backward pass meets autocast."""
    with torch.autocast(a.device.type, enabled=False):
        if a.dtype == torch.float32:
            return torch.bmm(a, b)
        if not a.is_cuda:  # the interpreter's; PyTorch sums so on GPUs alone
            return torch.bmm(a.float(), b.float())
        return torch.bmm(a, b, out_dtype=torch.float32)


class Forward:
    """Goes up through levels."""

    def __init__(self, x: Tensor, flat: Tensor, settings: Settings) -> None:
        members, batch, nodes, dim = x.shape
        self.settings, self.weights = settings, Weights(flat, settings, dim=dim)
        columns = GRADIENTS.value * dim
        capacity = _capacity(members, batch * ((nodes + 1) // 2), columns, settings)
        self.array = flat.new_empty(members, capacity, columns, dtype=operand_type(settings))

    def level(self, level: Level, y: Tensor) -> None:
        """One level, product by product: fills y [M, B, ceil(n / 2), d]."""
        for piece in pieces(level.rows, self.array.shape[1]):
            rows = Rows(level, piece, self.weights, self.array, self.settings)
            rows.mix()
            state = rows.state()
            rows.norm(rows.block(), state, y)


class Backward:
    """Goes back through levels, and collects what the weight gradients are made of."""

    def __init__(self, x: Tensor, flat: Tensor, settings: Settings, gradient: Tensor) -> None:
        members, batch, nodes, dim = x.shape
        self.settings, self.weights = settings, Weights(flat, settings, dim=dim)
        counts = [*inner_nodes(nodes), 1]
        rows = sum(in_blocks(batch * count) for count in counts)
        capacity = _capacity(members, rows, NUM_COLUMNS * dim, settings)
        self.operands = Operands(flat, settings, dim=dim, capacity=capacity, columns=NUM_COLUMNS)
        self.peaks = Peaks(gradient, levels=len(counts) + 1)

    def level(self, level: Level, dy: Tensor, dx: Tensor) -> None:
        """Go back through one level: fills dx, and leaves the rest with the operands."""
        operands, peaks = self.operands, self.peaks.bits
        for piece in operands.room_for(level.rows):
            rows = Rows(level, piece, self.weights, operands.array, self.settings)
            gates = rows.mix()
            state = rows.state()
            past = rows.norm_back(rows.block(), state, dy, peaks)
            through = rows.block_back()
            rows.operator_back(
                gates,
                dy,
                dx,
                through_block=through,
                past_block=past,
                unscale=operands.unscale,
                peaks=peaks,
            )


class Combination:
    """The operator alone on pairs [M, rows, 2, d], and back.

    No norm holds its results down, so its settings must not be bounded.
    """

    def __init__(self, pairs: Tensor, flat: Tensor, settings: Settings) -> None:
        self.level = Level(pairs, lengths=None, drop=None, number=0)
        self.settings, self.flat = settings, flat
        self.weights = Weights(flat, settings, dim=pairs.shape[-1])

    def forward(self) -> Tensor:
        """[M, rows, d]."""
        states = []
        for rows in self._pieces(columns=H.value + 1):
            rows.mix()
            states.append(rows.state()[:, : rows.piece.end - rows.piece.begin])
        return torch.cat(states, dim=1)

    def backward(self, gradient: Tensor) -> tuple[Tensor, Tensor]:
        """Gradients of the pairs and of the weights, zero for those of the block."""
        dx, dflat = torch.empty_like(self.level.x), torch.zeros_like(self.flat)
        for rows in self._pieces(columns=DPU.value):
            rows.operator_back(rows.mix(), gradient, dx)
            rows.add_gradients(dflat)
        return dx, dflat

    def _pieces(self, *, columns: int) -> Iterator[Rows]:
        """The rows, piece by piece, with room for so many columns of operands."""
        members, count, _, dim = self.level.x.shape
        capacity = _capacity(members, count, columns * dim, self.settings)
        array = self.flat.new_empty(
            members, capacity, columns * dim, dtype=operand_type(self.settings)
        )
        for piece in pieces(count, capacity):
            yield Rows(self.level, piece, self.weights, array, self.settings)


def _capacity(members: int, rows: int, columns: int, settings: Settings) -> int:
    """How many rows of operands there is room for, in whole blocks."""
    block = BLOCK_ROWS.value
    most = COLLECTED_BYTES // (members * columns * operand_type(settings).itemsize)
    return max(min(most // block * block, in_blocks(rows)), block)
