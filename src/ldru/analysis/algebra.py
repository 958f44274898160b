"""Finite reduction algebras: a tree network whose states are numbered, as four tables."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from ldru.automata.machine import UNLABELLED, IntArray
from ldru.base.errors import LdruError
from ldru.base.json import Json
from ldru.tree import TreeStream

UNMET = -1
"""The entry of a table for what no word of the domain ever needs."""


class Tables(Protocol):
    """Tables of a reduction by number of state; they may be worked out when asked for."""

    @property
    def leaf(self) -> IntArray: ...
    @property
    def num_states(self) -> int: ...
    def join(self, left: IntArray, right: IntArray) -> IntArray: ...
    def rise(self, states: IntArray) -> IntArray: ...
    def read(self, states: IntArray) -> IntArray: ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Algebra:
    """A finite machine that reduces a word in the balanced tree, as `tree_reduce` does.

    leaf: the state of each symbol [symbols].
    pair: the state of two neighbours [states, states]; `UNMET` where no word needs it.
    carry: the state of a node that rises without a partner [states].
    answer: the label read from a state at the root [states].

    >>> xor = ldru.Algebra(leaf=[0, 1], pair=[[0, 1], [1, 0]], carry=[0, 1], answer=[1, 0])
    >>> int(xor.run([1, 0, 1, 1, 0]))  # 1 for an even number of ones
    0
    """

    leaf: IntArray
    pair: IntArray
    carry: IntArray
    answer: IntArray

    def __post_init__(self) -> None:
        size = len(self.answer)
        shapes = {"leaf": (len(self.leaf),), "pair": (size, size), "carry": (size,)}
        for name, shape in {**shapes, "answer": (size,)}.items():
            table = np.asarray(getattr(self, name))
            if table.shape != shape or not np.issubdtype(table.dtype, np.integer):
                raise LdruError(
                    f"the tables of {size} states are whole numbers, {name} {list(shape)}; got "
                    f"{table.dtype} {list(table.shape)}"
                )
            if name in shapes and not ((table >= UNMET) & (table < size)).all():
                raise LdruError(
                    f"states are numbered from 0 to {size - 1}, {UNMET} stands for none; {name} "
                    f"has {int(table.min())} to {int(table.max())}"
                )
            object.__setattr__(self, name, table)

    @property
    def num_states(self) -> int:
        return len(self.answer)

    @property
    def moves(self) -> "Moves":
        """All entries of the tables that words need, as lists."""
        left, right = np.nonzero(self.pair != UNMET)
        (rising,) = np.nonzero(self.carry != UNMET)
        return Moves(left, right, self.pair[left, right], rising, self.carry[rising])

    def join(self, left: IntArray, right: IntArray) -> IntArray:
        """The states of pairs of neighbours."""
        return self.pair[left, right]

    def rise(self, states: IntArray) -> IntArray:
        """The states of nodes that rise alone."""
        return self.carry[states]

    def read(self, states: IntArray) -> IntArray:
        """The labels of roots."""
        return self.answer[states]

    def run(self, tokens: ArrayLike) -> IntArray:
        """The label of each word: [..., length] -> [...].

        `UNLABELLED` for a word that needs an entry which no word of the domain does.
        """
        for nodes in self.levels(tokens):
            roots = nodes[..., 0]
        return self.complete.answer[roots]

    def stream(self, *, batch: int = 1) -> "AlgebraStream":
        """Words whose tokens come one at a time or in chunks, and their labels at any time.

        >>> xor = ldru.Algebra(leaf=[0, 1], pair=[[0, 1], [1, 0]], carry=[0, 1], answer=[1, 0])
        >>> stream = xor.stream()
        >>> [stream.push([bit]).labels().tolist() for bit in (1, 0, 1, 1)]
        [[0], [0], [1], [0]]
        """
        return AlgebraStream(self, batch=batch)

    def levels(self, tokens: ArrayLike) -> Iterator[NDArray[np.int32]]:
        """The states of every level, leaves first: [..., length] -> [..., nodes] each.

        What follows from an `UNMET` entry has the number after the last state's.
        """
        words = np.asarray(tokens)
        if words.ndim == 0 or words.shape[-1] == 0:
            raise LdruError(
                f"expected words [..., length] with a length of at least 1, got {list(words.shape)}"
            )
        self.check_tokens(words)
        tables = self.complete
        nodes = tables.leaf.take(words)
        yield nodes
        while nodes.shape[-1] > 1:
            paired = nodes.shape[-1] // 2 * 2
            # One flat index: two indices at once take twice as long.
            index = nodes[..., 0:paired:2] * (self.num_states + 1)
            index += nodes[..., 1:paired:2]
            above = tables.pair.take(index)
            if paired < nodes.shape[-1]:
                above = np.concatenate([above, tables.carry[nodes[..., -1:]]], axis=-1)
            nodes = above
            yield nodes

    def check_tokens(self, words: NDArray) -> None:
        """Raise unless every token is a symbol."""
        if words.size and not (words.min() >= 0 and words.max() < len(self.leaf)):
            raise LdruError(
                f"tokens run from 0 to {len(self.leaf) - 1} here, "
                f"got {int(words.min())} to {int(words.max())}"
            )

    @cached_property
    def complete(self) -> "CompleteTables":
        """The tables with one more state, for everything that is not met."""
        size = self.num_states
        pair = np.full((size + 1, size + 1), size, dtype=np.int32)
        pair[:size, :size] = np.where(self.pair == UNMET, size, self.pair)
        carry = np.append(np.where(self.carry == UNMET, size, self.carry), size)
        return CompleteTables(
            leaf=np.where(self.leaf == UNMET, size, self.leaf).astype(np.int32),
            pair=pair.ravel(),
            carry=carry.astype(np.int32),
            answer=np.append(self.answer, UNLABELLED),
        )

    def to_json(self) -> dict[str, Json]:
        """The tables as JSON data."""
        return {name: getattr(self, name).tolist() for name in ("leaf", "pair", "carry", "answer")}


class AlgebraStream:
    """The labels of words while their tokens come; see `Algebra.stream`."""

    def __init__(self, algebra: Algebra, *, batch: int) -> None:
        self._algebra = algebra
        tables, size = algebra.complete, algebra.num_states + 1
        pair, carry = (torch.from_numpy(table).long() for table in (tables.pair, tables.carry))
        self._tree = TreeStream(
            lambda left, right: pair[left * size + right],
            rise=lambda nodes: carry[nodes],
            batch=batch,
        )

    @property
    def lengths(self) -> list[int]:
        """How many tokens each word has."""
        return self._tree.lengths

    def push(self, tokens: ArrayLike) -> "AlgebraStream":
        """Append one token to each word [batch], or a chunk [batch, count]."""
        given = np.asarray(tokens)
        self._algebra.check_tokens(given)
        states = torch.from_numpy(self._algebra.complete.leaf.take(given)).long()
        self._tree.push(states[..., None])
        return self

    def labels(self) -> IntArray:
        """The labels of the words so far, as `Algebra.run` gives them: [batch]."""
        return self._algebra.complete.answer[self._tree.value()[:, 0].numpy()]


class Moves(NamedTuple):
    """The states that become of pairs of neighbours, and of nodes that rise alone."""

    left: IntArray
    right: IntArray
    joined: IntArray
    rising: IntArray
    risen: IntArray


class CompleteTables(NamedTuple):
    """The tables of an algebra that leave nothing open."""

    leaf: NDArray[np.int32]
    pair: NDArray[np.int32]
    carry: NDArray[np.int32]
    answer: IntArray
