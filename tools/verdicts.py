"""What was extracted from the runs of a table: a small record of each, and a table of all.

`make verdicts` extracts those that are missing in results/verdicts.json, run by run.
"""

import itertools
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass

from ldru.analysis.extract import extract
from ldru.base.files import write_text
from ldru.base.json import from_json
from ldru.paper.table import Table
from ldru.paper.tables import TABLES
from ldru.reproduce.table_runs import cell_runs, table_runs
from ldru.runs.results import Results
from ldru.runs.run import Run

FILE = "verdicts.json"
JUDGED = (
    TABLES["recipes"].restricted(columns=["random_trees"]),
    TABLES["labels"].restricted(columns=["factors"]),
    TABLES["classes"],
    TABLES["leaf_block"],
    TABLES["state_tracking"].restricted(columns=["ldru_factors"]),
)
"""Our own LDRUs, also on groups, and those of the paper's settings, with a block or without L2."""


@dataclass(frozen=True, kw_only=True)
class VerdictRecord:
    """What came out of one run.

    states, tolerance, splits: of the chosen algebra; None when there is no finite one. Verdicts
        from before states were told apart anew have no splits.
    is_correct: whether the algebra is right on every word of every length.
    wrong_length: of the algebra's shortest wrong word.
    network_wrong_length: of the shortest word found that the network itself answers wrongly.
    first_wrong_height: the least k such that the network erred on sampled words of 2^(k-1) + 1 to
        2^k symbols; None when it erred nowhere up to the highest one sampled.
    seconds: of computing, on all threads together.
    """

    run: str
    summary: str
    monoid: int
    is_correct: bool
    states: int | None = None
    tolerance: float | None = None
    splits: int | None = None
    agreement: float | None = None
    wrong_length: int | None = None
    network_wrong_length: int | None = None
    first_wrong_height: int | None = None
    seconds: float

    @property
    def is_caught(self) -> bool:
        """Whether the network itself is known to err."""
        return self.network_wrong_length is not None or self.first_wrong_height is not None


def judge(run: Run) -> VerdictRecord:
    """Extract a run's algebra and keep what matters."""
    start = time.process_time()
    found = extract(run.model, run.language)
    chosen = found.chosen
    return VerdictRecord(
        run=run.spec.name,
        summary=found.summary,
        monoid=found.monoid.size,
        is_correct=found.is_correct,
        states=None if chosen is None else chosen.num_states,
        tolerance=None if chosen is None else chosen.tolerance,
        splits=None if chosen is None else chosen.splits,
        agreement=None if chosen is None else found.agreement(chosen),
        wrong_length=None if chosen is None else chosen.verdict.wrong_length,
        network_wrong_length=None if found.wrong is None else len(found.wrong),
        first_wrong_height=min((k for k, s in found.wrong_by_height.items() if s), default=None),
        seconds=time.process_time() - start,
    )


def judge_missing(table: Table, results: Results, on_verdict: Callable[[str], None]) -> None:
    """Judge the runs of a table that are there, with weights, and have no verdict yet.

    on_verdict: called with a line about each.
    """
    for spec in table_runs(table):
        known = read_verdicts(results)
        if spec.name not in known and results.has_weights(spec):
            record = judge(Run.open(results.runs / spec.name))
            write_verdicts(results, {**known, spec.name: record})
            on_verdict(f"{spec.name}: {record.summary} ({record.seconds:.0f} s)")


def read_verdicts(results: Results) -> dict[str, VerdictRecord]:
    """Every verdict that is kept, by the name of its run."""
    path = results.folder / FILE
    found = json.loads(path.read_text()) if path.exists() else {}
    return {name: from_json(VerdictRecord, data) for name, data in found.items()}


def write_verdicts(results: Results, records: Mapping[str, VerdictRecord]) -> None:
    """Keep these verdicts, a line each."""
    rows = [f" {json.dumps(n)}: {json.dumps(asdict(r))}" for n, r in sorted(records.items())]
    write_text(results.folder / FILE, "{\n" + ",\n".join(rows) + "\n}\n")


def verdicts(table: Table, results: Results) -> dict[tuple[str, str], dict[int, VerdictRecord]]:
    """What is kept of a table, by task and column, and by seed."""
    known = read_verdicts(results)
    found: dict[tuple[str, str], dict[int, VerdictRecord]] = {}
    for task, label in itertools.product(table.tasks, table.columns):
        for seed, spec in cell_runs(table, task, label).items():
            if spec.name in known:
                found.setdefault((task, label), {})[seed] = known[spec.name]
    return found


def all_verdicts(results: Results) -> dict[tuple[str, str], dict[int, VerdictRecord]]:
    """What is kept of all tables that are judged."""
    return {cell: found for table in JUDGED for cell, found in verdicts(table, results).items()}


def verdicts_markdown(found: Mapping[tuple[str, str], Mapping[int, VerdictRecord]]) -> str:
    """A row for each task and column; what differs by seed is listed seed by seed."""
    lines = [
        "**verdicts.** Of LDRUs of the tables recipes (random_trees is our own recipe), labels "
        "(factors: the same, told more), classes (told the algebra, by steps of batches of 64), "
        "leaf_block and state_tracking (ldru_factors: told more): "
        "the states of the exact machine, whether that is right at every length, and what is known "
        "of the network itself, by seed. A network errs *at n* where a wrong word of n symbols was "
        "found, *by 2^k* where a sampled one of up to 2^k was.",
        "",
        "| task | model | classes | states | exact machine | network | seconds |",
        "| --- | --- | ---: | ---: | --- | --- | ---: |",
    ]
    for (task, label), by_seed in found.items():
        some = list(by_seed.values())
        cells = [
            _listed(["none" if r.states is None else str(r.states) for r in some]),
            _listed([_machine(r) for r in some]),
            _listed([_network(r) for r in some]),
            _listed([f"{r.seconds:.0f}" for r in some]),
        ]
        lines.append(f"| {task} | {label} | {some[0].monoid} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _machine(record: VerdictRecord) -> str:
    if record.states is None:
        return "no finite one"
    return "correct" if record.is_correct else f"wrong from {record.wrong_length:,}"


def _network(record: VerdictRecord) -> str:
    if record.network_wrong_length is not None:
        return f"errs at {record.network_wrong_length:,}"
    if record.first_wrong_height is not None:
        return f"errs by 2^{record.first_wrong_height}"
    return "no error found"


def _listed(texts: list[str]) -> str:
    return texts[0] if len(set(texts)) == 1 else ", ".join(texts)


if __name__ == "__main__":
    for table in JUDGED:
        judge_missing(table, Results("results"), print)
