"""The multiplication table of a monoid."""

from typing import TYPE_CHECKING

import numpy as np

from ldru.automata.monoid import Monoid
from ldru.drawing.style import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LARGEST_WRITTEN_MONOID = 20


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
