"""Code that the kernels share: where weights lie, and the arithmetic of a tile.

M is the number of members, d the width. A row is one node of a level to be computed: row
`word * ceil(nodes / 2) + parent`, from the inputs `2 * parent` and `2 * parent + 1` of that word.
"""

import triton
import triton.language as tl

# Where the matrices start in the flat parameters, in units of d^2 (see layout.py).
EXPAND = tl.constexpr(0)
HIDDEN = tl.constexpr(4)
GATES = tl.constexpr(12)
LEFT = tl.constexpr(20)
RIGHT = tl.constexpr(21)
OUT = tl.constexpr(22)
UP = tl.constexpr(23)
DOWN = tl.constexpr(27)
MATRICES = tl.constexpr(31)  # all of them; the vectors follow

# Where the vectors start after the matrices, in units of d.
EXPAND_BIAS = tl.constexpr(0)
HIDDEN_BIAS = tl.constexpr(2)
GATES_BIAS = tl.constexpr(6)
LEFT_BIAS = tl.constexpr(8)
RIGHT_BIAS = tl.constexpr(9)
OUT_BIAS = tl.constexpr(10)
UP_BIAS = tl.constexpr(11)
DOWN_BIAS = tl.constexpr(15)
NORM_WEIGHT = tl.constexpr(16)
NORM_BIAS = tl.constexpr(17)
VECTORS = tl.constexpr(18)  # all of them

PLACES = tl.constexpr(2**24)  # elements per level in a word's dropout sequence


@triton.jit
def mix(x):
    """Scramble 32-bit words, as `ldru.base.randomness._mix`: uint32 -> uint32."""
    x = (x ^ (x >> 16)) * 0x7FEB352D
    x = (x ^ (x >> 15)) * 0x846CA68B
    return x ^ (x >> 16)


@triton.jit
def dropout_factor(
    keys_ptr, cut_ptr, scale_ptr, level, word, node, there, channel, DIM: tl.constexpr
):
    """Factors of dropout, scale or 0, as in `ldru.layers.dropout`: word, node [R] -> [R, C].

    Every word of the batch has a key; an element is its level, node and channel. Only the rows
    that are `there` have a word.
    """
    first = tl.load(keys_ptr + 2 * word, mask=there, other=0).to(tl.uint32, bitcast=True)
    second = tl.load(keys_ptr + 2 * word + 1, mask=there, other=0).to(tl.uint32, bitcast=True)
    index = (level * PLACES + node[:, None] * DIM + channel[None, :]).to(tl.uint32, bitcast=True)
    bits = mix(index * (second | 1)[:, None] + first[:, None]).to(tl.int32, bitcast=True)
    return tl.where(bits >= tl.load(cut_ptr), tl.load(scale_ptr), 0.0)


@triton.jit
def activate(x, SILU: tl.constexpr):
    if SILU:
        return x * tl.sigmoid(x)
    else:
        return tl.maximum(x, 0.0)


@triton.jit
def activation_gradient(x, SILU: tl.constexpr):
    if SILU:
        gate = tl.sigmoid(x)
        return gate * (1.0 + x * (1.0 - gate))
    else:
        return tl.where(x > 0.0, 1.0, 0.0)


@triton.jit
def load_matrix(
    ptr,
    inner,
    outer,
    INNER: tl.constexpr,
    OUTER: tl.constexpr,
    STRIDE: tl.constexpr,
    MASKED: tl.constexpr,
):
    """Tile [inner, outer] of a matrix that lies [outer, inner]; MASKED: zero past its ends."""
    place = ptr + outer[None, :] * STRIDE + inner[:, None]
    if MASKED:
        return tl.load(place, mask=(outer[None, :] < OUTER) & (inner[:, None] < INNER), other=0.0)
    else:
        return tl.load(place)


@triton.jit
def load_vector(ptr, index, SIZE: tl.constexpr):
    return tl.load(ptr + index, mask=index < SIZE, other=0.0)


@triton.jit
def row_state(row, rows, nodes, lengths_ptr, HAS_LENGTHS: tl.constexpr):
    """The state of each row of a tile: row [R] -> word, parent, computed, paired, finished [R]."""
    parents = (nodes + 1) // 2
    word = row // parents
    parent = row - word * parents
    inside = row < rows
    if HAS_LENGTHS:
        length = tl.load(lengths_ptr + word, mask=inside, other=0)
    else:
        length = nodes + 0 * word
    computed = inside & (2 * parent < length) & (length > 1)
    paired = inside & (2 * parent + 1 < length)
    finished = inside & (parent == 0) & (length == 1)
    return word, parent, computed, paired, finished


@triton.jit
def standardised(f, inside, DIM: tl.constexpr):
    """f [R, C] -> (f - mean) / deviation and 1 / deviation [R], over the channels inside."""
    mean = tl.sum(tl.where(inside, f, 0.0), axis=1) / DIM
    centred = tl.where(inside, f - mean[:, None], 0.0)
    inverse = 1.0 / tl.sqrt(tl.sum(centred * centred, axis=1) / DIM + 1e-5)
    return centred * inverse[:, None], inverse


@triton.jit
def norm_input_gradient(dnormed, normed, inverse, DIM: tl.constexpr):
    """Gradient of the norm's input; dnormed and normed are zero outside the channels: [R, C]."""
    mean = tl.sum(dnormed, axis=1) / DIM
    along = tl.sum(dnormed * normed, axis=1) / DIM
    return inverse[:, None] * (dnormed - mean[:, None] - normed * along[:, None])


@triton.jit
def load_pair(inputs, computed, paired, column, WIDTH: tl.constexpr, DIM: tl.constexpr):
    """Columns of [left; right], zero where there is none: pointers to inputs [R, 1] -> [R, C]."""
    place = inputs + column[None, :]
    is_left = (column < DIM)[None, :]
    there = (is_left & computed[:, None]) | (~is_left & paired[:, None])
    return tl.load(place, mask=there & (column < WIDTH)[None, :], other=0.0)


@triton.jit
def sum_slots_kernel(partial_ptr, gradient_ptr, slots, TOTAL: tl.constexpr, BLOCK: tl.constexpr):
    """Sum partial [M, slots, TOTAL] over slots -> gradient [M, TOTAL]. Grid (blocks, M)."""
    member = tl.program_id(1).to(tl.int64)
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = index < TOTAL
    place = partial_ptr + member * slots * TOTAL + index
    gradient = tl.load(place, mask=inside, other=0.0)
    for slot in range(1, slots):
        gradient += tl.load(place + slot * TOTAL, mask=inside, other=0.0)
    tl.store(gradient_ptr + member * TOTAL + index, gradient, mask=inside)
