"""A table as data: tasks by columns, some seeds each, and what the paper reports for it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ldru.base.errors import LdruError, unknown_name
from ldru.evaluation.lengths import WORDS
from ldru.models.spec import ModelSpec
from ldru.paper.recipe import PAPER, RecipeName, settings_by
from ldru.paper.settings import completed
from ldru.tasks.find import as_task
from ldru.tasks.spec import TaskSpec
from ldru.tasks.task import Part
from ldru.training.spec import TrainSpec


@dataclass(frozen=True, kw_only=True)
class Reported:
    """A cell as the paper prints it, in percent.

    seeds: of the single seeds, where it lists them.
    mark: "down" where the LDRU is significantly better, "up" where the other is.
    """

    mean: float | None
    std: float | None = None
    seeds: tuple[float, ...] = ()
    mark: str | None = None


@dataclass(frozen=True, kw_only=True)
class Column:
    """One way of training a model.

    train: None for the way of the recipe on the task.

    >>> ldru.Column(model=ldru.LDRUSpec(dim=32)).train is None
    True
    """

    model: ModelSpec
    train: TrainSpec | None = None
    recipe: RecipeName = PAPER


@dataclass(frozen=True, kw_only=True)
class Setup:
    """A model, a task, and how the one is trained on the other, every setting given."""

    task: TaskSpec
    model: ModelSpec
    train: TrainSpec


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row of cells: a task, and the lengths or test sets whose mean is shown.

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
    lengths: of the test words whose mean accuracy is the cell.
    words: of each length, at least.
    has_training_lengths: whether runs are evaluated at the lengths of training too, as a figure of
        accuracy by length shows them.
    reference: the label of the column that the others are tested against, if any.
    share: of the steps that each run takes; below 1 the table is marked as scaled.
    figure: the kind of figure drawn beside it, if any (see `ldru.figures.studies`).
    reported: the paper's cells, by task and label.

    >>> table = ldru.TABLES["central"].restricted(tasks=["dyck_4"], columns=["ldru"])
    >>> table.reported["dyck_4", "ldru"].mean, table.setup("dyck_4", "ldru").train.steps
    (100.0, 1000000)
    """

    name: str
    caption: str
    tasks: tuple[str, ...]
    columns: Mapping[str, Column]
    rows: Mapping[str, Row] = field(default_factory=dict)
    seeds: tuple[int, ...] = (0, 1, 2)
    lengths: tuple[int, ...] = tuple(range(41, 501))
    words: int = WORDS
    has_training_lengths: bool = True
    reference: str | None = None
    share: float = 1.0
    figure: str | None = None
    reported: Mapping[tuple[str, str], Reported] = field(default_factory=dict)

    def row(self, name: str) -> Row:
        """A row by its name."""
        return self.rows.get(name) or Row(task=name, parts=self.lengths)

    @property
    def trained_tasks(self) -> tuple[str, ...]:
        """The tasks of its rows, each once."""
        return tuple(dict.fromkeys(self.row(name).task for name in self.tasks))

    def setup(self, task: str, label: str) -> Setup:
        """The model and training of a task and column, alike for every seed."""
        column, found = self.columns[label], as_task(task)
        by_recipe = settings_by(column.recipe, found.spec, column.model)[1]
        model, train = completed(found, column.model, column.train or by_recipe)
        if self.share != 1:
            assert train.steps is not None
            train = replace(train, steps=max(1, round(train.steps * self.share)))
        return Setup(task=found.spec, model=model, train=train)

    def evaluated_parts(self, task: str, *, max_length: int) -> list[Part]:
        """The parts that a run on a task is evaluated on: rows' and training lengths, or test sets.

        max_length: the longest training word.
        """
        rows = [self.row(name) for name in self.tasks]
        parts = dict.fromkeys(part for row in rows if row.task == task for part in row.parts)
        lengths = {part for part in parts if isinstance(part, int)}
        if not lengths:
            return list(parts)
        trained = range(1, max_length + 1) if self.has_training_lengths else ()
        return sorted({*trained, *lengths})

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
            seeds=tuple(dict.fromkeys(seeds)) or self.seeds,
        )

    def shortened(self, lengths: Sequence[int] = (), *, words: int | None = None) -> "Table":
        """The table from other test words, fewer as a rule: marked as such.

        lengths: instead of its own and those of training; words: of each length.
        """
        if self.rows:
            raise LdruError(f"{self.name} is evaluated on test sets, which have no other words")
        if words is not None and words < 1:
            raise LdruError(f"at least one word per length is needed, got {words}")
        chosen = tuple(sorted(set(lengths))) or self.lengths
        count = self.words if words is None else words
        between = f"{len(chosen)} lengths from {chosen[0]} to {chosen[-1]}"
        return replace(
            self,
            caption=f"From {count} words of each of {between}. {self.caption}",
            lengths=chosen,
            words=count,
            has_training_lengths=not lengths,
        )

    def scaled(self, share: float) -> "Table":
        """The table with a share of every run's steps: other runs, marked as such."""
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
