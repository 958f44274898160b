"""A table of runs as data: tasks by columns, some seeds each, and what the paper reports for it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ldru.errors import LdruError, unknown_name
from ldru.experiments.spec import RunSpec
from ldru.experiments.training import DEFAULTS, run_spec
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
    """One way of training a model."""

    model: ModelSpec
    train: TrainSpec = DEFAULTS


@dataclass(frozen=True, kw_only=True)
class Table:
    """Every task with every column, for some seeds.

    columns: by label.
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
    seeds: tuple[int, ...] = (0, 1, 2)
    lengths: tuple[int, ...] = tuple(range(41, 501))
    reference: str | None = None
    share: float = 1.0
    figure: str | None = None
    reported: Mapping[tuple[str, str], Reported] = field(default_factory=dict)

    def cell(self, task_name: str, label: str) -> dict[int, RunSpec]:
        """The runs of a cell by seed."""
        column, found = self.columns[label], task(task_name)
        specs = {seed: run_spec(found, column.model, column.train, seed) for seed in self.seeds}
        if self.share == 1:
            return specs
        return {
            seed: replace(spec, train=_shortened(spec.train, self.share))
            for seed, spec in specs.items()
        }

    def runs(self) -> list[RunSpec]:
        """All runs, column after column."""
        return [
            spec
            for label in self.columns
            for task_name in self.tasks
            for spec in self.cell(task_name, label).values()
        ]

    def evaluated_lengths(self, spec: RunSpec) -> list[int]:
        """The lengths that a run needs for this table: the cell's, and those of training."""
        return sorted({*range(1, spec.train.max_length + 1), *self.lengths})

    def restricted(
        self,
        *,
        tasks: Sequence[str] = (),
        columns: Sequence[str] = (),
        seeds: Sequence[int] = (),
    ) -> "Table":
        """A part of the table; what is not given stays whole."""
        for name in tasks:
            if name not in self.tasks:
                raise unknown_name(f"task of {self.name}", name, self.tasks)
        for label in columns:
            if label not in self.columns:
                raise unknown_name(f"model of {self.name}", label, self.columns)
        return replace(
            self,
            tasks=tuple(name for name in self.tasks if not tasks or name in tasks),
            columns={k: v for k, v in self.columns.items() if not columns or k in columns},
            seeds=tuple(seeds) or self.seeds,
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
