"""`ldru monoid`."""

import json
from dataclasses import dataclass, field
from pathlib import Path

from tyro.conf import OmitArgPrefixes

import ldru
from ldru.cli.arguments import Language
from ldru.cli.printing import print_rows, save_figures
from ldru.errors import LdruError
from ldru.evaluation import parse_lengths
from ldru.experiments.analysis_figures import coverage_figure, heatmaps_figure
from ldru.experiments.figures import check_figure_path, monoid_figure
from ldru.experiments.heatmaps import heatmaps
from ldru.experiments.results import Results
from ldru.experiments.task_coverage import coverage, coverage_rows, wanted_rows
from ldru.tasks import Task

LARGEST_PRINTED_MONOID = 30


@dataclass(frozen=True, kw_only=True)
class MonoidOf:
    """Show the syntactic monoid of a language: its classes and table, or how words compose them.

    Args:
        limit: the largest monoid to compute.
        coverage: longest training words, e.g. 40 60: which compositions training shows, how often,
            and which ones longer words need.
        test: the longest test word of --coverage.
        results: a results folder; accuracies there are shown beside --coverage.
        heatmap: ranges of lengths, e.g. 10:40:2 480:500:2: which compositions their words need.
        label: of the words of --heatmap.
        plot: where to draw it; several names are several files.
        json: print JSON.
    """

    language: OmitArgPrefixes[Language] = field(default_factory=Language)
    limit: int = 10_000
    coverage: tuple[int, ...] = ()
    test: int = 500
    results: Path = Path("results")
    heatmap: tuple[str, ...] = ()
    label: int = 1
    plot: tuple[Path, ...] = ()
    json: bool = False

    def __call__(self) -> None:
        task = self.language.find()
        for path in self.plot:
            check_figure_path(path)
        if self.coverage and self.heatmap:
            raise LdruError("--coverage and --heatmap are two questions: ask one at a time")
        if self.coverage:
            self._show_coverage(task)
        elif self.heatmap:
            self._show_heatmaps(task)
        else:
            self._show_table(task)

    def _show_table(self, task: Task) -> None:
        machine = task.machine.minimal()
        monoid = ldru.monoid(machine, limit=self.limit)
        classes = [
            {
                "class": index,
                "word": machine.decode(word) or "(empty)",
                "label": int(label) if label >= 0 else None,
                "states": " ".join(map(str, element)),
            }
            for index, (word, label, element) in enumerate(
                zip(monoid.representatives, monoid.output, monoid.elements.tolist(), strict=True)
            )
        ]
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

    def _show_coverage(self, task: Task) -> None:
        found = coverage(task, self.coverage, test_length=self.test, limit=self.limit)
        if self.plot:
            save_figures(coverage_figure(found), self.plot)
        rows, some = coverage_rows(found, Results(self.results)), found[self.coverage[0]]
        if self.json:
            data = {
                "task": task.name,
                "classes": some.monoid.size,
                "test_length": self.test,
                "training_words": some.training_words,
                "needed": int(some.needed.sum()),
                "shortest_length": some.shortest_length,
                "by_training_length": rows,
                "most_wanted": wanted_rows(some),
            }
            print(json.dumps(data, indent=1))
            return
        print(
            f"{task.name}: words up to length {self.test} need {int(some.needed.sum()):,} "
            f"compositions of {some.monoid.size} classes.\nThe shortest training length that shows "
            f"them all: {some.shortest_length or f'above {self.test}'}"
        )
        note = (
            "missing: no training word needs them; rare_N: met less than N times in the "
            f"{some.training_words:,}\nwords of the training, expected; familiar_N: test words "
            "without such ones, in percent;\npaper, ours: accuracy of the LDRU on longer words, "
            "in percent"
        )
        shown = [{k: f"{v:.2f}" if isinstance(v, float) else v for k, v in r.items()} for r in rows]
        print_rows(shown, as_json=False, note=note)

    def _show_heatmaps(self, task: Task) -> None:
        ranges = {text: parse_lengths(text) for text in self.heatmap}
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
