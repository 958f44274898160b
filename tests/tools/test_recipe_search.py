"""The table of the recipe search is that of its data."""

import json

from tools.recipe_search import DATA, PAGE, with_table

from ldru.automata.named import PAPERS


def test_the_table_says_what_the_runs_say():
    data = json.loads(DATA.read_text())
    page = PAGE.read_text()
    assert with_table(page, data) == page, "run `python -m tools.recipe_search`"
    assert page.count("\n| 0.0") == len(data["settings"])
    assert not {row[1] for row in data["rows"]} & set(PAPERS)  # nothing was chosen on the 21
    assert len(data["rows"]) == 20 * len(data["settings"])
