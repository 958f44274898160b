"""Reduce every prefix of a word: [batch, length, dim] -> [batch, length, dim].

In the balanced tree over the first t elements, the last node of each height stands for what is left
of t behind a multiple of a power of two. So one row of nodes is enough for all prefixes: after k
levels, entry t is the last node of height k over the first t elements. It takes one step more as
long as its prefix has more than 2^k elements. If its node is a right child, its sibling is the
entry that ends where it begins; a left child has none and rises. That is half a merge for each
element and level, and no node is computed twice.
"""

from collections.abc import Callable
from typing import Literal, get_args

import torch
from torch import Tensor

from ldru.base.errors import unknown_name
from ldru.tree.batched import fill
from ldru.tree.reduce import check_lengths, check_words
from ldru.tree.reference import Combine, Finish

Order = Literal["balanced", "blelloch"]
Step = Callable[[Tensor, Tensor, Tensor], Tensor]


def tree_scan(
    combine: Combine,
    x: Tensor,
    lengths: Tensor | None = None,
    finish: Finish | None = None,
    *,
    order: Order = "balanced",
) -> Tensor:
    """Reduce every prefix of each word: [batch, length, dim] -> [batch, length, dim].

    Entry t is what `tree_reduce` gives for the first t + 1 elements, in ceil(log2 length) levels of
    at most length / 2 merges each. With `lengths` [batch], entries behind a word's end are zero,
    and what stands there changes nothing.

    order: "balanced", or "blelloch" for 2 length merges in twice as many levels. Its brackets are
        others, and `finish` acts on merged nodes alone, so that it gives the same only if `combine`
        is associative and nothing finishes; `scan_gap` says how far it is off.

    >>> word = torch.tensor([[[1.0], [2.0], [3.0], [4.0], [5.0]]])
    >>> ldru.tree_scan(torch.add, word).flatten().tolist()
    [1.0, 3.0, 6.0, 10.0, 15.0]
    """
    check_words(x, combine, finish)
    check_lengths(lengths, batch=x.shape[0], length=x.shape[1])
    if order not in get_args(Order):
        raise unknown_name("order of a scan", order, get_args(Order))
    if lengths is not None:
        x = fill(x, lengths)
    entries = (_balanced if order == "balanced" else _blelloch)(combine, x, finish)
    return entries if lengths is None else without_padding(entries, lengths)


def scan_gap(
    combine: Combine, x: Tensor, lengths: Tensor | None = None, finish: Finish | None = None
) -> Tensor:
    """How far the cheap order is from the exact one, relative to it: [batch, length].

    |blelloch - balanced| / |balanced| for every prefix; 0 behind a word's end.

    >>> ldru.scan_gap(torch.sub, torch.ones(1, 7, 1)).tolist()
    [[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0]]
    """
    exact = tree_scan(combine, x, lengths, finish)
    cheap = tree_scan(combine, x, lengths, finish, order="blelloch")
    tiny = torch.finfo(exact.dtype).tiny
    return (cheap - exact).norm(dim=-1) / exact.norm(dim=-1).clamp(min=tiny)


def without_padding(entries: Tensor, lengths: Tensor) -> Tensor:
    """Zeros behind the ends of words: [batch, length, dim] -> the same shape."""
    is_real = torch.arange(entries.shape[1], device=entries.device) < lengths[:, None]
    return torch.where(is_real[..., None], entries, 0)


def scan_levels(
    step: Step,
    x: Tensor,
    finish: Finish | None = None,
    *,
    levels: int | None = None,
    is_first: bool = True,
) -> Tensor:
    """Every prefix in the balanced order: [batch, length, dim] -> [batch, length, dim].

    step: one level up, from left siblings, right children and nodes that rise alone, to the merged
        nodes and the risen ones behind them; all [batch, nodes, dim].
    finish: acts on these nodes in the order of their places, which no padding changes.
    levels: how many, at least as many as the elements need; by default just so many.
    is_first: whether the words begin here, or at least 2^levels elements lie before.
    """
    length = x.shape[1]
    for height in range((length - 1).bit_length() if levels is None else levels):
        half = 2**height
        done = min(half, length) if is_first else 0  # shorter prefixes have their root
        place = torch.arange(done, length, device=x.device)
        is_right = (place >> height) % 2 == 1
        rights = length // (2 * half) * half + max(0, length % (2 * half) - half)
        rank = (place >> (height + 1)) * half + place % half
        number = torch.where(is_right, rank, rank - done + rights)
        # Not by the mask itself: shapes stay known to a compiler.
        right, rising = (place[number.argsort()]).split([rights, length - done - rights])
        left = (right >> height << height) - 1
        # Plain indexing would sort the places in its gradient.
        children = (x.index_select(1, chosen) for chosen in (left, right, rising))
        nodes = step(*children).index_select(1, number)
        if finish is not None:
            nodes = finish(nodes)
        x = torch.cat([x[:, :done].to(nodes.dtype), nodes], dim=1)
    return x


def merging(combine: Combine) -> Step:
    """One level up: siblings are combined, and what rises stays as it is."""

    def step(left: Tensor, right: Tensor, rising: Tensor) -> Tensor:
        if not right.shape[1]:
            return rising
        merged = combine(left, right)
        return torch.cat([merged, rising.to(merged.dtype)], dim=1)

    return step


def _balanced(combine: Combine, x: Tensor, finish: Finish | None) -> Tensor:
    return scan_levels(merging(combine), x, finish)


def _blelloch(combine: Combine, x: Tensor, finish: Finish | None) -> Tensor:
    """Up the tree by pairs, then down: the entries between two pairs follow from the pairs'."""

    def merge(left: Tensor, right: Tensor) -> Tensor:
        merged = combine(left, right)
        return merged if finish is None else finish(merged)

    length = x.shape[1]
    if length == 1:
        return x
    pairs = merge(x[:, : length - 1 : 2], x[:, 1::2])
    ends = _blelloch(combine, pairs, finish)  # entries 1, 3, 5, ...
    first = x[:, :1].to(ends.dtype)
    if length == 2:
        return torch.cat([first, ends], dim=1)
    odd = x[:, 2::2]
    between = torch.cat([first, merge(ends[:, : odd.shape[1]], odd)], dim=1)
    both = torch.stack([between[:, : ends.shape[1]], ends], dim=2).flatten(1, 2)
    return torch.cat([both, between[:, ends.shape[1] :]], dim=1)
