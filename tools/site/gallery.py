"""The gallery: a page for each language, from its machine, the records and the verdicts."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from ldru.drawing.style import new_figure, save_figure
from ldru.figures.monoid import monoid_figure
from ldru.figures.pictures import MOST_SYMBOLS, draw, tree_figure, word_symbols
from ldru.paper.tables import TABLES
from ldru.reproduce.render import cell_results, cell_text
from ldru.runs.results import Results
from ldru.tasks.regular_task import RegularTask
from tools.site.curves import curves_figure, curves_of
from tools.site.exhibit import Exhibit, exhibit
from tools.site.languages import FAMILIES, LANGUAGES, sentence
from tools.site.playground import view

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOLDER = "gallery"
LARGEST_SHOWN = 16
"""States of an extracted table that is shown in numbers."""

WORDS, LENGTH = 4, 12


def write_page(shown: Exhibit, folder: Path) -> None:
    """Write the page of a language and its pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = [
        f"# {shown.name}",
        sentence(shown.name),
        _links(shown),
        _machine(shown, folder),
        _facts(shown),
        _words(shown.task),
        _accuracy(shown, folder),
        _learned(shown, folder),
        _training(shown.name),
    ]
    (folder / f"{shown.name}.md").write_text("\n\n".join(filter(None, parts)) + "\n")


def _links(shown: Exhibit) -> str:
    views = {"Step through its machine": view("language", task=shown.name)}
    if shown.machine is not None:
        word = _a_word(shown.task)
        views["Watch the network"] = view("network", model=shown.name, word=word)
        views["Try it at any length"] = view("length", model=shown.name)
        views["Read the proof"] = view("proof", model=shown.name)
        if shown.machine.wrong is not None and len(shown.machine.wrong) <= MOST_SYMBOLS:
            wrong = shown.machine.wrong
            views["See it go wrong"] = view("network", model=shown.name, word=wrong)
    return " ".join(
        f'<a class="md-button" href="../{link}">{text}</a>' for text, link in views.items()
    )


def _machine(shown: Exhibit, folder: Path) -> str:
    least = shown.monoid.machine
    lines = ["## The machine"]
    if shown.is_drawn:
        save_figure(draw(least), folder / f"{shown.name}-machine.svg")
        lines.append(f"![The minimal machine of {shown.name}]({shown.name}-machine.svg)")
        lines.append(
            "Double circles accept."
            if least.num_classes == 2
            else "Colours are labels; a white state has none or label 0."
            if -1 in least.output
            else "Colours are labels."
        )
    else:
        lines.append(
            f"With {least.num_states} states and {least.num_symbols} symbols it is no picture any "
            f"more; `ldru draw {shown.name} --out machine.dot` writes it for Graphviz."
        )
    table = monoid_figure(shown.monoid, title="")
    save_figure(table, folder / f"{shown.name}-monoid.png")
    lines.append(
        f"Words that do the same to every state are one class. There are {shown.monoid.size:,} "
        "classes, and the class of a word follows from those of its halves. This is the table of "
        "all products, which a network that works in a tree has to learn:"
    )
    lines.append(f"![Products of classes of {shown.name}]({shown.name}-monoid.png)")
    return "\n\n".join(lines)


def _facts(shown: Exhibit) -> str:
    least, found = shown.monoid.machine, shown.monoid
    yes = {True: "yes", False: "no"}
    rows = {
        "alphabet": " ".join(f"`{symbol}`" for symbol in least.alphabet[:12])
        + (f" and {least.num_symbols - 12} more" if least.num_symbols > 12 else ""),
        "labels": str(shown.task.num_classes),
        "states of the minimal machine": f"{least.num_states:,}",
        "classes of words (monoid)": f"{found.size:,}",
        "every class can be undone (a group)": yes[found.is_group],
        "no groups in it (aperiodic, star-free)": yes[found.is_aperiodic],
        "all groups in it are solvable": yes[found.is_solvable],
        "circuits": found.complexity,
    }
    lines = [f"| {name} | {value} |" for name, value in rows.items()]
    return "\n".join(["## Facts", "", "| property | |", "| --- | --- |", *lines])


def _drawn(task: RegularTask, *, words: int, length: int) -> list[tuple[str, int]]:
    """Words of the task's own distribution with their labels, of every label at most so many."""
    generator = torch.Generator().manual_seed(0)
    batch = task.sample(batch_size=256, length=length, split="test", generator=generator)
    found: dict[int, list[str]] = {}
    for tokens, label in zip(batch.tokens.tolist(), batch.labels.tolist(), strict=True):
        text = " ".join(word_symbols(task.machine, tokens))
        text = text if max(map(len, task.machine.alphabet)) > 1 else text.replace(" ", "")
        if text not in found.setdefault(label, []) and len(found[label]) < words:
            found[label].append(text)
    return [(text, label) for label in sorted(found) for text in found[label]]


def _a_word(task: RegularTask) -> str:
    """A word to begin with: of the last label that is drawn."""
    return _drawn(task, words=1, length=LENGTH)[-1][0]


def _words(task: RegularTask) -> str:
    count = WORDS if task.num_classes <= 5 else 1
    shown = _drawn(task, words=count, length=LENGTH if len(task.machine.alphabet) < 20 else 6)[:16]
    rows = [f"| `{text}` | {label} |" for text, label in shown]
    intro = "Drawn as they are for testing, a few of each label:"
    return "\n".join(["## Words", "", intro, "", "| word | label |", "| --- | ---: |", *rows])


def _accuracy(shown: Exhibit, folder: Path) -> str:
    curves = curves_of(shown.name, shown.results)
    if not curves:
        return (
            "## Accuracy\n\nNo records of this language are kept here yet. "
            f"`ldru reproduce run state_tracking --tasks {shown.name}` makes some."
            if shown.name in TABLES["state_tracking"].tasks
            else ""
        )
    save_figure(curves_figure(curves), folder / f"{shown.name}-length.svg")
    lines = [
        "## Accuracy by length",
        f"![Accuracy by length on {shown.name}]({shown.name}-length.svg)",
        "Means over seeds and over ten neighbouring lengths, 512 words of each length. Models "
        "without a number of steps have those of the table below.",
    ]
    table = TABLES["recipes"].restricted(tasks=[shown.name])
    rows = []
    for (_, label), cell in cell_results(table, shown.results).items():
        seeds = ", ".join(f"{seed:.2f}" for seed in cell.seeds.values())
        rows.append(f"| {label} | {cell_text(cell)} | {seeds} |")
    head = ["| recipe | lengths 41 to 500 (the paper's) | by seed |", "| --- | --- | --- |"]
    return "\n\n".join(lines) + "\n\n" + "\n".join([*head, *rows])


def _learned(shown: Exhibit, folder: Path) -> str:
    found = shown.machine
    if found is None:
        return ""
    lines = ["## What the network learned"]
    rows = [
        f"| {seed} | {'none' if r.states is None else r.states} | {r.summary} |"
        for seed, r in shown.verdicts.items()
    ]
    lines.append(
        "[Exact machines](../extraction.md) of the networks by our recipe, and the verdict on "
        "words of every length:\n\n"
        + "\n".join(["| seed | states | verdict |", "| ---: | ---: | --- |", *rows])
    )
    if found.states is not None:
        lines.append(
            f"The shipped model, rounded to half precision, gives {found.states} states: "
            f"{found.summary}."
        )
    algebra = found.algebra
    if algebra is not None:
        word = (found.wrong or _a_word(shown.task))[:MOST_SYMBOLS]
        tokens = shown.task.machine.encode(word)
        levels = [level.tolist() for level in algebra.levels(tokens)]
        names = {state: f"state {state}" for state in range(algebra.num_states + 1)}
        tree = tree_figure(word_symbols(shown.task.machine, tokens.tolist()), levels, names=names)
        save_figure(tree, folder / f"{shown.name}-tree.svg")
        about = "a word that it answers wrongly" if found.wrong else "a word"
        lines.append(f"Its tree over {about}, each node with its state:")
        lines.append(f"![The extracted tree over {word}]({shown.name}-tree.svg)")
        if algebra.num_states <= LARGEST_SHOWN:
            save_figure(_table_figure(algebra.pair), folder / f"{shown.name}-pairs.svg")
            lines.append(
                "The table it has made of its operator: the state of two neighbours, the left one "
                "by row, the right one by column. Empty places are met by no word."
            )
            lines.append(f"![The extracted table]({shown.name}-pairs.svg)")
    if shown.certificate is not None:
        row = shown.certificate
        lines.append(
            '!!! success "Certified"\n\n'
            f"    After {row['steps']:,} steps of consolidation there is a "
            "[proof](../explanation/proofs.md) for the network itself, rounding included: every "
            f"node of every word lies within {row['radius']:g} of one of {row['points']} points, "
            f"and the right label leads by {row['lead']:.1f} at least. `ldru certify "
            f"{shown.name}` makes the certificate again."
        )
    return "\n\n".join(lines)


def _table_figure(table: np.ndarray) -> "Figure":
    """A table of states in numbers; what is never met stays empty."""
    figure = new_figure(width=0.4 * len(table) + 0.9, height=0.4 * len(table) + 0.7)
    axes = figure.subplots()
    shown = np.ma.masked_less(table, 0)
    axes.imshow(shown, cmap="viridis", alpha=0.75, interpolation="nearest")
    for row, column in np.ndindex(table.shape):
        if table[row, column] >= 0:
            axes.text(column, row, str(table[row, column]), ha="center", va="center", fontsize=8)
    axes.set_xticks(range(len(table)))
    axes.set_yticks(range(len(table)))
    axes.tick_params(length=0, labelsize=8)
    axes.set(xlabel="right", ylabel="left")
    return figure


def _training(name: str) -> str:
    return f"""## Train it

```sh
# our recipe, on a GPU:
ldru train {name}
# a small network, on a CPU, and its exact machine:
ldru train {name} --dim 24 --batch-size 64 --steps 4000 --out runs/{name}
ldru extract runs/{name}/*
```

```python
import ldru

run = ldru.train("{name}", dim=24, batch_size=64, steps=4_000)[0]
print(run.evaluate([40, 100, 500]))
print(run.exact().summary)
```"""


def index_page(shown: dict[str, Exhibit]) -> str:
    """The languages by family, each with a small picture."""
    lines = [
        "# Gallery",
        f"{len(shown)} languages, with all that is known of each: its machine, its algebra, how "
        "well models learn it, what they made of it, and how to train your own. Names lead to "
        "pages, and from there into the playground.",
    ]
    for family, names in FAMILIES.items():
        cards = "\n".join(_card(shown[name]) for name in names if name in shown)
        lines += [f"## {family}", f'<div class="gallery">\n{cards}\n</div>']
    return "\n\n".join(lines) + "\n"


def _card(shown: Exhibit) -> str:
    sizes = f"{shown.monoid.machine.num_states} states, {shown.monoid.size:,} classes"
    return (
        f'<a class="card" href="{shown.name}.html"><img src="{shown.picture}" alt="" '
        f'loading="lazy"><b>{shown.name}</b><span>{sizes}</span>'
        f'<span class="badge {shown.badge.split()[0]}">{shown.badge}</span></a>'
    )


def write_gallery(folder: Path, results: Results) -> list[str]:
    """Write all pages; gives their names."""
    shown = {name: exhibit(name, results) for name in LANGUAGES}
    for found in shown.values():
        write_page(found, folder)
    (folder / "index.md").write_text(index_page(shown))
    return list(shown)
