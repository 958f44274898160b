"""`ldru runs`."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from tyro.conf import Positional

from ldru.base.errors import LdruError
from ldru.cli.printing import in_percent, print_rows, say


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
        check: read every file instead, also of unfinished trainings and packs, and say what is
            whole; the exit code is 1 where something is not.
        json: print JSON.
    """

    folder: Positional[Path] = Path("runs")
    task: str | None = None
    model: str | None = None
    seed: int | None = None
    check: bool = False
    json: bool = False

    def __call__(self) -> None:
        if self.check:
            self._check()
            return
        from ldru.runs.listing import list_runs

        rows = list_runs(self.folder, task=self.task, model=self.model, seed=self.seed).rows()
        if self.json:
            print(json.dumps(rows))
            return
        if not rows:
            raise LdruError(f"{str(self.folder)!r} holds no finished run of that kind")
        print_rows(in_percent(rows), as_json=False)

    def _check(self) -> None:
        from ldru.runs.check import check_runs

        if (self.task, self.model, self.seed) != (None, None, None):
            raise LdruError("--check goes with no --task, --model or --seed: all runs are read")
        found = check_runs(self.folder)
        if not self.json and not found.runs:
            raise LdruError(f"{str(self.folder)!r} holds no run to check")
        print_rows(found.rows(), as_json=self.json)
        if not found.is_whole:
            broken = sum(not run.is_whole for run in found.runs)
            say(f"{broken} of {len(found.runs)} are not whole")
            sys.exit(1)


def command(arguments: list[str]) -> type[Runs]:
    return Runs
