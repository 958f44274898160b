"""Tables of these tests count as evaluated with a few words."""

import pytest

from tests.reproduce.tables import with_few_words


@pytest.fixture(autouse=True)
def few_words(monkeypatch):
    with_few_words(monkeypatch)
