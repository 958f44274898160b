"""Every Python example of the README and of the pages under docs/ runs, with fewer steps."""

import re
from pathlib import Path

import pytest

from ldru.models.registry import MODELS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
EXAMPLES = {
    f"{path.relative_to(ROOT)} {number}": example
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    for number, example in enumerate(
        re.findall(r"```python\n(.*?)```", path.read_text(), flags=re.DOTALL)
    )
}


@pytest.fixture
def known_models():
    """Leave no model behind that an example registers."""
    before = dict(MODELS)
    yield
    MODELS.clear()
    MODELS.update(before)


@pytest.mark.usefixtures("few_words", "few_entries")
@pytest.mark.parametrize("name", EXAMPLES)
def test_example_runs(name, known_models, small_listops, small_texts, monkeypatch):
    monkeypatch.chdir(small_texts.parent)  # the examples read a folder `texts`
    shorter = re.sub(r"steps=[\d_]+", "steps=4", EXAMPLES[name])
    exec(compile(shorter, name, "exec"), {"__name__": "example"})


def test_the_two_commands_are_on_the_first_screen():
    first_screen = README[:1500]
    assert "make demo" in first_screen
    assert "make test" in first_screen
    assert README.index("![") < README.index("make demo")  # the picture comes first
    assert len(README.splitlines()) <= 150


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_import_public_names_alone(name):
    modules = re.findall(r"^(?:import|from) (ldru[\w.]*)", EXAMPLES[name], flags=re.MULTILINE)
    assert set(modules) <= {"ldru", "ldru.huggingface"}
