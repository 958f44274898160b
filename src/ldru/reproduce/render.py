"""Tables from records alone: numbers beside the paper's, as text for people and programs."""

import csv
import io
import statistics
from collections.abc import Mapping
from dataclasses import dataclass

from ldru.base.files import write_text
from ldru.evaluation.metrics import METRICS
from ldru.evaluation.statistics import p_value
from ldru.paper.table import Reported, Table
from ldru.reproduce.table_runs import cell_runs, table_runs
from ldru.runs.results import Results

MARKS = {"down": "↓", "up": "↑"}
SIGNIFICANT = 0.05


@dataclass(frozen=True, kw_only=True)
class CellResult:
    """A cell as it was run: accuracy, or another metric, by seed in percent.

    mark: "down" where the reference is significantly better, "up" where this one is.
    """

    seeds: Mapping[int, float]
    wanted: int
    reported: Reported | None
    mark: str | None = None

    @property
    def mean(self) -> float:
        return statistics.fmean(self.seeds.values())

    @property
    def std(self) -> float:
        """The sample standard deviation, 0 for one seed."""
        return statistics.stdev(self.seeds.values()) if len(self.seeds) > 1 else 0.0


def cell_results(table: Table, results: Results) -> dict[tuple[str, str], CellResult]:
    """Every cell of a table, from the records in a folder."""
    accuracies = {
        (task, label): _accuracies(table, task, label, results)
        for task in table.tasks
        for label in table.columns
    }
    return {
        (task, label): CellResult(
            seeds=seeds,
            wanted=len(table.seeds),
            reported=table.reported.get((task, label)),
            mark=_mark(accuracies.get((task, table.reference or "")), seeds)
            if label != table.reference
            else None,
        )
        for (task, label), seeds in accuracies.items()
    }


def _accuracies(table: Table, task: str, label: str, results: Results) -> dict[int, float]:
    found = {}
    row = table.row(task)
    parts, metric = row.parts, METRICS[row.metric]
    for seed, spec in cell_runs(table, task, label).items():
        evaluation = results.recorded_evaluation(spec, parts, words=table.words)
        if evaluation is not None:
            values = [metric(evaluation.by_part[part]) for part in parts]
            found[seed] = 100 * sum(values) / len(values)
    return found


def _mark(reference: Mapping[int, float] | None, other: Mapping[int, float]) -> str | None:
    """Whether a column differs from the reference, as the paper tests it.

    A one-sample test against 100 where the reference is 100 for every seed, else a paired one; both
    two-sided, on unrounded accuracies.
    """
    if reference is None or len(reference) < 2 or set(reference) != set(other):
        return None
    differences = [other[seed] - reference[seed] for seed in reference]
    mean = sum(differences) / len(differences)
    if p_value(differences) >= SIGNIFICANT:
        return None
    return "down" if mean < 0 else "up"


def as_markdown(table: Table, cells: Mapping[tuple[str, str], CellResult]) -> str:
    """A table whose cells are ours, with the paper's in brackets; a hole is a dash."""
    lines = [f"**{table.name}.** {table.caption} {_legend(table, cells)}", ""]
    lines.append("| task | " + " | ".join(table.columns) + " |")
    lines.append("| --- |" + " ---: |" * len(table.columns))
    for task in table.tasks:
        texts = [cell_text(cells[task, label]) for label in table.columns]
        lines.append(f"| {task} | " + " | ".join(texts) + " |")
    return "\n".join(lines) + "\n"


def as_latex(table: Table, cells: Mapping[tuple[str, str], CellResult]) -> str:
    """A table as a LaTeX tabular."""

    def escaped(text: str) -> str:
        text = text.replace("_", r"\_").replace("%", r"\%").replace("±", r"$\pm$")
        return text.replace("↓", r"$^{\downarrow}$").replace("↑", r"$^{\uparrow}$")

    lines = [f"% {table.name}: {table.caption} {_legend(table, cells)}"]
    lines.append(r"\begin{tabular}{l" + "r" * len(table.columns) + "}")
    lines.append(r"\toprule")
    lines.append(" & ".join(["task", *map(escaped, table.columns)]) + r" \\ \midrule")
    for task in table.tasks:
        texts = [escaped(cell_text(cells[task, label])) for label in table.columns]
        lines.append(" & ".join([escaped(task), *texts]) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    return "\n".join(lines) + "\n"


def as_csv(table: Table, cells: Mapping[tuple[str, str], CellResult]) -> str:
    """One line per seed that was run or that the paper prints."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["table", "steps_share", "task", "column", "seed", "accuracy", "reported"])
    for (task, label), cell in cells.items():
        printed = dict(enumerate(cell.reported.seeds)) if cell.reported else {}
        for seed in sorted({*cell.seeds, *printed}):
            ours = f"{cell.seeds[seed]:.4f}" if seed in cell.seeds else ""
            writer.writerow(
                [table.name, f"{table.share:g}", task, label, seed, ours, printed.get(seed, "")]
            )
    return text.getvalue()


def cell_text(cell: CellResult) -> str:
    """Mean and deviation, mark, seeds if some are missing, and the paper's in brackets."""
    ours = "-"
    if cell.seeds:
        ours = f"{cell.mean:.1f} ± {cell.std:.1f}" if len(cell.seeds) > 1 else f"{cell.mean:.1f}"
        ours += MARKS.get(cell.mark or "", "")
        if len(cell.seeds) < cell.wanted:
            ours += f" [{len(cell.seeds)} of {cell.wanted} seeds]"
    paper = cell.reported
    if paper is None or paper.mean is None:
        return ours
    spread = "" if paper.std is None else f" ± {paper.std:.1f}"
    return f"{ours} ({paper.mean:.1f}{spread}{MARKS.get(paper.mark or '', '')})"


def _legend(table: Table, cells: Mapping[tuple[str, str], CellResult]) -> str:
    # Rows may show the same runs; one that has a hole in some row is not done.
    done: dict[tuple[str, str], int] = {}
    for (task, label), cell in cells.items():
        runs = table.row(task).task, label
        done[runs] = min(done.get(runs, len(cell.seeds)), len(cell.seeds))
    text = "Ours, and in brackets the paper's; " if table.reported else ""
    text += f"{sum(done.values())} of {len(table_runs(table))} runs."
    if table.reference:
        text += f" ↓: {table.reference} is significantly better (p < 0.05), ↑: worse."
    return text


def markdown_table(table: Table, results: Results) -> str:
    """A table in Markdown, from the records of a results folder.

    >>> table = ldru.TABLES["central"].restricted(tasks=["dyck_4"], columns=["ldru"])
    >>> print(ldru.markdown_table(table, ldru.Results("no/such/folder")).splitlines()[-1])
    | dyck_4 | - (100.0 ± 0.0) |
    """
    return as_markdown(table, cell_results(table, results))


WRITERS = {"md": as_markdown, "tex": as_latex, "csv": as_csv}


def write_table(table: Table, results: Results) -> None:
    """Write a table in every form under a results folder."""
    cells = cell_results(table, results)
    for ending, write in WRITERS.items():
        write_text(results.folder / "tables" / f"{table.name}.{ending}", write(table, cells))
