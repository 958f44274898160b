"""A plan: which runs of some tables are there, and the fleets that would make the rest."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ldru.base.errors import LdruError
from ldru.base.imports import import_module, imported
from ldru.base.json import Json
from ldru.evaluation.lengths import WORDS
from ldru.models.registry import model_name
from ldru.paper.table import Table
from ldru.reproduce import FLEET_SIZE
from ldru.reproduce.table_runs import needed_parts, table_runs
from ldru.runs.evaluate import are_alike
from ldru.runs.results import Found, Results, State
from ldru.runs.spec import RunSpec
from ldru.tasks.data_task import TRAIN, DataTask
from ldru.tasks.find import task_from_spec
from ldru.tasks.task import Part
from ldru.training.device import find_device

SECONDS_PER_MODEL_STEP = {"cuda": 1 / 13_000, "cpu": 0.1}
"""Of an LDRU on a regular language: on an H200 as measured in fleets of 63, on a CPU a guess."""

SECONDS_PER_TEST_WORD = {"cuda": 2e-6, "cpu": 2.5e-4}
"""Of an LDRU on a regular language, as a mean over lengths up to 500; others by `STEP_RATIOS`."""

SECONDS_PER_DATA_STEP = {"cuda": 0.002, "cpu": 0.5}
"""Of any model on a data set: 1.2 to 3 ms in fleets of five on an H200, on a CPU a guess."""

# A training step over the LDRU's: in fleets of 63 on an H200, of whole columns where they were
# trained (lstm, s5, bbt_grc, sd_ssm, transformer_nope, and transformer_alibi, which stands for the
# sinusoidal one), else at length 40; and on a CPU core (see `benchmarks/`).
STEP_RATIOS = {
    "ldru": {"cuda": 1.0, "cpu": 1.0},
    "rnn": {"cuda": 0.7, "cpu": 0.6},
    "lstm": {"cuda": 1.6, "cpu": 1.8},
    "gated_deltanet": {"cuda": 8.8, "cpu": 4.8},
    "transformer_nope": {"cuda": 4.2, "cpu": 3.1},
    "transformer_alibi": {"cuda": 4.2, "cpu": 3.7},
    "transformer_rope": {"cuda": 5.0, "cpu": 3.6},
    "transformer_sinusoidal": {"cuda": 4.2, "cpu": 2.9},
    "s5": {"cuda": 2.4, "cpu": 1.8},
    "sd_ssm": {"cuda": 2.0, "cpu": 1.5},
    "regular_gpt": {"cuda": 6.5, "cpu": 3.7},
    "bbt_grc": {"cuda": 2.3, "cpu": 1.1},
    "rir_grc": {"cuda": 10.0, "cpu": 2.9},
}
UNKNOWN_RATIO = 10.0  # of what was not measured

LABEL_RATIOS = {"words": 1.0, "prefixes": 2.4, "factors": 2.0, "classes": 2.0}
"""A training step over one on labels of words: in fleets of 21 LDRUs on an H200; classes were not
measured, and are taken for factors."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """One fleet: runs that train together, and the lengths or test sets to evaluate each at.

    words: of each length.
    out: the results folder.
    """

    specs: tuple[RunSpec, ...]
    parts: tuple[Part, ...]
    out: str
    words: int = WORDS
    device: str | None = None

    @property
    def title(self) -> str:
        """The fleet in a line."""
        first, tasks = self.specs[0], {spec.task.name for spec in self.specs}
        steps = sorted({spec.train.steps or 0 for spec in self.specs})
        where = f"{len(tasks)} tasks" if len(tasks) > 2 else " and ".join(sorted(tasks))
        if isinstance(self.parts[0], int):
            where += f", words up to {first.train.max_length}"
        runs = "1 run" if len(self.specs) == 1 else f"{len(self.specs)} runs"
        return (
            f"{runs} of {model_name(first.model)} on {where}, "
            f"{' and '.join(f'{count:,}' for count in steps)} steps"
        )

    def to_json(self) -> dict[str, Json]:
        """As JSON values, for a worker elsewhere, with the plugins that it has to import."""
        specs: list[Json] = [spec.to_json() for spec in self.specs]
        plugins: list[Json] = [*imported()]
        return {**vars(self), "specs": specs, "parts": list(self.parts), "imports": plugins}

    @classmethod
    def from_json(cls, data: dict) -> "Job":
        """From what `to_json` gave; imports the plugins first."""
        data = dict(data)
        for name in data.pop("imports"):
            import_module(name, wanted_by="a job")
        specs = tuple(RunSpec.from_json(spec) for spec in data["specs"])
        return cls(**{**data, "specs": specs, "parts": tuple(data["parts"])})


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Runs that are there and missing, and the fleets that would make the rest."""

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
        """A rough estimate of training and evaluation, from what was measured of each model."""
        where = find_device(device).type
        total = 0.0
        for job in self.jobs:
            for spec in job.specs:
                state = self.found[spec].state
                steps = (spec.train.steps or 0) if state is State.MISSING else 0
                if not task_from_spec(spec.task).is_drawn:
                    total += steps * SECONDS_PER_DATA_STEP[where]
                elif state is not State.DONE:
                    ratio = STEP_RATIOS.get(model_name(spec.model), {}).get(where, UNKNOWN_RATIO)
                    words = len(job.parts) * job.words
                    labels = LABEL_RATIOS[spec.train.labels]
                    trained = labels * steps * SECONDS_PER_MODEL_STEP[where]
                    total += ratio * (trained + words * SECONDS_PER_TEST_WORD[where])
        return total


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

    >>> table = ldru.TABLES["central"].restricted(columns=["ldru"])
    >>> [len(job.specs) for job in ldru.make_plan([table], ldru.Results("no/such/folder")).jobs]
    [48, 15]
    """
    if fleet_size < 1:
        raise LdruError(f"a fleet has at least one model, got {fleet_size}")
    parts: dict[RunSpec, dict[Part, None]] = {}
    words: dict[RunSpec, int] = {}
    for table in tables:
        for spec in table_runs(table):
            parts.setdefault(spec, {}).update(dict.fromkeys(needed_parts(table, spec)))
            words[spec] = max(words.get(spec, 0), table.words)
    found = {spec: results.find(spec, needed, words=words[spec]) for spec, needed in parts.items()}
    groups: list[list[RunSpec]] = []
    # Runs of one length together, so that a fleet is full until its end.
    for spec in sorted(parts, key=lambda spec: spec.train.steps or 0):
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
            everything = dict.fromkeys(part for spec in usable for part in parts[spec])
            jobs.append(
                Job(
                    specs=tuple(usable),
                    parts=tuple(everything),
                    words=max(words[spec] for spec in usable),
                    out=str(results.folder),
                    device=device,
                )
            )
    return Plan(found=found, jobs=jobs)


def check_data(jobs: Sequence[Job]) -> None:
    """Raise before hours of training if a data set is not there."""
    for job in jobs:
        for task in {spec.task: task_from_spec(spec.task) for spec in job.specs}.values():
            if isinstance(task, DataTask):
                for name in (TRAIN, *job.parts):
                    task.words(str(name))
