"""The table of settings that were tried for a recipe, from the accuracies of every run.

`python -m tools.recipe_search` writes it into results/recipe_search.md. The languages are none of
the paper's 21, so nothing was chosen on their test words.
"""

import json
import re
import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from ldru.base.files import write_text

ROOT = Path(__file__).parents[1]
DATA, PAGE = ROOT / "results" / "recipe_search.json", ROOT / "results" / "recipe_search.md"
DYCK = ("dyck_5", "dyck_7", "dyck_10")
SMALL_RANDOM = ("random_6_2", "random_7_3", "random_8_2", "random_10_2")

BEGIN, END = "<!-- table -->\n", "<!-- /table -->"


class Row(NamedTuple):
    """One run: accuracies by length, of the last weights and of their average."""

    setting: str
    language: str
    seed: int
    last: list[float]
    average: list[float]


def render(data: dict) -> str:
    """The table in Markdown, best mean first."""
    rows = [Row(*row) for row in data["rows"]]
    longer = [index for index, length in enumerate(data["lengths"]) if length > 40]
    even = [index for index in longer if data["lengths"][index] % 2 == 0]
    last = [data["lengths"].index(500)]

    def accuracies(setting: str, languages: Iterable[str] | None, places: list[int]) -> list[float]:
        some = [row for row in rows if row.setting == setting]
        chosen = [row for row in some if languages is None or row.language in languages]
        return [100 * statistics.fmean(row.last[place] for place in places) for row in chosen]

    lines = []
    for name, s in data["settings"].items():
        dyck = accuracies(name, DYCK, even)
        values = (
            statistics.fmean(accuracies(name, None, longer)),
            statistics.fmean(dyck),
            min(dyck),
            statistics.fmean(accuracies(name, DYCK, last)),
            statistics.fmean(accuracies(name, ["mod_7"], longer)),
            statistics.fmean(accuracies(name, SMALL_RANDOM, longer)),
        )
        settings = [f"{s['rate']:g}", f"{s['dropout']:g}", f"{s['share']:g}"]
        merges = "/".join(f"{merge:g}" for merge in s["merge"])
        settings.append(merges if s["share"] else "-")
        settings += [s["decay"], f"{s['sigma']:g}" if s["sigma"] else "-", _other(s)]
        lines.append((values[0], settings, [f"{value:.2f}" for value in values]))
    head = ["rate", "dropout", "trees", "merges", "decay", "noise", "other"]
    numbers = ["mean", "Dyck", "worst Dyck", "Dyck at 500", "modulo 7", "random"]
    text = [" | ".join(["", *head, *numbers, ""]).strip()]
    text.append("|" + " --- |" * len(head) + " ---: |" * len(numbers))
    for _, settings, values_text in sorted(lines, key=lambda line: -line[0]):
        text.append("| " + " | ".join([*settings, *values_text]) + " |")
    return "\n".join(text) + "\n"


def with_table(page: str, data: dict) -> str:
    """The page with its table as the data have it."""
    block = f"{BEGIN}{render(data)}{END}"
    return re.sub(f"{BEGIN}.*{END}", lambda _: block, page, flags=re.DOTALL)


def _other(settings: dict) -> str:
    notes = []
    if settings["optimizer"] != "amsgrad":
        notes.append(settings["optimizer"])
    if settings["blocked"]:
        notes.append("block on passed nodes")
    return ", ".join(notes) or "-"


if __name__ == "__main__":
    write_text(PAGE, with_table(PAGE.read_text(), json.loads(DATA.read_text())))
