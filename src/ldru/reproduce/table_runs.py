"""The runs that a table consists of."""

from ldru.paper.table import Table
from ldru.runs.spec import RunSpec
from ldru.tasks.task import Part


def cell_runs(table: Table, row: str, label: str) -> dict[int, RunSpec]:
    """The runs of a cell by seed."""
    setup = table.setup(table.row(row).task, label)
    return {seed: RunSpec.of(setup, seed=seed) for seed in table.seeds}


def table_runs(table: Table) -> list[RunSpec]:
    """All runs of a table, column after column, each once.

    >>> len(ldru.table_runs(ldru.TABLES["central"]))
    693
    """
    return [
        RunSpec.of(setup, seed=seed)
        for label in table.columns
        for setup in (table.setup(task, label) for task in table.trained_tasks)
        for seed in table.seeds
    ]


def needed_parts(table: Table, spec: RunSpec) -> list[Part]:
    """The lengths or test sets that a table needs of a run."""
    return table.evaluated_parts(spec.task.name, max_length=spec.train.max_length)
