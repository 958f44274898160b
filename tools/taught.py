"""Networks that were taught products: results/taught.json and a table of it.

`make taught` teaches three networks for each of the paper's languages (`ldru.teach`), extracts and
judges their machines, asks the networks for test words beyond the paper's training lengths, and
certifies them, consolidated where they have to be. It takes an hour and a half on one core; rows
that are there already stay. `python -m tools.taught TASK ...` does some of them, several at the
same time.
"""

import json
import math
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import torch

from ldru.automata.named import PAPERS
from ldru.base.files import lock, write_text
from ldru.base.json import Json
from ldru.runs.certify import certify_run
from ldru.runs.teach import teach

RESULTS = Path("results")
ROWS = RESULTS / "taught.json"
SEEDS = (0, 1, 2)
LENGTHS = (*range(50, 501, 50),)
WORDS = 512

HEADS = [
    "task",
    "classes",
    "steps",
    "seconds",
    "states",
    "correct",
    "wrong_words",
    "network",
    "certified",
    "consolidated",
]

MOST_PAIRS = 5_000
"""Beyond, consolidation and certificate take more than a few minutes."""


def row_of(task: str, seed: int) -> dict[str, Json]:
    """What came of one teaching."""
    run = teach(task, seed=seed)
    found = run.exact()
    evaluation = run.compute_evaluation(LENGTHS, words=WORDS)
    parts = evaluation.by_part.values()
    errors = [height for height, share in found.wrong_by_height.items() if share]
    row: dict[str, Json] = {
        "task": task,
        "seed": seed,
        "run": run.spec.digest,
        "commit": run.record.commit,
        "classes": found.monoid.size,
        "steps": run.spec.taught,
        "seconds": round(run.record.seconds, 1),
        "correct": found.is_correct,
        "summary": found.summary,
        "words": sum(part.words for part in parts),
        "wrong": sum(part.words - sum(part.correct_by_class.values()) for part in parts),
        "errs_by": min(errors, default=None),
    }
    if found.chosen is not None and found.is_correct:
        row |= {
            "states": found.chosen.num_states,
            "spread": round(found.chosen.spread, 4),
            "gap": None if math.isinf(found.chosen.gap) else round(found.chosen.gap, 4),
            "pairs": len(found.algebra.moves.left),
        }
        if len(found.algebra.moves.left) <= MOST_PAIRS:
            done = certify_run(run)
            row |= {
                "rounds": done.rounds,
                "certified": done.certificate.is_certified,
                "radius": done.certificate.radius,
                "margin": round(done.certificate.margin, 4),
            }
    return row


def table(rows: list[dict]) -> str:
    """A line for each language."""
    lines = [
        "**taught.** Networks of the paper's size that were taught the products of a language's "
        "monoid and no word (`ldru teach TASK`), three seeds: steps, seconds on one thread of a "
        "CPU, which ran other work beside; states of the exact machine, and how many of the "
        "machines are right at every length; wrong test words of all seeds, of "
        f"{len(LENGTHS)} lengths from {LENGTHS[0]} to {LENGTHS[-1]}; whether an error of a "
        "network is known up to 2^40 symbols; how many are certified as they are, in float32 with "
        "its rounding, and how many once they are consolidated (where there are at most 5,000 "
        "pairs of states).",
        "",
        f"| {' | '.join(HEADS)} |",
        f"| --- |{' ---: |' * 6} --- | ---: | ---: |",
    ]
    for task in PAPERS:
        some = sorted((row for row in rows if row["task"] == task), key=lambda row: row["seed"])
        if some:
            lines.append(f"| {' | '.join(_cells(task, some))} |")
    return "\n".join(lines) + "\n"


def _cells(task: str, rows: list[dict]) -> list[str]:
    errors = [row["errs_by"] for row in rows if row["errs_by"] is not None]
    tried = [row for row in rows if "certified" in row]
    consolidated = [row for row in rows if "rounds" in row]
    return [
        task,
        f"{rows[0]['classes']:,}",
        f"{rows[0]['steps']:,}",
        _alike(f"{row['seconds']:.0f}" for row in rows),
        _alike(f"{row['states']:,}" if "states" in row else "none" for row in rows),
        f"{sum(row['correct'] for row in rows)} of {len(rows)}",
        f"{sum(row['wrong'] for row in rows):,} of {sum(row['words'] for row in rows):,}",
        ", ".join(f"errs by 2^{height}" for height in errors) or "no error found",
        _certified(row["certified"] and not row.get("rounds") for row in tried),
        _certified(row["certified"] for row in consolidated),
    ]


def _certified(each: Iterable[bool]) -> str:
    found = list(each)
    return f"{sum(found)} of {len(found)}" if found else "not tried"


def _alike(texts: Iterable[str]) -> str:
    """Values by seed, or the one that all have."""
    found = list(texts)
    return found[0] if len(set(found)) == 1 else ", ".join(found)


def _keep(row: dict[str, Json]) -> None:
    """Add a row to those that are there by now."""
    with lock(RESULTS, waits=True):
        rows = json.loads(ROWS.read_text()) if ROWS.exists() else []
        rows.append(row)
        rows.sort(key=lambda row: (PAPERS.index(row["task"]), row["seed"]))
        write_text(ROWS, json.dumps(rows, indent=1) + "\n")
        write_text(RESULTS / "tables" / "taught.md", table(rows))


def main() -> None:
    rows = json.loads(ROWS.read_text()) if ROWS.exists() else []
    known = {(row["task"], row["seed"]) for row in rows}
    for seed in SEEDS:
        for task in sys.argv[1:] or PAPERS:
            if (task, seed) in known:
                continue
            begin = time.monotonic()
            row = row_of(task, seed)
            _keep(row)
            print(task, seed, row["summary"], f"{time.monotonic() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
