"""`ldru heatmaps`."""

import json
from dataclasses import dataclass, field
from pathlib import Path

from tyro.conf import OmitArgPrefixes

from ldru.base.errors import LdruError
from ldru.cli.arguments import Language
from ldru.cli.printing import print_rows
from ldru.evaluation.lengths import parse_lengths


@dataclass(frozen=True, kw_only=True)
class Heatmaps:
    """Count which compositions of classes the words of a language need, by ranges of lengths.

    Args:
        ranges: of lengths, e.g. 10:40:2 480:500:2.
        label: of the words.
        limit: the largest monoid to compute.
        plot: where to draw them; several names are several files.
        json: print JSON.
    """

    language: OmitArgPrefixes[Language] = field(default_factory=Language)
    ranges: tuple[str, ...] = ()
    label: int = 1
    limit: int = 10_000
    plot: tuple[Path, ...] = ()
    json: bool = False

    def __call__(self) -> None:
        if not self.ranges:
            raise LdruError("give --ranges of lengths, e.g. 10:40:2 480:500:2")
        from ldru.analysis.heatmaps import heatmaps
        from ldru.drawing.style import check_figure_path, save_figures
        from ldru.figures.analysis import heatmaps_figure

        task = self.language.find()
        for path in self.plot:
            check_figure_path(path)
        ranges = {text: parse_lengths(text) for text in self.ranges}
        found = heatmaps(task, ranges, label=self.label, limit=self.limit)
        if self.plot:
            save_figures(heatmaps_figure(found), self.plot)
        if self.json:
            data = {"task": task.name, "label": self.label, "classes": found.classes.tolist()}
            counts = {name: counts.tolist() for name, counts in found.counts.items()}
            print(json.dumps({**data, "counts": counts}))
            return
        print(f"{task.name}: {len(found.classes)} of {found.monoid.size} classes")
        rows = [
            {"lengths": name, "compositions": int(c.sum()), "kinds": int((c > 0).sum())}
            for name, c in found.counts.items()
        ]
        print_rows(rows, as_json=False, note="compositions of two single symbols are not counted")


def command(arguments: list[str]) -> type[Heatmaps]:
    return Heatmaps
