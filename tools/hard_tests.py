"""The shipped models on every kind of test words: results/hard_tests.json and a table of it.

`make hard-tests` measures all of them, in a few minutes on a CPU.
"""

import json
from pathlib import Path

from ldru.automata.named import PAPERS
from ldru.base.files import write_text
from ldru.base.json import Json
from ldru.runs.hard_tests import TESTS, hard_tests, rows_of_tests
from ldru.runs.run import Run

RESULTS = Path("results")
LENGTHS = (50, 100, 200, 500)
WORDS = 512


def table(rows: list[dict[str, Json]]) -> str:
    """Accuracy in percent by task and kind of words, as Markdown."""
    lines = [
        f"**Hard tests.** Accuracy of the shipped models in percent, on {WORDS} words of each of "
        f"the lengths {', '.join(map(str, LENGTHS))} (`ldru eval TASK --test all`; pairs and edits "
        "that do not exist are left out). Adversarial words have at most 40 symbols.",
        "",
        f"| task | {' | '.join(TESTS)} |",
        f"| --- | {' | '.join(['---:'] * len(TESTS))} |",
    ]
    for task in PAPERS:
        own = {row["test"]: row for row in rows if str(row["run"]).startswith(f"{task}-ldru")}
        cells = [f"{100 * float(own[t]['accuracy']):.2f}" if t in own else "-" for t in TESTS]  # type: ignore[arg-type]
        lines.append(f"| {task} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    rows: list[dict[str, Json]] = []
    for task in PAPERS:
        run = Run.open(task)
        rows += rows_of_tests(run, hard_tests(run, TESTS, LENGTHS, words=WORDS))
        print(
            task,
            [f"{row['test']} {row['accuracy']:.4f}" for row in rows[-len(TESTS) :]],
            flush=True,
        )
    write_text(RESULTS / "hard_tests.json", json.dumps(rows, indent=1) + "\n")
    write_text(RESULTS / "tables" / "hard_tests.md", table(rows))


if __name__ == "__main__":
    main()
