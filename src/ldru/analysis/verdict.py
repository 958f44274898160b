"""Whether a finite reduction algebra answers as a machine does, on words of every length.

Nodes of the balanced tree are followed as pairs (state, class): the algebra's state and the class
of the node's word in the machine's monoid. With B, u, r the algebra's pair, carry and answer,

    R_0 = {(leaf a, class a)}     R_{k+1} = {(B(p, q), mn) : (p, m), (q, n) in R_k}
    S_0 = R_0                     S_{k+1} = {(u s, n) : (s, n) in S_k}
                                          + {(B(p, s), mn) : (p, m) in R_k, (s, n) in S_k}

R_k are the full nodes of 2^k symbols, S_k the last nodes, of 1 to 2^k symbols. The second half of
S_{k+1} are also the roots of the words of 2^k + 1 to 2^(k+1) symbols, there r must be the machine's
output. Once (R_k, S_k) repeats, nothing new can come, and every length is decided.

Words outside a machine's domain are never judged, and nodes that occur in no word of the domain are
left out (`occurring`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldru.analysis.algebra import Tables
from ldru.automata.machine import UNLABELLED, IntArray
from ldru.automata.monoid import Monoid

MAX_LEVELS = 62
"""Lengths are 64-bit numbers."""
MAX_PRODUCTS = 20_000_000
"""How many compositions of one level are followed; beyond it, the question stays open."""

LONGEST_WORD = 2**20

CHUNK = 2**20

RISEN = -1
"""What a node without a left half has in its place."""

BoolArray = NDArray[np.bool_]


class Nodes(NamedTuple):
    """Distinct (state, class) pairs of one level, each with a shortest word's origin.

    left, right: where the halves are in the level below [pairs]; left may be `RISEN`.
    length: of that word [pairs].
    """

    state: IntArray
    kind: IntArray
    left: IntArray
    right: IntArray
    length: IntArray


class Level(NamedTuple):
    """Full nodes, last nodes and roots of one height."""

    full: Nodes
    last: Nodes
    roots: Nodes


class Occurring(NamedTuple):
    """Which classes full and last nodes of a height can have in words of the domain [classes]."""

    full: BoolArray
    last: BoolArray
    key: bytes


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The verdict on an algebra, judged by a machine.

    is_closed: whether the levels repeat, so that the answer holds for every length.
    levels: how many heights were followed.
    longest: every word up to this length was judged; None when closed.
    wrong_length: of the shortest word that is answered wrongly; None when there is none.
    wrong: such a word as tokens; None when there is none, or when it is beyond `LONGEST_WORD`.
    served: whether a state stands for a class anywhere [states, classes].
    """

    is_closed: bool
    levels: int
    longest: int | None
    wrong_length: int | None
    wrong: tuple[int, ...] | None
    served: BoolArray

    @property
    def is_correct(self) -> bool:
        """Whether every word of every length is answered as the machine does."""
        return self.is_closed and self.wrong_length is None


def decide(
    tables: Tables, monoid: Monoid, *, max_levels: int = MAX_LEVELS, max_states: int | None = None
) -> Verdict:
    """Judge an algebra by a machine's monoid.

    tables: an `Algebra`, or anything that works its entries out when asked.
    max_states: stop when tables that grow have more.
    """
    levels: list[Level] = []
    seen: set[tuple[bytes, ...]] = set()
    wrong_length: int | None = None
    wrong: tuple[int, ...] | None = None
    served: set[int] = set()
    is_closed = is_over = False
    shown = occurring(monoid)
    while not (is_closed or is_over) and len(levels) < max_levels:
        here = next(shown)
        level = _climb(tables, monoid, here, levels)
        if level is None or (max_states is not None and tables.num_states > max_states):
            is_over = True
            continue
        levels.append(level)
        if wrong_length is None:
            wrong_length, wrong = _shortest_wrong(tables, monoid, levels)
        codes = [nodes.state * monoid.size + nodes.kind for nodes in (level.full, level.last)]
        served.update(*(code.tolist() for code in codes))
        key = (*(np.sort(code).tobytes() for code in codes), here.key)
        is_closed = key in seen
        seen.add(key)
    table = np.zeros((tables.num_states, monoid.size), dtype=bool)
    table.ravel()[list(served)] = True
    return Verdict(
        is_closed=is_closed,
        levels=len(levels),
        longest=None if is_closed else 2 ** (len(levels) - 1) if levels else 0,
        wrong_length=wrong_length,
        wrong=wrong,
        served=table,
    )


def root_words(
    tables: Tables, monoid: Monoid, *, max_length: int, max_states: int
) -> list[tuple[int, ...]]:
    """A shortest word for every state and class that a root of words up to a length can have.

    max_states: stop when tables that grow have more.
    """
    levels: list[Level] = []
    found: list[tuple[int, ...]] = []
    for height, here in enumerate(occurring(monoid)):
        level = _climb(tables, monoid, here, levels)
        if level is None or tables.num_states > max_states:
            break
        levels.append(level)
        short = np.flatnonzero(level.roots.length <= max_length)
        found += [tuple(_word(levels, height, "roots", int(index))) for index in short]
        if 2**height >= max_length:
            break
    return found


def occurring(monoid: Monoid) -> Iterator[Occurring]:
    """For each height, which classes its nodes can have in words of the machine's domain.

    A node of height k begins after a multiple of 2^k symbols. A full one may be followed by
    anything that ends in the domain, a last one by nothing.
    """
    machine = monoid.machine
    ends = machine.output != UNLABELLED
    if ends.all():
        everything = np.ones(monoid.size, dtype=bool)
        while True:
            yield Occurring(everything, everything, b"")
    jump = np.zeros((machine.num_states, machine.num_states), dtype=bool)
    jump[np.arange(machine.num_states)[:, None], machine.delta] = True
    alive = (_closure(jump) & ends).any(axis=1)
    while True:
        before = _closure(jump)[machine.start]
        reached = monoid.elements[:, before]
        yield Occurring(alive[reached].any(axis=1), ends[reached].any(axis=1), jump.tobytes())
        jump = (jump.astype(np.float32) @ jump) > 0  # twice as many symbols


def _closure(relation: BoolArray) -> BoolArray:
    """The reflexive and transitive closure [states, states]."""
    closed = relation | np.eye(len(relation), dtype=bool)
    while True:
        wider = (closed.astype(np.float32) @ closed) > 0
        if (wider == closed).all():
            return closed
        closed = wider


def _climb(tables: Tables, monoid: Monoid, here: Occurring, levels: list[Level]) -> Level | None:
    """The next level; None when it would take too many products."""
    if not levels:
        full, last = (_leaves(tables, monoid, mask) for mask in (here.full, here.last))
        return Level(full, last, last)
    full, last, _ = levels[-1]
    if len(full.state) * max(len(full.state), len(last.state)) > MAX_PRODUCTS:
        return None
    roots = _products(tables, monoid, full, last, here.last)
    kept = np.flatnonzero(here.last[last.kind])
    risen = Nodes(
        state=tables.rise(last.state[kept]),
        kind=last.kind[kept],
        left=np.full(len(kept), RISEN),
        right=kept,
        length=last.length[kept],
    )
    # Risen nodes have the shorter words, so they come first.
    both = Nodes(*(np.concatenate(parts) for parts in zip(risen, roots, strict=True)))
    order = np.argsort(both.length, kind="stable")
    codes = (both.state * monoid.size + both.kind)[order]
    shortest = order[np.unique(codes, return_index=True)[1]]
    return Level(
        full=_products(tables, monoid, full, full, here.full),
        last=Nodes(*(part[shortest] for part in both)),
        roots=roots,
    )


def _leaves(tables: Tables, monoid: Monoid, occurs: BoolArray) -> Nodes:
    """The symbols, one node each; `right` is the token."""
    kinds = monoid.step[0]
    tokens = np.flatnonzero(occurs[kinds])
    one = np.ones(len(tokens), dtype=np.int64)
    return Nodes(tables.leaf[tokens], kinds[tokens], RISEN * one, tokens, one)


def _products(
    tables: Tables, monoid: Monoid, left: Nodes, right: Nodes, occurs: BoolArray
) -> Nodes:
    """Every node of the left joined with every one of the right, as far as they occur."""
    origin = np.full(tables.num_states * monoid.size, -1)  # of each (state, class)
    # Later writes win, so the shortest words come last.
    order = np.argsort(-right.length, kind="stable")
    rows = max(1, CHUNK // max(1, len(left.state)))
    for begin in range(0, len(order), rows):
        some = order[begin : begin + rows]
        kinds = monoid.table[left.kind[None, :], right.kind[some, None]]
        row, column = np.nonzero(occurs[kinds])
        second = some[row]
        states = tables.join(left.state[column], right.state[second])
        if tables.num_states * monoid.size > len(origin):
            new = tables.num_states * monoid.size - len(origin)
            origin = np.concatenate([origin, np.full(new, -1)])
        origin[states * monoid.size + kinds[row, column]] = column * len(order) + second
    codes = np.flatnonzero(origin >= 0)
    first, second = np.divmod(origin[codes], max(1, len(order)))
    return Nodes(
        state=codes // monoid.size,
        kind=codes % monoid.size,
        left=first,
        right=second,
        length=left.length[first] + right.length[second],
    )


def _shortest_wrong(
    tables: Tables, monoid: Monoid, levels: list[Level]
) -> tuple[int | None, tuple[int, ...] | None]:
    """A shortest wrongly answered word among the roots of the topmost level, and its length."""
    roots = levels[-1].roots
    wanted = monoid.output[roots.kind]
    wrong = np.flatnonzero((wanted != UNLABELLED) & (tables.read(roots.state) != wanted))
    if not len(wrong):
        return None, None
    root = int(wrong[roots.length[wrong].argmin()])
    length = int(roots.length[root])
    if length > LONGEST_WORD:
        return length, None
    return length, tuple(_word(levels, len(levels) - 1, "roots", root))


def _word(levels: list[Level], height: int, part: str, index: int) -> list[int]:
    """The word that a node's back-pointers lead to."""
    nodes: Nodes = getattr(levels[height], part)
    left, right = int(nodes.left[index]), int(nodes.right[index])
    if height == 0:
        return [right]
    beside = "full" if part == "full" else "last"
    word = [] if left == RISEN else _word(levels, height - 1, "full", left)
    return word + _word(levels, height - 1, beside, right)
