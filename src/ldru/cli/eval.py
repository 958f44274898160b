"""`ldru eval`, and how evaluations are shown."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tyro.conf import Positional

from ldru.base.errors import LdruError
from ldru.base.json import Json, digest
from ldru.base.labels import Labels
from ldru.cli.arguments import check_not_drawn, drawn_words, open_run
from ldru.cli.printing import in_percent, print_rows
from ldru.runs.shipped import find_run

if TYPE_CHECKING:
    from ldru.evaluation.accuracy import Evaluation
    from ldru.runs.run import Run
    from ldru.tasks.regular_task import RegularTask
    from ldru.tasks.task import Part

LENGTHS = "41:500"
TEST_LENGTHS = "50,100,200,500"
LARGEST_PRINTED_CLASSES = 10
LONGEST_NAME = 60


@dataclass(frozen=True, kw_only=True)
class Eval:
    """Evaluate a run by length, with a plot, or on the test sets of its data set.

    Several runs are set side by side, in one table and one plot.

    Args:
        runs: run folders, or names of shipped models such as parity_check.
        lengths: e.g. 41:500 (the default), 10:100:5 or 40,80,160.
        sets: names of test sets, e.g. '3,9 41-60' or validation; by default all tests.
        words: test words per length, by default 512.
        seed: another seed draws other words.
        plot: where to draw the curve; by default in the run folder (several runs, or shipped:
            here).
        test: kinds of test words: paper (its distribution), uniform, edits, border, factors,
            adversarial, or all; one row for each, by default at lengths 50, 100, 200 and 500.
        labels: "prefixes" counts the answers at every position; that is printed and not kept.
        device: cpu or cuda; by default a GPU where there is one.
        json: print JSON.
    """

    runs: Positional[tuple[Path, ...]]
    lengths: str | None = None
    sets: tuple[str, ...] = ()
    words: int | None = None
    seed: int = 0
    plot: Path | None = None
    test: str | None = None
    labels: Labels = "words"
    device: str | None = None
    json: bool = False

    def __call__(self) -> None:
        if not self.runs:
            raise LdruError("name a run: its folder, or a shipped model such as parity_check")
        for path in self.runs:
            find_run(path)  # says so at once where there is none
        if self.test is not None:
            self._show_tests(self.test)
            return
        from ldru.drawing.style import check_figure_path
        from ldru.runs.evaluate import evaluate_and_keep, evaluate_prefixes
        from ldru.runs.spec import check_seed

        drawn = drawn_words(self.lengths, self.words, usual=LENGTHS)
        seed = check_seed(self.seed)
        about = "accuracy" if self.labels == "words" else "prefixes"
        name = f"{about}-{_spelled(self.lengths or LENGTHS, drawn.lengths)}.png"
        check_figure_path(self.plot or Path(name))
        runs = [open_run(path, device=self.device) for path in self.runs]
        parts = self._parts(runs, drawn.lengths)
        if self.labels == "words":
            evaluations = evaluate_and_keep(runs, parts, words=drawn.words, seed=seed)
        else:
            evaluations = evaluate_prefixes(runs, parts, words=drawn.words, seed=seed)
        if len(runs) > 1:
            self._compare(runs, evaluations, plot=self.plot or Path(f"compared-{name}"))
            return
        (run,), (evaluation,) = runs, evaluations
        plot = self.plot or (run.folder / name if run.folder else Path(f"{run.task.name}-{name}"))
        result = show_evaluation(run, evaluation, as_json=self.json)
        if self.json:
            print(json.dumps(result))
        draw(run, evaluation, plot, as_json=self.json)

    def _show_tests(self, name: str) -> None:
        """Print a row for each kind of test words and each run."""
        from ldru.base.progress import counting
        from ldru.runs.hard_tests import check_test, hard_tests, rows_of_tests
        from ldru.runs.spec import check_seed

        if self.sets or self.plot is not None or self.labels != "words":
            raise LdruError("--test goes with neither --sets nor --plot nor --labels")
        tests, seed = check_test(name), check_seed(self.seed)
        drawn = drawn_words(self.lengths, self.words, usual=TEST_LENGTHS)
        runs = [open_run(path, device=self.device) for path in self.runs]
        rows: list[dict[str, Json]] = []
        with counting("evaluating kinds of words", total=len(runs) * len(tests)) as advance:
            for run in runs:
                found = hard_tests(
                    run, tests, drawn.lengths, words=drawn.words, seed=seed, on_test=advance
                )
                rows += rows_of_tests(run, found)
        print_rows(rows if self.json else in_percent(rows), as_json=self.json)

    def _parts(self, runs: "Sequence[Run]", lengths: "Sequence[Part]") -> "Sequence[Part]":
        """The lengths or test sets to evaluate, which suit all the runs."""
        drawn = [run.task.name for run in runs if run.task.is_drawn]
        others = [run.task for run in runs if not run.task.is_drawn]
        if drawn and others:
            raise LdruError(
                f"{drawn[0]} is evaluated by length and {others[0].name} on test sets: evaluate "
                "them apart"
            )
        if not others:
            if self.sets:
                raise LdruError(f"{drawn[0]!r} has no test sets; give --lengths")
            return lengths
        for task in others:
            check_not_drawn(
                task,
                {
                    "--lengths": self.lengths is not None,
                    "--words": self.words is not None,
                    "--plot": self.plot is not None,
                    "--seed": self.seed != 0,
                },
            )
        return self.sets or others[0].test_parts

    def _compare(
        self, runs: "Sequence[Run]", evaluations: "Sequence[Evaluation]", *, plot: Path
    ) -> None:
        """Print runs side by side, and draw them."""
        from ldru.drawing.style import save_figure
        from ldru.runs.compare import side_by_side

        found = side_by_side([run.spec for run in runs], evaluations)
        rows, tests = found.rows(), found.tests()
        if self.json:
            print(json.dumps({"rows": rows, "tests": tests}))
        else:
            print_rows(in_percent(rows), as_json=False, note="\n".join(_test_notes(tests)))
        if runs[0].task.is_drawn:
            save_figure(found.plot(), plot)
            if not self.json:
                print(f"plot: {plot}")


def _test_notes(tests: "Sequence[Mapping[str, Json]]") -> list[str]:
    """Lines about the paired tests that there are."""
    return [
        f"{test['column']} against {test['against']}: {100 * test['difference']:+.2f} points, "
        f"p = {test['p']:.3g} (paired t-test over {test['seeds']} seeds)"
        for test in tests
        if isinstance(test["difference"], float)
    ]


def draw(run: "Run", evaluation: "Evaluation", plot: Path, *, as_json: bool) -> None:
    """Draw an evaluation by length."""
    if not run.task.is_drawn:
        return
    from ldru.drawing.style import save_figure

    figure = evaluation.plot(title=run.spec.name, max_length=run.spec.train.max_length)
    save_figure(figure, plot)
    if not as_json:
        print(f"plot: {plot}")


def show_evaluation(run: "Run", evaluation: "Evaluation", *, as_json: bool) -> dict[str, Json]:
    """Print an evaluation, or only hand it back for JSON."""
    if not run.task.is_drawn:
        return show_sets(run, evaluation, as_json=as_json)
    from ldru.evaluation.summary import summarise

    rows = summarise(evaluation, max_length=run.spec.train.max_length)
    if not as_json:
        table = [
            {
                "lengths": row.name,
                "accuracy": f"{row.accuracy:.1%}",
                "majority share": f"{row.majority_share:.1%}",
                "worst": f"{row.worst_accuracy:.1%} at {row.worst_length}",
            }
            for row in rows
        ]
        print(f"{run.spec.name}: accuracy by length")
        notes = [*class_notes(run.language, evaluation), f"run:  {run.folder or 'shipped'}"]
        print_rows(table, as_json=False, note="\n".join(notes))
    return {**shown(run, evaluation), "summary": [dataclasses.asdict(row) for row in rows]}


def _spelled(text: str, lengths: Sequence[int]) -> str:
    """Lengths as part of a file's name, which must not be too long for file systems."""
    spelled = text.replace(":", "-").replace(",", "_")
    if len(spelled) <= LONGEST_NAME:
        return spelled
    return f"{lengths[0]}-{lengths[-1]}-{digest(list(lengths))[:8]}"


def show_sets(run: "Run", evaluation: "Evaluation", *, as_json: bool) -> dict[str, Json]:
    """Print an evaluation by test set, or only hand it back for JSON."""
    from ldru.evaluation.metrics import METRICS

    task = run.task
    more = [name for name in task.metrics if name != "accuracy"]
    if not as_json:
        table = [
            {
                "test set": str(name),
                **{metric: f"{METRICS[metric](result):.3f}" for metric in more},
                "accuracy": f"{result.accuracy:.1%}",
                "95 % interval": "{:.1%} to {:.1%}".format(*result.interval()),
                "majority share": f"{result.majority_share:.1%}",
                "words": result.words,
            }
            for name, result in evaluation.by_part.items()
        ]
        print(f"{run.spec.name}: accuracy by test set")
        print_rows(table, as_json=False, note=f"run:  {run.folder}")
    metrics: dict[str, Json] = {
        str(name): {metric: METRICS[metric](result) for metric in task.metrics}
        for name, result in evaluation.by_part.items()
    }
    return {**shown(run, evaluation), "metrics": metrics}


def shown(run: "Run", evaluation: "Evaluation") -> dict[str, Json]:
    """An evaluation for programs."""
    from ldru.runs.record import evaluation_json

    return {
        "run": run.spec.name,
        "folder": None if run.folder is None else str(run.folder),
        "accuracy": {str(length): value for length, value in evaluation.accuracy.items()},
        "intervals": {str(n): list(r.interval()) for n, r in evaluation.by_part.items()},
        "by_class": {str(k): v for k, v in evaluation.accuracy_by_class().items()},
        "counts": evaluation_json(evaluation),
    }


def class_notes(task: "RegularTask", evaluation: "Evaluation") -> list[str]:
    """Lines about the classes."""
    notes = []
    by_class = evaluation.accuracy_by_class()
    if len(by_class) <= LARGEST_PRINTED_CLASSES:
        shares = ", ".join(f"{label}: {share:.1%}" for label, share in by_class.items())
        notes.append(f"accuracy by label, all lengths: {shares}")
    lengths = [task.word_length(length) for length in evaluation.lengths]
    moved = sum(drawn != asked for drawn, asked in zip(lengths, evaluation.lengths, strict=True))
    if moved:
        notes.append(f"{moved} of the {len(lengths)} lengths have no words: the nearest was taken")
    for label in range(task.num_classes):
        empty = sum(label in task.empty_classes(length) for length in lengths)
        if empty:
            notes.append(f"label {label} has no words at {empty} of the {len(lengths)} lengths")
    return notes


def command(arguments: list[str]) -> type[Eval]:
    return Eval
