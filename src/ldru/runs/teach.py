"""Teach an LDRU a language by the products of its monoid, and keep it as a run."""

import time
from collections.abc import Callable

import torch

from ldru.analysis.counterexamples import check_provable
from ldru.analysis.teaching import algebra_of, teach_products, usual_steps
from ldru.base.errors import LdruError
from ldru.models.ldru import LDRUClassifier
from ldru.models.registry import build, model_spec
from ldru.models.spec import ModelSpec
from ldru.paper.settings import completed
from ldru.runs.run import Run
from ldru.runs.spec import RunSpec, check_seed
from ldru.runs.without_words import run_without_words
from ldru.tasks.find import as_language
from ldru.tasks.regular_task import RegularTask
from ldru.training.device import find_device
from ldru.training.spec import TrainSpec


def teach(
    task: str | RegularTask,
    *,
    model: str | ModelSpec = "ldru",
    seed: int = 0,
    steps: int | None = None,
    device: str | None = None,
    on_step: Callable[[int], None] | None = None,
) -> Run:
    """Teach an untrained LDRU a regular language, without a word: by the products of its monoid.

    Each product of two classes is an example: from a point for each, moved a little, the network is
    to make a node near the point of the product's class. Whether it is right at every length then,
    `Run.exact` tells.

    steps: by default 32 for each class of the monoid, and at least 2,000.
    on_step: is told of every step.

    >>> run = ldru.teach("tomita_4", steps=300)
    >>> run.exact().summary, run.evaluate([500])
    ('correct at every length', {500: 1.0})
    """
    found = as_language(task)
    spec = teaching_spec(found, model=model, seed=seed, steps=steps)
    generator = torch.Generator().manual_seed(spec.seed)
    sizes = {"vocab_size": found.vocab_size, "num_classes": found.num_classes}
    network = build(spec.model, **sizes, generator=generator)
    assert isinstance(network, LDRUClassifier)
    network = network.to(find_device(device)).eval()
    tables = algebra_of(found.machine)
    begin = time.monotonic()
    teach_products(network, tables, steps=spec.taught, generator=generator, on_step=on_step)
    seconds = time.monotonic() - begin
    return run_without_words(spec, found, network, step=spec.taught, seconds=seconds)


def teaching_spec(
    task: RegularTask,
    *,
    model: str | ModelSpec = "ldru",
    seed: int = 0,
    steps: int | None = None,
) -> RunSpec:
    """The settings of the run that `teach` gives; an error where it cannot be taught."""
    chosen = model_spec(model)
    check_provable(task, chosen)
    if steps is None:
        steps = usual_steps(algebra_of(task.machine))
    if type(steps) is not int or steps < 1:
        raise LdruError(f"steps are a whole number of at least 1, got {steps!r}")
    settings, train = completed(task, chosen, TrainSpec(steps=steps))
    return RunSpec(task=task.spec, model=settings, train=train, seed=check_seed(seed), taught=steps)
