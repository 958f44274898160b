"""Rebuild tables: plan the runs that are missing, group them into fleets, and work through them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ldru.config import Json
from ldru.experiments.evaluating import are_alike, evaluate_runs
from ldru.experiments.results import WORDS, Found, Results, State
from ldru.experiments.run import Run
from ldru.experiments.spec import RunSpec
from ldru.experiments.table import Table
from ldru.experiments.training import find_device, train_runs
from ldru.training.loop import Observer

FLEET_SIZE = 48
SECONDS_PER_MODEL_STEP = {"cuda": 1 / 18_000, "cpu": 0.05}
"""Of an LDRU at the paper's settings: on an H200 as `benchmarks/` has it, on a CPU core about."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """One fleet: runs that train together, and the lengths to evaluate each at.

    out: the results folder.
    """

    specs: tuple[RunSpec, ...]
    lengths: tuple[int, ...]
    out: str
    device: str | None = None

    def to_json(self) -> dict[str, Json]:
        """As JSON values, for a worker elsewhere."""
        specs: list[Json] = [spec.to_json() for spec in self.specs]
        return {**vars(self), "specs": specs, "lengths": list(self.lengths)}

    @classmethod
    def from_json(cls, data: dict) -> "Job":
        """From what `to_json` gave."""
        specs = tuple(RunSpec.from_json(spec) for spec in data["specs"])
        return cls(**{**data, "specs": specs, "lengths": tuple(data["lengths"])})


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What there is of some tables, and the fleets that would make the rest."""

    found: dict[RunSpec, Found]
    jobs: list[Job] = field(default_factory=list)

    def count(self, state: State) -> int:
        return sum(found.state is state for found in self.found.values())

    @property
    def model_steps(self) -> int:
        """Training steps of all runs that are missing."""
        return sum(
            spec.train.steps or 0
            for spec, found in self.found.items()
            if found.state is State.MISSING
        )

    def seconds(self, device: str | None) -> float:
        """A rough estimate for LDRUs; other models cost more (`ldru bench models`)."""
        return self.model_steps * SECONDS_PER_MODEL_STEP[find_device(device).type]


def make_plan(
    tables: Sequence[Table],
    results: Results,
    *,
    fleet_size: int = FLEET_SIZE,
    device: str | None = None,
) -> Plan:
    """Find what is there, and group what is not.

    Fleets are cut from all runs of the tables, done or not, so that the same command finds the same
    fleets again, and with them the checkpoint of one that was stopped.
    """
    lengths: dict[RunSpec, set[int]] = {}
    for table in tables:
        for spec in table.runs():
            lengths.setdefault(spec, set()).update(table.evaluated_lengths(spec))
    found = {spec: results.find(spec, needed) for spec, needed in lengths.items()}
    groups: list[list[RunSpec]] = []
    for spec in lengths:
        mates = (group for group in groups if are_alike(group[0], spec))
        group = next((group for group in mates if len(group) < fleet_size), None)
        if group is None:
            groups.append([spec])
        else:
            group.append(spec)
    jobs = []
    for group in groups:
        usable = [spec for spec in group if found[spec].state is not State.UNREADABLE]
        if any(found[spec].state is not State.DONE for spec in usable):
            needed = sorted(set().union(*(lengths[spec] for spec in usable)))
            jobs.append(
                Job(
                    specs=tuple(usable),
                    lengths=tuple(needed),
                    out=str(results.folder),
                    device=device,
                )
            )
    return Plan(found=found, jobs=jobs)


def work_on(
    job: Job,
    *,
    observers: Sequence[Observer] = (),
    on_length: Callable[[int], None] | None = None,
) -> int:
    """Train and evaluate what is missing of a fleet; how many of its runs others work on."""
    results = Results(job.out)
    results.runs.mkdir(parents=True, exist_ok=True)
    with results.claimed(job.specs) as ours:
        if not ours:
            return len(job.specs)
        runs = train_runs(
            ours, out=results.runs, resume=True, device=job.device, observers=observers
        )
        where = find_device(job.device)
        lacking: list[Run] = [
            runs[spec]
            for spec in ours
            if results.find(spec, job.lengths).state is State.NOT_EVALUATED
        ]
        for run in lacking:
            run.model.to(where)
        evaluations = evaluate_runs(lacking, job.lengths, words=WORDS, on_length=on_length)
        for run, evaluation in zip(lacking, evaluations, strict=True):
            run.with_evaluation(evaluation)
    return len(job.specs) - len(ours)
