"""Turn a trained LDRU into an exact machine, and judge it by its task."""

import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from torch import nn

from ldru.analysis.extraction import (
    TOLERANCES,
    Extraction,
    Trial,
    check_tolerances,
    extract_algebra,
)
from ldru.analysis.snapping import Network
from ldru.analysis.trained_ldru import check_ldru
from ldru.automata.machine import UNLABELLED, IntArray, MooreMachine
from ldru.automata.monoid import monoid
from ldru.base.errors import LdruError
from ldru.tasks.find import as_language
from ldru.tasks.regular_task import RegularTask

LENGTHS = sorted(
    {*np.geomspace(1, 10_000, 25).astype(int).tolist(), *(2**k + 1 for k in range(14))}
)
"""Just past a power of two, the last symbol rises alone through the whole tree."""

SYMBOLS_PER_LENGTH = 2**14
WORDS_PER_LENGTH = 128
SHORT_WORDS = 2**12
"""All words are compared up to the length that has this many."""

LONGEST_COUNTED = 2_000
"""Words of a class are drawn by counting them up to here; beyond, words are uniform."""


def extract(
    model: nn.Module,
    task: str | RegularTask,
    *,
    tolerances: Sequence[float] = TOLERANCES,
    limit: int = 10_000,
    seed: int = 0,
    on_trial: Callable[[Trial], None] | None = None,
) -> Extraction:
    """Extract an exact machine from a trained LDRU, and judge it at every length.

    tolerances: how near states are merged, relative to their length; all are tried.
    limit: the largest monoid to compute.
    seed: another seed compares on other words.

    >>> run = ldru.Run.open("parity_check")
    >>> ldru.extract(run.model, run.task, tolerances=[0.2]).summary
    'correct at every length'
    """
    task = as_language(task)
    check_tolerances(tolerances)
    network = network_of(model, task)
    return extract_algebra(
        network,
        monoid(task.machine.minimal(), limit=limit),
        [*short_words(task.machine), *sampled_words(task, seed=seed)],
        generator=np.random.default_rng(seed),
        tolerances=tolerances,
        on_trial=on_trial,
    )


def network_of(model: nn.Module, task: RegularTask) -> Network:
    """A trained LDRU, cut into its maps."""
    model = check_ldru(model)
    if (model.vocab_size, model.num_classes) != (task.vocab_size, task.num_classes):
        raise LdruError(
            f"the model has {model.vocab_size} symbols and {model.num_classes} classes, task "
            f"{task.name!r} has {task.vocab_size} and {task.num_classes}"
        )
    if model.training:
        raise LdruError("the model is in training mode: call model.eval() first")
    return Network(
        leaves=model.symbol_leaves().detach(),
        combine=model.encoder.operator,
        finish=model.encoder.block,
        score=model.head,
    )


def short_words(machine: MooreMachine) -> Iterator[IntArray]:
    """All words of the domain, shortest first, up to the length that has `SHORT_WORDS`."""
    for length in itertools.count(1):
        count = machine.num_symbols**length
        if count > SHORT_WORDS or (machine.num_symbols == 1 and length > 1):
            return
        places = machine.num_symbols ** np.arange(length)
        words = np.arange(count)[:, None] // places % machine.num_symbols
        yield from _labelled(machine, words)


def sampled_words(task: RegularTask, *, seed: int) -> Iterator[IntArray]:
    """Test words of the task up to length 10,000, fewer the longer they are."""
    generator = np.random.default_rng(seed)
    for length in LENGTHS:
        count = max(len(task.test), min(WORDS_PER_LENGTH, SYMBOLS_PER_LENGTH // length))
        if task.spec.machine is None or length <= LONGEST_COUNTED:
            yield task.draw_test(length, words=count, seed=seed).tokens.numpy()
        else:
            shape = (count, task.word_length(length))
            yield from _labelled(task.machine, generator.integers(task.vocab_size, size=shape))


def _labelled(machine: MooreMachine, words: IntArray) -> Iterator[IntArray]:
    """The words of a batch that are in the domain, unless there is none."""
    labelled = words[machine.run(words) != UNLABELLED]
    if len(labelled):
        yield labelled
