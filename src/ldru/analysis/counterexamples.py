"""Short words that show a network to be wrong, for it to be trained on."""

import numpy as np
from torch import nn

from ldru.analysis.extract import network_of, short_words
from ldru.analysis.extraction import Extraction
from ldru.analysis.snapping import SnappedNetwork
from ldru.analysis.verdict import root_words
from ldru.automata.machine import UNLABELLED
from ldru.automata.monoid import monoid as monoid_of
from ldru.automata.monoid import monoid_within
from ldru.base.errors import LdruError
from ldru.models.settings import LDRUSpec
from ldru.models.spec import ModelSpec
from ldru.tasks.regular_task import RegularTask
from ldru.tasks.task import Task

LARGEST_MONOID = 10_000
"""A larger one has tables of more than 100 million products."""

MOST_WORDS = 1000
MOST_WEAK = 150

WEAK_TOLERANCES = (0.5, 0.35)
"""At which states are merged to meet rare ones; finer than a machine needs."""

MOST_STATES = 1500


def check_provable(task: Task, model: ModelSpec) -> RegularTask:
    """The task, if a model's machine for it can be extracted and judged; else an error."""
    if not isinstance(task, RegularTask):
        raise LdruError(f"{task.name!r} is a data set: only a regular language can be proved")
    if not isinstance(model, LDRUSpec):
        raise LdruError(
            "a proof needs states that meet in a tree, which only an LDRU has; got "
            f"{type(model).__name__}"
        )
    if monoid_within(task.machine.minimal(), limit=LARGEST_MONOID) is None:
        raise LdruError(
            f"the monoid of {task.name!r} has more than {LARGEST_MONOID:,} elements, too many for "
            "a verdict: train without a proof"
        )
    return task


def wrong_short_words(model: nn.Module, task: RegularTask, *, max_length: int) -> tuple[str, ...]:
    """Words that a network answers wrongly, of all up to the length that has thousands of them."""
    network, machine = network_of(model, task), task.machine
    found: list[str] = []
    for batch in short_words(machine):
        if batch.shape[1] > max_length:
            break
        wrong = batch[network.answer(batch) != machine.run(batch)]
        found += [machine.decode(word) for word in wrong]
    return tuple(found[:MOST_WORDS])


def verdict_words(found: Extraction, *, max_length: int) -> tuple[str, ...]:
    """The words of at most a length that verdicts ended with.

    They are wrong for the network, or for the chosen machine: then two states of it are too near.
    """
    trials = [trial for trial in found.trials if trial.is_confirmed or trial is found.chosen]
    words = [trial.verdict.wrong for trial in trials]
    some = {word for word in words if word is not None and len(word) <= max_length}
    return tuple(found.monoid.machine.decode(np.array(word)) for word in sorted(some))


def weak_words(model: nn.Module, task: RegularTask, *, max_length: int) -> tuple[str, ...]:
    """Words of at most a length whose right label a network gives by the least margin, or not.

    Sampled words hardly ever meet the rare states of a class, in which a network errs. Here every
    state that is met when states are merged finely is a root once.
    """
    network = network_of(model, task)
    monoid = monoid_of(task.machine.minimal(), limit=LARGEST_MONOID)
    by_length: dict[int, set[tuple[int, ...]]] = {}
    for tolerance in WEAK_TOLERANCES:
        tables = SnappedNetwork(network, tolerance=tolerance, max_states=MOST_STATES)
        for word in root_words(tables, monoid, max_length=max_length, max_states=MOST_STATES):
            by_length.setdefault(len(word), set()).add(word)
    margins: dict[tuple[int, ...], float] = {}
    for words in by_length.values():
        tokens = np.array(sorted(words))
        labels = task.machine.run(tokens)
        inside = labels != UNLABELLED
        found = network.margins(tokens[inside], labels[inside]).tolist()
        margins.update(zip(map(tuple, tokens[inside].tolist()), found, strict=True))
    weakest = sorted(margins, key=lambda word: (margins[word], word))[:MOST_WEAK]
    return tuple(task.machine.decode(np.array(word)) for word in weakest)
