"""Train models on tasks: several tasks and seeds are one fleet, every model is one run."""

import itertools
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from torch import Tensor

from ldru.base.errors import LdruError, unknown_name
from ldru.base.files import check_writable, sweep
from ldru.base.json import check_kinds, digest
from ldru.base.limits import check_limit, limit
from ldru.base.reading import is_there
from ldru.models.backends import describe_backend
from ldru.models.shapes import model_shapes
from ldru.models.spec import ModelSpec
from ldru.paper.recipe import RecipeName, settings_by
from ldru.paper.settings import completed
from ldru.runs.record import make_record
from ldru.runs.run import Run, trained_model
from ldru.runs.spec import RunSpec, check_seed
from ldru.tasks.data_task import DataTask
from ldru.tasks.find import as_task, known_task, task_from_spec
from ldru.tasks.spec import TaskSpec
from ldru.tasks.task import Task, Tokens
from ldru.training.checkpoint import Checkpoint
from ldru.training.device import find_device
from ldru.training.distributed import joined, this_process
from ldru.training.execution import CHECKPOINT_SECONDS, Execution
from ldru.training.log import LogEntry
from ldru.training.loop import IN_MEMORY, train_fleet
from ldru.training.member import Member
from ldru.training.observers import Observer, ProgressBar
from ldru.training.spec import TrainSpec


def train(
    task: str | Task,
    *,
    model: str | ModelSpec = "ldru",
    seeds: int | Iterable[int] = (0,),
    settings: TrainSpec | None = None,
    recipe: RecipeName | None = None,
    init_from: str | Path | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    device: str | None = None,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    observers: Sequence[Observer] = (),
    progress: bool = False,
    **changes: Any,
) -> dict[int, Run]:
    """Train one model per seed on a task.

    model: a name of `MODELS` with the recipe's settings, or an architecture's own settings.
    seeds: one model each; a number n stands for the seeds 0 to n - 1.
    settings: of the training, instead of the recipe's; what they leave open is the paper's.
    recipe: `random_trees` and `open_gates`, which are ours and what an LDRU has by default on a
        regular language and on texts, or `paper`, the settings of the paper's text, as all else
        has them.
    init_from: a run folder whose weights every model starts from.
    out, resume, device, checkpoint_seconds, observers: see `Execution`.
    progress: show a bar, or lines where standard error is a file.
    changes: settings of the model and of its training by name, such as `dim`, `steps` or
        `batch_size`, which replace those chosen above.

    >>> runs = ldru.train("parity_check", dim=16, steps=4, batch_size=8, seeds=2)
    >>> sorted(runs), runs[0].record.final.step, runs[0].spec.model.leaf_block
    ([0, 1], 4, True)
    """
    found = as_task(task)
    spec, usual = settings_by(recipe, found.spec, model)
    spec, chosen = _changed(spec, settings_or(usual, settings), changes)
    steps = completed(found, spec, chosen)[1].steps or 0
    execution = Execution(
        out=out,
        resume=resume,
        device=device,
        checkpoint_seconds=checkpoint_seconds,
        observers=observers,
    )
    with ProgressBar(steps=steps) if progress else nullcontext() as bar:
        if bar is not None:
            execution = replace(execution, observers=[*observers, bar])
        runs = train_many(
            [found],
            model=spec,
            seeds=seeds,
            settings=chosen,
            init_from=init_from,
            execution=execution,
        )
    return runs[found.name]


def _changed(
    model: ModelSpec, train: TrainSpec, changes: Mapping[str, object]
) -> tuple[ModelSpec, TrainSpec]:
    """Settings with some of them replaced by name."""
    of_model, of_train = ({field.name for field in fields(spec)} for spec in (model, train))
    for name in changes:
        if name not in of_model | of_train:
            raise unknown_name("setting", name, sorted(of_model | of_train))
    spec = replace(model, **{name: value for name, value in changes.items() if name in of_model})
    chosen = replace(train, **{n: value for n, value in changes.items() if n in of_train})  # type: ignore[arg-type]
    check_kinds(spec)
    return spec, chosen


def train_many(
    tasks: Sequence[str | Task],
    *,
    model: str | ModelSpec = "ldru",
    seeds: int | Iterable[int] = (0,),
    settings: TrainSpec | None = None,
    recipe: RecipeName | None = None,
    init_from: str | Path | None = None,
    execution: Execution = IN_MEMORY,
) -> dict[str, dict[int, Run]]:
    """Train one model per task and seed, all in one fleet: {task name: {seed: run}}.

    model, seeds, settings, recipe, init_from: see `train`.

    >>> runs = ldru.train_many(
    ...     ["parity_check", "even_pairs"],
    ...     model=ldru.LDRUSpec(dim=8),
    ...     settings=ldru.TrainSpec(steps=2),
    ... )
    >>> {task: list(by_seed) for task, by_seed in runs.items()}
    {'parity_check': [0], 'even_pairs': [0]}
    """
    if isinstance(tasks, str) or not isinstance(tasks, Iterable):
        raise LdruError(f"tasks are a list, such as ['parity_check'], got {reprlib.repr(tasks)}")
    chosen, numbers = [as_task(task) for task in tasks], _seeds(seeds)
    check_limit("members", len(chosen) * len(numbers), "this training")
    source = None if init_from is None else Run.open(init_from)
    _check_names(chosen)
    specs = []
    for task in chosen:
        built, usual = settings_by(recipe, task.spec, model)
        train = settings_or(usual, settings)
        for seed in numbers:
            specs.append(run_spec(task, built, train, seed=seed, source=source))
    known = {task.spec: task for task in chosen}
    done = train_runs(specs, tasks=known, source=source, execution=execution)
    runs: dict[str, dict[int, Run]] = {task.name: {} for task in chosen}
    for spec, run in sorted(done.items(), key=lambda item: item[0].seed):
        runs[spec.task.name][spec.seed] = run
    return runs


def _seeds(given: int | Iterable[int]) -> list[int]:
    """Seeds as whole numbers, of which no more are taken than it needs to refuse them."""
    if isinstance(given, int) and not isinstance(given, bool):
        given = range(given)
    if not isinstance(given, Iterable):
        raise LdruError(f"seeds are how many, or a list such as [0, 1], got {reprlib.repr(given)}")
    return [check_seed(seed) for seed in itertools.islice(given, limit("members") + 1)]


def settings_or(usual: TrainSpec, given: TrainSpec | None) -> TrainSpec:
    """The settings that are given, or the usual ones."""
    if given is None:
        return usual
    if not isinstance(given, TrainSpec):
        raise LdruError(f"settings are an ldru.TrainSpec, got {reprlib.repr(given)}")
    return given


def train_runs(
    specs: Sequence[RunSpec],
    *,
    tasks: Mapping[TaskSpec, Task] | None = None,
    source: Run | None = None,
    execution: Execution = IN_MEMORY,
) -> dict[RunSpec, Run]:
    """Train runs that could be members of one fleet; see `train_many`.

    tasks: those that specs name; others are found by what their spec says.
    source: the run that their `init_from` names.

    Started by `torchrun`, all processes share every batch; the first one writes the run folders.
    """
    if not isinstance(execution, Execution):
        raise LdruError(f"execution is an ldru.Execution, got {reprlib.repr(execution)}")
    where, group, out = find_device(execution.device), this_process(), execution.folder
    known = tasks or {}
    plan = {spec: known.get(spec.task) or task_from_spec(spec.task) for spec in specs}
    if not plan:
        raise LdruError("there is nothing to train: give at least one task and one seed")
    for spec, task in plan.items():  # before a folder is made
        model_shapes(spec.model, vocab_size=task.vocab_size, num_classes=task.num_classes)
    done: dict[RunSpec, Run] = {}
    checkpoint = None
    if out is not None:
        checkpoint = _prepare_folder(out, plan, done, resume=execution.resume)
    by_name = {spec.name: spec for spec in plan}

    def finish(member: Member, weights: dict[str, Tensor], log: list[LogEntry]) -> None:
        spec = by_name[member.name]
        if spec in done:
            return
        model = trained_model(spec, member.task, weights, source="training").to(where)
        run = Run(
            spec=spec,
            task=member.task,
            model=model,
            record=make_record(
                digest=spec.digest,
                log=log,
                backend=describe_backend(model, device=where, dtype=spec.train.dtype),
                device=where,
                processes=group.size,
                words=member.task.training_set,
            ),
            log=log,
        )
        is_kept = out is not None and group.is_first
        done[spec] = run.save((out or Path()) / spec.name) if is_kept else run

    ours = checkpoint if group.is_first else None

    def train_all(some: Sequence[RunSpec]) -> None:
        train_fleet(
            [_member(spec, plan[spec], source) for spec in some],
            on_finish=finish,
            device=where,
            execution=execution,
            checkpoint=checkpoint,
            group=group,
        )
        if ours is not None:
            ours.clear()

    with joined(where), nullcontext() if ours is None else ours.held():
        if ours is not None:
            for spec in plan:
                sweep(ours.folder.parent / spec.name)
        if checkpoint is not None and checkpoint.exists():
            train_all(list(plan))
        missing = [spec for spec in plan if spec not in done]
        if missing:
            train_all(missing)
        if ours is not None:
            ours.remove()
    return done


def run_spec(
    task: Task,
    model: ModelSpec,
    settings: TrainSpec | None,
    *,
    seed: int,
    source: Run | None = None,
) -> RunSpec:
    """The settings of one run, with the paper's values where something is left open."""
    model, train = completed(task, model, settings)
    init_from = None if source is None else source.spec.digest
    return RunSpec(task=task.spec, model=model, train=train, seed=seed, init_from=init_from)


def _check_names(tasks: Sequence[Task]) -> None:
    """Raise where a name would mean two things."""
    specs = {task.name: task.spec for task in tasks}
    for task in tasks:
        if isinstance(task, DataTask) and task.is_own and known_task(task.name) is not None:
            raise LdruError(f"a task called {task.name!r} comes with ldru: rename yours")
        if specs[task.name] != task.spec:
            raise LdruError(f"two different tasks are called {task.name!r}; train them apart")


def _member(spec: RunSpec, task: Task, source: Run | None) -> Member:
    initial = None
    if source is not None:
        sizes = (task.vocab_size, task.num_classes)
        theirs = (source.task.vocab_size, source.task.num_classes)
        if not source.spec.model.is_like(spec.model) or sizes != theirs:
            raise LdruError(
                f"{source.spec.name} cannot be continued on {task.name!r}: it has the settings "
                f"{source.spec.model} for {theirs[0]} symbols and {theirs[1]} classes, asked for "
                f"are {spec.model} for {sizes[0]} and {sizes[1]}"
            )
        initial = source.model.state_dict()
    return Member(
        name=spec.name,
        task=task,
        build=spec.model.build,
        seed=spec.seed,
        settings=spec.train,
        initial=initial,
        counterexamples=_encoded(spec.counterexamples, task),
    )


def _encoded(words: Sequence[str], task: Task) -> list[Tokens]:
    # A task of texts would need its tokeniser, also for none.
    return [tokens for tokens, _ in task.encode_all(words)] if words else []


def _prepare_folder(
    out: Path, plan: dict[RunSpec, Task], done: dict[RunSpec, Run], *, resume: bool
) -> Checkpoint:
    """Find what is already in the folder: finished runs go to `done`, the rest to a checkpoint."""
    check_writable(out)
    fleet = digest(sorted(spec.digest for spec in plan))
    checkpoint = Checkpoint(out / f".unfinished-{fleet}")
    finished = [spec for spec in plan if is_there(out / spec.name)]
    if not resume:
        way_out = "go on with --resume (resume=True), or choose another folder"
        if finished:
            raise LdruError(f"{str(out / finished[0].name)!r} is already there; {way_out}")
        if checkpoint.exists():
            step = checkpoint.load().step
            raise LdruError(f"{str(out)!r} holds this training, stopped at step {step}; {way_out}")
    for spec in finished:
        done[spec] = Run.open(out / spec.name, task=plan[spec])
        done[spec].check_words()
    return checkpoint
