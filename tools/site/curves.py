"""Accuracy by length of one task, for all models that have records of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ldru.drawing.style import COLORS, new_figure
from ldru.paper.tables import TABLES
from ldru.reproduce.table_runs import cell_runs, needed_parts
from ldru.runs.results import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TRAINED = 40
"""The longest training word of these tables."""

WINDOW = 10
"""Lengths whose accuracies are averaged: even and odd ones weigh alike."""

SHOWN = {"recipes": "{label}", "equal_budget": "{label}, 20,000 steps"}
"""Tables whose columns are drawn, and what their curves are called."""

NAMES = {"random_trees": "LDRU, our recipe", "paper": "LDRU, the paper's settings"}


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Accuracy in percent by the middle of a window of lengths, as a mean over seeds."""

    name: str
    seeds: int
    lengths: Sequence[float]
    accuracy: Sequence[float]


def curves_of(task: str, results: Results) -> list[Curve]:
    """All curves of a task, our recipe's first."""
    found = []
    for name, pattern in SHOWN.items():
        table = TABLES[name]
        for label in table.columns if task in table.tasks else ():
            seeds = [
                evaluation
                for spec in cell_runs(table, task, label).values()
                if (
                    evaluation := results.recorded_evaluation(
                        spec, needed_parts(table, spec), words=table.words
                    )
                )
            ]
            if not seeds:
                continue
            lengths = [int(length) for length in seeds[0].lengths]
            by_seed = [[100 * e.by_part[n].accuracy for n in lengths] for e in seeds]
            middles, means = _windows(lengths, np.mean(by_seed, axis=0))
            called = NAMES.get(label, pattern.format(label=label))
            found.append(Curve(name=called, seeds=len(seeds), lengths=middles, accuracy=means))
    return found


def _windows(lengths: Sequence[int], values: np.ndarray) -> tuple[list[float], list[float]]:
    """Means over neighbouring lengths."""
    windows = (np.asarray(lengths) - 1) // WINDOW
    middles = [float(np.asarray(lengths)[windows == n].mean()) for n in np.unique(windows)]
    return middles, [float(values[windows == n].mean()) for n in np.unique(windows)]


def curves_figure(curves: Sequence[Curve]) -> "Figure":
    """The curves, with the lengths of training shaded; the first lies on top."""
    figure = new_figure(width=7.4, height=3.2 + 0.17 * ((len(curves) + 2) // 3))
    axes = figure.subplots()
    axes.axvspan(0, TRAINED, color="0.92", lw=0, label=f"trained up to {TRAINED}")
    for place, (curve, color) in enumerate(zip(curves, COLORS, strict=False)):
        style = ("-", "--", "-.", ":")[place % 4] if place else "-"
        axes.plot(
            curve.lengths, curve.accuracy, label=curve.name, color=color, ls=style,
            lw=2.2 if not place else 1.2, zorder=10 - place,
        )  # fmt: skip
    lowest = min(min(curve.accuracy) for curve in curves)
    axes.set(xlim=(0, 500), ylim=(max(-2, lowest - 4), 101.5))
    axes.set(xlabel="length of the words", ylabel="accuracy, %")
    axes.grid(alpha=0.3)
    figure.legend(loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    return figure
