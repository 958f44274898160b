"""The tables of the recipe search are those of its data."""

import json

import pytest
from tools.recipe_search import PAGE, SEARCHES, with_tables

from ldru.automata.named import PAPERS


def test_the_tables_say_what_the_runs_say():
    page = PAGE.read_text()
    assert with_tables(page) == page, "run `python -m tools.recipe_search`"


@pytest.mark.parametrize("place", SEARCHES)
def test_nothing_was_chosen_on_the_papers_languages(place):
    data = json.loads(SEARCHES[place][0].read_text())
    assert not {row[1] for row in data["rows"]} & set(PAPERS)
    assert {row[0] for row in data["rows"]} == set(data["settings"])
