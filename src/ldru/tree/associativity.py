"""How far from associative an operator is on the nodes that a reduction meets."""

from collections.abc import Iterable

import torch
from torch import Tensor

from ldru.tree.batched import Level
from ldru.tree.reference import Combine

EPSILON = 1e-8


def associativity_loss(combine: Combine, levels: Iterable[Level]) -> Tensor:
    """The associativity loss of each word whose reduction went through these levels: [batch].

    For neighbours a, b, c of one level, with x = (a b) c and y = a (b c):

    loss(a, b, c) = (1 - x . y / (|x| |y| + eps))^2

    A level's loss is the mean over all its triples, which overlap; a word's is the mean over its
    levels of at least three nodes, 0 if it has none. The law of padding holds for it too.
    """
    every = list(levels)
    some = [level for level in every if level.nodes.shape[1] > 2]
    if not some:
        return every[0].nodes.new_zeros(len(every[0].nodes))
    # The levels stand in one row, so that the operator is called twice in all. Triples across the
    # border of two levels, and those of padding, have no weight.
    nodes = torch.cat([level.nodes for level in some], dim=1)
    is_own, weights = (torch.cat(parts, dim=1) for parts in zip(*map(_shares, some), strict=True))
    nodes = torch.where(is_own[..., None], nodes, nodes[:, :1])
    pairs = combine(nodes[:, :-1], nodes[:, 1:])
    lefts = torch.cat([pairs[:, :-1], nodes[:, :-2]], dim=1)
    rights = torch.cat([nodes[:, 2:], pairs[:, 1:]], dim=1)
    losses = _difference(*combine(lefts, rights).chunk(2, dim=1))
    weights = weights[:, :-2]
    return torch.where(weights > 0, weights * losses, 0).sum(dim=1) / _levels_counted(some)


def _shares(level: Level) -> tuple[Tensor, Tensor]:
    """Which nodes are a word's own, and the share of each triple, by its first node, in the mean.

    Both [batch, nodes], or [1, nodes] where all words are of one length.
    """
    place = torch.arange(level.nodes.shape[1], device=level.nodes.device)
    lengths = _lengths(level)[:, None]
    share = 1 / (lengths - 2).clamp(min=1).to(level.nodes.dtype)
    return place < lengths, torch.where(place < lengths - 2, share, 0)


def _levels_counted(levels: list[Level]) -> Tensor:
    """How many levels of each word have triples, at least 1: [batch] or [1]."""
    return torch.stack([_lengths(level) > 2 for level in levels]).sum(dim=0).clamp(min=1)


def _lengths(level: Level) -> Tensor:
    """How many nodes each word has: [batch] or [1]."""
    if level.lengths is not None:
        return level.lengths
    nodes = level.nodes
    return torch.full((1,), nodes.shape[1], dtype=torch.int64, device=nodes.device)


def _difference(x: Tensor, y: Tensor) -> Tensor:
    """(1 - cosine)^2: [..., dim], [..., dim] -> [...]."""
    norms = torch.linalg.vector_norm(x, dim=-1) * torch.linalg.vector_norm(y, dim=-1)
    return (1 - (x * y).sum(dim=-1) / (norms + EPSILON)).square()
