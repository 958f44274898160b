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
    total = count = x.new_zeros(len(x))
    while (nodes := level.nodes).shape[1] > 1:
        pairs = combine(nodes[:, :-1], nodes[:, 1:])
        if nodes.shape[1] > 2:
            left = combine(pairs[:, :-1], nodes[:, 2:])
            right = combine(nodes[:, :-2], pairs[:, 1:])
            mean, is_counted = _mean(_difference(left, right), level.lengths)
            total, count = total + mean, count + is_counted

        def known(left: Tensor, right: Tensor, pairs: Tensor = pairs) -> Tensor:
            """What the operator makes of (1, 2), (3, 4), ...: every second pair is that."""
            found = pairs[:, ::2]
            is_whole = found.shape[1] == left.shape[1]  # else its last has no partner
            return found if is_whole else torch.cat([found, left[:, -1:]], dim=1)

        level = climb(known, finish, level)
    return level.nodes[:, 0], total / count.clamp(min=1)


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
