"""The tables of settings that were tried for a recipe, from the accuracies of every run.

`python -m tools.recipe_search` writes them into results/recipe_search.md. The languages are none of
the paper's 21, so nothing was chosen on their test words.
"""

import json
import statistics
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from ldru.base.files import write_text

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "results" / "recipe_search.md"
DYCK = ("dyck_5", "dyck_7", "dyck_10")
SMALL_RANDOM = ("random_6_2", "random_7_3", "random_8_2", "random_10_2")


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


def render_regularisers(data: dict) -> str:
    """The second table in Markdown, in the order of the runs."""
    names = ["steps", "rate", "dropout", "words", "other"]
    languages = ["dyck_10", "dyck_7", "mod_7", "random_10_2"]
    lines = [" | ".join(["", *names, *languages, "worst dyck_10", ""]).strip()]
    lines.append("|" + " --- |" * len(names) + " ---: |" * (len(languages) + 1))
    for name, s in data["settings"].items():
        means = {
            language: [
                100 * statistics.fmean(row[3])
                for row in data["rows"]
                if row[:2] == [name, language]
            ]
            for language in languages
        }
        rises = f"0 to {s['dropout']:g}" if s["rise"] == 1 else f"0 to {s['dropout']:g} at half"
        settings = [f"{s['steps']:,}", f"{s['rate']:g}"]
        settings.append(rises if s["rise"] else f"{s['dropout']:g}")
        settings.append(f"{s['words']}, {s['share']:g}" if s["share"] else "-")
        settings.append(_regulariser(s))
        values = [_mean(means[language]) for language in languages]
        values.append(f"{min(means['dyck_10']):.2f}" if means["dyck_10"] else "-")
        lines.append("| " + " | ".join([*settings, *values]) + " |")
    return "\n".join(lines) + "\n"


def render_prefixes(data: dict) -> str:
    """The third table in Markdown: random words, and pairs of words at the border."""
    names = ["labels", "words", "steps", "dropout"]
    languages = ["dyck_10", "dyck_7", "mod_7", "random_10_2"]
    numbers = [*languages, "worst dyck_10", "dyck_10, pairs", "dyck_7, pairs", "worst pairs"]
    lines = [" | ".join(["", *names, *numbers, ""]).strip()]
    lines.append("|" + " --- |" * len(names) + " ---: |" * len(numbers))
    longer = [index for index, length in enumerate(data["lengths"]) if length > 40]
    for name, s in data["settings"].items():
        own = [row for row in data["rows"] if row[0] == name]
        means, pairs = (
            {
                language: [100 * value(row) for row in own if row[1] == language]
                for language in languages
            }
            for value in (
                lambda row: statistics.fmean(row[3][index] for index in longer),
                lambda row: row[4].get("border:500", 0.0),
            )
        )
        dyck = [*pairs["dyck_10"], *pairs["dyck_7"]]
        other = f"{s['words']}, {s['share']:g}" if s["share"] else "-"
        settings = [s["labels"], other, f"{s['steps']:,}", f"0 to {s['dropout']:g}"]
        values = [_mean(means[language]) for language in languages]
        values.append(f"{min(means['dyck_10']):.2f}" if means["dyck_10"] else "-")
        values += [_mean(pairs["dyck_10"]), _mean(pairs["dyck_7"])]
        values.append(f"{min(dyck):.1f}" if dyck else "-")
        lines.append("| " + " | ".join([*settings, *values]) + " |")
    return "\n".join(lines) + "\n"


def render_factors(data: dict) -> str:
    """The fourth table in Markdown: labels of words, and of all stretches that trees have."""
    names = ["labels", "trees", "dropout"]
    languages = ["dyck_5", "dyck_7", "dyck_10", "mod_arithmetic_7", "random_10_2_0"]
    numbers = [*languages, *(f"{language}, pairs" for language in languages[:3]), "worst pairs"]
    lines = [" | ".join(["", *names, *numbers, ""]).strip()]
    lines.append("|" + " --- |" * len(names) + " ---: |" * len(numbers))
    longer = [str(length) for length in (64, 100, 200, 300, 400, 500)]
    for name, s in data["settings"].items():
        found = {
            language: [row[3] for row in data["rows"] if row[:2] == [name, language]]
            for language in languages
        }
        means = [
            _mean([statistics.fmean(run[length] for length in longer) for run in found[language]])
            for language in languages
        ]
        pairs = [[run["border:500"] for run in found[language]] for language in languages[:3]]
        settings = [s["labels"], f"{s['trees']:g}", f"0 to {s['dropout']:g}"]
        values = [*means, *map(_mean, pairs), f"{min(map(min, pairs)):.1f}"]
        lines.append("| " + " | ".join([*settings, *values]) + " |")
    return "\n".join(lines) + "\n"


def render_classes(data: dict) -> str:
    """The fifth table in Markdown: stretches labelled by their classes in the monoid."""
    names = ["words", "steps", "batch", "language"]
    numbers = ["beyond 40, by seed", "pairs at 100", "pairs at 500"]
    lines = [" | ".join(["", *names, *numbers, ""]).strip()]
    lines.append("|" + " --- |" * len(names) + " ---: |" * len(numbers))
    for name, s in data["settings"].items():
        for language in dict.fromkeys(row[1] for row in data["rows"] if row[0] == name):
            runs = [row[3] for row in data["rows"] if row[:2] == [name, language]]
            means = [
                statistics.fmean(right for part, right in run.items() if part.isdigit())
                for run in runs
            ]
            cells = [s["words"], f"{s['steps']:,}", str(s["batch"]), language]
            cells.append(", ".join(f"{mean:.2f}" for mean in means))
            cells += [
                ", ".join(f"{run[f'border:{length}']:.0f}" for run in runs) for length in (100, 500)
            ]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _mean(values: list[float]) -> str:
    return f"{statistics.fmean(values):.2f}" if values else "-"


def _regulariser(settings: dict) -> str:
    notes = []
    if settings["smoothing"]:
        notes.append(f"label smoothing {settings['smoothing']:g}")
    if settings["weight_decay"]:
        notes.append(f"weight decay {settings['weight_decay']:g}")
    if settings["consistency"] is not None:
        notes.append(f"two trees a word, pull {settings['consistency']:g}")
    return ", ".join(notes) or "-"


SEARCHES: dict[str, tuple[Path, Callable[[dict], str]]] = {
    "table": (ROOT / "results" / "recipe_search.json", render),
    "regularisers": (ROOT / "results" / "recipe_search_regularisers.json", render_regularisers),
    "prefixes": (ROOT / "results" / "recipe_search_prefixes.json", render_prefixes),
    "factors": (ROOT / "results" / "recipe_search_factors.json", render_factors),
    "classes": (ROOT / "results" / "recipe_search_classes.json", render_classes),
}
"""Places of the page: the data that stand there, and how."""


def with_tables(page: str) -> str:
    """The page with its tables as the data have them."""
    for place, (path, made) in SEARCHES.items():
        begin, end = f"<!-- {place} -->\n", f"<!-- /{place} -->"
        block = f"{begin}{made(json.loads(path.read_text()))}{end}"
        before, rest = page.split(begin)
        page = before + block + rest.split(end)[1]
    return page


def _other(settings: dict) -> str:
    notes = []
    if settings["optimizer"] != "amsgrad":
        notes.append(settings["optimizer"])
    if settings["blocked"]:
        notes.append("block on passed nodes")
    return ", ".join(notes) or "-"


if __name__ == "__main__":
    write_text(PAGE, with_tables(PAGE.read_text()))
