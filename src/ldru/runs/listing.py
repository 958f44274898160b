"""The runs of a folder, from their settings and records alone."""

from dataclasses import dataclass
from pathlib import Path

from ldru.base.errors import LdruError
from ldru.base.json import Json
from ldru.base.reading import is_folder
from ldru.base.tabular import Tabular
from ldru.models.registry import model_name
from ldru.runs.compare import differences_of
from ldru.runs.folder import RECORD, SETTINGS, RunFolder
from ldru.runs.record import Record
from ldru.runs.spec import RunSpec

OWN = ("task", "model", "steps")
"""Settings that have a column of their own."""


@dataclass(frozen=True, kw_only=True)
class ListedRun:
    """A finished run: its folder, settings and record."""

    folder: Path
    spec: RunSpec
    record: Record

    def row(self) -> dict[str, Json]:
        """A row for people.

        accuracy: the mean over the evaluated lengths beyond training, or over all parts.
        """
        evaluation, spec = self.record.evaluation, self.spec
        accuracy, evaluated = None, None
        if evaluation is not None and evaluation.by_part:
            lengths = evaluation.lengths
            longer = [n for n in lengths if n > spec.train.max_length]
            accuracy = evaluation.mean_accuracy(longer or evaluation.by_part)
            evaluated = (
                f"{lengths[0]}-{lengths[-1]}" if lengths else f"{len(evaluation.by_part)} sets"
            )
        return {
            "run": self.folder.name,
            "task": spec.task.name,
            "model": model_name(spec.model),
            "seed": spec.seed,
            "steps": spec.train.steps,
            "validation": self.record.final.accuracy,
            "accuracy": accuracy,
            "evaluated": evaluated,
        }


@dataclass(frozen=True, kw_only=True)
class Listing(Tabular):
    """The finished runs of a folder.

    As a table it also has the other settings that differ between them.

    >>> ldru.Listing(runs=()).rows()
    []
    """

    runs: tuple[ListedRun, ...]

    def rows(self) -> list[dict[str, Json]]:
        """A row for each run."""
        differences = differences_of([run.spec for run in self.runs])
        return [
            {
                **run.row(),
                "settings": ", ".join(f"{k}={v}" for k, v in some.items() if k not in OWN),
            }
            for run, some in zip(self.runs, differences, strict=True)
        ]


def list_runs(
    folder: str | Path = "runs",
    *,
    task: str | None = None,
    model: str | None = None,
    seed: int | None = None,
) -> Listing:
    """The finished runs directly in a folder, by name; with filters.

    >>> runs = ldru.train("parity_check", model=ldru.LDRUSpec(dim=4), steps=2, out="mine")
    >>> [row["task"] for row in ldru.list_runs("mine").rows()]
    ['parity_check']
    >>> found = ldru.list_runs("mine", model="lstm")
    >>> len(found.runs)
    0
    """
    if not isinstance(folder, str | Path):
        raise LdruError(f"give the folder that runs were written to, got {folder!r}")
    path = Path(folder)
    if not is_folder(path):
        raise LdruError(f"there is no folder {str(path)!r}; give the one that runs were written to")
    found = []
    for inner in sorted(path.glob("[!.]*")):
        files = RunFolder(inner)
        if not (files.has(SETTINGS) and files.has(RECORD)):
            continue
        run = ListedRun(folder=inner, spec=files.spec(), record=files.record())
        is_wanted = (
            task in (None, run.spec.task.name)
            and model in (None, model_name(run.spec.model))
            and seed in (None, run.spec.seed)
        )
        if is_wanted:
            found.append(run)
    return Listing(runs=tuple(found))
