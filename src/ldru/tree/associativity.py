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
    levels = list(levels)
    nodes = [level.nodes for level in levels if level.nodes.shape[1] > 2]
    total = number = levels[0].nodes.new_zeros(len(levels[0].nodes))
    if not nodes:
        return total
    # All levels at once: two large products where there would be many small ones.
    lefts, rights = [x[:, :-1] for x in nodes], [x[:, 1:] for x in nodes]
    pairs = combine(torch.cat(lefts, dim=1), torch.cat(rights, dim=1))
    lefts, rights = [], []
    for x, pair in zip(nodes, pairs.split([x.shape[1] - 1 for x in nodes], dim=1), strict=True):
        lefts += [pair[:, :-1], x[:, :-2]]
        rights += [x[:, 2:], pair[:, 1:]]
    both = combine(torch.cat(lefts, dim=1), torch.cat(rights, dim=1))
    parts = iter(both.split([left.shape[1] for left in lefts], dim=1))
    for level in levels[: len(nodes)]:
        mean, is_counted = _mean(_difference(next(parts), next(parts)), level.lengths)
        total, number = total + mean, number + is_counted
    return total / number.clamp(min=1)


def _mean(losses: Tensor, lengths: Tensor | None) -> tuple[Tensor, Tensor | int]:
    """Over each word's own triples, and whether it has any: [batch, triples] -> [batch], [batch].

    lengths: how many nodes each word has.
    """
    if lengths is None:
        return losses.mean(dim=1), 1
    triples = (lengths - 2).clamp(min=0)
    is_triple = torch.arange(losses.shape[1], device=losses.device) < triples[:, None]
    sums = torch.where(is_triple, losses, 0).sum(dim=1)
    return sums / triples.clamp(min=1), triples > 0


def _difference(x: Tensor, y: Tensor) -> Tensor:
    """(1 - cosine)^2: [..., dim], [..., dim] -> [...]."""
    norms = torch.linalg.vector_norm(x, dim=-1) * torch.linalg.vector_norm(y, dim=-1)
    return (1 - (x * y).sum(dim=-1) / (norms + EPSILON)).square()
