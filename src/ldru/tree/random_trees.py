"""Trees other than the balanced one: given level by level, or drawn at random.

A level is a choice for every node of the next level: it takes two neighbours, or one and passes it
on. Along such a tree `combine` and `finish` act on the merged nodes alone; passed ones stay as they
are. So a word of 40 symbols can be as deep as one of 500 in the balanced tree.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from ldru.base.errors import LdruError
from ldru.base.randomness import WORD, bits

PLACES = 2**24
"""How many nodes of a level the bits of one key can tell apart."""

MAX_LEVELS = 2**31 // PLACES - 1
"""Places are counted in 31 bits."""


@dataclass(frozen=True, eq=False)
class Trees:
    """A tree for each word of a batch.

    levels: from the leaves up, whether each node of the next level takes two neighbours: bool
        [..., batch, nodes]. Padding is False. Leading axes are the members of a fleet.
    merges: the most merges of a word at each level.

    >>> trees = ldru.Trees.of([[[True, False]], [[True]]])  # (a b) c of a word of three
    >>> words = torch.tensor([[[1.0], [2.0], [4.0]]])
    >>> ldru.tree_reduce(torch.sub, words, trees=trees).tolist()
    [[-5.0]]
    """

    levels: tuple[Tensor, ...]
    merges: tuple[int, ...]

    @classmethod
    def of(cls, levels: Sequence[Tensor | Sequence[Sequence[bool]]]) -> "Trees":
        """Trees given by hand: for each level [batch, nodes of the next level]."""
        tables = tuple(torch.as_tensor(level) for level in levels)
        for table in tables:
            if table.dtype != torch.bool or table.ndim != 2:
                raise LdruError(
                    "a level of trees says of every node of the next level whether it takes two: "
                    f"bool [batch, nodes], got {table.dtype} {list(table.shape)}"
                )
        return cls(levels=tables, merges=tuple(int(t.sum(dim=1).max()) for t in tables))

    def check(self, *, batch: int, length: int, lengths: Tensor | None) -> None:
        """Raise unless every tree ends in one node and takes nothing beyond its word."""
        counts = torch.full((batch,), length) if lengths is None else lengths.cpu().long()
        for number, level in enumerate(self.levels, start=1):
            if level.shape[0] != batch:
                raise LdruError(f"the trees are of {level.shape[0]} words, there are {batch}")
            pairs = level.cpu()
            after = counts - pairs.sum(dim=1)
            place = torch.arange(level.shape[1])
            if (pairs & (place >= after[:, None])).any() or (after > level.shape[1]).any():
                raise LdruError(
                    f"the trees do not fit words of length {length}: level {number} has "
                    f"{level.shape[1]} nodes"
                )
            counts = after
        if (counts != 1).any():
            raise LdruError(
                f"the trees do not fit words of length {length}: after {len(self.levels)} levels "
                f"a word has {int(counts.max())} nodes, not 1"
            )


@dataclass(frozen=True, eq=False)
class RandomTrees:
    """Random trees by what decides them, not drawn yet: kernels draw them on their own.

    keys: of each word [..., batch, 2]; length, lengths, share: as for `draw_trees`.
    """

    keys: Tensor
    length: int
    lengths: Tensor | None
    share: float

    @property
    def merges(self) -> list[int]:
        """The most pairs that a word merges at each level."""
        return level_merges(self.length, share=self.share)

    @property
    def pairs(self) -> list[int]:
        """How many pairs a level of 0, 1, ... nodes merges."""
        return [num_merges(nodes, share=self.share) for nodes in range(self.length + 1)]

    def draw(self) -> Trees:
        """The trees."""
        return draw_trees(self.keys, length=self.length, lengths=self.lengths, share=self.share)


class Factors(NamedTuple):
    """All nodes of trees, and the stretch of its word that each one stands for.

    Rows are in order of levels, leaves first, and in a level of words: [rows, dim], [rows], [rows].
    Places are those of the batch's symbols, one word after the other; of a row that its word does
    not need, begin and end are the same.
    """

    nodes: Tensor
    begin: Tensor
    end: Tensor


def num_merges(nodes: int, *, share: float) -> int:
    """How many pairs a level of so many nodes merges: about that share of the nodes, at least 1."""
    return min(nodes // 2, max(1, round(share * nodes)))


def level_merges(length: int, *, share: float) -> list[int]:
    """How many pairs each level over so many leaves merges, down to one node."""
    if not 0 < share <= 1:
        raise LdruError(f"trees merge a share of the nodes in (0, 1], got {share}")
    found, nodes = [], length
    while nodes > 1:
        found.append(num_merges(nodes, share=share))
        nodes -= found[-1]
    if len(found) > MAX_LEVELS:
        raise LdruError(
            f"merging {share} of the nodes, words of length {length} have {len(found)} levels, and "
            f"at most {MAX_LEVELS} are drawn: choose a larger share"
        )
    return found


def draw_trees(
    keys: Tensor, *, length: int, lengths: Tensor | None = None, share: float = 0.3
) -> Trees:
    """Draw a tree for each word, as a function of its key: [..., batch, 2] -> trees.

    A level of n nodes becomes one of n - m, m = max(1, round(share n)) but at most n / 2. Which m
    of the n - m take two neighbours is uniform.

    length: of the words, or what they are padded to; lengths: [..., batch] of each.

    >>> keys = torch.tensor([[1, 2], [3, 4]], dtype=torch.int32)
    >>> [level.shape[1] for level in ldru.draw_trees(keys, length=10).levels]
    [7, 5, 3, 2, 1]
    """
    levels, counts, width = [], lengths, length
    merges = level_merges(length, share=share)
    for number, most in enumerate(merges):
        width -= most
        place = torch.arange(width, device=keys.device)
        noise = bits(keys, width, begin=number * PLACES).to(torch.int64) & (WORD - 1)
        pairs: int | Tensor = most
        if counts is not None:
            pairs = _num_merges(counts, share=share)[..., None]
            counts = counts - pairs[..., 0]
            noise = torch.where(place < counts[..., None], noise, WORD)  # padding comes last
        rank = noise.argsort(dim=-1, stable=True).argsort(dim=-1)
        levels.append(rank < pairs)
    return Trees(levels=tuple(levels), merges=tuple(merges))


def climb(nodes: Tensor, pairs: Tensor, *, merges: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Gather what one level needs: [batch, n, dim], [batch, nodes] -> left, right, kept, number.

    left, right: the neighbours that merge [batch, merges, dim]; words with fewer have others there.
    kept: the first, or only, neighbour of each node of the next level [batch, nodes, dim].
    number: of the merged pair that belongs to each node, 0 where it has none [batch, nodes].
    """
    count = pairs.to(torch.int64).cumsum(dim=1)
    first = torch.arange(pairs.shape[1], device=nodes.device) + count - pairs.to(torch.int64)
    first = first.clamp(max=nodes.shape[1] - 1)
    kept = _rows(nodes, first)
    where = pairs.to(torch.int8).argsort(dim=1, descending=True, stable=True)[:, :merges]
    starts = first.gather(1, where)
    right = _rows(nodes, (starts + 1).clamp(max=nodes.shape[1] - 1))
    return _rows(nodes, starts), right, kept, (count - 1).clamp(min=0, max=max(merges - 1, 0))


def put_back(merged: Tensor, kept: Tensor, pairs: Tensor, number: Tensor) -> Tensor:
    """The nodes of the next level, from its merged and kept ones: [batch, nodes, dim]."""
    return torch.where(pairs[..., None], _rows(merged, number), kept)


def _rows(nodes: Tensor, places: Tensor) -> Tensor:
    """Rows by number: [batch, n, dim], [batch, count] -> [batch, count, dim]."""
    return nodes.gather(1, places[..., None].expand(*places.shape, nodes.shape[-1]))


def _num_merges(nodes: Tensor, *, share: float) -> Tensor:
    """`num_merges` of many words; 0 for a word that is reduced already."""
    wanted = (share * nodes.double()).round().long().clamp(min=1)
    return torch.minimum(wanted, nodes // 2)
