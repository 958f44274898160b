"""Which classes of a monoid the balanced tree composes in given words."""

import numpy as np
from numpy.typing import ArrayLike

from ldru.automata.machine import IntArray
from ldru.automata.monoid import Monoid


def count_compositions(monoid: Monoid, words: ArrayLike) -> IntArray:
    """How often each pair of classes is composed in words: [batch, length] -> [size, size].

    Compositions of two single symbols are not counted: there are few kinds of them, and half of all
    nodes are theirs.
    """
    tokens = np.asarray(words)
    monoid.machine.check_tokens(tokens)
    counts = np.zeros(monoid.size**2, dtype=np.int64)
    classes = monoid.step[0][tokens]
    is_leaf = True
    while classes.shape[1] > 1:
        paired = classes.shape[1] // 2 * 2
        left, right = classes[:, 0:paired:2], classes[:, 1:paired:2]
        if not is_leaf:
            counts += np.bincount((left * monoid.size + right).ravel(), minlength=len(counts))
        classes = np.concatenate([monoid.table[left, right], classes[:, paired:]], axis=1)
        is_leaf = False
    return counts.reshape(monoid.size, monoid.size)


def num_compositions(length: int) -> int:
    """How many of them a word has."""
    return max(0, length - 1 - length // 2)


def even_classes(monoid: Monoid) -> IntArray:
    """The classes that words of even length belong to."""
    reached, todo = {0}, [0]
    while todo:
        followers = monoid.step[monoid.step[todo.pop()]]  # two symbols further
        todo += set(followers.ravel().tolist()) - reached
        reached |= set(todo)
    return np.array(sorted(reached))
