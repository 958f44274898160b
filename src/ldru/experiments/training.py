"""Train models on tasks: several tasks and seeds are one fleet, every model is one run."""

import operator
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from ldru.config import digest
from ldru.errors import LdruError
from ldru.experiments.defaults import default_model, default_training
from ldru.experiments.records import make_record
from ldru.experiments.run import Run, trained_model
from ldru.experiments.spec import RunSpec
from ldru.files import check_writable
from ldru.models import ModelSpec, describe_backend
from ldru.tasks import AnyTask, DataTask, TaskSpec, task_from_spec
from ldru.tasks import task as find_task
from ldru.tasks.data_task import TRAIN
from ldru.tasks.find import known_task
from ldru.training.checkpoint import Checkpoint, LogEntry
from ldru.training.distributed import joined, own_device, this_process
from ldru.training.fleet import Member
from ldru.training.loop import CHECKPOINT_SECONDS, Observer, train_fleet
from ldru.training.spec import TrainSpec


def train(
    task: str | AnyTask,
    *,
    model: str | ModelSpec = "ldru",
    seeds: Iterable[int] = (0,),
    steps: int | None = None,
    settings: TrainSpec | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    init_from: str | Path | None = None,
    device: str | None = None,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    observers: Sequence[Observer] = (),
) -> dict[int, Run]:
    """Train one model per seed on a task.

    model: a name of `MODELS` with the paper's settings, or an architecture's own settings.
    steps: overrides `settings.steps`; None takes what the paper gives for the task.
    settings: None takes the paper's for the task and model.
    out, resume, init_from, device, checkpoint_seconds, observers: see `train_many`.
    """
    found = find_task(task) if isinstance(task, str) else task
    if steps is not None:
        settings = settings or default_training(found, default_model(found, model))
        settings = replace(settings, steps=steps)
    runs = train_many(
        [found],
        model=model,
        seeds=seeds,
        settings=settings,
        out=out,
        resume=resume,
        init_from=init_from,
        device=device,
        checkpoint_seconds=checkpoint_seconds,
        observers=observers,
    )
    return next(iter(runs.values()))


def train_many(
    tasks: Sequence[str | AnyTask],
    *,
    model: str | ModelSpec = "ldru",
    seeds: Iterable[int] = (0,),
    settings: TrainSpec | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    init_from: str | Path | None = None,
    device: str | None = None,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    observers: Sequence[Observer] = (),
) -> dict[str, dict[int, Run]]:
    """Train one model per task and seed, all in one fleet: {task name: {seed: run}}.

    out: a folder for the run folders; None keeps the runs in memory.
    resume: take finished runs from `out` as they are and go on from the last checkpoint. Without
        it, a run that is already there is an error: nothing is overwritten.
    init_from: a run folder whose weights every model starts from.
    device: None takes a GPU where there is one.
    checkpoint_seconds: the longest time of work that a sudden end can cost.
    """
    chosen = [find_task(task) if isinstance(task, str) else task for task in tasks]
    numbers = [check_seed(seed) for seed in seeds]
    source = None if init_from is None else Run.open(init_from)
    names = {task.name: task.spec for task in chosen}
    for task in chosen:
        if isinstance(task, DataTask) and task.is_own and known_task(task.name) is not None:
            raise LdruError(f"a task called {task.name!r} comes with ldru: rename yours")
        if names[task.name] != task.spec:
            raise LdruError(f"two different tasks are called {task.name!r}; train them apart")
    specs = [
        run_spec(task, default_model(task, model), settings, seed, source)
        for task in chosen
        for seed in numbers
    ]
    done = train_runs(
        specs,
        tasks={task.spec: task for task in chosen},
        out=out,
        resume=resume,
        source=source,
        device=device,
        checkpoint_seconds=checkpoint_seconds,
        observers=observers,
    )
    runs: dict[str, dict[int, Run]] = {task.name: {} for task in chosen}
    for spec, run in sorted(done.items(), key=lambda item: item[0].seed):
        runs[spec.task.name][spec.seed] = run
    return runs


def train_runs(
    specs: Sequence[RunSpec],
    *,
    tasks: Mapping[TaskSpec, AnyTask] | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    source: Run | None = None,
    device: str | None = None,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    observers: Sequence[Observer] = (),
) -> dict[RunSpec, Run]:
    """Train runs that could be members of one fleet; see `train_many`.

    tasks: those that specs name; others are found by what their spec says.
    source: the run that their `init_from` names.

    Started by `torchrun`, all processes share every batch; the first one writes the run folders.
    """
    where, group = find_device(device), this_process()
    known = tasks or {}
    plan = {spec: known.get(spec.task) or task_from_spec(spec.task) for spec in specs}
    if not plan:
        raise LdruError("there is nothing to train: give at least one task and one seed")
    done: dict[RunSpec, Run] = {}
    checkpoint = None
    if out is not None:
        checkpoint = _prepare_folder(Path(out), plan, done, resume=resume)
    by_name = {spec.name: spec for spec in plan}

    def finish(member: Member, weights: dict[str, Tensor], log: list[LogEntry]) -> None:
        spec = by_name[member.name]
        if spec in done:
            return
        model = trained_model(spec, member.task, weights, source="training").to(where)
        backend = describe_backend(model, device=where, dtype=spec.train.dtype)
        run = Run(
            spec=spec,
            task=member.task,
            model=model,
            record=make_record(
                digest=spec.digest,
                log=log,
                backend=backend,
                device=where,
                processes=group.size,
                words=member.task.words(TRAIN) if isinstance(member.task, DataTask) else None,
            ),
            log=log,
        )
        is_kept = out is not None and group.is_first
        done[spec] = run.saved(Path(out or "") / spec.name) if is_kept else run

    ours = checkpoint if group.is_first else None

    def train_all(some: Sequence[RunSpec]) -> None:
        train_fleet(
            [_member(spec, plan[spec], source) for spec in some],
            on_finish=finish,
            device=where,
            checkpoint=checkpoint,
            checkpoint_seconds=checkpoint_seconds,
            observers=observers,
            group=group,
        )
        if ours is not None:
            ours.clear()

    with joined(where), nullcontext() if ours is None else ours.held():
        if checkpoint is not None and checkpoint.exists():
            train_all(list(plan))
        missing = [spec for spec in plan if spec not in done]
        if missing:
            train_all(missing)
        if ours is not None:
            ours.remove()
    return done


def check_seed(seed: object) -> int:
    """A seed as a whole number, or an error."""
    if isinstance(seed, bool) or not hasattr(seed, "__index__"):
        raise LdruError(f"a seed is a whole number, got {seed!r}")
    number = operator.index(seed)
    if not 0 <= number < 2**63:
        raise LdruError(f"a seed lies between 0 and 2**63 - 1, got {number}")
    return number


def find_device(name: str | None) -> torch.device:
    """A device by name; None takes a GPU where there is one."""
    if name is None:
        return _made_current(own_device())
    try:
        device = torch.device(name)
    except RuntimeError as problem:
        raise LdruError(f"there is no device {name!r}; give cpu, cuda or cuda:1") from problem
    if device.type == "cuda" and not torch.cuda.is_available():
        raise LdruError(f"device {name!r} was asked for, but PyTorch sees no CUDA device here")
    try:
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError, ImportError) as problem:
        raise LdruError(
            f"PyTorch cannot compute on device {name!r} here; give cpu, cuda or cuda:1"
        ) from problem
    return _made_current(device)


def _made_current(device: torch.device) -> torch.device:
    """Kernels are launched on the current GPU, and graphs captured there; "cuda" means that one."""
    if device.type == "cuda" and device.index is not None:
        torch.cuda.set_device(device)
    return device


def run_spec(
    task: AnyTask,
    model: ModelSpec,
    settings: TrainSpec | None,
    seed: int,
    source: Run | None = None,
) -> RunSpec:
    """The settings of one run, with the task's own values filled in."""
    usual = default_training(task, model)
    settings = settings or usual
    if settings.learning_rate is None:
        rate = usual.learning_rate if isinstance(task, DataTask) else model.learning_rate
        settings = replace(settings, learning_rate=rate)
    return RunSpec(
        task=task.spec,
        model=model.resolved(dropout=task.recommended.dropout),
        train=settings.resolved(task),
        seed=seed,
        init_from=None if source is None else source.spec.digest,
    )


def _member(spec: RunSpec, task: AnyTask, source: Run | None) -> Member:
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
    )


def _prepare_folder(
    out: Path, plan: dict[RunSpec, AnyTask], done: dict[RunSpec, Run], *, resume: bool
) -> Checkpoint:
    """Find what is already in the folder: finished runs go to `done`, the rest to a checkpoint."""
    check_writable(out)
    fleet = digest(sorted(spec.digest for spec in plan))
    checkpoint = Checkpoint(out / f".unfinished-{fleet}")
    finished = [spec for spec in plan if (out / spec.name).exists()]
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
