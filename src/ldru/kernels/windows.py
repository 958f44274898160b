"""Attention of the last token of a window to all of it, for a whole fleet, in one launch each way.

The plain code it must agree with is `ldru.models.regular_gpt.WindowAttention`. Windows are a few
tokens long, so that scores are sums over channels and no products of matrices. M is the number of
members, a row a window; channels lie as [heads, width].
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from ldru.kernels.norm import row_tile, slots_of_vectors, summed_vectors


@triton.jit
def score_of(q, k, bias_ptr, head, HEADS: tl.constexpr, WIDTH: tl.constexpr):
    """How well a token answers: q, k [R, HEADS, WIDTH], a pointer to its biases -> [R, HEADS]."""
    return tl.sum(q * k, axis=2) * (WIDTH**-0.5) + tl.load(bias_ptr + head)[None, :]


@triton.jit
def window_kernel(
    q_ptr, k_ptr, v_ptr, bias_ptr, out_ptr, rows,
    CHUNK: tl.constexpr, HEADS: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """q [M, rows, D], k, v [M, rows, CHUNK, D], bias [M, CHUNK, HEADS] -> [M, rows, D].

    Grid (row blocks, M).
    """
    member = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    head = tl.arange(0, HEADS)
    channel = head[None, :, None] * WIDTH + tl.arange(0, WIDTH)[None, None, :]
    inside = (row < rows)[:, None, None]
    number = (member * rows + row)[:, None, None]
    q = tl.load(q_ptr + number * HEADS * WIDTH + channel, mask=inside, other=0.0)
    largest = tl.full((ROWS, HEADS), float("-inf"), dtype=tl.float32)
    total = tl.zeros((ROWS, HEADS), dtype=tl.float32)
    mixed = tl.zeros((ROWS, HEADS, WIDTH), dtype=tl.float32)
    for token in tl.static_range(CHUNK):
        place = (number * CHUNK + token) * HEADS * WIDTH + channel
        k = tl.load(k_ptr + place, mask=inside, other=0.0)
        v = tl.load(v_ptr + place, mask=inside, other=0.0)
        biases = bias_ptr + (member * CHUNK + token) * HEADS
        score = score_of(q, k, biases, head, HEADS, WIDTH)
        new = tl.maximum(largest, score)
        kept, power = tl.exp(largest - new), tl.exp(score - new)
        total = total * kept + power
        mixed = mixed * kept[:, :, None] + power[:, :, None] * v
        largest = new
    out = mixed / total[:, :, None]
    tl.store(out_ptr + number * HEADS * WIDTH + channel, out, mask=inside)


@triton.jit
def window_gradient_kernel(
    q_ptr, k_ptr, v_ptr, bias_ptr, out_ptr, gradient_ptr, dq_ptr, dk_ptr, dv_ptr, partial_ptr, rows,
    CHUNK: tl.constexpr, HEADS: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr,
    TOKENS: tl.constexpr,
):  # fmt: skip
    """The gradients of q, k and v, and of bias -> partial [M, slots, CHUNK HEADS].

    Grid (slots, M): a slot is a range of rows, summed in a fixed order.
    """
    slot = tl.program_id(0)
    slots = tl.num_programs(0)
    member = tl.program_id(1).to(tl.int64)
    share = (rows + slots * ROWS - 1) // (slots * ROWS) * ROWS
    head = tl.arange(0, HEADS)
    channel = head[None, :, None] * WIDTH + tl.arange(0, WIDTH)[None, None, :]
    which = tl.arange(0, TOKENS)[:, None]
    of_bias = tl.zeros((TOKENS, HEADS), dtype=tl.float32)
    for start in range(slot * share, tl.minimum((slot + 1) * share, rows), ROWS):
        row = start + tl.arange(0, ROWS)
        inside = (row < rows)[:, None, None]
        number = (member * rows + row)[:, None, None]
        own = number * HEADS * WIDTH + channel
        q = tl.load(q_ptr + own, mask=inside, other=0.0)
        gradient = tl.load(gradient_ptr + own, mask=inside, other=0.0)
        mean = tl.sum(gradient * tl.load(out_ptr + own, mask=inside, other=0.0), axis=2)
        largest = tl.full((ROWS, HEADS), float("-inf"), dtype=tl.float32)
        total = tl.zeros((ROWS, HEADS), dtype=tl.float32)
        for token in tl.static_range(CHUNK):
            place = (number * CHUNK + token) * HEADS * WIDTH + channel
            k = tl.load(k_ptr + place, mask=inside, other=0.0)
            biases = bias_ptr + (member * CHUNK + token) * HEADS
            score = score_of(q, k, biases, head, HEADS, WIDTH)
            new = tl.maximum(largest, score)
            total = total * tl.exp(largest - new) + tl.exp(score - new)
            largest = new
        dq = tl.zeros((ROWS, HEADS, WIDTH), dtype=tl.float32)
        for token in tl.static_range(CHUNK):
            place = (number * CHUNK + token) * HEADS * WIDTH + channel
            k = tl.load(k_ptr + place, mask=inside, other=0.0)
            v = tl.load(v_ptr + place, mask=inside, other=0.0)
            biases = bias_ptr + (member * CHUNK + token) * HEADS
            weight = tl.exp(score_of(q, k, biases, head, HEADS, WIDTH) - largest) / total
            slope = weight * (tl.sum(gradient * v, axis=2) - mean)  # zero past the last row
            of_bias += tl.where(which == token, tl.sum(slope, axis=0)[None, :], 0.0)
            slope = (slope * (WIDTH**-0.5))[:, :, None]
            dq += slope * k
            tl.store(dk_ptr + place, slope * q, mask=inside)
            tl.store(dv_ptr + place, weight[:, :, None] * gradient, mask=inside)
        tl.store(dq_ptr + own, dq, mask=inside)
    place = partial_ptr + (member * slots + slot) * CHUNK * HEADS + which * HEADS + head[None, :]
    tl.store(place, of_bias, mask=which < CHUNK)


def window(query: Tensor, key: Tensor, value: Tensor, bias: Tensor) -> Tensor:
    """[M, rows, dim], [M, rows, chunk, dim] twice, [M, chunk, heads] -> [M, rows, dim]."""
    query, key, value, bias = (part.contiguous() for part in (query, key, value, bias))
    members, rows, _ = query.shape
    out = torch.empty_like(query)
    sizes = _sizes(query, bias)
    window_kernel[(triton.cdiv(rows, sizes["ROWS"]), members)](
        query, key, value, bias, out, rows, **sizes
    )
    return out


def window_gradient(
    query: Tensor, key: Tensor, value: Tensor, bias: Tensor, out: Tensor, gradient: Tensor
) -> tuple[Tensor, ...]:
    """The gradients of query, key, value and bias."""
    query, key, value, bias = (part.contiguous() for part in (query, key, value, bias))
    members, rows, _ = query.shape
    found = torch.empty_like(query), torch.empty_like(key), torch.empty_like(value)
    sizes = _sizes(query, bias)
    slots = slots_of_vectors(query, sizes["ROWS"], vectors=1).shape[1]
    partial = query.new_empty(members, slots, bias[0].numel())
    window_gradient_kernel[(slots, members)](
        query, key, value, bias, out, gradient.contiguous(), *found, partial, rows,
        TOKENS=triton.next_power_of_2(bias.shape[1]), **sizes,
    )  # fmt: skip
    (of_bias,) = summed_vectors(partial, vectors=1)
    return *found, of_bias.reshape(bias.shape)


def _sizes(query: Tensor, bias: Tensor) -> dict[str, int]:
    dim, (_, chunk, heads) = query.shape[2], bias.shape
    _, rows = row_tile(dim)
    return {"CHUNK": chunk, "HEADS": heads, "WIDTH": dim // heads, "ROWS": rows}
