"""The exact machines of the shipped models, kept in results/machines.json for the site's gallery.

`make machines` extracts those that are missing; a few minutes on a CPU. The verdicts on all runs
are in results/verdicts.json (`make verdicts`); here are the tables themselves, if they are small.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from ldru.analysis.algebra import Algebra
from ldru.automata.named import PAPERS
from ldru.base.files import write_text
from ldru.runs.run import Run

FILE = Path("results/machines.json")
MOST_STATES = 40
"""Larger tables are not kept: they are no picture any more."""


@dataclass(frozen=True, kw_only=True)
class MachineRecord:
    """What was extracted from a shipped model.

    states: of the algebra; None when there is no finite one.
    wrong: the shortest word found that the network itself answers wrongly.
    tables: of the algebra, where they are small.
    """

    run: str
    summary: str
    is_correct: bool
    states: int | None
    wrong: str | None
    tables: dict | None = None

    @property
    def algebra(self) -> Algebra | None:
        """The extracted tables, where they are kept."""
        return None if self.tables is None else Algebra(**self.tables)


def record_of(run: Run) -> MachineRecord:
    """Extract a run's machine, and keep what a page can show."""
    found = run.exact()
    states = None if found.chosen is None else found.chosen.num_states
    machine = found.monoid.machine
    return MachineRecord(
        run=run.spec.name,
        summary=found.summary,
        is_correct=found.is_correct,
        states=states,
        wrong=None if found.wrong is None else machine.decode(found.wrong),
        tables=found.algebra.to_json() if states is not None and states <= MOST_STATES else None,
    )


def read_machines(path: Path = FILE) -> dict[str, MachineRecord]:
    """All that are kept, by task."""
    found = json.loads(path.read_text()) if path.exists() else {}
    return {task: MachineRecord(**data) for task, data in found.items()}


def main() -> None:
    known = read_machines()
    for task in PAPERS:
        if task not in known or known[task].run != Run.open(task).spec.name:
            known[task] = record_of(Run.open(task))
            print(task, known[task].summary, flush=True)
            rows = [f" {json.dumps(name)}: {json.dumps(asdict(r))}" for name, r in known.items()]
            write_text(FILE, "{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    main()
