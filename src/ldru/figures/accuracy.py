"""Accuracy by length of a few runs."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from ldru.evaluation.accuracy import Evaluation
from ldru.figures.style import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def curves_figure(
    evaluations: Mapping[str, Evaluation], *, title: str, max_length: int | None = None
) -> "Figure":
    """Accuracy by length with 95 % intervals, one curve per name, and the majority share.

    max_length: the longest training word; longer ones are out of distribution.
    """
    figure = new_figure(width=8, height=4)
    axes = figure.subplots()
    for name, evaluation in evaluations.items():
        lengths = evaluation.lengths
        low, high = zip(*(r.interval() for r in evaluation.by_part.values()), strict=True)
        (line,) = axes.plot(lengths, _percent(evaluation.accuracy.values()), label=name, lw=1.5)
        axes.fill_between(lengths, _percent(low), _percent(high), color=line.get_color(), alpha=0.2)
    some = next(iter(evaluations.values()))
    shares = [result.majority_share for result in some.by_part.values()]
    lengths = some.lengths
    axes.plot(lengths, _percent(shares), color="gray", lw=0.8, ls=":", label="majority share")
    if max_length is not None:
        axes.axvline(max_length + 0.5, color="black", lw=0.8, ls="--")
        axes.annotate(
            f"trained up to {max_length}",
            (max_length + 0.5, 0.03),
            xycoords=("data", "axes fraction"),
            xytext=(4, 0),
            textcoords="offset points",
            fontsize=8,
        )
    _decorate(axes, title=title)
    return figure


def _decorate(axes: "Axes", *, title: str) -> None:
    axes.set(xlabel="length of the word", ylabel="accuracy (%)", title=title, ylim=(-2, 103))
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right", fontsize=8)


def _percent(shares: Iterable[float]) -> np.ndarray:
    return 100 * np.fromiter(shares, dtype=float)
