"""A table of runs as data: tasks by columns, some seeds each, and what the paper reports for it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ldru.errors import LdruError, unknown_name
from ldru.evaluation import Part
from ldru.experiments.spec import RunSpec
from ldru.experiments.training import check_seed, run_spec
from ldru.models import ModelSpec
from ldru.tasks import task
from ldru.training.spec import TrainSpec


@dataclass(frozen=True, kw_only=True)
class Reported:
    """What the paper prints in a cell, in percent.

    seeds: of the single seeds, where it lists them.
    mark: "down" where the LDRU is significantly better, "up" where the other is.
    """

    mean: float | None
    std: float | None = None
    seeds: tuple[float, ...] = ()
    mark: str | None = None


@dataclass(frozen=True, kw_only=True)
class Column:
    """One way of training a model; train: None for the paper's way on the task."""

    model: ModelSpec
    train: TrainSpec | None = None


@dataclass(frozen=True, kw_only=True)
class Row:
    """What a row of cells shows: a task, and the lengths or test sets whose mean it is.

    metric: of `METRICS`, in hundredths.
    """

    task: str
    parts: tuple[Part, ...]
    metric: str = "accuracy"


@dataclass(frozen=True, kw_only=True)
class Table:
    """Every task with every column, for some seeds.

    tasks: names of the rows; a task's own, or a name of `rows`.
    columns: by label.
    rows: what rows show that are not a task at `lengths`.
    lengths: of the test words whose mean accuracy is the cell; 512 words each.
    reference: the label of the column that the others are tested against, if any.
    share: of the steps that each run takes; below 1 the table is marked as scaled.
    figure: the kind of figure drawn beside it, if any (see `study_figures`).
    reported: the paper's cells, by task and label.
    """

    name: str
    caption: str
    tasks: tuple[str, ...]
    columns: Mapping[str, Column]
    rows: Mapping[str, Row] = field(default_factory=dict)
    seeds: tuple[int, ...] = (0, 1, 2)
    lengths: tuple[int, ...] = tuple(range(41, 501))
    reference: str | None = None
    share: float = 1.0
    figure: str | None = None
    reported: Mapping[tuple[str, str], Reported] = field(default_factory=dict)

    def row(self, name: str) -> Row:
        """What a row shows."""
        return self.rows.get(name) or Row(task=name, parts=self.lengths)

    def cell(self, row: str, label: str) -> dict[int, RunSpec]:
        """The runs of a cell by seed."""
        column, found = self.columns[label], task(self.row(row).task)
        specs = {seed: run_spec(found, column.model, column.train, seed) for seed in self.seeds}
        if self.share == 1:
            return specs
        return {
            seed: replace(spec, train=_shortened(spec.train, self.share))
            for seed, spec in specs.items()
        }

    def runs(self) -> list[RunSpec]:
        """All runs, column after column, each once."""
        rows = {self.row(name).task: name for name in self.tasks}
        return [
            spec
            for label in self.columns
            for name in rows.values()
            for spec in self.cell(name, label).values()
        ]

    def evaluated_lengths(self, spec: RunSpec) -> list[Part]:
        """What a run needs for this table: its rows' lengths and those of training, or sets."""
        rows = [self.row(name) for name in self.tasks]
        parts = dict.fromkeys(p for row in rows if row.task == spec.task.name for p in row.parts)
        lengths = sorted({n for n in parts if isinstance(n, int)})
        if not lengths:
            return list(parts)
        return sorted({*range(1, spec.train.max_length + 1), *lengths})

    def restricted(
        self,
        *,
        tasks: Sequence[str] = (),
        columns: Sequence[str] = (),
        seeds: Sequence[int] = (),
    ) -> "Table":
        """A part of the table; what is not given stays whole.

        tasks: names of rows, or of tasks, for all their rows.
        """
        names = {row: (row, self.row(row).task) for row in self.tasks}
        known = list(dict.fromkeys(name for both in names.values() for name in both))
        for name in tasks:
            if name not in known:
                raise unknown_name(f"task of {self.name}", name, known)
        for label in columns:
            if label not in self.columns:
                raise unknown_name(f"model of {self.name}", label, self.columns)
        return replace(
            self,
            tasks=tuple(row for row in self.tasks if not tasks or set(names[row]) & set(tasks)),
            columns={k: v for k, v in self.columns.items() if not columns or k in columns},
            seeds=tuple(dict.fromkeys(map(check_seed, seeds))) or self.seeds,
        )

    def scaled(self, share: float) -> "Table":
        """The same with a share of every run's steps: other runs, marked as such."""
        if not 0 < share <= 1:
            raise LdruError(f"steps are scaled by a share in (0, 1], got {share}")
        if share == 1:
            return self
        return replace(
            self,
            name=f"{self.name}-scaled-{share:g}",
            caption=f"SCALED to {share:g} of the steps. {self.caption}",
            share=self.share * share,
        )


def _shortened(train: TrainSpec, share: float) -> TrainSpec:
    assert train.steps is not None
    return replace(train, steps=max(1, round(train.steps * share)))
