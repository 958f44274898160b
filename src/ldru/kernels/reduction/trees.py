"""Reductions along random trees, d up to 64: drawn in one launch, then one launch a level.

Nodes never move. A member's nodes are rows of one array: the leaves of all words, then what each
level makes. A level has as many rows as the longest word makes at most; tables say which rows each
one reads, -1 for a row that its word does not need. Passed nodes cost nothing, they are read later.

    row of leaf i of word w            w * length + i
    row j of word w made by level l    batch * (length + first[l]) + w * merges[l] + j

Every node has one reader, so going back writes each gradient once; what comes to nodes from
elsewhere is added before. The plain code that this must agree with is `ldru.tree.random_trees`, and
for stretches `ldru.tree.batched.factors_along`.
"""

from collections.abc import Sequence
from functools import cache

import torch
import triton
import triton.language as tl
from torch import Tensor

from ldru.kernels.elements import (
    MATRICES,
    VECTORS,
    dropout_factor,
    mix,
)
from ldru.kernels.reduction.fused import Drop
from ldru.kernels.reduction.launch import Settings
from ldru.kernels.reduction.narrow import (
    BACKWARD,
    COLLECTED_ROWS,
    FORWARD,
    SILU_COLUMNS,
    block_gradient,
    forward_tile,
    normed_tile,
    operator_gradient,
)
from ldru.kernels.reduction.operands import (
    BLOCK_ROWS,
    NUM_COLUMNS,
    Operands,
    Peaks,
    as_operands,
    gradient_scale,
    in_blocks,
)


@triton.jit
def draw_kernel(
    keys_ptr, lengths_ptr, pairs_ptr, first_ptr, left_ptr, right_ptr, begin_ptr, end_ptr, roots_ptr,
    batch, length, levels, total,
    NODES: tl.constexpr, HAS_LENGTHS: tl.constexpr,
):  # fmt: skip
    """The tables of one word's tree, and the row of its root. Grid (batch, M).

    pairs [length + 1]: how many pairs a level of so many nodes merges. first [levels + 1]: rows of
    a word that levels before make. begin, end: the stretch of the batch's symbols below each row.
    """
    word = tl.program_id(0)
    member = tl.program_id(1).to(tl.int64)
    key = keys_ptr + (member * batch + word) * 2
    first_word = tl.load(key).to(tl.uint32, bitcast=True)
    second_word = tl.load(key + 1).to(tl.uint32, bitcast=True) | 1
    left_ptr += member * total
    right_ptr += member * total
    stretches = member * (batch * length + total)
    begin_ptr += stretches
    end_ptr += stretches
    node = tl.arange(0, NODES)
    across = node[None, :]
    current = word * length + node
    count = length
    if HAS_LENGTHS:
        count = tl.load(lengths_ptr + member * batch + word)
    begin = tl.where(node < count, current, 0)
    end = tl.where(node < count, current + 1, 0)
    tl.store(begin_ptr + current, begin, mask=node < length)
    tl.store(end_ptr + current, end, mask=node < length)
    begin_ptr += batch * length
    end_ptr += batch * length
    for level in range(0, levels):
        first = tl.load(first_ptr + level)
        width = tl.load(first_ptr + level + 1) - first
        base = first * batch + word * width
        pairs = tl.load(pairs_ptr + count)
        after = count - pairs
        # 2**24 places for each level, as `ldru.tree.random_trees.PLACES`.
        noise = mix(
            (node + level * 16777216).to(tl.uint32, bitcast=True) * second_word + first_word
        )
        others = mix(
            (across + level * 16777216).to(tl.uint32, bitcast=True) * second_word + first_word
        )
        mine = noise[:, None]
        before = (others < mine) | ((others == mine) & (across < node[:, None]))
        rank = tl.sum((before & (across < after)).to(tl.int32), axis=1)
        is_pair = ((node < after) & (rank < pairs)).to(tl.int32)
        number = tl.cumsum(is_pair, axis=0) - is_pair
        start = (node + number)[:, None]
        here = tl.sum(tl.where(across == start, current[None, :], 0), axis=1)
        beside = tl.sum(tl.where(across == start + 1, current[None, :], 0), axis=1)
        begin = tl.sum(tl.where(across == start, begin[None, :], 0), axis=1)
        # The last that it takes: itself, or its neighbour.
        last = start + is_pair[:, None]
        end = tl.sum(tl.where(across == last, end[None, :], 0), axis=1)
        place = base + number
        tl.store(begin_ptr + place, begin, mask=is_pair != 0)
        tl.store(end_ptr + place, end, mask=is_pair != 0)
        tl.store(left_ptr + place, here, mask=is_pair != 0)
        tl.store(right_ptr + place, beside, mask=is_pair != 0)
        is_spare = (node >= pairs) & (node < width)
        tl.store(left_ptr + base + node, -1, mask=is_spare)
        tl.store(begin_ptr + base + node, 0, mask=is_spare)
        tl.store(end_ptr + base + node, 0, mask=is_spare)
        current = tl.where(is_pair != 0, batch * length + place, here)
        count = after
    tl.store(roots_ptr + member * batch + word, tl.sum(tl.where(node == 0, current, 0), axis=0))


@triton.jit
def _read_rows(row, rows, width, left_ptr, right_ptr):
    """The rows of a tile: word, number in the word, whether needed, and the rows they read."""
    word = row // width
    here = tl.load(left_ptr + row, mask=row < rows, other=-1)
    computed = here >= 0
    beside = tl.load(right_ptr + row, mask=computed, other=0)
    return word, row - word * width, computed, tl.maximum(here, 0), beside


@triton.jit(do_not_specialize=["rows", "width", "first", "base", "level"])
def tree_forward_kernel(
    nodes_ptr, left_ptr, right_ptr, matrices_ptr, flat_ptr, keys_ptr, cut_ptr, scale_ptr,
    rows, width, first, base, level, nodes_stride, table_stride, matrices_stride, keys_stride,
    DIM: tl.constexpr, PAD: tl.constexpr, ROWS: tl.constexpr, UNITS: tl.constexpr,
    SILU: tl.constexpr, PRECISION: tl.constexpr, DROPOUT: tl.constexpr,
):  # fmt: skip
    """One level: fills rows from `base` on of nodes [M, rows, d]. Grid (row tiles, M)."""
    member = tl.program_id(1).to(tl.int64)
    nodes_ptr += member * nodes_stride
    matrices_ptr += member * matrices_stride
    vectors = flat_ptr + member * (MATRICES * DIM * DIM + VECTORS * DIM) + MATRICES * DIM * DIM
    table = member * table_stride + first
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    word, number, computed, here, beside = _read_rows(
        row, rows, width, left_ptr + table, right_ptr + table
    )
    channel = tl.arange(0, PAD)
    inside = (channel < DIM)[None, :]
    f = forward_tile(
        nodes_ptr + (here * DIM)[:, None], nodes_ptr + (beside * DIM)[:, None], computed, computed,
        matrices_ptr, vectors, matrices_ptr, nodes_ptr, nodes_ptr,
        ROWS, DIM, PAD, UNITS, SILU, PRECISION, False,
    )  # fmt: skip
    y = normed_tile(
        f, vectors, keys_ptr + member * keys_stride, cut_ptr + member, scale_ptr + member,
        level, word, number, computed, DIM, PAD, DROPOUT,
    )  # fmt: skip
    place = nodes_ptr + ((base + row) * DIM)[:, None] + channel[None, :]
    tl.store(place, y, mask=computed[:, None] & inside)


@triton.jit(
    do_not_specialize=["begin", "end", "width", "first", "base", "level", "offset"],
)
def tree_backward_kernel(
    nodes_ptr, gradient_ptr, left_ptr, right_ptr, operands_ptr, unscale_ptr, peaks_ptr,
    matrices_ptr, flat_ptr, keys_ptr, cut_ptr, scale_ptr,
    begin, end, width, first, base, level, offset,
    nodes_stride, table_stride, operands_stride, unscale_stride, peaks_stride, matrices_stride,
    keys_stride,
    DIM: tl.constexpr, PAD: tl.constexpr, ROWS: tl.constexpr, UNITS: tl.constexpr,
    COLUMNS: tl.constexpr,
    SILU: tl.constexpr, PRECISION: tl.constexpr, DROPOUT: tl.constexpr,
):  # fmt: skip
    """Recompute rows begin to end of a level and go back through them. Grid (row tiles, M).

    As `narrow.fused_backward_kernel`; but a level's gradients come from several levels above. So
    each hands down the largest gradient in any of them with its own (peaks [M, levels + 1]).
    """
    member = tl.program_id(1).to(tl.int64)
    nodes_ptr += member * nodes_stride
    gradient_ptr += member * nodes_stride
    matrices_ptr += member * matrices_stride
    vectors = flat_ptr + member * (MATRICES * DIM * DIM + VECTORS * DIM) + MATRICES * DIM * DIM
    table = member * table_stride + first
    tile = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    operands = (operands_ptr + member * operands_stride) + ((offset + tile) * COLUMNS)[:, None]
    row = begin + tile
    word, number, computed, here, beside = _read_rows(
        row, end, width, left_ptr + table, right_ptr + table
    )
    here = (here * DIM)[:, None]
    beside = (beside * DIM)[:, None]
    channel = tl.arange(0, PAD)
    inside = (channel < DIM)[None, :]
    f = forward_tile(
        nodes_ptr + here, nodes_ptr + beside, computed, computed, matrices_ptr, vectors, operands,
        gradient_ptr + here, gradient_ptr + beside,
        ROWS, DIM, PAD, UNITS, SILU, PRECISION, True,
    )  # fmt: skip

    peak = peaks_ptr + member * peaks_stride + level
    up_scale, down_scale = gradient_scale(peak + 1)
    first_row = offset + tl.program_id(0) * ROWS
    tl.store(unscale_ptr + member * unscale_stride + first_row // BLOCK_ROWS, down_scale)

    dy = gradient_ptr + ((base + row) * DIM)[:, None] + channel[None, :]
    dnorm = tl.load(dy, mask=computed[:, None] & inside, other=0.0) * up_scale
    if DROPOUT:
        dnorm *= dropout_factor(
            keys_ptr + member * keys_stride, cut_ptr + member, scale_ptr + member,
            level, word, number, computed, channel, DIM,
        )  # fmt: skip
    dh = block_gradient(dnorm, f, operands, matrices_ptr, vectors, DIM, PAD, UNITS, SILU, PRECISION)
    largest = operator_gradient(
        nodes_ptr, gradient_ptr, here, beside, computed, dh, operands, matrices_ptr, down_scale,
        ROWS, DIM, PAD, UNITS, SILU, PRECISION,
    )  # fmt: skip
    bits = tl.maximum(largest.to(tl.int32, bitcast=True), tl.load(peak + 1))
    tl.atomic_max(peak, bits, sem="relaxed")


@cache
def _counts(numbers: tuple[int, ...], device: torch.device) -> Tensor:
    """Numbers on a device, kept for good: a captured step cannot copy, and goes on reading them."""
    return torch.tensor(numbers, dtype=torch.int32, device=device)


def _firsts(merges: Sequence[int]) -> list[int]:
    """Rows of a word that the levels before each one make, and all of them."""
    firsts = [0]
    for count in merges:
        firsts.append(firsts[-1] + count)
    return firsts


def forward_along(
    x: Tensor,
    flat: Tensor,
    tree_keys: Tensor,
    lengths: Tensor | None,
    drop: Drop | None,
    merges: Sequence[int],
    pairs: Sequence[int],
    is_silu: bool,
    is_tf32: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Roots [M, B, d], all nodes [M, rows, d], tables, and rows of the roots [M, B].

    The tables are left and right of merged rows, begin and end of all rows: see `draw_kernel`.

    merges: the most pairs of a word at each level; pairs: of a level of 0, 1, ... nodes.
    """
    settings, firsts = Settings(is_silu, is_tf32), _firsts(merges)
    members, batch, length, dim = x.shape
    flat = flat.contiguous()
    nodes = x.new_empty(members, batch * (length + firsts[-1]), dim)
    nodes[:, : batch * length] = x.flatten(1, 2)
    left = torch.empty(members, batch * firsts[-1], dtype=torch.int32, device=x.device)
    right, roots = torch.empty_like(left), left.new_empty(members, batch)
    begin, end = (left.new_empty(nodes.shape[:2]) for _ in range(2))
    draw_kernel[(batch, members)](
        tree_keys.contiguous(), left if lengths is None else lengths.contiguous(),
        _counts(tuple(pairs), x.device), _counts(tuple(firsts), x.device), left, right, begin,
        end, roots, batch, length, len(merges), left.shape[1],
        NODES=max(2, triton.next_power_of_2(length)), HAS_LENGTHS=lengths is not None, num_warps=4,
    )  # fmt: skip
    matrices = as_operands(flat, settings)
    pointers = (x, x, x) if drop is None else drop
    for level, width in enumerate(merges):
        rows = batch * width
        tiling = FORWARD.fitting(settings, rows=rows, others=members)
        tree_forward_kernel[(triton.cdiv(rows, tiling.rows), members)](
            nodes, left, right, matrices, flat, *pointers,
            rows, width, batch * firsts[level], batch * (length + firsts[level]), level,
            nodes.stride(0), left.stride(0), matrices.stride(0), pointers[0].stride(0),
            DIM=dim, PAD=triton.next_power_of_2(dim), ROWS=tiling.rows, UNITS=tiling.units,
            SILU=is_silu, PRECISION=settings.precision, DROPOUT=drop is not None,
            num_warps=tiling.warps, num_stages=tiling.stages,
        )  # fmt: skip
    return _take(nodes, roots), nodes, left, right, begin, end, roots


def backward_along(
    gradient: Tensor,
    node_gradient: Tensor | None,
    nodes: Tensor,
    left: Tensor,
    right: Tensor,
    roots: Tensor,
    flat: Tensor,
    drop: Drop | None,
    merges: Sequence[int],
    is_silu: bool,
    is_tf32: bool,
) -> tuple[Tensor, Tensor]:
    """Gradients of the leaves [M, B, n, d] and of the weights [M, parameters].

    gradient, node_gradient: of the roots [M, B, d], and of all nodes where they are used elsewhere.
    """
    from ldru.kernels.reduction.mlp_launch import sum_slots

    settings, firsts = Settings(is_silu, is_tf32), _firsts(merges)
    members, _, dim = nodes.shape
    batch = roots.shape[1]
    length = nodes.shape[1] // batch - firsts[-1]
    flat, gradient = flat.contiguous(), gradient.contiguous()
    gradients = torch.empty_like(nodes)
    # Nobody reads the padding, nor rows that a word does not need; those are added to as well.
    gradients[:, : batch * length if node_gradient is None else None] = 0
    gradients.scatter_(1, roots.long()[..., None].expand(-1, -1, dim), gradient)
    matrices = as_operands(flat, settings)
    block = BLOCK_ROWS.value
    rows = sum(in_blocks(batch * width) for width in merges)
    capacity = max(min(COLLECTED_ROWS // members // block * block, rows), block)
    columns = SILU_COLUMNS if is_silu else NUM_COLUMNS
    operands = Operands(flat, settings, dim=dim, capacity=capacity, columns=columns)
    peaks = Peaks(gradient, levels=len(merges) + 1)
    pointers = (nodes, nodes, nodes) if drop is None else drop
    for level in reversed(range(len(merges))):
        width = merges[level]
        if node_gradient is not None:
            begin = batch * (length + firsts[level])
            own = slice(begin, begin + batch * width)
            gradients[:, own] += node_gradient[:, own]
            peaks.find(level + 1, gradients[:, own], is_more=True)
        for piece in operands.room_for(batch * width):
            tiling = BACKWARD.fitting(settings, rows=piece.end - piece.begin, others=members)
            tree_backward_kernel[(piece.filled // tiling.rows, members)](
                nodes, gradients, left, right, operands.array, operands.unscale, peaks.bits,
                matrices, flat, *pointers,
                piece.begin, piece.end, width, batch * firsts[level],
                batch * (length + firsts[level]), level, piece.offset,
                nodes.stride(0), left.stride(0), operands.array.stride(0),
                operands.unscale.stride(0), peaks.bits.stride(0), matrices.stride(0),
                pointers[0].stride(0),
                DIM=dim, PAD=triton.next_power_of_2(dim), ROWS=tiling.rows, UNITS=tiling.units,
                COLUMNS=operands.array.shape[2],
                SILU=is_silu, PRECISION=settings.precision, DROPOUT=drop is not None,
                num_warps=tiling.warps, num_stages=tiling.stages,
            )  # fmt: skip
    operands.flush()
    leaves = gradients[:, : batch * length].unflatten(1, (batch, length))
    if node_gradient is not None:
        leaves = leaves + node_gradient[:, : batch * length].unflatten(1, (batch, length))
    return leaves.contiguous(), sum_slots(operands.partial)


def _take(nodes: Tensor, rows: Tensor) -> Tensor:
    """Rows by number: [M, rows, d], [M, count] -> [M, count, d]."""
    return nodes.gather(1, rows.long()[..., None].expand(-1, -1, nodes.shape[-1]))
