"""How far a trained operator is from being associative, on the states that it really meets."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ldru.analysis.compositions import class_levels
from ldru.automata.machine import IntArray
from ldru.automata.monoid import Monoid
from ldru.base.errors import LdruError
from ldru.tree import Combine, Finish, tree_levels


class Associators(NamedTuple):
    """Of all triples of neighbours on one level of the tree, for every word of a batch.

    cosine: 1 - cos of the angle between (ab)c and a(bc) [batch, triples].
    relative: the norm of their difference over the mean of their norms [batch, triples].
    classes: the class of abc in the monoid [batch, triples].
    """

    cosine: Tensor
    relative: Tensor
    classes: IntArray


@torch.no_grad()
def associators(
    combine: Combine,
    x: Tensor,
    tokens: IntArray,
    monoid: Monoid,
    *,
    finish: Finish | None = None,
    with_block: bool = False,
) -> dict[int, Associators]:
    """Associators by level, 0 for the leaves, in words x [batch, length, dim] of one length.

    Levels with fewer than three nodes have none.

    tokens: the same words [batch, length].
    finish: what the tree does to every node of a new level.
    with_block: compare the two trees as the model would compute them, every node of every level
        finished; else the bare operator, as the associativity loss of the paper does.
    """
    done = finish if with_block and finish is not None else _unchanged
    found = {}
    levels = tree_levels(combine, x, None, finish)
    for number, (level, classes) in enumerate(
        zip(levels, class_levels(monoid, tokens), strict=True)
    ):
        nodes = level.nodes
        if nodes.shape[1] < 3:
            continue
        a, b, c = nodes[:, :-2], nodes[:, 1:-1], nodes[:, 2:]
        left = done(combine(done(combine(a, b)), done(c)))
        right = done(combine(done(a), done(combine(b, c))))
        table = monoid.table
        found[number] = Associators(
            cosine=1 - torch.cosine_similarity(left, right, dim=-1),
            relative=2 * (left - right).norm(dim=-1) / (left.norm(dim=-1) + right.norm(dim=-1)),
            classes=table[table[classes[:, :-2], classes[:, 1:-1]], classes[:, 2:]],
        )
    return found


def random_bracketing(
    length: int, *, generator: np.random.Generator, balanced: int = 0
) -> list[list[int]]:
    """A random tree over a word: for every level, the places of the left partners.

    On a level, from left to right, a node is paired with its neighbour or rises alone, evenly; at
    least one pair is made. Every binary tree can come out.

    balanced: so many levels are paired as in the balanced tree first. Above them, all parts but the
        last have multiples of 2**balanced symbols.
    """
    levels: list[list[int]] = []
    while length > 1:
        if len(levels) < balanced:
            lefts = list(range(0, length - 1, 2))
        else:
            lefts = _random_pairs(length, generator=generator)
        levels.append(lefts)
        length -= len(lefts)
    return levels


@torch.no_grad()
def reduce_bracketed(
    combine: Combine, x: Tensor, bracketing: list[list[int]], finish: Finish | None = None
) -> Tensor:
    """Reduce words along a given tree: [batch, length, dim] -> [batch, dim].

    As in the balanced tree, `finish` acts on every node of a new level, risen ones too.
    """
    for lefts in bracketing:
        left = torch.tensor(lefts)
        combined = combine(x[:, left], x[:, left + 1])
        x = x.index_copy(1, left.to(x.device), combined)
        keep = torch.ones(x.shape[1], dtype=torch.bool)
        keep[left + 1] = False
        x = x[:, keep.to(x.device)]
        if finish is not None:
            x = finish(x)
    if x.shape[1] != 1:
        raise LdruError(f"the bracketing leaves {x.shape[1]} nodes of the words, expected one")
    return x[:, 0]


def _random_pairs(length: int, *, generator: np.random.Generator) -> list[int]:
    lefts = []
    place = 0
    while place < length - 1:
        if generator.random() < 0.5:
            lefts.append(place)
            place += 1
        place += 1
    return lefts or [int(generator.integers(length - 1))]


def _unchanged(x: Tensor) -> Tensor:
    return x
