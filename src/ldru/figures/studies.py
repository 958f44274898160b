"""Figures of the paper's studies, drawn from records and logs alone."""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from ldru.drawing.style import COLORS, new_figure, save_figure
from ldru.paper.table import Table
from ldru.reproduce.render import CellResult, cell_results
from ldru.reproduce.table_runs import cell_runs, needed_parts
from ldru.runs.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Curve = Mapping[int, float]

DASHED = "Dashed: the paper's."


def panels_figure(table: Table, results: Results) -> "Figure":
    """Accuracy by length, a panel for each task: means over seeds, deviations as filled areas.

    Odd lengths are dotted, since to some languages they are another task (Dyck has no odd word).
    """
    from matplotlib.lines import Line2D

    columns = min(7, len(table.tasks))
    rows = math.ceil(len(table.tasks) / columns)
    figure = new_figure(width=2.6 * columns + 1, height=2.2 * rows + 0.8)
    panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for axes in panels.flat[len(table.tasks) :]:
        axes.axis("off")
    for axes, task in zip(panels.flat, table.tasks, strict=False):
        for place, (color, label) in enumerate(zip(cycle(COLORS), table.columns, strict=False)):
            found = (
                results.recorded_evaluation(spec, needed_parts(table, spec), words=table.words)
                for spec in cell_runs(table, task, label).values()
            )
            curves = [{n: 100 * e.by_part[n].accuracy for n in e.lengths} for e in found if e]
            for odd, style in ((0, "-"), (1, ":")):
                halves = [{n: a for n, a in curve.items() if n % 2 == odd} for curve in curves]
                name = None if odd else _name(label, len(curves), table)
                # The first column, which is the one compared, lies on top.
                look = {"color": color, "ls": style, "zorder": 3 - place / 20}
                _draw_mean(axes, halves, label=name, within=(0, 100), **look)
        axes.set_title(task, fontsize=8)
        axes.set_xlabel("length of the words", fontsize=8)
        axes.label_outer()
        axes.set_ylim(-3, 103)
        axes.grid(alpha=0.3)
    figure.supylabel("accuracy, %", fontsize=9)
    handles = {
        h.get_label(): h for axes in panels.flat for h in axes.get_legend_handles_labels()[0]
    }
    handles["odd lengths"] = Line2D([], [], color="gray", ls=":")
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=6, fontsize=8)
    mark = "" if table.share == 1 else f"SCALED to {table.share:g} of the steps. "
    figure.suptitle(f"{mark}Accuracy by the length of the words", fontsize=10)
    return figure


def training_length_figure(table: Table, results: Results) -> "Figure":
    """Accuracy by the longest training word, a panel for each task; the paper's means dashed.

    Columns are called `model-length`.
    """
    cells = cell_results(table, results)
    figure = new_figure(width=3 * len(table.tasks) + 1, height=3.5)
    panels = figure.subplots(1, len(table.tasks), sharey=True, squeeze=False)[0]
    models = dict.fromkeys(label.rsplit("-", 1)[0] for label in table.columns)
    for axes, task in zip(panels, table.tasks, strict=True):
        for model in models:
            labels = [label for label in table.columns if label.rsplit("-", 1)[0] == model]
            _draw_beside_paper(
                axes, {_length(label): cells[task, label] for label in labels}, label=model
            )
        axes.set(title=task, xlabel="longest training word")
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("accuracy, %")
    panels[0].legend(fontsize=8)
    figure.suptitle(f"{table.caption} {DASHED}", fontsize=10)
    return figure


def listops_figure(table: Table, results: Results) -> "Figure":
    """Accuracy by the length of the words, a panel for each depth and number of arguments."""
    cells = cell_results(table, results)
    names = [name.split() for name in table.tasks]
    panels = list(dict.fromkeys(limits for limits, _ in names))
    bins = list(dict.fromkeys(lengths for _, lengths in names))
    figure = new_figure(width=3 * len(panels) + 1, height=3.9)
    for axes, limits in zip(
        figure.subplots(1, len(panels), sharex=True, sharey=True, squeeze=False)[0],
        panels,
        strict=True,
    ):
        for color, column in zip(cycle(COLORS), table.columns, strict=False):
            found = {
                bins.index(lengths): cells[f"{of} {lengths}", column]
                for of, lengths in names
                if of == limits
            }
            _draw_beside_paper(axes, found, label=column, color=color)
        depth, arguments = limits.split(",")
        axes.set(title=f"depth {depth}, {arguments} arguments", xlabel="tokens", ylim=(0, 100))
        axes.set_xticks(range(len(bins)), bins, rotation=45, fontsize=8)
        axes.grid(alpha=0.3)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=7, fontsize=8)
    figure.axes[0].set_ylabel("accuracy, %")
    figure.suptitle(f"{table.caption} {DASHED}", fontsize=10)
    return figure


def optimizer_figure(table: Table, results: Results) -> "Figure":
    """Losses and accuracies of every column: means over seeds, deviations as filled areas."""
    figure = new_figure(width=12, height=7)
    grid = figure.subplots(2, 3)
    grid[1, 2].axis("off")
    panels: dict[str, tuple[Axes, str]] = {
        "training loss": (grid[0, 0], "step"),
        "validation loss": (grid[0, 1], "step"),
        "validation accuracy, %": (grid[0, 2], "step"),
        "test accuracy, %": (grid[1, 0], "length of the words"),
        "log validation loss - log training loss": (grid[1, 1], "step"),
    }
    (task,) = table.tasks
    for label in table.columns:
        curves = _curves(table, task, label, results)
        for name, (axes, _) in panels.items():
            _draw_mean(
                axes, [curve[name] for curve in curves], label=_name(label, len(curves), table)
            )
    for name, (axes, x_name) in panels.items():
        axes.set(title=name, xlabel=x_name)
        axes.grid(alpha=0.3)
        if name in ("training loss", "validation loss"):
            axes.set_yscale("log")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    grid[1, 2].legend(handles, labels, loc="center")
    figure.suptitle(table.caption, fontsize=10)
    return figure


def _curves(table: Table, task: str, label: str, results: Results) -> list[dict[str, Curve]]:
    """Of every seed that is there."""
    curves: list[dict[str, Curve]] = []
    for spec in cell_runs(table, task, label).values():
        evaluation = results.recorded_evaluation(spec, needed_parts(table, spec), words=table.words)
        files = results.files(spec.name)
        if evaluation is None or files is None:
            continue
        log = files.log()
        curves.append(
            {
                "training loss": {e.step: e.loss for e in log},
                "validation loss": {e.step: e.validation_loss for e in log},
                "validation accuracy, %": {e.step: 100 * e.validation_accuracy for e in log},
                "test accuracy, %": {
                    n: 100 * evaluation.by_part[n].accuracy for n in evaluation.lengths
                },
                "log validation loss - log training loss": {
                    e.step: math.log(e.validation_loss / e.loss)
                    for e in log
                    if e.loss > 0 and e.validation_loss > 0
                },
            }
        )
    return curves


def _draw_mean(
    axes: "Axes",
    curves: Sequence[Curve],
    *,
    label: str | None,
    within: tuple[float, float] = (-math.inf, math.inf),
    **look: Any,
) -> None:
    """The mean of curves and their deviation as a filled area, which ends where values do."""
    if not curves:
        return
    shared = sorted(set.intersection(*(set(curve) for curve in curves)))
    values = np.array([[curve[x] for x in shared] for curve in curves])
    mean = values.mean(axis=0)
    spread = values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros_like(mean)
    (line,) = axes.plot(shared, mean, lw=1.2, label=label, **look)
    band = np.clip([mean - spread, mean + spread], *within)
    axes.fill_between(shared, *band, color=line.get_color(), alpha=0.2, lw=0)


def _name(label: str, seeds: int, table: Table) -> str:
    """A column with the number of its seeds, where some are still to be run."""
    return label if seeds == len(table.seeds) else f"{label} ({seeds} seeds)"


def _draw_beside_paper(
    axes: "Axes", cells: Mapping[int, CellResult], *, label: str, color: str | None = None
) -> None:
    """Ours with deviations, where there are runs, and the paper's means dashed."""
    done = {x: cell for x, cell in cells.items() if cell.seeds}
    line = axes.errorbar(
        list(done),
        [cell.mean for cell in done.values()],
        [cell.std for cell in done.values()],
        marker="o",
        ms=4,
        lw=1.2,
        capsize=3,
        color=color,
        label=label,
    )
    paper = {x: cell.reported.mean for x, cell in cells.items() if cell.reported}
    printed = {x: mean for x, mean in paper.items() if mean is not None}
    axes.plot(list(printed), list(printed.values()), ls="--", lw=0.9, color=line[0].get_color())


def _length(label: str) -> int:
    return int(label.rsplit("-", 1)[1])


STUDY_FIGURES: dict[str, Callable[[Table, Results], "Figure"]] = {
    "accuracy": panels_figure,
    "training_length": training_length_figure,
    "listops": listops_figure,
    "optimizers": optimizer_figure,
}
"""By the kind of figure that a table names."""


def write_study_figure(table: Table, results: Results) -> None:
    """Draw a table's figure under a results folder, where it has one and there are runs."""
    if table.figure is None or not any(c.seeds for c in cell_results(table, results).values()):
        return
    figure = STUDY_FIGURES[table.figure](table, results)
    for ending in ("png", "svg"):
        save_figure(figure, results.folder / "figures" / f"{table.name}.{ending}")
