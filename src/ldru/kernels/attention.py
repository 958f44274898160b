"""Attention in one launch: the scores of one head never leave a program.

Words of training are short and heads narrow, so that products of single heads are tiny matrices,
and scores that go through memory cost more than everything else. Here they stay in registers.

Short words: one warp holds the keys and values of a word and goes through those that ask, sixteen
at a time. Heads of less than 16 channels, the least of a matrix product, share their loads: in a
product of one head the others' channels are zeros. The gradient computes the scores again.
Long words, which only the forward pass takes: keys and values come in blocks, too, and four warps
share them.
The plain code is `ldru.models.transformer.DotProductAttention`.

Queries lie as [words, asks, heads, width], keys and values as [words, length, heads, width].
"""

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.nn import functional

from ldru.kernels import gpu

BLOCK = 64  # tokens of a program at a time, at most
SHORT_ASKS = 16  # those of them that ask, for short words
UNSEEN = tl.constexpr(-1e30)  # a score: finite, so that a block without a seen token makes no NaN


@triton.jit
def load_group(
    ptr, word, group, place, count,
    ROW: tl.constexpr, DIM: tl.constexpr, OWN: tl.constexpr, PAD: tl.constexpr,
):  # fmt: skip
    """Rows of one word at some places [P, 1], the channels of a group of heads: [P, PAD].

    ROW: from one place to the next in memory.
    """
    channel = tl.arange(0, PAD)[None, :]
    there = (place < count) & (channel < OWN) & (group * OWN + channel < DIM)
    return tl.load(
        ptr + (word * count + place) * ROW + group * OWN + channel, mask=there, other=0.0
    )


@triton.jit
def store_group(
    ptr, value, word, group, place, count,
    ROW: tl.constexpr, DIM: tl.constexpr, OWN: tl.constexpr, PAD: tl.constexpr,
):  # fmt: skip
    channel = tl.arange(0, PAD)[None, :]
    there = (place < count) & (channel < OWN) & (group * OWN + channel < DIM)
    tl.store(ptr + (word * count + place) * ROW + group * OWN + channel, value, mask=there)


@triton.jit
def of_head(rows, member, WIDTH: tl.constexpr, PAD: tl.constexpr):
    """A group's rows with zeros where other heads have their channels."""
    channel = tl.arange(0, PAD)[None, :]
    return tl.where(channel // WIDTH == member, rows, 0.0)


@triton.jit
def head_scores(
    q, k, bias_ptr, seen, head, ask, token, padded_asks, padded_length, length, scale,
    HAS_BIAS: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """How well tokens [1, T] answer those that ask [A, 1], by one head -> [A, T]."""
    scores = scale * tl.dot(q, tl.trans(k), input_precision=PRECISION)
    if HAS_BIAS:
        scores += tl.load(bias_ptr + (head * padded_asks + ask) * padded_length + token)
    return tl.where((token < length) & (seen != 0), scores, UNSEEN)


@triton.jit
def are_seen(seen_ptr, word, token, length, HAS_SEEN: tl.constexpr):
    seen = tl.full(token.shape, 1, dtype=tl.int8)
    if HAS_SEEN:
        seen = tl.load(seen_ptr + word * length + token, mask=token < length, other=0)
    return seen


@triton.jit
def long_attention_kernel(
    q_ptr, k_ptr, v_ptr, bias_ptr, seen_ptr, out_ptr,
    groups, asks, length, padded_asks, padded_length, scale,
    ROW: tl.constexpr, DIM: tl.constexpr, WIDTH: tl.constexpr, GROUP: tl.constexpr,
    PAD: tl.constexpr, ASKS: tl.constexpr, LENGTH: tl.constexpr,
    HAS_BIAS: tl.constexpr, HAS_SEEN: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """The heads of a group for a block of those that ask. Grid (words groups, blocks of asks)."""
    word = (tl.program_id(0) // groups).to(tl.int64)
    group = tl.program_id(0) % groups
    OWN: tl.constexpr = GROUP * WIDTH
    ask = tl.program_id(1) * ASKS + tl.arange(0, ASKS)[:, None]
    q = load_group(q_ptr, word, group, ask, asks, ROW, DIM, OWN, PAD)
    out = tl.zeros((ASKS, PAD), dtype=tl.float32)
    for member in tl.static_range(GROUP):
        own_q = of_head(q, member, WIDTH, PAD)
        largest = tl.full((ASKS,), UNSEEN, dtype=tl.float32)
        total = tl.zeros((ASKS,), dtype=tl.float32)
        mixed = tl.zeros((ASKS, PAD), dtype=tl.float32)
        for start in range(0, length, LENGTH):
            place = start + tl.arange(0, LENGTH)[:, None]
            token = start + tl.arange(0, LENGTH)[None, :]
            k = load_group(k_ptr, word, group, place, length, ROW, DIM, OWN, PAD)
            v = load_group(v_ptr, word, group, place, length, ROW, DIM, OWN, PAD)
            seen = are_seen(seen_ptr, word, token, length, HAS_SEEN)
            scores = head_scores(
                own_q, k, bias_ptr, seen, group * GROUP + member, ask, token,
                padded_asks, padded_length, length, scale, HAS_BIAS, PRECISION,
            )  # fmt: skip
            new = tl.maximum(largest, tl.max(scores, axis=1))
            kept = tl.exp(largest - new)
            powers = tl.exp(scores - new[:, None])
            total = total * kept + tl.sum(powers, axis=1)
            mixed = mixed * kept[:, None] + tl.dot(powers, v, input_precision=PRECISION)
            largest = new
        out += of_head(mixed / total[:, None], member, WIDTH, PAD)
    store_group(out_ptr, out, word, group, ask, asks, DIM, DIM, OWN, PAD)


@triton.jit
def short_attention_kernel(
    q_ptr, k_ptr, v_ptr, bias_ptr, seen_ptr, out_ptr, groups, asks, length,
    padded_asks, padded_length, scale,
    ROW: tl.constexpr, DIM: tl.constexpr, WIDTH: tl.constexpr, GROUP: tl.constexpr,
    PAD: tl.constexpr, ASKS: tl.constexpr, LENGTH: tl.constexpr,
    HAS_BIAS: tl.constexpr, HAS_SEEN: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """The heads of a group for one short word, whose keys and values stay. Grid (words groups,)."""
    word = (tl.program_id(0) // groups).to(tl.int64)
    group = tl.program_id(0) % groups
    OWN: tl.constexpr = GROUP * WIDTH
    place = tl.arange(0, LENGTH)[:, None]
    k = load_group(k_ptr, word, group, place, length, ROW, DIM, OWN, PAD)
    v = load_group(v_ptr, word, group, place, length, ROW, DIM, OWN, PAD)
    token = tl.arange(0, LENGTH)[None, :]
    seen = are_seen(seen_ptr, word, token, length, HAS_SEEN)
    for start in range(0, asks, ASKS):
        ask = start + tl.arange(0, ASKS)[:, None]
        q = load_group(q_ptr, word, group, ask, asks, ROW, DIM, OWN, PAD)
        mixed = tl.zeros((ASKS, PAD), dtype=tl.float32)
        for member in tl.static_range(GROUP):
            scores = head_scores(
                of_head(q, member, WIDTH, PAD), k, bias_ptr, seen, group * GROUP + member,
                ask, token, padded_asks, padded_length, length, scale, HAS_BIAS, PRECISION,
            )  # fmt: skip
            powers = tl.exp(scores - tl.max(scores, axis=1)[:, None])
            weights = powers / tl.sum(powers, axis=1)[:, None]
            own = of_head(v, member, WIDTH, PAD)
            mixed += tl.dot(weights, own, input_precision=PRECISION)
        store_group(out_ptr, mixed, word, group, ask, asks, DIM, DIM, OWN, PAD)


@triton.jit
def short_attention_gradient_kernel(
    q_ptr, k_ptr, v_ptr, bias_ptr, seen_ptr, gradient_ptr, dq_ptr, dk_ptr, dv_ptr,
    groups, asks, length,
    padded_asks, padded_length, scale,
    ROW: tl.constexpr, DIM: tl.constexpr, WIDTH: tl.constexpr, GROUP: tl.constexpr,
    PAD: tl.constexpr, ASKS: tl.constexpr, LENGTH: tl.constexpr,
    HAS_BIAS: tl.constexpr, HAS_SEEN: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Grid (words groups,)."""
    word = (tl.program_id(0) // groups).to(tl.int64)
    group = tl.program_id(0) % groups
    OWN: tl.constexpr = GROUP * WIDTH
    place = tl.arange(0, LENGTH)[:, None]
    k = load_group(k_ptr, word, group, place, length, ROW, DIM, OWN, PAD)
    v = load_group(v_ptr, word, group, place, length, ROW, DIM, OWN, PAD)
    token = tl.arange(0, LENGTH)[None, :]
    seen = are_seen(seen_ptr, word, token, length, HAS_SEEN)
    dk = tl.zeros((LENGTH, PAD), dtype=tl.float32)
    dv = tl.zeros((LENGTH, PAD), dtype=tl.float32)
    for start in range(0, asks, ASKS):
        ask = start + tl.arange(0, ASKS)[:, None]
        q = load_group(q_ptr, word, group, ask, asks, ROW, DIM, OWN, PAD)
        gradient = load_group(gradient_ptr, word, group, ask, asks, DIM, DIM, OWN, PAD)
        dq = tl.zeros((ASKS, PAD), dtype=tl.float32)
        for member in tl.static_range(GROUP):
            own_q = of_head(q, member, WIDTH, PAD)
            own = of_head(gradient, member, WIDTH, PAD)
            scores = head_scores(
                own_q, k, bias_ptr, seen, group * GROUP + member,
                ask, token, padded_asks, padded_length, length, scale, HAS_BIAS, PRECISION,
            )  # fmt: skip
            powers = tl.exp(scores - tl.max(scores, axis=1)[:, None])
            weights = powers / tl.sum(powers, axis=1)[:, None]
            # Rows behind the last that asks have weights too, but no gradient.
            dv += tl.dot(tl.trans(weights), own, input_precision=PRECISION)
            dweights = tl.dot(own, tl.trans(v), input_precision=PRECISION)
            mean = tl.sum(dweights * weights, axis=1)[:, None]
            dscores = scale * weights * (dweights - mean)
            dq += tl.dot(dscores, of_head(k, member, WIDTH, PAD), input_precision=PRECISION)
            dk += tl.dot(tl.trans(dscores), own_q, input_precision=PRECISION)
        store_group(dq_ptr, dq, word, group, ask, asks, ROW, DIM, OWN, PAD)
    store_group(dk_ptr, dk, word, group, place, length, ROW, DIM, OWN, PAD)
    store_group(dv_ptr, dv, word, group, place, length, ROW, DIM, OWN, PAD)


def attention(
    query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, is_seen: Tensor | None
) -> Tensor:
    """Values mixed: [words, asks, heads, width], [words, length, heads, width] twice -> query's.

    bias: added to the scores [heads, asks, length]; is_seen: of the tokens [words, length].
    """
    query, key, value = (part.contiguous() for part in (query, key, value))
    out = torch.empty_like(query)
    _attend(query, key, value, bias, is_seen, out, parts=1)
    return out


def packed_attention(packed: Tensor, bias: Tensor | None, is_seen: Tensor | None) -> Tensor:
    """Values mixed where every token asks, its query, key and value side by side.

    [words, length, 3, heads, width] -> [words, length, heads, width]
    """
    query, key, value = packed.contiguous().unbind(dim=2)
    out = torch.empty_like(query, memory_format=torch.contiguous_format)
    _attend(query, key, value, bias, is_seen, out, parts=3)
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
    query, key, value = (part.contiguous() for part in (query, key, value))
    found = tuple(torch.empty_like(part) for part in (query, key, value))
    _differentiate(query, key, value, bias, is_seen, gradient, found, parts=1)
    return found


def packed_attention_gradient(
    packed: Tensor, bias: Tensor | None, is_seen: Tensor | None, gradient: Tensor
) -> Tensor:
    """The gradient of what is packed, from that of the mixed values; of short words."""
    packed = packed.contiguous()
    found = torch.empty_like(packed)
    query, key, value = packed.unbind(dim=2)
    of_parts = found.unbind(dim=2)
    _differentiate(query, key, value, bias, is_seen, gradient, of_parts, parts=3)
    return found


def _attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    bias: Tensor | None,
    is_seen: Tensor | None,
    out: Tensor,
    *,
    parts: int,
) -> None:
    """parts: how many vectors of a place lie side by side."""
    programs, looks, sizes = _launch(query, key, bias, is_seen, parts=parts)
    if key.shape[1] <= BLOCK:
        short_attention_kernel[(programs,)](query, key, value, *looks, out, **sizes)
        return
    blocks = triton.cdiv(query.shape[1], sizes["ASKS"])
    long_attention_kernel[(programs, blocks)](query, key, value, *looks, out, **sizes)


def _differentiate(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    bias: Tensor | None,
    is_seen: Tensor | None,
    gradient: Tensor,
    found: tuple[Tensor, ...],
    *,
    parts: int,
) -> None:
    assert key.shape[1] <= BLOCK
    programs, looks, sizes = _launch(query, key, bias, is_seen, parts=parts)
    short_attention_gradient_kernel[(programs,)](
        query, key, value, *looks, gradient.contiguous(), *found, **sizes
    )


def _launch(
    query: Tensor, key: Tensor, bias: Tensor | None, is_seen: Tensor | None, *, parts: int
) -> tuple[int, tuple[Tensor, Tensor], dict]:
    """How many words and groups of heads there are, what kernels look at, and their sizes."""
    (words, asks, heads, width), length = query.shape, key.shape[1]
    is_short = length <= BLOCK
    # A matrix product has at least 16 channels, so narrow heads share a program.
    group = min(heads, max(1, 16 // width))
    groups = triton.cdiv(heads, group)
    tile = _tile(length)
    ask_tile = SHORT_ASKS if is_short else _tile(asks)
    padded_asks, padded_length = _padded(asks, ask_tile), _padded(length, tile)
    if bias is not None:  # in whole tiles, so that it is loaded in wide words
        bias = functional.pad(bias, (0, padded_length - length, 0, padded_asks - asks))
        bias = functional.pad(bias, (0, 0, 0, 0, 0, groups * group - heads))
    # What is not there is not read, but a kernel wants some pointer in its place.
    looks = (
        query if bias is None else bias.contiguous(),
        query if is_seen is None else is_seen.to(torch.int8).contiguous(),
    )
    sizes = {
        "groups": groups,
        "asks": asks,
        "length": length,
        "padded_asks": padded_asks,
        "padded_length": padded_length,
        "scale": width**-0.5,
        "ROW": parts * heads * width,
        "DIM": heads * width,
        "WIDTH": width,
        "GROUP": group,
        "PAD": max(16, triton.next_power_of_2(group * width)),
        "ASKS": ask_tile,
        "LENGTH": tile,
        "HAS_BIAS": bias is not None,
        "HAS_SEEN": is_seen is not None,
        "PRECISION": gpu.layer_precision(),
        "num_warps": 1 if is_short else 4,
    }
    return words * groups, looks, sizes


def _tile(tokens: int) -> int:
    """Tokens of a program at a time; a matrix product has at least 16."""
    return min(BLOCK, max(16, triton.next_power_of_2(tokens)))


def _padded(count: int, tile: int) -> int:
    return triton.cdiv(count, tile) * tile
