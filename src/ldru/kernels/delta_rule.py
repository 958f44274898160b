"""The gated delta rule over short words: the memory of one head and word lies in one program.

The plain code it must agree with is `ldru.models.gated_deltanet.delta_rule`. A word that begins
with an empty memory is one chunk of it, in these terms (places i and j, j not after i):

    fading_ij = product of alpha over j + 1 .. i
    (I + A) U = beta V,   A_ij = beta_i fading_ij (k_i . k_j) for j < i
    out = M U,            M_ij = fading_ij (q_i . k_j)

Backwards, with W = (I + A)^-T M^T dout: dA = -W U^T and dM = dout U^T, below the diagonal.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def fading_of(log_alpha_ptr, word, length, LENGTH: tl.constexpr):
    """How much of what was written at a place is left at a later one: [LENGTH, LENGTH]."""
    row, column = tl.arange(0, LENGTH)[:, None], tl.arange(0, LENGTH)[None, :]
    log_alpha = tl.load(log_alpha_ptr + word * length + column, mask=column < length, other=0.0)
    log_alpha = log_alpha + tl.zeros((LENGTH, LENGTH), dtype=tl.float32)
    total = tl.sum(tl.where(column <= row, log_alpha, 0.0), axis=1)
    # Of the places themselves, as a row: transposed by a masked sum, which keeps the layout.
    across = tl.sum(tl.where(row == column, total[:, None], 0.0), axis=0)
    difference = total[:, None] - across[None, :]
    return tl.exp(tl.where(column <= row, difference, float("-inf")))


@triton.jit
def row_of(matrix, number, LENGTH: tl.constexpr):
    """One row of a matrix [LENGTH, C] -> [1, C]."""
    is_it = tl.arange(0, LENGTH)[:, None] == number
    return tl.sum(tl.where(is_it, matrix, 0.0), axis=0)[None, :]


@triton.jit
def column_of(matrix, number, LENGTH: tl.constexpr):
    """One column of a matrix [LENGTH, LENGTH] -> [LENGTH, 1]."""
    is_it = tl.arange(0, LENGTH)[None, :] == number
    return tl.sum(tl.where(is_it, matrix, 0.0), axis=1)[:, None]


@triton.jit
def solved(system, sides, length, LENGTH: tl.constexpr):
    """(I + system)^-1 sides, for a system below the diagonal."""
    for number in range(0, length):
        sides -= column_of(system, number, LENGTH) * row_of(sides, number, LENGTH)
    return sides


@triton.jit
def solved_transposed(system, sides, length, LENGTH: tl.constexpr):
    """(I + system^T)^-1 sides, for a system below the diagonal."""
    for step in range(0, length):
        number = length - 1 - step
        row = tl.trans(row_of(system, number, LENGTH))
        sides -= row * row_of(sides, number, LENGTH)
    return sides


@triton.jit
def load_rows(ptr, word, length, width, LENGTH: tl.constexpr, WIDTH: tl.constexpr):
    """Vectors of a word's places, [LENGTH, WIDTH] with zeros beside them."""
    row, channel = tl.arange(0, LENGTH)[:, None], tl.arange(0, WIDTH)[None, :]
    place = ptr + (word * length + row) * width + channel
    return tl.load(place, mask=(row < length) & (channel < width), other=0.0)


@triton.jit
def store_rows(ptr, value, word, length, width, LENGTH: tl.constexpr, WIDTH: tl.constexpr):
    row, channel = tl.arange(0, LENGTH)[:, None], tl.arange(0, WIDTH)[None, :]
    place = ptr + (word * length + row) * width + channel
    tl.store(place, value, mask=(row < length) & (channel < width))


@triton.jit
def delta_rule_kernel(
    q_ptr, k_ptr, v_ptr, beta_ptr, log_alpha_ptr, out_ptr, length, keys, values,
    LENGTH: tl.constexpr, KEYS: tl.constexpr, VALUES: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """q, k [words, length, keys], v [.., values], beta, log_alpha [words, length] -> as v.

    Grid (words,).
    """
    word = tl.program_id(0).to(tl.int64)
    row, column = tl.arange(0, LENGTH)[:, None], tl.arange(0, LENGTH)[None, :]
    q = load_rows(q_ptr, word, length, keys, LENGTH, KEYS)
    k = load_rows(k_ptr, word, length, keys, LENGTH, KEYS)
    v = load_rows(v_ptr, word, length, values, LENGTH, VALUES)
    beta = tl.load(beta_ptr + word * length + row, mask=row < length, other=0.0)
    fading = fading_of(log_alpha_ptr, word, length, LENGTH)
    alike = tl.dot(k, tl.trans(k), input_precision=PRECISION)
    system = tl.where(column < row, beta * fading * alike, 0.0)
    written = solved(system, beta * v, length, LENGTH)
    read = fading * tl.dot(q, tl.trans(k), input_precision=PRECISION)
    out = tl.dot(read, written, input_precision=PRECISION)
    store_rows(out_ptr, out, word, length, values, LENGTH, VALUES)


@triton.jit
def delta_rule_gradient_kernel(
    q_ptr, k_ptr, v_ptr, beta_ptr, log_alpha_ptr, gradient_ptr,
    dq_ptr, dk_ptr, dv_ptr, dbeta_ptr, dlog_alpha_ptr, length, keys, values,
    LENGTH: tl.constexpr, KEYS: tl.constexpr, VALUES: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Grid (words,)."""
    word = tl.program_id(0).to(tl.int64)
    row, column = tl.arange(0, LENGTH)[:, None], tl.arange(0, LENGTH)[None, :]
    q = load_rows(q_ptr, word, length, keys, LENGTH, KEYS)
    k = load_rows(k_ptr, word, length, keys, LENGTH, KEYS)
    v = load_rows(v_ptr, word, length, values, LENGTH, VALUES)
    gradient = load_rows(gradient_ptr, word, length, values, LENGTH, VALUES)
    beta = tl.load(beta_ptr + word * length + row, mask=row < length, other=0.0)
    fading = fading_of(log_alpha_ptr, word, length, LENGTH)
    alike = tl.dot(k, tl.trans(k), input_precision=PRECISION)
    asked = tl.dot(q, tl.trans(k), input_precision=PRECISION)
    system = tl.where(column < row, beta * fading * alike, 0.0)
    written = solved(system, beta * v, length, LENGTH)

    dwritten = tl.dot(tl.trans(fading * asked), gradient, input_precision=PRECISION)
    dsides = solved_transposed(system, dwritten, length, LENGTH)
    store_rows(dv_ptr, beta * dsides, word, length, values, LENGTH, VALUES)
    dread = tl.dot(gradient, tl.trans(written), input_precision=PRECISION)
    dsystem = tl.dot(dsides, tl.trans(written), input_precision=PRECISION)
    dsystem = tl.where(column < row, -dsystem, 0.0)

    dbeta = tl.sum(dsides * v, axis=1) + tl.sum(dsystem * fading * alike, axis=1)
    # Above the diagonal nothing is left, so fading masks what is ahead.
    dasked = dread * fading
    dalike = dsystem * beta * fading
    store_rows(
        dq_ptr, tl.dot(dasked, k, input_precision=PRECISION), word, length, keys, LENGTH, KEYS
    )
    dk = tl.dot(tl.trans(dasked), q, input_precision=PRECISION)
    dk += tl.dot(dalike + tl.trans(dalike), k, input_precision=PRECISION)
    store_rows(dk_ptr, dk, word, length, keys, LENGTH, KEYS)

    dlog_fading = dasked * asked + dalike * alike
    # log fading_ij is the sum of log alpha over j + 1 .. i.
    later = tl.sum(dlog_fading, axis=1)[:, None] - tl.trans(tl.sum(dlog_fading, axis=0)[None, :])
    dlog_alpha = tl.sum(tl.where(row >= column, later, 0.0), axis=0)
    number = tl.arange(0, LENGTH)
    tl.store(dbeta_ptr + word * length + number, dbeta, mask=number < length)
    tl.store(dlog_alpha_ptr + word * length + number, dlog_alpha, mask=number < length)


def delta_rule(
    query: Tensor, key: Tensor, value: Tensor, beta: Tensor, log_alpha: Tensor
) -> Tensor:
    """[words, length, keys] twice, [words, length, values], [words, length] twice -> value's."""
    inputs = [part.contiguous() for part in (query, key, value, beta, log_alpha)]
    out = torch.empty_like(inputs[2])
    delta_rule_kernel[(len(key),)](*inputs, out, **_sizes(key, value))
    return out


def delta_rule_gradient(
    query: Tensor, key: Tensor, value: Tensor, beta: Tensor, log_alpha: Tensor, gradient: Tensor
) -> tuple[Tensor, ...]:
    """The gradients of all five."""
    inputs = [part.contiguous() for part in (query, key, value, beta, log_alpha)]
    found = tuple(torch.empty_like(part) for part in inputs)
    delta_rule_gradient_kernel[(len(key),)](
        *inputs, gradient.contiguous(), *found, **_sizes(key, value)
    )
    return found


def _sizes(key: Tensor, value: Tensor) -> dict:
    _, length, keys = key.shape
    tile = max(16, triton.next_power_of_2(length))
    is_full = torch.get_float32_matmul_precision() == "highest"
    return {
        "length": length,
        "keys": keys,
        "values": value.shape[-1],
        "LENGTH": tile,
        "KEYS": max(16, triton.next_power_of_2(keys)),
        "VALUES": max(16, triton.next_power_of_2(value.shape[-1])),
        "PRECISION": "ieee" if is_full else "tf32",
        "num_warps": {16: 1, 32: 2}.get(tile, 4),
    }
