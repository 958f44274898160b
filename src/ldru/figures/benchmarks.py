"""Timings."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ldru.base.json import Json
from ldru.drawing.style import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def fleet_figure(rows: Sequence[Mapping[str, Json]]) -> "Figure":
    """Milliseconds of a training step by the members of the fleet."""
    figure = new_figure(width=8, height=4)
    axes = figure.subplots()
    curves: dict[str, dict[float, float]] = {}
    for row in rows:
        for kind in ("fused", "plain"):
            if f"{kind}_ms" in row:
                curve = curves.setdefault(f"{kind}, length {row['lengths']}", {})
                curve[_number(row["members"])] = _number(row[f"{kind}_ms"])
    for label, curve in curves.items():
        axes.plot(list(curve), list(curve.values()), marker="o", ms=3, lw=1, label=label)
    axes.set(xscale="log", yscale="log", xlabel="members of the fleet", ylabel="milliseconds")
    axes.set_title("one training step")
    axes.grid(alpha=0.3, which="both")
    axes.legend(fontsize=7, ncols=2)
    return figure


def scaling_figure(rows: Sequence[Mapping[str, Json]]) -> "Figure":
    """Time and peak memory by the length of words, a column for each size."""
    sizes = list(dict.fromkeys(str(row["size"]) for row in rows))
    models = list(dict.fromkeys(str(row["model"]) for row in rows))
    figure = new_figure(width=4 * len(sizes) + 1, height=6)
    grid = figure.subplots(2, len(sizes), squeeze=False, sharex=True, sharey="row")
    for column, size in enumerate(sizes):
        for axes, field in ((grid[0, column], "ms"), (grid[1, column], "peak_mib")):
            for model in models:
                curve = {
                    _number(row["length"]): _number(row[field])
                    for row in rows
                    if (row["size"], row["model"]) == (size, model)
                }
                axes.plot(list(curve), list(curve.values()), marker="o", ms=3, lw=1, label=model)
            axes.set(xscale="log")
            axes.grid(alpha=0.3)
        grid[0, column].set_title(size)
        grid[1, column].set_xlabel("length of the words")
    grid[0, 0].set(ylabel="milliseconds", yscale="log")
    is_measured = any(_number(row["peak_mib"]) for row in rows)  # on a CPU it is not
    grid[1, 0].set(ylabel="peak memory, MiB", yscale="log" if is_measured else "linear")
    grid[0, 0].legend(fontsize=7)
    return figure


def models_figure(rows: Sequence[Mapping[str, Json]]) -> "Figure":
    """A training step and a test word of every model, in multiples of the LDRU's."""
    figure = new_figure(width=9, height=4)
    labels = {"step_ratio": "training step, length 40", "word_ratio": "test word, length 500"}
    panels = figure.subplots(1, 2, sharey=True)
    for axes, (field, title) in zip(panels, labels.items(), strict=True):
        axes.barh([str(row["model"]) for row in rows], [_number(row[field]) for row in rows])
        axes.axvline(1, color="black", lw=0.8)
        axes.set(xscale="log", title=title, xlabel="time over the LDRU's")
        axes.grid(alpha=0.3, axis="x")
    panels[0].invert_yaxis()
    return figure


def data_figure(rows: Sequence[Mapping[str, Json]]) -> "Figure":
    """How many times faster a training step on a data set is than a plain loop, per model."""
    figure = new_figure(width=7, height=4)
    axes = figure.subplots()
    names = [
        f"{r['members']} x batch {r['batch_size']}, length {r['length']}, λ = {r['associativity']}"
        for r in rows
    ]
    axes.barh(names, [_number(row["ratio"]) for row in rows])
    axes.axvline(1, color="black", lw=0.8)
    axes.set(xlabel="plain PyTorch's time over ours, per model")
    axes.grid(alpha=0.3, axis="x")
    axes.invert_yaxis()
    return figure


def scan_figure(rows: Sequence[Mapping[str, Json]]) -> "Figure":
    """Milliseconds of answers at every position, of a streamed vector and of an edit."""
    figure = new_figure(width=8, height=4)
    axes = figure.subplots()
    names = [f"{row['what']} (length {_number(row['length']):,.0f})" for row in rows]
    axes.barh(names, [_number(row["ms"]) for row in rows])
    axes.set(xscale="log", xlabel="milliseconds")
    axes.grid(alpha=0.3, axis="x")
    axes.invert_yaxis()
    return figure


BENCHMARK_FIGURES = {
    "scan": scan_figure,
    "fleet": fleet_figure,
    "scaling": scaling_figure,
    "models": models_figure,
    "text": data_figure,
    "listops": data_figure,
}


def _number(value: Json) -> float:
    assert isinstance(value, int | float)
    return float(value)
