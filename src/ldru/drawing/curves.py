"""Accuracy by length, a curve for each name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ldru.drawing.style import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WINDOW = 41  # lengths
SAME = 3.0  # points


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Shares by length: right answers, the ends of their interval, the most frequent label."""

    lengths: Sequence[int]
    accuracy: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]
    majority_share: Sequence[float]


def curves_figure(
    curves: Mapping[str, Curve], *, title: str = "", max_length: int | None = None
) -> "Figure":
    """Accuracy by length with 95 % intervals, and the majority share of the first curve.

    max_length: the longest training word; longer ones are out of distribution.
    """
    figure = new_figure(width=8, height=4 + 0.2 * (len(curves) > 4))
    axes = figure.subplots()
    for name, curve in curves.items():
        (line,) = axes.plot(curve.lengths, _percent(curve.accuracy), label=name, lw=1.5)
        low, high = _percent(curve.low), _percent(curve.high)
        axes.fill_between(curve.lengths, low, high, color=line.get_color(), alpha=0.2, lw=0)
    first = next(iter(curves.values()))
    for name, (lengths, shares) in _quiet(first.lengths, _percent(first.majority_share)).items():
        axes.plot(lengths, shares, color="gray", lw=0.8, ls=":", label=name)
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
    axes.set(xlabel="length of the word", ylabel="accuracy (%)", title=title, ylim=(-2, 103))
    axes.grid(alpha=0.3)
    figure.legend(loc="outside lower center", ncols=2, fontsize=8)
    return figure


def _quiet(lengths: Sequence[int], shares: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The majority share without the noise of few words: means over neighbouring lengths.

    Even and odd lengths are apart where they differ: to some languages they are other tasks.
    """
    places = np.asarray(lengths)
    halves = {"even": places % 2 == 0, "odd": places % 2 == 1}
    found = {
        f"majority share, {name} lengths": (places[half], _smooth(shares[half]))
        for name, half in halves.items()
        if half.any()
    }
    means = [curve.mean() for _, curve in found.values()]
    if len(means) == 1 or abs(means[0] - means[1]) < SAME:
        return {"majority share": (places, _smooth(shares))}
    return found


def _smooth(values: np.ndarray) -> np.ndarray:
    """Means over windows around each place, cut at the ends."""
    half = min(WINDOW, len(values)) // 2
    return np.array([values[max(0, i - half) : i + half + 1].mean() for i in range(len(values))])


def _percent(shares: Sequence[float]) -> np.ndarray:
    return 100 * np.asarray(shares, dtype=float)
