"""Public functions with odd arguments: tasks, monoids, reductions, settings, trainings, answers."""

import dataclasses
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import NamedTuple

import torch

import ldru
from attack.attack import Attack
from attack.fuzz.words import opened
from attack.material import TRAINING, Material
from attack.mutation import odd_value
from ldru.models.registry import MODELS
from ldru.models.spec import ModelSpec
from ldru.runs.spec import RunSpec
from ldru.training.log import LogEntry

ENOUGH = 200
"""Steps of a training that are waited for."""


class Call(NamedTuple):
    """A function of this file by its name, and the arguments that it is given."""

    function: str
    arguments: tuple


def odd(random: Random) -> object:
    """An odd value, or one that is nearly right."""
    near: tuple = (
        2.5,
        "3",
        [3],
        (1, 2),
        float("nan"),
        3,
        4,
        "dyck_0",
        "prefix_0_0",
        "group_S9",
        b"x",
        {},
    )
    return random.choice((*near, odd_value(random)))


def make(number: int, random: Random, material: Material) -> Call:
    name = random.choice(list(CALLS))
    return Call(name, MAKERS[name](random))


def make_task(random: Random) -> tuple:
    names = ("name", "regex", "machine", "path", "alphabet")
    given = {name: odd(random) for name in random.sample(names, random.choice((1, 1, 2, 3)))}
    numbers = [random.choice((0, 1, 2, 3, 10**6, 2**63, 10**30, -1, "", "٣")) for _ in range(2)]
    if random.random() < 0.5:
        family = random.choice(("dyck_{}", "prefix_{}_{}", "tomita_{}", "group_S{}", "listops_{}"))
        given = {"name": family.format(*numbers)}
    return (given,)


def make_sample(random: Random) -> tuple:
    given = {"batch_size": 2, "length": 4, "split": "train"}
    given[random.choice(list(given))] = odd(random)
    return (random.choice(("parity_check", "dyck_3", "modular_arithmetic")), given)


def make_machine(random: Random) -> tuple:
    tables = {"alphabet": "01", "delta": [[0, 1], [1, 0]], "output": [1, 0], "start": 0}
    for name in random.sample(list(tables), random.choice((1, 1, 2))):
        tables[name] = odd(random)
    return (tables, random.choice(("011", "", "2", [0, 1], [[0], [1]], odd(random))))


def make_reduction(random: Random) -> tuple:
    sizes = tuple(random.choice((0, 1, 2, 3, 7)) for _ in range(random.choice((2, 3, 3, 3, 4))))
    lengths = random.choice(
        (None, [1, 2], [0, 1], [9, 9], [1.5, 1.0], [[1]], [], [True], odd(random))
    )
    kind = random.choice(("float32", "float64", "int64", "bool", "complex64"))
    options = random.choice(({}, {"backend": odd(random)}, {"finish": odd(random)}))
    return (sizes, kind, lengths, options)


def make_settings(random: Random) -> tuple:
    """A training's or a model's settings, one to three of them odd."""
    name = random.choice(list(MODELS))
    fields = [field.name for field in dataclasses.fields(MODELS[name])]
    chosen = random.sample(fields, min(len(fields), random.choice((1, 1, 2))))
    return (name, {field: odd(random) for field in chosen})


def make_training(random: Random) -> tuple:
    known = [field.name for field in dataclasses.fields(ldru.TrainSpec)]
    others = [
        "seeds",
        "model",
        "recipe",
        "device",
        "checkpoint_seconds",
        "dim",
        "dropout",
        "nothing",
    ]
    names = random.sample(known + others, random.choice((1, 1, 2)))
    changes = {name: odd(random) for name in names}
    if random.random() < 0.3:
        changes["max_length"] = random.choice((10**4, 10**8, 2**31))
    return (changes,)


def make_asking(random: Random) -> tuple:
    way = random.choice(("evaluate", "predict", "compute_evaluation", "plot"))
    value = random.choice(([odd(random)], odd(random), [3, odd(random)]))
    return (way, value, random.choice((4, 4, odd(random))))


def call_task(given: dict, material: Material) -> None:
    task = ldru.task(**given)
    if isinstance(task, ldru.RegularTask):
        task.sample(batch_size=2, length=3, generator=torch.Generator().manual_seed(0))
        ldru.monoid(task)


def call_sample(name: str, given: dict, material: Material) -> None:
    batch = ldru.TASKS[name].sample(**given, generator=torch.Generator().manual_seed(0))
    assert len(batch.tokens) == len(batch.labels)


def call_machine(tables: dict, word: object, material: Material) -> None:
    machine = ldru.MooreMachine(**tables)
    machine.run(word)  # type: ignore[arg-type]
    ldru.monoid(machine)


def call_reduction(
    sizes: tuple, kind: str, lengths: object, options: dict, material: Material
) -> None:
    x = torch.ones(sizes).to(getattr(torch, kind))
    if isinstance(lengths, list) and all(isinstance(n, int | float) for n in lengths):
        lengths = torch.tensor(lengths)
    ldru.tree_reduce(lambda a, b: a + b, x, lengths, **options)  # type: ignore[arg-type]
    ldru.tree_scan(lambda a, b: a + b, x, lengths)  # type: ignore[arg-type]


def call_settings(name: str, given: dict, material: Material) -> None:
    """Build it by name, and read it as a run's settings would be."""
    settings: ModelSpec = dataclasses.replace(MODELS[name](), **given)
    model = ldru.build(settings, vocab_size=2, num_classes=2)
    model(torch.zeros(2, 3, dtype=torch.int64))
    spec = RunSpec(
        task=ldru.task("parity_check").spec, model=settings, train=ldru.TrainSpec(), seed=0
    )
    assert RunSpec.from_json(spec.to_json()).digest == spec.digest, "other settings were read"


def call_training(changes: dict, material: Material) -> None:
    with suppress(_EnoughError):
        runs = ldru.train("parity_check", **{**TRAINING, **changes}, observers=[_Patience()])
        for run in runs.values():
            run.predict(["01"])


class _EnoughError(Exception):
    """A training goes, and has more steps than anybody waits for: it may."""


class _Patience:
    """An observer that stops a training after some steps."""

    def on_steps(self, step: int, losses: dict[str, float]) -> None:
        if step >= ENOUGH:
            raise _EnoughError

    def on_log(self, entries: dict[str, LogEntry]) -> None:
        pass


def call_asking(way: str, value: object, words: object, material: Material) -> None:
    run = opened(material.run)
    if way == "predict":
        run.predict(value)  # type: ignore[arg-type]
    else:
        getattr(run, way)(value, words=words)


MAKERS: dict[str, Callable[[Random], tuple]] = {
    "task": make_task,
    "sample": make_sample,
    "machine": make_machine,
    "reduction": make_reduction,
    "settings": make_settings,
    "training": make_training,
    "asking": make_asking,
}
CALLS: dict[str, Callable[..., None]] = {
    "task": call_task,
    "sample": call_sample,
    "machine": call_machine,
    "reduction": call_reduction,
    "settings": call_settings,
    "training": call_training,
    "asking": call_asking,
}


def attempt(call: Call, material: Material, box: Path) -> None:
    """Call it."""
    CALLS[call.function](*call.arguments, material)


ATTACKS = (
    Attack(
        name="calls",
        about="public functions and settings with odd arguments",
        cases=12_000,
        make=make,
        attempt=attempt,
    ),
)
