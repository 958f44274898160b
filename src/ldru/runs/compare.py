"""Runs side by side: what differs between them names the columns."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ldru.base.errors import LdruError
from ldru.base.json import Json, digest, to_json
from ldru.base.tabular import Tabular
from ldru.drawing.curves import curves_figure
from ldru.evaluation.accuracy import Evaluation
from ldru.evaluation.lengths import WORDS
from ldru.evaluation.statistics import p_value
from ldru.evaluation.summary import ranges_of
from ldru.models.registry import model_name
from ldru.runs.evaluate import evaluate_missing
from ldru.runs.run import Run
from ldru.runs.spec import RunSpec
from ldru.tasks.task import Part

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, kw_only=True)
class Comparison(Tabular):
    """Evaluations side by side, in columns; runs that differ by their seed alone share one.

    As a table it has a row for each range of lengths, or test set, and the mean accuracy of every
    column, with the deviation between seeds where there are several.

    columns: evaluations by seed, by the name of the column.
    tasks: what each column was trained on.
    max_length: the longest training word, if it is the same for all.

    >>> found = ldru.compare(["tomita_4", "tomita_5"], [50, 500], words=64)
    >>> print(found.to_latex().splitlines()[1])
    lengths & tomita\\_4 & tomita\\_5 \\\\
    >>> found.plot().savefig("tomita.png")
    """

    columns: Mapping[str, Mapping[int, Evaluation]]
    tasks: Mapping[str, str]
    max_length: int | None = None

    def rows(self) -> list[dict[str, Json]]:
        """A row for each range of lengths or test set."""
        rows: list[dict[str, Json]] = []
        for name, parts in self.ranges().items():
            row: dict[str, Json] = {"lengths" if self._is_by_length else "test set": name}
            for label, by_seed in self.columns.items():
                values = [evaluation.mean_accuracy(parts) for evaluation in by_seed.values()]
                row[label] = statistics.fmean(values)
                if len(values) > 1:
                    row[f"{label}, deviation"] = statistics.stdev(values)
            rows.append(row)
        return rows

    def tests(self) -> list[dict[str, Json]]:
        """Every column against the first: a paired t-test over the seeds that both have.

        Over the lengths beyond training, or all parts if there are none. `p` is None where columns
        share less than two seeds, or have other tasks.
        """
        first, *others = self.columns
        trained = self.max_length or 0
        parts = [n for n in self._parts if isinstance(n, int) and n > trained] or self._parts
        rows: list[dict[str, Json]] = []
        for label in others:
            ours, theirs = self.columns[label], self.columns[first]
            shared = [seed for seed in theirs if seed in ours]
            differences = [
                ours[seed].mean_accuracy(parts) - theirs[seed].mean_accuracy(parts)
                for seed in shared
            ]
            is_paired = len(shared) > 1 and self.tasks[label] == self.tasks[first]
            rows.append(
                {
                    "column": label,
                    "against": first,
                    "seeds": len(shared),
                    "difference": statistics.fmean(differences) if is_paired else None,
                    "p": p_value(differences) if is_paired else None,
                }
            )
        return rows

    def plot(self) -> "Figure":
        """Draw accuracy by length, a curve for each column, as a figure of Matplotlib."""
        curves = {}
        for label, by_seed in self.columns.items():
            first, *others = by_seed.values()
            curves[label] = first.pooled(others).curve()
        tasks = ", ".join(dict.fromkeys(self.tasks.values()))
        return curves_figure(curves, title=tasks, max_length=self.max_length)

    def ranges(self) -> dict[str, list[Part]]:
        """The lengths or test sets of every row, by its name."""
        if not self._is_by_length:
            return {str(part): [part] for part in self._parts}
        ranges = ranges_of(self._some, max_length=self.max_length or 0)
        if self.max_length is None:  # trained up to other lengths, so that none is longer for all
            ranges = {name.replace("longer than 0", "all"): p for name, p in ranges.items()}
        return {name: list(parts) for name, parts in ranges.items()}

    @property
    def _some(self) -> Evaluation:
        return next(iter(next(iter(self.columns.values())).values()))

    @property
    def _parts(self) -> list[Part]:
        return list(self._some.by_part)

    @property
    def _is_by_length(self) -> bool:
        return bool(self._some.lengths)


def compare(
    runs: Iterable[Run | str | Path],
    lengths: Iterable[Part] | None = None,
    *,
    words: int = WORDS,
) -> Comparison:
    """Evaluate runs on the same lengths or test sets and set them side by side.

    runs: run folders, names of shipped models, or runs.
    lengths: None takes what the records have in common. Of others, what a record lacks is
        evaluated and kept there.

    >>> found = ldru.compare(["parity_check", "even_pairs"], [50, 500], words=64)
    >>> found.rows()[-1]
    {'lengths': 'longer than 40', 'parity_check': 1.0, 'even_pairs': 1.0}
    """
    opened = [run if isinstance(run, Run) else Run.open(run) for run in runs]
    if not opened:
        raise LdruError("there is nothing to compare: give at least one run")
    kinds = {run.task.is_drawn: run.task.name for run in opened}
    if len(kinds) > 1:
        raise LdruError(
            f"{kinds[True]} is evaluated by length and {kinds[False]} on test sets: compare them "
            "apart"
        )
    if lengths is None:
        evaluations = _recorded(opened)
    else:
        parts = opened[0].task.check_parts(lengths)
        evaluations = evaluate_missing(opened, list(parts), words=words)
    return side_by_side([run.spec for run in opened], evaluations)


def side_by_side(specs: Sequence[RunSpec], evaluations: Sequence[Evaluation]) -> Comparison:
    """A comparison of runs with these settings."""
    names = names_of(specs)
    columns: dict[str, dict[int, Evaluation]] = {}
    for spec, name, evaluation in zip(specs, names, evaluations, strict=True):
        column = columns.setdefault(name, {})
        if spec.seed in column:
            raise LdruError(f"the run {spec.name} is given twice")
        column[spec.seed] = evaluation
    longest = {spec.train.max_length for spec in specs}
    return Comparison(
        columns=columns,
        tasks={name: spec.task.name for name, spec in zip(names, specs, strict=True)},
        max_length=longest.pop() if len(longest) == 1 else None,
    )


def names_of(specs: Sequence[RunSpec]) -> list[str]:
    """Names by what differs; runs that differ by their seed alone have one name.

    If nothing but the seed differs between all of them, they are named by it.

    >>> small, large = (
    ...     ldru.train("parity_check", model=ldru.LDRUSpec(dim=dim), steps=2)[0] for dim in (4, 8)
    ... )
    >>> list(ldru.compare([small, large], [5]).columns)
    ['dim=4', 'dim=8']
    """
    differences = differences_of(specs)
    if not any(differences):
        return [f"seed {spec.seed}" for spec in specs] if len(specs) > 1 else [specs[0].name]
    return [
        ", ".join(
            f"{value}" if key in ("task", "model") else f"{key}={value}"
            for key, value in some.items()
        )
        for some in differences
    ]


def differences_of(specs: Sequence[RunSpec]) -> list[dict[str, Json]]:
    """The settings of each run that tell it from others, by name; the seed is none of them."""
    settings = [_flat(spec) for spec in specs]
    keys = list(dict.fromkeys(key for some in settings for key in some))
    differing = [key for key in keys if _differs(key, settings)]
    return [
        {key.split(".")[-1]: some[key] for key in differing if key in some} for some in settings
    ]


def _flat(spec: RunSpec) -> dict[str, Json]:
    """The settings of a run but its seed, by a name for each."""
    flat: dict[str, Json] = {"task": spec.task.name, "model": model_name(spec.model)}
    flat |= {f"model.{key}": value for key, value in to_json(spec.model).items()}
    flat |= {f"train.{key}": value for key, value in to_json(spec.train).items()}
    if spec.task.machine is not None:
        flat["machine"] = digest(to_json(spec.task))[:8]
    if spec.init_from is not None:
        flat["init_from"] = spec.init_from[:8]
    if spec.counterexamples:
        flat["counterexamples"] = len(spec.counterexamples)
    return flat


def _differs(key: str, settings: Sequence[Mapping[str, Json]]) -> bool:
    """Whether a setting tells runs apart; that of a model, among runs of that model."""
    groups: dict[Json, set[str]] = {}
    for some in settings:
        of_model = key.startswith("model.")
        if key in some or not of_model:
            values = groups.setdefault(some["model"] if of_model else None, set())
            values.add(repr(some.get(key)))
    return any(len(values) > 1 for values in groups.values())


def _recorded(runs: Sequence[Run]) -> list[Evaluation]:
    """The evaluations of the records, of the parts that all have."""
    known = [run.record.evaluation.by_part if run.record.evaluation else {} for run in runs]
    shared = [part for part in known[0] if all(part in other for other in known)]
    if not shared:
        raise LdruError(
            "these runs have no evaluated length or test set in common; say which ones to evaluate"
        )
    return [Evaluation(by_part={part: by_part[part] for part in shared}) for by_part in known]
