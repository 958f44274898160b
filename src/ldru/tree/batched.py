"""All words of a batch at once, level by level; padded words by masks, in static shapes."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ldru.tree import random_trees
from ldru.tree.random_trees import Factors, Trees
from ldru.tree.reference import Combine, Finish


class Level(NamedTuple):
    """The nodes of one height of the tree, for every word of a batch.

    nodes: [batch, nodes, dim]; beyond a word's own nodes the content means nothing.
    lengths: how many nodes each word has [batch]; None when all have the same number.
    """

    nodes: Tensor
    lengths: Tensor | None


def reduce(
    combine: Combine, x: Tensor, lengths: Tensor | None = None, finish: Finish | None = None
) -> Tensor:
    """Reduce every word: [batch, length, dim] -> [batch, dim]."""
    for level in levels(combine, x, lengths, finish):
        root = level.nodes
    return root[:, 0]


def reduce_along(
    combine: Combine,
    x: Tensor,
    trees: Trees,
    lengths: Tensor | None = None,
    finish: Finish | None = None,
) -> Tensor:
    """Reduce every word along a tree of its own: [batch, length, dim] -> [batch, dim]."""
    nodes = leaves(x, lengths).nodes
    for pairs, merges in zip(trees.levels, trees.merges, strict=True):
        _, nodes = _climb_along(combine, finish, nodes, pairs, merges=merges)
    return nodes[:, 0]


def factors_along(
    combine: Combine,
    x: Tensor,
    trees: Trees,
    lengths: Tensor | None = None,
    finish: Finish | None = None,
) -> Factors:
    """The leaves and all that the same reduction merges, with the stretches of words below."""
    nodes, (batch, length) = leaves(x, lengths).nodes, x.shape[:2]
    place = torch.arange(batch * length, device=x.device).view(batch, length)
    stretches = torch.stack([place, place + 1], dim=-1)
    is_there = torch.ones_like(place, dtype=torch.bool)
    if lengths is not None:
        is_there = torch.arange(length, device=x.device) < lengths[:, None]
    found = [_factors(nodes, stretches, is_there)]
    for pairs, merges in zip(trees.levels, trees.merges, strict=True):
        merged, nodes = _climb_along(combine, finish, nodes, pairs, merges=merges)
        left, right, kept, number = random_trees.climb(stretches, pairs, merges=merges)
        joined = torch.stack([left[..., 0], right[..., 1]], dim=-1)
        stretches = random_trees.put_back(joined, kept, pairs, number)
        is_there = torch.arange(merges, device=x.device) < pairs.sum(dim=1, keepdim=True)
        found.append(_factors(merged, joined, is_there))
    return Factors(*(torch.cat(parts) for parts in zip(*found, strict=True)))


def level_factors(levels: Sequence[Level]) -> Factors:
    """All nodes of the balanced reduction, with the stretches of words below; risen ones too."""
    (batch, length), first = levels[0].nodes.shape[:2], levels[0].lengths
    device = levels[0].nodes.device
    own = torch.full((batch,), length, device=device) if first is None else first
    word, found = length * torch.arange(batch, device=device)[:, None], []
    for height, level in enumerate(levels):
        begin = 2**height * torch.arange(level.nodes.shape[1], device=device)
        end = torch.minimum(begin + 2**height, own[:, None])
        # A word that was one node before is done: its root stays, and is no new one.
        is_there = (begin < end) & (own > 2**height // 2)[:, None]
        stretches = word[..., None] + torch.stack([begin.expand_as(end), end], dim=-1)
        found.append(_factors(level.nodes, stretches, is_there))
    return Factors(*(torch.cat(parts) for parts in zip(*found, strict=True)))


def _factors(nodes: Tensor, stretches: Tensor, is_there: Tensor) -> Factors:
    """Of one level: [batch, count, dim], [batch, count, 2], [batch, count]."""
    begin, end = torch.where(is_there[..., None], stretches, 0).flatten(0, 1).unbind(dim=1)
    return Factors(nodes.flatten(0, 1), begin, end)


def _climb_along(
    combine: Combine, finish: Finish | None, nodes: Tensor, pairs: Tensor, *, merges: int
) -> tuple[Tensor, Tensor]:
    """One level up: the merged nodes [batch, merges, dim], and all of the next level."""
    left, right, kept, number = random_trees.climb(nodes, pairs, merges=merges)
    merged = combine(left, right)
    if finish is not None:
        merged = finish(merged)
    return merged, random_trees.put_back(merged, kept.to(merged.dtype), pairs, number)


def why_not(combine: Combine, x: Tensor) -> str | None:
    """Any callable on [..., dim] can be reduced this way."""
    return None


def levels(
    combine: Combine, x: Tensor, lengths: Tensor | None = None, finish: Finish | None = None
) -> Iterator[Level]:
    """The leaves, then every level up to the root."""
    level = leaves(x, lengths)
    yield level
    while level.nodes.shape[1] > 1:
        level = climb(combine, finish, level)
        yield level


def leaves(x: Tensor, lengths: Tensor | None) -> Level:
    """The lowest level."""
    return Level(x, None) if lengths is None else Level(fill(x, lengths), lengths)


def climb(combine: Combine, finish: Finish | None, level: Level) -> Level:
    """One level up."""
    one_up = _climb_equal if level.lengths is None else _climb_padded
    return one_up(combine, finish, level)


def _climb_equal(combine: Combine, finish: Finish | None, level: Level) -> Level:
    """One level up, all words of the same length."""
    x = level.nodes
    pairs = x.shape[1] // 2
    nodes = combine(x[:, 0 : 2 * pairs : 2], x[:, 1 : 2 * pairs : 2])
    if x.shape[1] > 2 * pairs:
        nodes = torch.cat([nodes, x[:, -1:].to(nodes.dtype)], dim=1)
    return Level(nodes if finish is None else finish(nodes), None)


def _climb_padded(combine: Combine, finish: Finish | None, level: Level) -> Level:
    """One level up, each word by its own length; words already reduced stay as they are."""
    x, lengths = level
    assert lengths is not None
    left, right = x[:, 0::2], x[:, 1::2]
    if x.shape[1] % 2:
        right = torch.cat([right, left[:, -1:]], dim=1)
    second = 2 * torch.arange(left.shape[1], device=x.device) + 1
    is_paired = (second < lengths[:, None])[..., None]
    nodes = torch.where(is_paired, combine(left, right), left)
    if finish is not None:
        nodes = finish(nodes)
    nodes = torch.where((lengths > 1)[:, None, None], nodes, left)
    lengths = (lengths + 1) // 2
    return Level(fill(nodes, lengths), lengths)


def fill(x: Tensor, lengths: Tensor) -> Tensor:
    """Overwrite the padding with each word's first node.

    Padding may hold anything, NaN included, and the operator is applied there too. It sees a state
    of the same word instead, so that masked gradients are zero and not zero times infinity.
    """
    is_real = torch.arange(x.shape[1], device=x.device) < lengths[:, None]
    return torch.where(is_real[..., None], x, x[:, :1])
