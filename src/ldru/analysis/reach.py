"""How far a network itself stays right: its own nodes, unmerged, on words of astronomic length."""

import numpy as np
import torch
from numpy.random import Generator
from torch import Tensor

from ldru.analysis.snapping import Network
from ldru.analysis.verdict import BoolArray, occurring
from ldru.automata.machine import UNLABELLED, IntArray
from ldru.automata.monoid import Monoid

HEIGHTS = 40
NODES = 1024


class _Pool:
    """Nodes of one height that words of the domain have: vectors and classes."""

    def __init__(self, states: Tensor, kinds: IntArray) -> None:
        self.states, self.kinds = states, kinds

    def __getitem__(self, rows: IntArray) -> "_Pool":
        return _Pool(self.states[torch.from_numpy(rows)], self.kinds[rows])

    def __add__(self, other: "_Pool") -> "_Pool":
        states = torch.cat([self.states, other.states])
        return _Pool(states, np.concatenate([self.kinds, other.kinds]))

    def that(self, occurs: BoolArray) -> "_Pool":
        return self[np.flatnonzero(occurs[self.kinds])]

    def some(self, count: int, generator: Generator) -> "_Pool":
        return self[generator.integers(max(1, len(self.kinds)), size=count * bool(len(self.kinds)))]


@torch.no_grad()
def wrong_by_height(
    network: Network,
    monoid: Monoid,
    *,
    generator: Generator,
    heights: int = HEIGHTS,
    nodes: int = NODES,
) -> dict[int, float]:
    """The share of sampled words that the network answers wrongly, of 2^(k-1) + 1 to 2^k symbols.

    A word of 2^40 symbols need not be read: sampled nodes of a height are joined at random to nodes
    of the next, so each of them is a node of a real word. Half of the last nodes at a height rose
    from the one below, single symbols that rose all the way among them. A height without words of
    the domain is left out.
    """

    def join(left: _Pool, right: _Pool) -> _Pool:
        count = min(len(left.kinds), len(right.kinds))
        left, right = left[np.arange(count)], right[np.arange(count)]
        states = network.finish(network.combine(left.states, right.states))
        return _Pool(states, monoid.table[left.kinds, right.kinds])

    def rise(pool: _Pool) -> _Pool:
        return _Pool(network.finish(pool.states), pool.kinds)

    wrong = {}
    shown = occurring(monoid)
    next(shown)
    full = last = risen = _Pool(network.leaves, monoid.step[0])
    for height in range(1, heights + 1):
        here = next(shown)
        pairs = join(full.some(2 * nodes, generator), last.some(2 * nodes, generator))
        roots = pairs.that(monoid.output != UNLABELLED)
        if len(roots.kinds):
            answers = network.score(roots.states).argmax(dim=-1).cpu().numpy()
            wrong[height] = float((answers != monoid.output[roots.kinds]).mean())
        risen = rise(risen)
        old = rise(last.some(nodes // 2, generator))
        last = (risen + old + pairs.some(nodes // 2, generator)).that(here.last)
        full = join(full.some(nodes, generator), full.some(nodes, generator)).that(here.full)
    return wrong
