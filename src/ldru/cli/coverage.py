"""`ldru coverage`."""

import json
from dataclasses import dataclass, field
from pathlib import Path

from tyro.conf import OmitArgPrefixes

from ldru.cli.arguments import Language
from ldru.cli.printing import print_rows


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """Show which compositions of classes training shows, how often, and which longer words need.

    Args:
        lengths: longest training words, e.g. 40 60.
        test: the longest test word.
        results: a results folder; accuracies there are shown beside.
        limit: the largest monoid to compute.
        plot: where to draw it; several names are several files.
        json: print JSON.
    """

    language: OmitArgPrefixes[Language] = field(default_factory=Language)
    lengths: tuple[int, ...] = (40,)
    test: int = 500
    results: Path = Path("results")
    limit: int = 10_000
    plot: tuple[Path, ...] = ()
    json: bool = False

    def __call__(self) -> None:
        from ldru.analysis.coverage import coverage, coverage_rows, wanted_rows
        from ldru.drawing.style import check_figure_path, save_figures
        from ldru.figures.analysis import coverage_figure
        from ldru.models.settings import LDRUSpec
        from ldru.paper.settings import completed
        from ldru.reproduce.known_accuracy import known_accuracy
        from ldru.runs.results import Results

        task = self.language.find()
        for path in self.plot:
            check_figure_path(path)
        _, training = completed(task, LDRUSpec(), None)
        assert training.steps is not None
        found = coverage(
            task,
            self.lengths,
            steps=training.steps,
            batch_size=training.batch_size,
            test_length=self.test,
            limit=self.limit,
        )
        if self.plot:
            save_figures(coverage_figure(found), self.plot)
        results, some = Results(self.results), found[self.lengths[0]]
        rows = [
            {**row, **known_accuracy(task.name, length, results)}
            for length, row in zip(found, coverage_rows(found), strict=True)
        ]
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
            "without such ones, in percent;\npaper, its_settings, our_recipe: accuracy of the LDRU "
            "on longer words, in percent"
        )
        shown = [{k: f"{v:.2f}" if isinstance(v, float) else v for k, v in r.items()} for r in rows]
        print_rows(shown, as_json=False, note=note)


def command(arguments: list[str]) -> type[Coverage]:
    return Coverage
