"""Pictures of machines, and of a word's tree with the class or state of every node."""

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ldru.analysis.extraction import Extraction
from ldru.automata.convert import as_machine
from ldru.automata.layout import ACROSS, DOWN, Point, layers
from ldru.automata.machine import UNLABELLED, MooreMachine
from ldru.automata.monoid import monoid as monoid_of
from ldru.base.errors import LdruError
from ldru.drawing.style import COLORS, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_STATES = 60
MOST_SYMBOLS = 64
RADIUS = 0.25
QUIET = "0.92"
"""The grey of what belongs to no class of its own."""


def draw(language: object, word: str | None = None, *, title: str = "") -> "Figure":
    """A picture of a machine or, with a word, of the tree that reduces it.

    language: what `ldru.as_machine` takes, or an extraction. Double circles accept; of a machine
        with more labels, each has a colour.
    word: nodes show the class of their part of the word in the machine's monoid; of an extraction,
        the state of the extracted tables.

    >>> figure = ldru.draw("dyck_3")
    >>> figure = ldru.draw("dyck_3", word="001011")
    >>> figure.savefig("tree.svg")
    """
    if word is None:
        return machine_figure(as_machine(language).minimal(), title=title)
    if isinstance(language, Extraction):
        return _extraction_tree(language, word, title=title)
    monoid = monoid_of(as_machine(language).minimal())
    tokens = _checked(monoid.machine, word)
    kinds = [monoid.classify(np.array(part)) for part in _parts(tokens)]
    words = [monoid.machine.decode(part) or "empty word" for part in monoid.representatives]
    return tree_figure(
        word_symbols(monoid.machine, tokens),
        _by_level(len(tokens), [int(kind) for kind in kinds]),
        names={kind: f"class {kind}, as {words[kind]}" for kind in range(monoid.size)},
        title=title,
    )


def machine_figure(machine: MooreMachine, *, title: str = "") -> "Figure":
    """States in layers by their distance from the start, with an arrow for each pair of states."""
    if machine.num_states > MOST_STATES:
        raise LdruError(
            f"a machine of {machine.num_states} states is too large a picture, up to {MOST_STATES} "
            "are drawn; to_dot gives the text for Graphviz"
        )
    places = layers(machine)
    across, down = (max(place[axis] for place in places) for axis in (0, 1))
    figure = new_figure(width=2 + across, height=1.9 + down)
    axes = figure.subplots()
    for (source, target), symbols in sorted(_arrows(machine).items()):
        if source != target:
            _draw_arrow(axes, source, target, symbols, places)
        else:
            _draw_loop(axes, places[source], symbols, is_above=places[source][1] >= down / 2)
    for state, place in enumerate(places):
        _draw_state(axes, place, state, machine)
    x, y = places[machine.start]
    begin = {"arrowstyle": "-|>", "color": "black"}
    axes.annotate("", (x - RADIUS, y), (x - 2.6 * RADIUS, y), arrowprops=begin)
    axes.set(xlim=(-0.9, across + 0.6), ylim=(-0.9, down + 0.9), aspect="equal")
    axes.axis("off")
    if title:
        axes.set_title(title, fontsize=10)
    if machine.num_classes > 2:
        _name_labels(figure, machine)
    return figure


def _arrows(machine: MooreMachine) -> dict[tuple[int, int], str]:
    """The symbols that lead from a state to another, as text."""
    found: dict[tuple[int, int], list[str]] = {}
    for state, row in enumerate(machine.delta.tolist()):
        for symbol, target in zip(machine.alphabet, row, strict=True):
            found.setdefault((state, target), []).append(symbol)
    return {pair: ", ".join(symbols) for pair, symbols in found.items()}


def _draw_state(axes: "Axes", place: Point, state: int, machine: MooreMachine) -> None:
    from matplotlib.patches import Circle

    label = int(machine.output[state])
    is_many = machine.num_classes > 2
    color = COLORS[label % len(COLORS)] if is_many and label != UNLABELLED else "white"
    axes.add_patch(Circle(place, RADIUS, fc=color, ec="black", lw=1, alpha=1, zorder=3))
    if not is_many and label == 1:
        axes.add_patch(Circle(place, 0.8 * RADIUS, fc="none", ec="black", lw=1, zorder=4))
    light = not is_many or label == UNLABELLED
    axes.text(
        *place, str(state), ha="center", va="center", fontsize=9, zorder=5,
        color="black" if light else "white",
    )  # fmt: skip


def _draw_arrow(
    axes: "Axes", source: int, target: int, symbols: str, places: Sequence[Point]
) -> None:
    """A bow to the right of its way, so that two states have room for both directions.

    A long one goes to the side where it is farther from other states.
    """
    from matplotlib.patches import FancyArrowPatch

    begin, end = np.array(places[source]), np.array(places[target])
    way = end - begin
    right = np.array([way[1], -way[0]])
    bow = 0.18
    if abs(way[0]) > 1.5 * ACROSS or abs(way[1]) > 1.5 * DOWN:
        others = np.array([p for n, p in enumerate(places) if n not in (source, target)])

        def room(bow: float) -> float:
            """How far the bow keeps from other states, at its quarters and its middle."""
            line = [begin + t * way + 2 * t * (1 - t) * bow * right for t in (0.25, 0.5, 0.75)]
            return min(float(np.hypot(*(others - point).T).min()) for point in line)

        bow = 1.4 / float(np.hypot(*way))  # half of that is its height
        bow = max((bow, -bow), key=room)
    arrow = FancyArrowPatch(
        places[source], places[target], connectionstyle=f"arc3,rad={bow}", arrowstyle="-|>",
        mutation_scale=9, lw=0.8, fc="black", shrinkA=17, shrinkB=17,
    )  # fmt: skip
    axes.add_patch(arrow)
    x, y = begin + way / 2 + bow / 2 * right
    axes.text(x, y, symbols, **_LABEL, zorder=2)


def _draw_loop(axes: "Axes", place: Point, symbols: str, *, is_above: bool) -> None:
    from matplotlib.patches import FancyArrowPatch

    x, y = place
    side = 1 if is_above else -1
    edge = y + side * (RADIUS - 0.03)
    loop = FancyArrowPatch(
        (x - 0.1, edge), (x + 0.1, edge), connectionstyle=f"arc3,rad={-1.9 * side}",
        arrowstyle="-|>", mutation_scale=9, lw=0.8, fc="black",
    )  # fmt: skip
    axes.add_patch(loop)
    axes.text(x, y + side * (RADIUS + 0.27), symbols, **_LABEL)


_LABEL: dict[str, Any] = {
    "ha": "center",
    "va": "center",
    "fontsize": 8,
    "bbox": {"facecolor": "white", "edgecolor": "none", "pad": 0.8},
}


def _name_labels(figure: "Figure", machine: MooreMachine) -> None:
    from matplotlib.lines import Line2D

    labels = sorted(set(machine.output.tolist()) - {UNLABELLED})
    handles = [
        Line2D([], [], marker="o", ls="", ms=8, mfc=COLORS[n % len(COLORS)], mec="black")
        for n in labels
    ]
    figure.legend(
        handles, [f"label {n}" for n in labels], loc="outside lower center", ncols=6, fontsize=8
    )


def tree_figure(
    symbols: Sequence[str],
    levels: Sequence[Sequence[int]],
    *,
    names: dict[int, str],
    title: str = "",
) -> "Figure":
    """The balanced tree over a word, the nodes of every level coloured by kind.

    symbols: of the word; levels: the kinds of nodes, leaves first; names: of the kinds.
    """
    from matplotlib.lines import Line2D

    figure = new_figure(width=max(4, 0.42 * len(symbols) + 1), height=1.6 + 0.75 * len(levels))
    axes = figure.subplots()
    shown = sorted({kind for level in levels for kind in level})
    color = dict(zip(shown, [*COLORS, *[QUIET] * len(shown)], strict=False))
    places = [float(n) for n in range(len(symbols))]
    for place, symbol in zip(places, symbols, strict=True):
        axes.text(place, -0.55, symbol, ha="center", va="center", fontsize=9, family="monospace")
    for height, level in enumerate(levels):
        if height:
            pairs = [places[n : n + 2] for n in range(0, len(places), 2)]
            middles = [sum(pair) / len(pair) for pair in pairs]
            for middle, pair in zip(middles, pairs, strict=True):
                for below in pair:
                    axes.plot([below, middle], [height - 1, height], color="0.6", lw=0.8, zorder=1)
            places = middles
        for place, kind in zip(places, level, strict=True):
            axes.plot(place, height, "o", ms=13, mfc=color[kind], mec="black", mew=0.6, zorder=2)
            dark = color[kind] in ("black", "navy")
            axes.text(
                place, height, str(kind), ha="center", va="center", fontsize=6.5, zorder=3,
                color="white" if dark else "black",
            )  # fmt: skip
    axes.set(xlim=(-0.8, len(symbols) - 0.2), ylim=(-0.9, len(levels) - 0.4))
    axes.axis("off")
    if title:
        axes.set_title(title, fontsize=10)
    handles = [Line2D([], [], marker="o", ls="", ms=7, mfc=color[k], mec="black") for k in shown]
    figure.legend(
        handles[:24], [names[kind] for kind in shown][:24],
        loc="outside lower center", ncols=3, fontsize=7,
    )  # fmt: skip
    return figure


def _extraction_tree(found: Extraction, word: str, *, title: str) -> "Figure":
    machine = found.monoid.machine
    tokens = _checked(machine, word)
    levels = [level.tolist() for level in found.algebra.levels(np.array(tokens))]
    classes = found.classes
    names = {
        state: f"state {state} (class {', '.join(map(str, classes.get(state, ()))) or 'none'})"
        for state in range(found.algebra.num_states + 1)
    }
    return tree_figure(word_symbols(machine, tokens), levels, names=names, title=title)


def _checked(machine: MooreMachine, word: str) -> list[int]:
    tokens = machine.encode(word).tolist()
    if not 1 <= len(tokens) <= MOST_SYMBOLS:
        raise LdruError(f"a tree is drawn over 1 to {MOST_SYMBOLS} symbols, got {len(tokens)}")
    return tokens


def word_symbols(machine: MooreMachine, tokens: Sequence[int]) -> list[str]:
    """The symbols of a word."""
    return [machine.alphabet[token] for token in tokens]


def _parts(tokens: Sequence[int]) -> list[list[int]]:
    """The part of the word under every node, leaves first, level by level."""
    level = [[token] for token in tokens]
    found = list(level)
    while len(level) > 1:
        level = [list(itertools.chain(*level[n : n + 2])) for n in range(0, len(level), 2)]
        found += level
    return found


def _by_level(count: int, kinds: Sequence[int]) -> list[list[int]]:
    """Kinds of all nodes, leaves first, cut into levels."""
    levels, begin = [], 0
    while True:
        levels.append(list(kinds[begin : begin + count]))
        begin += count
        if count == 1:
            return levels
        count = (count + 1) // 2
