"""Pages of results: the tables under a heading, and figures drawn from the records."""

import re
from pathlib import Path

from ldru.drawing.style import save_figure
from ldru.figures.studies import STUDY_FIGURES
from ldru.reproduce.render import cell_results
from ldru.runs.results import Results
from tools.publish import PUBLISHED
from tools.site.curves import curves_figure, curves_of
from tools.site.languages import LANGUAGES

TITLES = {
    "recipes": "Our recipe and the paper's settings",
    "recipes_id": "The same, at training lengths",
    "equal_budget": "Equal budgets",
    "equal_budget_id": "Equal budgets, at training lengths",
    "state_tracking": "State tracking",
    "state_tracking_id": "State tracking, at training lengths",
    "labels": "Labels of words and of all nodes",
    "labels_by_step": "Labels of words, prefixes and all nodes",
    "labels_steps": "Steps until long words are right",
    "verdicts": "Verdicts at every length",
    "certificates": "Certificates",
    "taught": "Taught products",
    "hard_tests": "Hard test words",
    "classes": "Classes of all nodes",
    "central": "The paper's central table",
    "central_id": "The central table, at training lengths",
    "training_length": "Longer training words",
    "operators": "Operators",
    "sizes": "Sizes",
    "leaf_block": "The leaf block",
    "l2": "The L2 term",
    "l2-scaled-0.1": "The L2 term, a tenth of the steps",
    "listops_leaf_block": "ListOps",
    "listops_associativity-scaled-0.05": "ListOps, associativity loss",
    "listops_associativity_full-scaled-0.05": "ListOps, associativity loss by test set",
    "text": "Texts",
    "text_leaf_block": "Texts, with a leaf block",
    "text_recipes": "Texts, by recipe",
    "text_subset-scaled-0.1": "Subsets of texts",
}
"""The tables in the order of the site."""

LANGUAGE = re.compile(rf"^\| ({'|'.join(LANGUAGES)}) \|", flags=re.MULTILINE)
"""A row of a language, which has a page in the gallery."""

SORTABLE = "Click on a column's name to sort by it."


def table_page(name: str, folder: Path, results: Results) -> str:
    """A table as results/tables has it, and its figure by length where it has one."""
    text = (results.folder / "tables" / f"{name}.md").read_text()
    caption, rows = text.strip().split("\n\n", 1)
    rows = LANGUAGE.sub(r"| [\1](../../gallery/\1.md) |", rows)
    parts = ["---\nhide: [toc]\n---", f"# {TITLES[name]}", f"{caption} {SORTABLE}", rows]
    table = PUBLISHED.get(name)
    kind = "accuracy" if name == "recipes" else table and table.figure
    if table is not None and kind and _has_runs(name, results):
        save_figure(STUDY_FIGURES[kind](table, results), folder / f"{name}.png")
        parts.append(f"![{TITLES[name]}, from the records]({name}.png)")
    return "\n\n".join(parts) + "\n"


def _has_runs(name: str, results: Results) -> bool:
    return any(cell.seeds for cell in cell_results(PUBLISHED[name], results).values())


def by_length_page(folder: Path, results: Results) -> str:
    """Accuracy by length, a figure for each language."""
    parts = [
        "# Accuracy by length",
        "Every model that has records, language by language: means over seeds and over ten "
        "neighbouring lengths, 512 words of each length from 1 to 500. All were trained on words "
        "up to 40, the shaded part. The LDRUs of the first two curves have 100,000 steps, or "
        "the paper's 100,000 or 1,000,000; the others have 20,000.",
    ]
    for task in LANGUAGES:
        curves = curves_of(task, results)
        if curves:
            save_figure(curves_figure(curves), folder / f"{task}.svg")
            parts += [f"## [{task}](../gallery/{task}.md)", f"![{task}](by_length/{task}.svg)"]
    return "\n\n".join(parts) + "\n"


def write_results(folder: Path, results: Results) -> None:
    """Write the pages of all tables, and of accuracy by length."""
    (folder / "tables").mkdir(parents=True, exist_ok=True)
    for name in TITLES:
        (folder / "tables" / f"{name}.md").write_text(table_page(name, folder / "tables", results))
    (folder / "by_length").mkdir(exist_ok=True)
    (folder / "by_length.md").write_text(by_length_page(folder / "by_length", results))
