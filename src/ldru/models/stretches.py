"""Equal stretches of words have equal nodes: look them up instead of computing them.

Over a small alphabet only few different words of eight symbols exist, and the nodes of the third
level stand for such words. So the answers to many long words need an eighth of the merges: a table
of all stretches is computed once, and every word begins three levels up. The last stretch of a word
may be shorter; it is climbed by itself.
"""

import torch
from torch import Tensor

from ldru.tree import Combine, Finish, Level, climb

MOST_STRETCHES = 2**13
"""The largest table."""

TIMES_SHARED = 2
"""How often a stretch must be used on average for a table to be worth while."""


def shared_levels(vocab_size: int, *, batch: int, length: int) -> int:
    """How many levels to look up; 0 where it does not pay."""
    levels = 0
    while True:
        size = 2 ** (levels + 1)
        stretches = vocab_size**size
        is_used = batch * (length // size) >= TIMES_SHARED * stretches
        if size > length or stretches > MOST_STRETCHES or not is_used:
            return levels
        levels += 1


def nodes_above(
    leaves: Tensor, tokens: Tensor, *, levels: int, combine: Combine, finish: Finish
) -> Tensor:
    """The nodes of words some levels up: [symbols, dim], [batch, length] -> [batch, nodes, dim].

    A word must have at least 2^levels symbols.
    """
    size, symbols = 2**levels, len(leaves)
    whole = tokens.shape[1] // size
    places = symbols ** torch.arange(size, device=tokens.device)
    numbers = torch.arange(symbols**size, device=tokens.device)
    every = numbers[:, None] // places % symbols  # all words of that size
    table = _climbed(leaves[every], levels, combine, finish)[:, 0]
    codes = (tokens[:, : whole * size].unflatten(1, (whole, size)) * places).sum(dim=2)
    nodes = table[codes]
    if tokens.shape[1] == whole * size:
        return nodes
    rest = _climbed(leaves[tokens[:, whole * size :]], levels, combine, finish)
    return torch.cat([nodes, rest], dim=1)


def _climbed(nodes: Tensor, levels: int, combine: Combine, finish: Finish) -> Tensor:
    """Nodes some levels up; a last one alone rises."""
    level = Level(nodes, None)
    for _ in range(levels):
        level = climb(combine, finish, level)
    return level.nodes
