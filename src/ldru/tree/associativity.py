"""How far from associative an operator is, on the nodes that a reduction meets."""

from collections.abc import Sequence

import torch
from torch import Tensor

from ldru.tree.batched import Level
from ldru.tree.reference import Combine

EPSILON = 1e-8


def associativity_loss(combine: Combine, levels: Sequence[Level]) -> Tensor:
    """The associativity loss of each word: [batch].

    For neighbours a, b, c of one level, with x = (a b) c and y = a (b c):

    loss(a, b, c) = (1 - x . y / (|x| |y| + eps))^2

    A level's loss is the mean over all its triples, which overlap; a word's is the mean over its
    levels of at least three nodes, 0 if it has none. Padding does not change it.
    """
    total = count = levels[0].nodes.new_zeros(len(levels[0].nodes))
    for nodes, lengths in levels:
        if nodes.shape[1] < 3:
            break  # and so have all levels above
        pairs = combine(nodes[:, :-1], nodes[:, 1:])
        differences = _difference(
            combine(pairs[:, :-1], nodes[:, 2:]), combine(nodes[:, :-2], pairs[:, 1:])
        )
        if lengths is None:
            total, count = total + differences.mean(dim=1), count + 1
            continue
        triples = (lengths - 2).clamp(min=0)
        is_triple = torch.arange(differences.shape[1], device=nodes.device) < triples[:, None]
        sums = torch.where(is_triple, differences, 0).sum(dim=1)
        total, count = total + sums / triples.clamp(min=1), count + (triples > 0)
    return total / count.clamp(min=1)


def _difference(x: Tensor, y: Tensor) -> Tensor:
    """(1 - cosine)^2: [..., dim], [..., dim] -> [...]."""
    norms = torch.linalg.vector_norm(x, dim=-1) * torch.linalg.vector_norm(y, dim=-1)
    return (1 - (x * y).sum(dim=-1) / (norms + EPSILON)).square()
