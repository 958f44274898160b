"""Figures, drawn from evaluations and monoids alone."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ldru.automata.monoid import Monoid
from ldru.config import Json
from ldru.errors import LdruError, MissingExtraError
from ldru.evaluation import Evaluation
from ldru.files import whole_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")
LARGEST_WRITTEN_MONOID = 20


def accuracy_figure(
    evaluations: Mapping[str, Evaluation], *, title: str, max_length: int | None = None
) -> "Figure":
    """Accuracy by length with 95 % intervals, one curve per name, and the majority share.

    max_length: the longest training word; longer ones are out of distribution.
    """
    figure = new_figure(width=8, height=4)
    axes = figure.subplots()
    for name, evaluation in evaluations.items():
        lengths = evaluation.lengths
        low, high = zip(*(r.interval() for r in evaluation.by_length.values()), strict=True)
        (line,) = axes.plot(lengths, _percent(evaluation.accuracy.values()), label=name, lw=1.5)
        axes.fill_between(lengths, _percent(low), _percent(high), color=line.get_color(), alpha=0.2)
    some = next(iter(evaluations.values()))
    shares = [result.majority_share for result in some.by_length.values()]
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


def monoid_figure(monoid: Monoid, *, title: str) -> "Figure":
    """The multiplication table as a heatmap: row times column; a small one in numbers and words."""
    figure = new_figure(width=6.6, height=5)
    axes = figure.subplots()
    image = axes.imshow(monoid.table, cmap="viridis", interpolation="nearest")
    figure.colorbar(image, ax=axes, label="class of the product")
    axes.set(xlabel="class of the right word", ylabel="class of the left word", title=title)
    if monoid.size <= LARGEST_WRITTEN_MONOID:
        places = list(range(monoid.size))
        words = [monoid.machine.decode(word) or "ε" for word in monoid.representatives]
        axes.set_xticks(places, map(str, places), fontsize=7)
        axes.set_yticks(places, [f"{word}  {i}" for i, word in enumerate(words)], fontsize=7)
        for row, column in np.ndindex(monoid.table.shape):
            product = int(monoid.table[row, column])
            color = "black" if product > 0.6 * monoid.size else "white"
            axes.text(column, row, str(product), ha="center", va="center", fontsize=6, color=color)
    return figure


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


BENCHMARK_FIGURES = {
    "fleet": fleet_figure,
    "scaling": scaling_figure,
    "models": models_figure,
    "text": data_figure,
    "listops": data_figure,
}


def _number(value: Json) -> float:
    assert isinstance(value, int | float)
    return float(value)


def save_figure(figure: "Figure", path: Path, *, note: str | None = None) -> None:
    """Write a figure; the file's ending says the format.

    note: kept in the file as its description (of a PNG).
    """
    import matplotlib

    check_figure_path(path)
    metadata: dict[str, str | None] = {"Date": None} if path.suffix == ".svg" else {}
    if note is not None:
        metadata["Description"] = note
    # The same figure gives the same bytes: no date, no random names.
    with whole_file(path) as temporary, matplotlib.rc_context({"svg.hashsalt": path.stem}):
        figure.savefig(temporary, format=path.suffix[1:], dpi=150, metadata=metadata)


def check_figure_path(path: Path) -> None:
    """Raise unless figures can be written under such a name."""
    if path.suffix[1:] not in FORMATS:
        raise LdruError(f"a figure is one of {', '.join(FORMATS)}, got the name {path.name!r}")


def new_figure(*, width: float, height: float) -> "Figure":
    """A figure of its own, without pyplot's global state."""
    try:
        from matplotlib.figure import Figure
    except ImportError as problem:
        raise MissingExtraError(package="matplotlib", extra="") from problem
    return Figure(figsize=(width, height), layout="constrained")


def _decorate(axes: "Axes", *, title: str) -> None:
    axes.set(xlabel="length of the word", ylabel="accuracy (%)", title=title, ylim=(-2, 103))
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right", fontsize=8)


def _percent(shares: Iterable[float]) -> np.ndarray:
    return 100 * np.fromiter(shares, dtype=float)
