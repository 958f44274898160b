"""The tutorials run, at a small size, and notebooks are read, run and shown as they should be."""

import gc
import json
from pathlib import Path

import pytest
from tools.site.notebook import (
    Cell,
    read_notebook,
    run_notebook,
    to_jupyter,
    to_markdown,
)

from ldru.base.errors import RunError

LESSONS = sorted((Path(__file__).parents[2] / "docs/learn").glob("*.py"))

SMALL = """# %% [markdown]
# # Small
#
# A text.

# %%
# %matplotlib inline
print("printed")
1 + 1

# %%
x = 3
"""


# The debug executor of submitit leaves its log files to the garbage collector.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.usefixtures("few_words", "few_entries")
@pytest.mark.parametrize("source", LESSONS, ids=lambda path: path.stem)
def test_a_tutorial_runs(source, tmp_path):
    before = Path.cwd()
    cells = run_notebook(source, folder=tmp_path, is_quick=True)
    gc.collect()
    assert Path.cwd() == before
    assert cells[0].text.startswith("# ")  # a title
    assert any(cell.printed or cell.value for cell in cells)


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.py"
    path.write_text(SMALL)
    return path


def test_cells_are_read_and_show_what_they_print_and_their_last_value(small, tmp_path):
    text, code, last = run_notebook(small, folder=tmp_path)
    assert text == Cell(text="# Small\n\nA text.", is_code=False)
    assert (code.printed, code.value) == ("printed\n", "2")
    assert (last.text, last.printed, last.value) == ("x = 3", "", "")


def test_a_notebook_becomes_a_page_and_a_file_of_jupyter(small, tmp_path):
    cells = run_notebook(small, folder=tmp_path)
    page, pictures = to_markdown(cells, name="small")
    assert page.startswith("# Small\n\nA text.\n\n```python\nprint(")
    assert "``` { .text .output }\nprinted\n```" in page
    assert pictures == {}
    written = json.loads(to_jupyter(cells))
    assert written["cells"][1]["source"].startswith("%matplotlib inline\n")
    assert [out["output_type"] for out in written["cells"][1]["outputs"]] == [
        "stream",
        "display_data",
    ]
    assert written["cells"][2]["outputs"] == []


def test_figures_and_tables_are_shown(tmp_path):
    path = tmp_path / "drawn.py"
    path.write_text('# %%\nimport ldru\nldru.draw("parity_check")\n# %%\nldru.monoid("dyck_2")\n')
    drawn, table = run_notebook(path, folder=tmp_path)
    assert "<svg" in drawn.picture
    assert "<table" in table.table
    page, pictures = to_markdown([drawn, table], name="drawn")
    assert list(pictures) == ["drawn-0.svg"]
    assert "](drawn-0.svg)" in page
    assert '<div class="output"><' in page


def test_a_cell_that_fails_is_named(tmp_path):
    path = tmp_path / "broken.py"
    path.write_text("# %%\n1 / 0\n")
    with pytest.raises(RunError, match=r"(?s)broken.py, cell 0 failed.*ZeroDivisionError"):
        run_notebook(path, folder=tmp_path)
    path.write_text("import ldru\n")
    with pytest.raises(RunError, match="does not begin with # %%"):
        read_notebook(path)
