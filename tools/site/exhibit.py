"""What is known of a language: its algebra, the records, verdicts and certificates."""

import json
from dataclasses import dataclass

from ldru.automata.monoid import Monoid, monoid
from ldru.runs.results import Results
from ldru.tasks.find import as_language
from ldru.tasks.regular_task import RegularTask
from tools.machines import MachineRecord, read_machines
from tools.verdicts import JUDGED, VerdictRecord, verdicts

MOST_STATES, MOST_SYMBOLS = 31, 4
"""Of a machine that is still a picture."""


@dataclass(frozen=True, kw_only=True)
class Exhibit:
    """All that is known of a language.

    machine: extracted from the shipped model; certificate: of it, once consolidated.
    """

    task: RegularTask
    monoid: Monoid
    results: Results
    verdicts: dict[int, VerdictRecord]
    machine: MachineRecord | None
    certificate: dict | None

    @property
    def name(self) -> str:
        return self.task.name

    @property
    def is_drawn(self) -> bool:
        """Whether its machine is a picture."""
        least = self.monoid.machine
        return least.num_states <= MOST_STATES and least.num_symbols <= MOST_SYMBOLS

    @property
    def picture(self) -> str:
        """The file that stands for it in the index."""
        return f"{self.name}-machine.svg" if self.is_drawn else f"{self.name}-monoid.png"

    @property
    def badge(self) -> str:
        """Its state of knowledge in a few words."""
        if self.certificate is not None:
            return "certified"
        if self.machine is None:
            return "not trained here"
        if self.machine.is_correct:
            return "exact machine correct"
        return "wrong somewhere" if self.machine.wrong else "no exact machine"


def exhibit(name: str, results: Results) -> Exhibit:
    """Gather what is known of a language."""
    task = as_language(name)
    ours = JUDGED[0]
    judged = verdicts(ours.restricted(tasks=[name]), results) if name in ours.tasks else {}
    rows = json.loads((results.folder / "certificates.json").read_text())
    certified = {row["task"]: row for row in rows if row["certified"]}
    return Exhibit(
        task=task,
        monoid=monoid(task.machine.minimal()),
        results=results,
        verdicts=judged.get((name, "random_trees"), {}),
        machine=read_machines(results.folder / "machines.json").get(name),
        certificate=certified.get(name),
    )
