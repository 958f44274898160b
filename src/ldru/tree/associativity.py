"""The reduction, and how far from associative its operator is on the nodes it meets."""

import torch
from torch import Tensor

from ldru.tree.batched import climb, leaves
from ldru.tree.reduce import check_lengths, check_words
from ldru.tree.reference import Combine, Finish

EPSILON = 1e-8


def reduce_with_associativity(
    combine: Combine, x: Tensor, lengths: Tensor | None = None, finish: Finish | None = None
) -> tuple[Tensor, Tensor]:
    """`tree_reduce`, and the associativity loss of each word: -> [batch, dim], [batch].

    For neighbours a, b, c of one level, with x = (a b) c and y = a (b c):

    loss(a, b, c) = (1 - x . y / (|x| |y| + eps))^2

    A level's loss is the mean over all its triples, which overlap; a word's is the mean over its
    levels of at least three nodes, 0 if it has none. The law of padding holds for it too.
    """
    check_words(x)
    check_lengths(lengths, batch=x.shape[0], length=x.shape[1])
    level = leaves(x, lengths)
    lefts: list[Tensor] = []
    rights: list[Tensor] = []
    counts: list[tuple[int, Tensor | None]] = []
    while (nodes := level.nodes).shape[1] > 1:
        pairs = combine(nodes[:, :-1], nodes[:, 1:])
        if nodes.shape[1] > 2:
            lefts += [pairs[:, :-1], nodes[:, :-2]]
            rights += [nodes[:, 2:], pairs[:, 1:]]
            counts.append((nodes.shape[1] - 2, level.lengths))
        level = climb(_looked_up(pairs), finish, level)
    total = number = x.new_zeros(len(x))
    if counts:
        # The triples of all levels at once: one large product where there would be many small ones.
        both = combine(torch.cat(lefts, dim=1), torch.cat(rights, dim=1))
        parts = iter(both.split([count for count, _ in counts for _ in range(2)], dim=1))
        for _, own in counts:
            mean, is_counted = _mean(_difference(next(parts), next(parts)), own)
            total, number = total + mean, number + is_counted
    return level.nodes[:, 0], total / number.clamp(min=1)


def _looked_up(pairs: Tensor) -> Combine:
    """What the operator makes of (1, 2), (3, 4), ...: every second of all pairs of neighbours."""

    def combine(left: Tensor, right: Tensor) -> Tensor:
        found = pairs[:, ::2]
        is_whole = found.shape[1] == left.shape[1]  # else the last one has no partner
        return found if is_whole else torch.cat([found, left[:, -1:]], dim=1)

    return combine


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
