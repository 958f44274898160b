"""Work on one fleet of a plan: train and evaluate what is missing of it."""

from collections.abc import Callable, Sequence

from ldru.base.files import check_writable
from ldru.reproduce.plan import Job
from ldru.runs.evaluate import evaluate_missing
from ldru.runs.results import Results, State
from ldru.runs.run import Run
from ldru.runs.train import train_runs
from ldru.tasks.task import Part
from ldru.training.device import find_device
from ldru.training.execution import Execution
from ldru.training.observers import Observer


def work_on(
    job: Job,
    *,
    observers: Sequence[Observer] = (),
    on_part: Callable[[Part], None] | None = None,
) -> int:
    """Train and evaluate what is missing of a fleet; how many of its runs others work on.

    >>> settings = ldru.TrainSpec(steps=2, batch_size=8, max_length=4, validation_length=8)
    >>> column = ldru.Column(model=ldru.LDRUSpec(dim=8), train=settings)
    >>> table = ldru.Table(
    ...     name="mine",
    ...     caption="A table of one's own.",
    ...     tasks=("parity_check",),
    ...     columns={"small": column},
    ...     seeds=(0, 1),
    ...     lengths=(5, 6),
    ... )
    >>> results = ldru.Results("results")
    >>> [ldru.work_on(job) for job in ldru.make_plan([table], results).jobs]
    [0]
    >>> len(ldru.make_plan([table], results).jobs)  # nothing is missing now
    0
    """
    results = Results(job.out)
    check_writable(results.runs)
    # A finished run that came as a record alone has no weights to open.
    specs = [
        spec
        for spec in job.specs
        if results.has_weights(spec)
        or results.find(spec, job.parts, words=job.words).state is not State.DONE
    ]
    with results.claimed(specs) as ours:
        if not ours:
            return len(specs)
        execution = Execution(out=results.runs, resume=True, device=job.device, observers=observers)
        runs = train_runs(ours, execution=execution)
        where = find_device(job.device)
        lacking: list[Run] = [
            runs[spec]
            for spec in ours
            if results.find(spec, job.parts, words=job.words).state is State.NOT_EVALUATED
        ]
        for run in lacking:
            run.model.to(where)
        evaluate_missing(lacking, job.parts, words=job.words, on_part=on_part)
    return len(specs) - len(ours)
