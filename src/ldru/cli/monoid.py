"""`ldru monoid`."""

import json
from dataclasses import dataclass, field
from pathlib import Path

from tyro.conf import OmitArgPrefixes

from ldru.cli.arguments import Language
from ldru.cli.printing import print_rows

LARGEST_PRINTED_MONOID = 30


@dataclass(frozen=True, kw_only=True)
class MonoidOf:
    """Show the syntactic monoid of a language: its classes and its multiplication table.

    Args:
        limit: the largest monoid to compute.
        plot: where to draw the table; several names are several files.
        json: print JSON.
    """

    language: OmitArgPrefixes[Language] = field(default_factory=Language)
    limit: int = 10_000
    plot: tuple[Path, ...] = ()
    json: bool = False

    def __call__(self) -> None:
        from ldru.automata.monoid import monoid as monoid_of
        from ldru.drawing.style import check_figure_path, save_figures
        from ldru.figures.monoid import monoid_figure

        task = self.language.find()
        for path in self.plot:
            check_figure_path(path)
        machine = task.machine.minimal()
        monoid = monoid_of(machine, limit=self.limit)
        classes = monoid.rows()
        if self.plot:
            title = f"{task.name}: {monoid.size} classes"
            save_figures(monoid_figure(monoid, title=title), self.plot)
        if self.json:
            data = {"task": task.name, "size": monoid.size, "classes": classes}
            print(json.dumps({**data, "table": monoid.table.tolist()}))
            return
        print(f"{task.name}: {monoid.size} classes, {machine.num_states} states")
        shown = classes[:LARGEST_PRINTED_MONOID]
        print_rows(shown, as_json=False)
        if monoid.size > len(shown):
            print(f"... and {monoid.size - len(shown)} more; --json prints all, --plot draws them")
            return
        width = len(str(monoid.size - 1))
        print("class of (row word)(column word):")
        for row in monoid.table:
            print(" ".join(f"{int(product):{width}}" for product in row))


def command(arguments: list[str]) -> type[MonoidOf]:
    return MonoidOf
