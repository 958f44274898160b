"""Compositions in drawn words, by ranges of lengths."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from ldru.analysis.compositions import count_compositions, even_classes, num_compositions
from ldru.automata.machine import IntArray
from ldru.automata.monoid import Monoid, monoid
from ldru.base.errors import LdruError
from ldru.tasks.find import as_language
from ldru.tasks.regular_task import RegularTask

COMPOSITIONS = 1_000_000
DRAWN = 2**22
"""How many symbols are drawn at once, at most."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Heatmaps:
    """How often words of some lengths compose each pair of classes.

    classes: those that the words' parts can belong to, of the syntactic monoid.
    counts: range of lengths -> [classes, classes].
    """

    task: RegularTask
    monoid: Monoid
    label: int
    classes: IntArray
    counts: Mapping[str, IntArray]


def heatmaps(
    task: str | RegularTask,
    ranges: Mapping[str, Sequence[int]],
    *,
    label: int = 1,
    compositions: int = COMPOSITIONS,
    seed: int = 0,
    limit: int = 10_000,
) -> Heatmaps:
    """Count compositions in words with one label, drawn as in training.

    Every length of a range gives equally many, so that together they are about `compositions`.
    Parts of words of even length have even length, so only such classes are kept where all are.

    ranges: name -> lengths.

    >>> found = ldru.heatmaps(ldru.task("dyck_2"), {"short": [4, 6]}, compositions=100)
    >>> found.counts["short"].shape == (len(found.classes), len(found.classes))
    True
    """
    task = as_language(task)
    if not 0 <= label < task.num_classes:
        raise LdruError(
            f"labels of {task.name!r} run from 0 to {task.num_classes - 1}, got {label}"
        )
    syntactic = monoid(task.machine.minimal(), limit=limit)
    generator = torch.Generator().manual_seed(seed)
    counts = {}
    for name, lengths in ranges.items():
        total = np.zeros((syntactic.size, syntactic.size), dtype=np.int64)
        for length in lengths:
            if not num_compositions(length):
                raise LdruError(f"words of length {length} compose nothing but single symbols")
            wanted = math.ceil(compositions / len(lengths) / num_compositions(length))
            words = _draw(task, length=length, label=label, count=wanted, generator=generator)
            total += count_compositions(syntactic, words)
        counts[name] = total
    is_even = all(length % 2 == 0 for lengths in ranges.values() for length in lengths)
    classes = even_classes(syntactic) if is_even else np.arange(syntactic.size)
    return Heatmaps(
        task=task,
        monoid=syntactic,
        label=label,
        classes=classes,
        counts={name: total[np.ix_(classes, classes)] for name, total in counts.items()},
    )


def _draw(
    task: RegularTask, *, length: int, label: int, count: int, generator: torch.Generator
) -> IntArray:
    """So many words of one length with that label [count, length]."""
    found: list[IntArray] = []
    missing = count
    while missing > 0:
        size = max(256, min(4 * missing, DRAWN // length))
        batch = task.sample(batch_size=size, length=length, generator=generator)
        if batch.tokens.shape[1] != length or not batch.labels.eq(label).any():
            raise LdruError(
                f"{task.name!r} draws no words of length {length} with the label {label}; "
                "choose other lengths or another label"
            )
        found.append(batch.tokens[batch.labels == label][:missing].numpy())
        missing -= len(found[-1])
    return np.concatenate(found)
