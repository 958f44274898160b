"""After how many steps networks answer long words right, by their logs."""

from collections.abc import Sequence

from ldru.paper.table import Table
from ldru.reproduce.table_runs import cell_runs
from ldru.runs.results import Results
from ldru.training.log import LogEntry

FILE = "labels_steps.md"
RIGHT = 0.9995
"""A validation that reads 100.0, rounded."""


def settled(log: Sequence[LogEntry]) -> int | None:
    """The validation from which on all are right, as its step; None where the last is not."""
    found = None
    for entry in reversed(log):
        if entry.validation_accuracy < RIGHT:
            break
        found = entry.step
    return found


def reached(log: Sequence[LogEntry]) -> int | None:
    """The first validation that is right, as its step."""
    return next((entry.step for entry in log if entry.validation_accuracy >= RIGHT), None)


def steps_markdown(table: Table, results: Results) -> str:
    """A row for each task: where a column's first seed gets right, and where it stays so."""
    lines = [
        "**labels_steps.** Of the runs of labels_by_step: the first validation that reads 100.0, "
        "rounded, and in brackets the one from which on all do, by what the network is told. A "
        "validation asks 1,024 words of length 500, every 500 steps of 20,000.",
        "",
        "| task | " + " | ".join(table.columns) + " |",
        "| --- |" + " ---: |" * len(table.columns),
    ]
    for task in table.tasks:
        logs = (_log(table, task, label, results) for label in table.columns)
        lines.append(f"| {task} | " + " | ".join(map(_cell, logs)) + " |")
    return "\n".join(lines) + "\n"


def _log(table: Table, task: str, label: str, results: Results) -> list[LogEntry]:
    files = results.files(cell_runs(table, task, label)[table.seeds[0]].name)
    return [] if files is None else files.log()


def _cell(log: Sequence[LogEntry]) -> str:
    first, last = reached(log), settled(log)
    if first is None:
        return "never" if log else "-"
    return f"{first:,} ({'no' if last is None else f'{last:,}'})"
