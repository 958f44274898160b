"""Figures of what a task needs and of what a model learned."""

from collections.abc import Mapping
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from ldru.analysis.associativity import Associativity
from ldru.analysis.coverage import THRESHOLDS, Coverage
from ldru.analysis.embeddings import Embeddings
from ldru.analysis.heatmaps import Heatmaps
from ldru.drawing.style import COLORS, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_STYLES = ("-", "--", ":", "-.")


def heatmaps_figure(found: Heatmaps) -> "Figure":
    """The share of each composition in the words of each range, on one logarithmic scale."""
    from matplotlib.colors import LogNorm

    figure = new_figure(width=3 * len(found.counts) + 1, height=3.6)
    panels = figure.subplots(1, len(found.counts), sharey=True, squeeze=False)[0]
    shares = {name: counts / counts.sum() for name, counts in found.counts.items()}
    smallest = min(share[share > 0].min() for share in shares.values())
    largest = max(share.max() for share in shares.values())
    scale = LogNorm(smallest, largest)
    # Classes are numbered as in the monoid, of which some may be left out.
    places = np.unique(np.linspace(0, len(found.classes) - 1, 6).round().astype(int))
    for axes, (name, share) in zip(panels, shares.items(), strict=True):
        image = axes.imshow(
            np.ma.masked_equal(share, 0), cmap="viridis_r", norm=scale, interpolation="nearest"
        )
        axes.set_title(f"lengths {name}: {np.count_nonzero(share)} pairs", fontsize=9)
        axes.set_xlabel("class of the right part", fontsize=8)
        axes.set_xticks(places, found.classes[places].tolist(), fontsize=7)
        axes.set_yticks(places, found.classes[places].tolist(), fontsize=7)
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
    figure = new_figure(width=13, height=3.8)
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
                label=f"up to {length}, met ≥ {threshold}",
            )
    familiar.set(xlabel="length of the test words", ylabel="of the test words (%)")
    familiar.set_title("need no rarer composition", fontsize=10)
    for axes in (shown, met, familiar):
        axes.grid(alpha=0.3)
    for axes in (shown, met, familiar):
        axes.set_ylim(-3, 103)  # so that markers at both ends are whole
    handles, labels = familiar.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=7)
    figure.suptitle(
        f"{some.task.name}: {needed:,} compositions of {some.monoid.size} classes are needed up to "
        f"length {some.test_length}",
        fontsize=10,
    )
    return figure


def associativity_figure(found: Mapping[str, Associativity]) -> "Figure":
    """Associators by level and by class, and agreement under random brackets, a colour per run."""
    from matplotlib.ticker import MaxNLocator

    figure = new_figure(width=13, height=3.8)
    level, classes, brackets = figure.subplots(1, 3)
    for index, (name, analysis) in enumerate(found.items()):
        color = f"C{index}"
        for length, style in zip(
            dict.fromkeys(r.length for r in analysis.by_level), cycle(_STYLES)
        ):
            rows = [row for row in analysis.by_level if row.length == length]
            level.plot(
                [row.level for row in rows],
                [row.relative for row in rows],
                style,
                color=color,
                marker="o",
                ms=3,
                label=f"{name}, length {length}",
            )
        classes.scatter(
            [row.number for row in analysis.by_class],
            [row.relative for row in analysis.by_class],
            s=8,
            color=color,
        )
        for length, style in zip(
            dict.fromkeys(r.length for r in analysis.agreement), cycle(_STYLES)
        ):
            same = {r.balanced: 100 * r.agreement for r in analysis.agreement if r.length == length}
            brackets.plot(list(same), list(same.values()), style, color=color, marker="o", ms=3)
    level.set(xlabel="level (0: symbols)", ylabel="relative associator")
    classes.set(xlabel="class of the product of the triple", ylabel="relative associator")
    brackets.set(xlabel="balanced levels below the random ones", ylabel="answers (%)")
    brackets.set_ylim(-3, 103)  # so that markers at both ends are whole
    for axes in (level, classes):
        axes.set_ylim(bottom=-0.03 * axes.get_ylim()[1])
    for axes in (level, classes, brackets):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    titles = ("by level", "by class", "same answer under random brackets")
    for axes, title in zip((level, classes, brackets), titles, strict=True):
        axes.set_title(title, fontsize=10)
        axes.grid(alpha=0.3)
    handles, labels = level.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=7)
    return figure


def embeddings_figure(found: Mapping[str, Embeddings]) -> "Figure":
    """t-SNE of the states of each run, coloured by class; ARI and silhouette by clusters.

    The classes with the most words have colours of their own, the others are grey.
    """
    figure = new_figure(width=5 * len(found) + 5, height=5)
    panels = figure.subplot_mosaic(
        [[*found, "ari"], [*found, "silhouette"]],
        width_ratios=[5] * len(found) + [4],
    )
    for name, analysis in found.items():
        _draw_classes(panels[name], analysis)
        met = len(np.unique(analysis.classes))
        panels[name].set_title(
            f"{name}\n{len(analysis.states):,} words up to length {analysis.max_length}, "
            f"{met} of {analysis.monoid.size} classes",
            fontsize=9,
        )
        panels[name].set(xticks=[], yticks=[])
        for kind in ("ari", "silhouette"):
            values = [getattr(score, kind) for score in analysis.scores.values()]
            panels[kind].plot(list(analysis.scores), values, marker="o", ms=3, label=name)
            panels[kind].axvline(analysis.monoid.size, color="gray", lw=0.8, ls=":")
    panels["ari"].set(ylabel="adjusted Rand index")
    panels["silhouette"].set(xlabel="clusters of k-means", ylabel="silhouette")
    for kind in ("ari", "silhouette"):
        panels[kind].grid(alpha=0.3)
    panels["ari"].legend(fontsize=7, loc="lower center", bbox_to_anchor=(0.5, 1))
    return figure


def _draw_classes(axes: "Axes", analysis: Embeddings) -> None:
    """The states of one run, the rarer classes below the others."""
    x, y = analysis.plane.T
    counts = np.bincount(analysis.classes, minlength=analysis.monoid.size)
    frequent = np.argsort(-counts, kind="stable")[: min(len(COLORS), np.count_nonzero(counts))]
    is_other = ~np.isin(analysis.classes, frequent)
    dots: dict[str, Any] = {"s": 4, "linewidths": 0, "rasterized": True}
    if is_other.any():
        axes.scatter(x[is_other], y[is_other], color="0.8", label="other classes", **dots)
    for color, kind in zip(COLORS, frequent.tolist(), strict=False):
        word = analysis.monoid.machine.decode(analysis.monoid.representatives[kind])
        own = analysis.classes == kind
        axes.scatter(x[own], y[own], color=color, label=f"{kind}: {word or 'empty'}", **dots)
    axes.legend(
        fontsize=6, ncols=5, markerscale=3, loc="upper center", bbox_to_anchor=(0.5, -0.01),
        title="class: a shortest word", title_fontsize=6, handletextpad=0.2, columnspacing=1,
    )  # fmt: skip
