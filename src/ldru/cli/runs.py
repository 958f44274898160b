"""`ldru runs`."""

import json
from dataclasses import dataclass
from pathlib import Path

from tyro.conf import Positional

from ldru.base.errors import LdruError
from ldru.cli.printing import in_percent, print_rows


@dataclass(frozen=True, kw_only=True)
class Runs:
    """List the finished runs of a folder, with their accuracy.

    Validation is of the last step. Accuracy is the mean over the evaluated lengths beyond training,
    or over test sets, and empty before `ldru eval`.

    Args:
        folder: where run folders lie.
        task: only runs on this task.
        model: only runs of this model.
        seed: only runs of this seed.
        json: print JSON.
    """

    folder: Positional[Path] = Path("runs")
    task: str | None = None
    model: str | None = None
    seed: int | None = None
    json: bool = False

    def __call__(self) -> None:
        from ldru.runs.listing import list_runs

        rows = list_runs(self.folder, task=self.task, model=self.model, seed=self.seed).rows()
        if self.json:
            print(json.dumps(rows))
            return
        if not rows:
            raise LdruError(f"{str(self.folder)!r} holds no finished run of that kind")
        print_rows(in_percent(rows), as_json=False)


def command(arguments: list[str]) -> type[Runs]:
    return Runs
