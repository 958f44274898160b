"""Which classes of a monoid the balanced tree composes in given words."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from ldru.automata.machine import IntArray
from ldru.automata.monoid import Monoid


def count_compositions(monoid: Monoid, words: ArrayLike) -> IntArray:
    """How often each pair of classes is composed in words: [batch, length] -> [size, size].

    Compositions of two single symbols are not counted: there are few kinds of them, and half of all
    nodes are theirs.
    """
    counts = np.zeros(monoid.size**2, dtype=np.int64)
    for number, classes in enumerate(class_levels(monoid, words)):
        if number > 0:
            left, right, _ = _neighbours(classes)
            counts += np.bincount((left * monoid.size + right).ravel(), minlength=len(counts))
    return counts.reshape(monoid.size, monoid.size)


def class_levels(monoid: Monoid, words: ArrayLike) -> Iterator[IntArray]:
    """The classes of the nodes of every level of the balanced tree, leaves first [batch, nodes]."""
    tokens = np.asarray(words)
    monoid.machine.check_tokens(tokens)
    classes = monoid.step[0][tokens]
    yield classes
    while classes.shape[1] > 1:
        left, right, alone = _neighbours(classes)
        classes = np.concatenate([monoid.table[left, right], alone], axis=1)
        yield classes


def _neighbours(classes: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Left and right partners, and the unpaired last one if there is one."""
    paired = classes.shape[1] // 2 * 2
    return classes[:, 0:paired:2], classes[:, 1:paired:2], classes[:, paired:]


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
