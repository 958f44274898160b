"""Attention in one launch: the scores of one head never leave a program.

Words of training are short and heads narrow, so that products of single heads are tiny matrices,
and scores that go through memory cost more than everything else. Here they stay in registers. The
forward pass goes through the tokens that are looked at in blocks, so that words may have any
length; the backward pass computes all scores of a short word again. The plain code it must agree
with is `ldru.models.transformer.DotProductAttention`.

Queries lie as [words, asks, heads, width], keys and values as [words, length, heads, width].
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK = 64  # tokens of a program at a time, at most
UNSEEN = tl.constexpr(-1e30)  # a score: finite, so that a block without a seen token makes no NaN


@triton.jit
def load_heads(ptr, word, head, heads, place, count, width, WIDTH: tl.constexpr):
    """A head's rows of one word at some places [P, 1], [P, WIDTH] with zeros beside them."""
    channel = tl.arange(0, WIDTH)[None, :]
    row = ptr + ((word * count + place) * heads + head) * width + channel
    return tl.load(row, mask=(place < count) & (channel < width), other=0.0)


@triton.jit
def store_heads(ptr, value, word, head, heads, place, count, width, WIDTH: tl.constexpr):
    channel = tl.arange(0, WIDTH)[None, :]
    row = ptr + ((word * count + place) * heads + head) * width + channel
    tl.store(row, value, mask=(place < count) & (channel < width))


@triton.jit
def scores_of(
    q, k, bias_ptr, seen_ptr, word, head, ask, token, asks, length, scale,
    HAS_BIAS: tl.constexpr, HAS_SEEN: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """How well tokens [1, T] answer those that ask [A, 1] -> [A, T]."""
    scores = scale * tl.dot(q, tl.trans(k), input_precision=PRECISION)
    if HAS_BIAS:
        place = bias_ptr + (head * asks + ask) * length + token
        scores += tl.load(place, mask=(ask < asks) & (token < length), other=0.0)
    is_seen = token < length
    if HAS_SEEN:
        seen = tl.load(seen_ptr + word * length + token, mask=is_seen, other=0)
        is_seen = is_seen & (seen != 0)
    return tl.where(is_seen, scores, UNSEEN)


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, bias_ptr, seen_ptr, out_ptr, heads, asks, length, width, scale,
    ASKS: tl.constexpr, LENGTH: tl.constexpr, WIDTH: tl.constexpr,
    HAS_BIAS: tl.constexpr, HAS_SEEN: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """bias [heads, asks, length], seen [words, length]. Grid (words heads, blocks of asks)."""
    word = (tl.program_id(0) // heads).to(tl.int64)
    head = tl.program_id(0) % heads
    ask = tl.program_id(1) * ASKS + tl.arange(0, ASKS)[:, None]
    q = load_heads(q_ptr, word, head, heads, ask, asks, width, WIDTH)
    largest = tl.full((ASKS,), UNSEEN, dtype=tl.float32)
    total = tl.zeros((ASKS,), dtype=tl.float32)
    mixed = tl.zeros((ASKS, WIDTH), dtype=tl.float32)
    for start in range(0, length, LENGTH):
        place = start + tl.arange(0, LENGTH)[:, None]
        token = start + tl.arange(0, LENGTH)[None, :]
        k = load_heads(k_ptr, word, head, heads, place, length, width, WIDTH)
        v = load_heads(v_ptr, word, head, heads, place, length, width, WIDTH)
        scores = scores_of(
            q, k, bias_ptr, seen_ptr, word, head, ask, token, asks, length, scale,
            HAS_BIAS, HAS_SEEN, PRECISION,
        )  # fmt: skip
        new = tl.maximum(largest, tl.max(scores, axis=1))
        kept = tl.exp(largest - new)
        powers = tl.exp(scores - new[:, None])
        total = total * kept + tl.sum(powers, axis=1)
        mixed = mixed * kept[:, None] + tl.dot(powers, v, input_precision=PRECISION)
        largest = new
    store_heads(out_ptr, mixed / total[:, None], word, head, heads, ask, asks, width, WIDTH)


@triton.jit
def attention_gradient_kernel(
    q_ptr, k_ptr, v_ptr, bias_ptr, seen_ptr, gradient_ptr, dq_ptr, dk_ptr, dv_ptr,
    heads, asks, length, width, scale,
    ASKS: tl.constexpr, LENGTH: tl.constexpr, WIDTH: tl.constexpr,
    HAS_BIAS: tl.constexpr, HAS_SEEN: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Grid (words heads,)."""
    word = (tl.program_id(0) // heads).to(tl.int64)
    head = tl.program_id(0) % heads
    ask, place = tl.arange(0, ASKS)[:, None], tl.arange(0, LENGTH)[:, None]
    q = load_heads(q_ptr, word, head, heads, ask, asks, width, WIDTH)
    k = load_heads(k_ptr, word, head, heads, place, length, width, WIDTH)
    v = load_heads(v_ptr, word, head, heads, place, length, width, WIDTH)
    gradient = load_heads(gradient_ptr, word, head, heads, ask, asks, width, WIDTH)
    scores = scores_of(
        q, k, bias_ptr, seen_ptr, word, head, ask, tl.arange(0, LENGTH)[None, :], asks, length,
        scale, HAS_BIAS, HAS_SEEN, PRECISION,
    )  # fmt: skip
    powers = tl.exp(scores - tl.max(scores, axis=1)[:, None])
    weights = powers / tl.sum(powers, axis=1)[:, None]
    # Rows behind the last that asks have weights too, but no gradient.
    dv = tl.dot(tl.trans(weights), gradient, input_precision=PRECISION)
    dweights = tl.dot(gradient, tl.trans(v), input_precision=PRECISION)
    mean = tl.sum(dweights * weights, axis=1)[:, None]
    dscores = scale * weights * (dweights - mean)
    dq = tl.dot(dscores, k, input_precision=PRECISION)
    dk = tl.dot(tl.trans(dscores), q, input_precision=PRECISION)
    store_heads(dq_ptr, dq, word, head, heads, ask, asks, width, WIDTH)
    store_heads(dk_ptr, dk, word, head, heads, place, length, width, WIDTH)
    store_heads(dv_ptr, dv, word, head, heads, place, length, width, WIDTH)


def attention(
    query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, is_seen: Tensor | None
) -> Tensor:
    """Values mixed: [words, asks, heads, width], [words, length, heads, width] twice -> query's.

    bias: added to the scores [heads, asks, length]; is_seen: of the tokens [words, length].
    """
    query, key, value = (part.contiguous() for part in (query, key, value))
    out = torch.empty_like(query)
    words, asks, heads, _ = query.shape
    sizes = _sizes(query, key, bias, is_seen)
    attention_kernel[(words * heads, triton.cdiv(asks, sizes["ASKS"]))](
        query, key, value, *_looks(bias, is_seen, query), out, **sizes
    )
    return out


def attention_gradient(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    bias: Tensor | None,
    is_seen: Tensor | None,
    gradient: Tensor,
) -> tuple[Tensor, ...]:
    """The gradients of query, key and value, from that of the mixed values; of short words."""
    query, key, value, gradient = (part.contiguous() for part in (query, key, value, gradient))
    assert key.shape[1] <= BLOCK
    found = tuple(torch.empty_like(part) for part in (query, key, value))
    attention_gradient_kernel[(query.shape[0] * query.shape[2],)](
        query, key, value, *_looks(bias, is_seen, query), gradient, *found,
        **_sizes(query, key, bias, is_seen),
    )  # fmt: skip
    return found


def _sizes(query: Tensor, key: Tensor, bias: Tensor | None, is_seen: Tensor | None) -> dict:
    (_, asks, heads, width), length = query.shape, key.shape[1]
    tile = _tile(length)
    is_full = torch.get_float32_matmul_precision() == "highest"
    return {
        "heads": heads,
        "asks": asks,
        "length": length,
        "width": width,
        "scale": width**-0.5,
        "ASKS": _tile(asks),
        "LENGTH": tile,
        "WIDTH": max(16, triton.next_power_of_2(width)),
        "HAS_BIAS": bias is not None,
        "HAS_SEEN": is_seen is not None,
        "PRECISION": "ieee" if is_full else "tf32",
        "num_warps": {16: 1, 32: 2}.get(tile, 4),
    }


def _tile(tokens: int) -> int:
    """Tokens of a program at a time; a matrix product has at least 16."""
    return min(BLOCK, max(16, triton.next_power_of_2(tokens)))


def _looks(bias: Tensor | None, is_seen: Tensor | None, query: Tensor) -> tuple[Tensor, Tensor]:
    """Bias and what is seen for the kernels; where there is none, something they do not read."""
    return (
        query if bias is None else bias.contiguous(),
        query if is_seen is None else is_seen.to(torch.int8).contiguous(),
    )
