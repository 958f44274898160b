"""The gated delta rule: the memory of one head and word stays in one program, chunk after chunk.

The plain code it must agree with is `ldru.models.gated_deltanet.delta_rule`. In a chunk that begins
with the memory S^T [keys, values], with c_i the product of the alphas up to place i of the chunk:

    fading_ij = c_i / c_j for j <= i
    (I + A) U = beta (V - c (K S^T)),   A_ij = beta_i fading_ij (k_i . k_j) for j < i
    out = c (Q S^T) + M U,              M_ij = fading_ij (q_i . k_j) for j <= i
    S^T <- c_end S^T + (K c_end / c)^T U

Chunks are as small as a matrix product allows: most of the work is quadratic in them. (I + A)^-1 is
built from the inverses of its diagonal blocks, of 1, 2, 4 and 8 places. Powers of A, which would
need no fewer products, can be as large as 10^7.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from ldru.kernels import gpu

CHUNK = 16


@triton.jit
def dot(a, b, PRECISION: tl.constexpr):
    return tl.dot(a, b, input_precision=PRECISION)


@triton.jit
def inverse_of(system, CHUNK: tl.constexpr, PRECISION: tl.constexpr):
    """(I + system)^-1 [CHUNK, CHUNK] for a system below the diagonal."""
    row, column = tl.arange(0, CHUNK)[:, None], tl.arange(0, CHUNK)[None, :]
    inverse = tl.where(row == column, 1.0, 0.0)
    # tf32 products of inverses would add up their errors.
    EXACT: tl.constexpr = "tf32x3" if PRECISION == "tf32" else PRECISION
    for level in tl.static_range(4):
        # Rows in the lower one of two neighbouring blocks of 2^level places, columns in the upper.
        is_below = (row >> (level + 1) == column >> (level + 1)) & (row >> level > column >> level)
        below = dot(tl.where(is_below, system, 0.0), inverse, EXACT)
        inverse -= dot(inverse, below, EXACT)
    return inverse


@triton.jit
def load_rows(ptr, first, width, there, CHUNK: tl.constexpr, WIDTH: tl.constexpr):
    """Vectors of a chunk's places, [CHUNK, WIDTH] with zeros beside them; first: their rows."""
    channel = tl.arange(0, WIDTH)[None, :]
    return tl.load(ptr + first * width + channel, mask=there & (channel < width), other=0.0)


@triton.jit
def store_rows(ptr, value, first, width, there, CHUNK: tl.constexpr, WIDTH: tl.constexpr):
    channel = tl.arange(0, WIDTH)[None, :]
    tl.store(ptr + first * width + channel, value, mask=there & (channel < width))


@triton.jit
def chunk_of(log_alpha_ptr, beta_ptr, rows, there, CHUNK: tl.constexpr):
    """beta, c, c_end / c [CHUNK, 1], c_end [1, 1] and fading [CHUNK, CHUNK] of one chunk."""
    row, column = tl.arange(0, CHUNK)[:, None], tl.arange(0, CHUNK)[None, :]
    beta = tl.load(beta_ptr + rows, mask=there, other=0.0)
    log_alpha = tl.load(log_alpha_ptr + rows, mask=there, other=0.0)
    # Transposed by masked sums, which keep the layout.
    across = tl.sum(tl.where(row == column, log_alpha, 0.0), axis=0)[None, :]
    total = tl.sum(tl.where(column <= row, across, 0.0), axis=1)[:, None]
    total_across = tl.sum(tl.where(row <= column, log_alpha, 0.0), axis=0)[None, :]
    fading = tl.exp(tl.where(column <= row, total - total_across, float("-inf")))
    end = tl.sum(log_alpha, axis=0)[None, :]
    return beta, tl.exp(total), tl.exp(end - total), tl.exp(end), fading


@triton.jit
def delta_rule_kernel(
    q_ptr, k_ptr, v_ptr, beta_ptr, log_alpha_ptr, out_ptr, memories_ptr,
    heads, length, keys, values,
    CHUNK: tl.constexpr, KEYS: tl.constexpr, VALUES: tl.constexpr, KEEPS: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    """q, k [words, length, heads, keys], v [.., values], beta, log_alpha [words, length, heads].

    -> as v. KEEPS: the memory at the beginning of every chunk, for the gradient, to memories
    [words, heads, chunks, KEYS, VALUES]. Grid (words heads,).
    """
    program = tl.program_id(0).to(tl.int64)
    word, head = program // heads, program % heads
    row, column = tl.arange(0, CHUNK)[:, None], tl.arange(0, CHUNK)[None, :]
    cell = tl.arange(0, KEYS)[:, None] * VALUES + tl.arange(0, VALUES)[None, :]
    memory = tl.zeros((KEYS, VALUES), dtype=tl.float32)
    chunks = (length + CHUNK - 1) // CHUNK
    for chunk in range(0, chunks):
        if KEEPS:
            tl.store(memories_ptr + (program * chunks + chunk) * KEYS * VALUES + cell, memory)
        place = chunk * CHUNK + row
        there = place < length
        rows = (word * length + place) * heads + head
        q = load_rows(q_ptr, rows, keys, there, CHUNK, KEYS)
        k = load_rows(k_ptr, rows, keys, there, CHUNK, KEYS)
        v = load_rows(v_ptr, rows, values, there, CHUNK, VALUES)
        beta, c, left, end, fading = chunk_of(log_alpha_ptr, beta_ptr, rows, there, CHUNK)
        system = tl.where(column < row, beta * fading * dot(k, tl.trans(k), PRECISION), 0.0)
        sides = beta * (v - c * dot(k, memory, PRECISION))
        written = dot(inverse_of(system, CHUNK, PRECISION), sides, PRECISION)
        read = fading * dot(q, tl.trans(k), PRECISION)
        out = c * dot(q, memory, PRECISION) + dot(read, written, PRECISION)
        store_rows(out_ptr, out, rows, values, there, CHUNK, VALUES)
        memory = end * memory + dot(tl.trans(left * k), written, PRECISION)


@triton.jit
def delta_rule_gradient_kernel(
    q_ptr, k_ptr, v_ptr, beta_ptr, log_alpha_ptr, memories_ptr, gradient_ptr,
    dq_ptr, dk_ptr, dv_ptr, dbeta_ptr, dlog_alpha_ptr, heads, length, keys, values,
    CHUNK: tl.constexpr, KEYS: tl.constexpr, VALUES: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """The chunks from the last to the first, with the gradient of the memory behind each.

    Grid (words heads,).
    """
    program = tl.program_id(0).to(tl.int64)
    word, head = program // heads, program % heads
    row, column = tl.arange(0, CHUNK)[:, None], tl.arange(0, CHUNK)[None, :]
    cell = tl.arange(0, KEYS)[:, None] * VALUES + tl.arange(0, VALUES)[None, :]
    dmemory = tl.zeros((KEYS, VALUES), dtype=tl.float32)
    chunks = (length + CHUNK - 1) // CHUNK
    for step in range(0, chunks):
        chunk = chunks - 1 - step
        memory = tl.load(memories_ptr + (program * chunks + chunk) * KEYS * VALUES + cell)
        place = chunk * CHUNK + row
        there = place < length
        rows = (word * length + place) * heads + head
        q = load_rows(q_ptr, rows, keys, there, CHUNK, KEYS)
        k = load_rows(k_ptr, rows, keys, there, CHUNK, KEYS)
        v = load_rows(v_ptr, rows, values, there, CHUNK, VALUES)
        dout = load_rows(gradient_ptr, rows, values, there, CHUNK, VALUES)
        beta, c, left, end, fading = chunk_of(log_alpha_ptr, beta_ptr, rows, there, CHUNK)
        alike = dot(k, tl.trans(k), PRECISION)
        asked = dot(q, tl.trans(k), PRECISION)
        system = tl.where(column < row, beta * fading * alike, 0.0)
        inverse = inverse_of(system, CHUNK, PRECISION)
        known = dot(k, memory, PRECISION)
        error = v - c * known
        written = dot(inverse, beta * error, PRECISION)

        # Of U = (I + A)^-1 sides, with the sides beta * error.
        dwritten = dot(tl.trans(fading * asked), dout, PRECISION)
        dwritten += dot(left * k, dmemory, PRECISION)
        dsides = dot(tl.trans(inverse), dwritten, PRECISION)
        derror = beta * dsides
        store_rows(dv_ptr, derror, rows, values, there, CHUNK, VALUES)
        dsystem = -dot(dsides, tl.trans(written), PRECISION)
        dsystem = tl.where(column < row, dsystem, 0.0)
        dbeta = tl.sum(dsides * error, axis=1) + tl.sum(dsystem * fading * alike, axis=1)
        # Above the diagonal nothing is left, so fading masks what is ahead.
        dasked = dot(dout, tl.trans(written), PRECISION) * fading
        dalike = dsystem * beta * fading
        through = dot(dout, tl.trans(memory), PRECISION)  # of c q
        dkept = dot(written, tl.trans(dmemory), PRECISION)  # of k c_end / c
        dknown = -c * derror

        dq = c * through + dot(dasked, k, PRECISION)
        store_rows(dq_ptr, dq, rows, keys, there, CHUNK, KEYS)
        dk = dot(tl.trans(dasked), q, PRECISION) + left * dkept
        dk += dot(dalike + tl.trans(dalike), k, PRECISION)
        dk += dot(dknown, tl.trans(memory), PRECISION)
        store_rows(dk_ptr, dk, rows, keys, there, CHUNK, KEYS)

        # Of log c_i, wherever it stands; log c_end stands in what is left, too.
        dlog_fading = dasked * asked + dalike * alike
        dleft = tl.sum(k * dkept, axis=1)[:, None] * left
        dlog_c = tl.sum(dlog_fading, axis=1)[:, None] + tl.sum(q * through, axis=1)[:, None] * c
        dlog_c += tl.sum(dknown * known, axis=1)[:, None] - dleft
        behind = tl.sum(tl.sum(dmemory * memory, axis=1), axis=0) * end
        behind += tl.sum(dleft, axis=0)[None, :]
        # log c_i is the sum of log alpha up to i, so a place gets what is not before it.
        later = tl.sum(tl.where(row >= column, dlog_c, 0.0), axis=0)
        # The columns of log fading, one from the other: transposed by the same masked sum.
        fallen = tl.sum(dlog_fading, axis=0)[None, :]
        later -= tl.sum(tl.where(column >= row, fallen, 0.0), axis=1)
        number = chunk * CHUNK + tl.arange(0, CHUNK)
        at = (word * length + number) * heads + head
        tl.store(dlog_alpha_ptr + at, later + tl.sum(behind, axis=0), mask=number < length)
        tl.store(dbeta_ptr + at, dbeta, mask=number < length)

        dmemory = end * dmemory + dot(tl.trans(c * q), dout, PRECISION)
        dmemory += dot(tl.trans(k), dknown, PRECISION)


def delta_rule(
    query: Tensor, key: Tensor, value: Tensor, beta: Tensor, log_alpha: Tensor, *, keeps: bool
) -> tuple[Tensor, Tensor]:
    """[words, length, heads, keys] twice, [.., values], [words, length, heads] twice -> value's.

    And the memories at the beginnings of chunks, [words, ...], empty unless keeps.
    """
    inputs = [part.contiguous() for part in (query, key, value, beta, log_alpha)]
    words, length, heads, _ = key.shape
    sizes = _sizes(key, value)
    out = torch.empty_like(inputs[2])
    shape = (heads, triton.cdiv(length, CHUNK), sizes["KEYS"], sizes["VALUES"]) if keeps else (0,)
    memories = out.new_empty(words, *shape)
    delta_rule_kernel[(words * heads,)](*inputs, out, memories, KEEPS=keeps, **sizes)
    return out, memories


def delta_rule_gradient(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    beta: Tensor,
    log_alpha: Tensor,
    memories: Tensor,
    gradient: Tensor,
) -> tuple[Tensor, ...]:
    """The gradients of the first five."""
    inputs = [part.contiguous() for part in (query, key, value, beta, log_alpha)]
    found = tuple(torch.empty_like(part) for part in inputs)
    words, _, heads, _ = key.shape
    delta_rule_gradient_kernel[(words * heads,)](
        *inputs, memories.contiguous(), gradient.contiguous(), *found, **_sizes(key, value)
    )
    return found


def _sizes(key: Tensor, value: Tensor) -> dict:
    _, length, heads, keys = key.shape
    return {
        "heads": heads,
        "length": length,
        "keys": keys,
        "values": value.shape[-1],
        "CHUNK": CHUNK,
        "KEYS": max(16, triton.next_power_of_2(keys)),
        "VALUES": max(16, triton.next_power_of_2(value.shape[-1])),
        "PRECISION": gpu.layer_precision(),
        "num_warps": 1,
    }
