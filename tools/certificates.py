"""Certificates for the shipped models: results/certificates.json and a table of it.

`make certificates` takes every shipped model whose exact machine is right at every length, and
consolidates and certifies it. It takes ten minutes on one core, and more than an hour for
prefix_4_4, which has no row so far. Rows that are there already stay.
"""

import json
import sys
import time
from pathlib import Path

import torch

from ldru.automata.named import PAPERS
from ldru.base.errors import RunError
from ldru.base.files import write_text
from ldru.base.json import Json
from ldru.runs.certify import certify_run
from ldru.runs.run import Run

RESULTS = Path("results")
ROWS = RESULTS / "certificates.json"


def table(rows: list[dict[str, Json]]) -> str:
    """The certificates as Markdown."""
    lines = [
        "**Certificates.** The shipped models after consolidation (`ldru certify TASK`): in "
        "float32, all nodes of all words of any length lie within *radius* of one of the *points*. "
        "*margin*: the share of the radius that is never needed; *lead*: how far the right label's "
        "score is ahead at least. States have length 8. *steps*: of consolidation. A network whose "
        "machine is wrong on some word has no certificate.",
        "",
        "| task | points | pairs | steps | radius | margin | lead |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        cells = [f"{row['points']:,}", f"{row['pairs']:,}", f"{row['steps']:,}"]
        if row["certified"]:
            cells += [f"{row['radius']:g}", f"{row['margin']:.0%}", f"{row['lead']:.1f}"]
        else:
            cells += ["-", "-", "-"]
        lines.append(f"| {row['task']} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def row_of(task: str) -> dict[str, Json] | None:
    """What came of a shipped model; None where its machine is wrong somewhere."""
    begin = time.monotonic()
    try:
        done = certify_run(Run.open(task))
    except RunError as problem:
        print(task, problem, flush=True)
        return None
    found = done.certificate
    print(task, done.rounds, found.summary, f"{time.monotonic() - begin:.0f} s", flush=True)
    return {
        "task": task,
        "points": len(found.points),
        "pairs": len(found.algebra.moves.left),
        "steps": done.run.spec.consolidated,
        "certified": found.is_certified,
        "radius": found.radius,
        "margin": found.margin,
        "lead": found.lead,
    }


def main() -> None:
    rows = json.loads(ROWS.read_text()) if ROWS.exists() else []
    known = {row["task"] for row in rows}
    for task in sys.argv[1:] or PAPERS:
        if task not in known and (row := row_of(task)) is not None:
            rows.append(row)
            rows.sort(key=lambda row: PAPERS.index(row["task"]))
            write_text(ROWS, json.dumps(rows, indent=1) + "\n")
    write_text(RESULTS / "tables" / "certificates.md", table(rows))


if __name__ == "__main__":
    torch.set_num_threads(max(1, torch.get_num_threads() - 1))
    main()
