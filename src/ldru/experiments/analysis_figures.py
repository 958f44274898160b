"""Figures of what a task needs and of what a model learned."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ldru.experiments.figures import new_figure
from ldru.experiments.heatmaps import Heatmaps
from ldru.experiments.task_coverage import THRESHOLDS, Coverage

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def heatmaps_figure(found: Heatmaps) -> "Figure":
    """The share of each composition in the words of each range, on one logarithmic scale."""
    from matplotlib.colors import LogNorm

    figure = new_figure(width=3 * len(found.counts) + 1, height=3.6)
    panels = figure.subplots(1, len(found.counts), sharey=True, squeeze=False)[0]
    shares = {name: counts / counts.sum() for name, counts in found.counts.items()}
    smallest = min(share[share > 0].min() for share in shares.values())
    largest = max(share.max() for share in shares.values())
    scale = LogNorm(smallest, largest)
    for axes, (name, share) in zip(panels, shares.items(), strict=True):
        image = axes.imshow(
            np.ma.masked_equal(share, 0), cmap="viridis_r", norm=scale, interpolation="nearest"
        )
        axes.set_title(f"lengths {name}: {np.count_nonzero(share)} pairs", fontsize=9)
        axes.set_xlabel("class of the right part", fontsize=8)
    panels[0].set_ylabel("class of the left part", fontsize=8)
    figure.colorbar(image, ax=panels, label="share of the compositions")
    figure.suptitle(
        f"{found.task.name}: compositions in words with the label {found.label}, "
        f"{len(found.classes)} of {found.monoid.size} classes",
        fontsize=10,
    )
    return figure


def coverage_figure(found: Mapping[int, Coverage]) -> "Figure":
    """Compositions that training words can show and do show, and test words without rare ones."""
    figure = new_figure(width=12, height=3.8)
    shown, met, familiar = figure.subplots(1, 3)
    some = next(iter(found.values()))
    firsts = np.sort(some.first[some.needed & (some.first > 0)])
    needed = np.count_nonzero(some.needed)
    shown.plot(firsts, 100 * np.arange(1, len(firsts) + 1) / needed, drawstyle="steps-post")
    shown.set(xlabel="longest training word", ylabel="of the needed compositions (%)")
    shown.set_title("can be shown", fontsize=10)
    for length, coverage in found.items():
        counts = np.sort(coverage.met[coverage.needed])
        share = 100 * np.arange(1, len(counts) + 1) / len(counts)
        met.plot(np.maximum(counts, 1e-3), share, label=f"up to {length}")
    met.set(xscale="log", xlabel="times (0.001: or fewer)", ylabel="of the needed compositions (%)")
    met.set_title(f"are met at most so often in {some.training_words:.2g} words", fontsize=10)
    for index, (length, coverage) in enumerate(found.items()):
        for threshold, style in zip(THRESHOLDS, (":", "-"), strict=True):
            shares = coverage.familiar[threshold]
            familiar.plot(
                list(shares),
                [100 * share for share in shares.values()],
                style,
                color=f"C{index}",
                marker="o",
                ms=3,
                label=f"up to {length}, met {threshold} times",
            )
    familiar.set(xlabel="length of the test words", ylabel="of the test words (%)")
    familiar.set_title("need no rarer composition", fontsize=10)
    for axes in (shown, met, familiar):
        axes.grid(alpha=0.3)
    for axes in (met, familiar):
        axes.legend(fontsize=7)
    figure.suptitle(
        f"{some.task.name}: {needed:,} compositions of {some.monoid.size} classes are needed up to "
        f"length {some.test_length}",
        fontsize=10,
    )
    return figure
