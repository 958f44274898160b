"""Attention over short words: all of a word's scores of one head lie in one program.

Words of training are short and heads narrow, so that products of single heads are tiny matrices,
and scores that go through memory cost more than everything else. Here they never leave registers;
the backward pass computes them again. The plain code it must agree with is
`ldru.models.transformer.DotProductAttention`.

Queries, keys and values lie as [words, length, heads, width].
"""

import torch
import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def places(word, head, heads, length, width, LENGTH: tl.constexpr, WIDTH: tl.constexpr):
    """Where a head's rows of one word lie, and whether they are there: [LENGTH, WIDTH] each."""
    row, channel = tl.arange(0, LENGTH)[:, None], tl.arange(0, WIDTH)[None, :]
    place = ((word * length + row) * heads + head) * width + channel
    return place, (row < length) & (channel < width)


@triton.jit
def weights_of(
    q, k, bias_ptr, seen_ptr, word, head, length, scale,
    LENGTH: tl.constexpr, HAS_BIAS: tl.constexpr, HAS_SEEN: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """How much every token looks at every token: [LENGTH, LENGTH], rows add up to one."""
    row, column = tl.arange(0, LENGTH)[:, None], tl.arange(0, LENGTH)[None, :]
    scores = scale * tl.dot(q, tl.trans(k), input_precision=PRECISION)
    if HAS_BIAS:
        inside = (row < length) & (column < length)
        place = bias_ptr + (head * length + row) * length + column
        scores += tl.load(place, mask=inside, other=0.0)
    is_seen = column < length
    if HAS_SEEN:
        seen = tl.load(seen_ptr + word * length + column, mask=is_seen, other=0)
        is_seen = is_seen & (seen != 0)
    scores = tl.where(is_seen, scores, float("-inf"))
    powers = tl.exp(scores - tl.max(scores, axis=1)[:, None])
    return powers / tl.sum(powers, axis=1)[:, None]


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, bias_ptr, seen_ptr, out_ptr, heads, length, width, scale,
    LENGTH: tl.constexpr, WIDTH: tl.constexpr, HAS_BIAS: tl.constexpr, HAS_SEEN: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    """bias [heads, length, length], seen [words, length]. Grid (words heads,)."""
    word = (tl.program_id(0) // heads).to(tl.int64)
    head = tl.program_id(0) % heads
    place, inside = places(word, head, heads, length, width, LENGTH, WIDTH)
    q = tl.load(q_ptr + place, mask=inside, other=0.0)
    k = tl.load(k_ptr + place, mask=inside, other=0.0)
    v = tl.load(v_ptr + place, mask=inside, other=0.0)
    weights = weights_of(
        q, k, bias_ptr, seen_ptr, word, head, length, scale, LENGTH, HAS_BIAS, HAS_SEEN, PRECISION
    )
    tl.store(out_ptr + place, tl.dot(weights, v, input_precision=PRECISION), mask=inside)


@triton.jit
def attention_gradient_kernel(
    q_ptr, k_ptr, v_ptr, bias_ptr, seen_ptr, gradient_ptr, dq_ptr, dk_ptr, dv_ptr,
    heads, length, width, scale,
    LENGTH: tl.constexpr, WIDTH: tl.constexpr, HAS_BIAS: tl.constexpr, HAS_SEEN: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    """Grid (words heads,)."""
    word = (tl.program_id(0) // heads).to(tl.int64)
    head = tl.program_id(0) % heads
    place, inside = places(word, head, heads, length, width, LENGTH, WIDTH)
    q = tl.load(q_ptr + place, mask=inside, other=0.0)
    k = tl.load(k_ptr + place, mask=inside, other=0.0)
    v = tl.load(v_ptr + place, mask=inside, other=0.0)
    gradient = tl.load(gradient_ptr + place, mask=inside, other=0.0)
    weights = weights_of(
        q, k, bias_ptr, seen_ptr, word, head, length, scale, LENGTH, HAS_BIAS, HAS_SEEN, PRECISION
    )
    # Rows past the word's end have weights too, but no gradient.
    dv = tl.dot(tl.trans(weights), gradient, input_precision=PRECISION)
    dweights = tl.dot(gradient, tl.trans(v), input_precision=PRECISION)
    mean = tl.sum(dweights * weights, axis=1)[:, None]
    dscores = scale * weights * (dweights - mean)
    dq = tl.dot(dscores, k, input_precision=PRECISION)
    dk = tl.dot(tl.trans(dscores), q, input_precision=PRECISION)
    tl.store(dq_ptr + place, dq, mask=inside)
    tl.store(dk_ptr + place, dk, mask=inside)
    tl.store(dv_ptr + place, dv, mask=inside)


def attention(
    query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, is_seen: Tensor | None
) -> Tensor:
    """Values mixed: [words, length, heads, width] each -> the same.

    bias: added to the scores [heads, length, length]; is_seen: of the tokens [words, length].
    """
    query, key, value = (part.contiguous() for part in (query, key, value))
    out = torch.empty_like(query)
    attention_kernel[(query.shape[0] * query.shape[2],)](
        query, key, value, *_looks(bias, is_seen, query), out, **_sizes(query, bias, is_seen)
    )
    return out


def attention_gradient(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    bias: Tensor | None,
    is_seen: Tensor | None,
    gradient: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of query, key and value, from that of the mixed values."""
    query, key, value, gradient = (part.contiguous() for part in (query, key, value, gradient))
    dq, dk, dv = (torch.empty_like(query) for _ in range(3))
    attention_gradient_kernel[(query.shape[0] * query.shape[2],)](
        query, key, value, *_looks(bias, is_seen, query), gradient, dq, dk, dv,
        **_sizes(query, bias, is_seen),
    )  # fmt: skip
    return dq, dk, dv


def _sizes(query: Tensor, bias: Tensor | None, is_seen: Tensor | None) -> dict:
    _, length, heads, width = query.shape
    tile = max(16, triton.next_power_of_2(length))
    is_full = torch.get_float32_matmul_precision() == "highest"
    return {
        "heads": heads,
        "length": length,
        "width": width,
        "scale": width**-0.5,
        "LENGTH": tile,
        "WIDTH": max(16, triton.next_power_of_2(width)),
        "HAS_BIAS": bias is not None,
        "HAS_SEEN": is_seen is not None,
        "PRECISION": "ieee" if is_full else "tf32",
        "num_warps": {16: 1, 32: 2}.get(tile, 4),
    }


def _looks(bias: Tensor | None, is_seen: Tensor | None, query: Tensor) -> tuple[Tensor, Tensor]:
    """Bias and what is seen for the kernels; where there is none, something they do not read."""
    return (
        query if bias is None else bias.contiguous(),
        query if is_seen is None else is_seen.to(torch.int8).contiguous(),
    )
