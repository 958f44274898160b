"""Tables rendered from records."""

import math

import pytest
from scipy import stats

from ldru.evaluation.statistics import p_value
from ldru.reproduce.plan import make_plan
from ldru.reproduce.render import as_csv, as_latex, as_markdown, cell_results
from ldru.runs.results import Results
from tests.reproduce.tables import small_table, work


def test_rendering_shows_ours_the_papers_and_holes(tmp_path):
    folder, table = Results(tmp_path), small_table()
    part = table.restricted(columns=["ldru"], seeds=[0])
    work("local", make_plan([part], folder).jobs)
    cells = cell_results(table, folder)
    markdown, latex = as_markdown(table, cells), as_latex(table, cells)
    assert "[1 of 2 seeds] (99.2 ± 0.5)" in markdown
    assert "2 of 8 runs" in markdown
    assert "| - |" in markdown
    assert r"parity\_check" in latex
    assert r"$\pm$" in latex
    rows = as_csv(table, cells).splitlines()
    assert rows[0].startswith("table,steps_share,task")
    assert "small,1,parity_check,ldru,1,,100.0" in rows


@pytest.mark.parametrize("values", [[97.0, 99.5, 98.0], [100.0, 99.0, 98.0], [3.0, -2.0, 4.0, 1.0]])
def test_the_p_value_is_both_of_the_papers_tests(values):
    one_sample = stats.ttest_1samp(values, 100).pvalue
    assert p_value([value - 100 for value in values]) == pytest.approx(one_sample)
    other = [math.sin(value) for value in values]
    differences = [a - b for a, b in zip(values, other, strict=True)]
    assert p_value(differences) == pytest.approx(stats.ttest_rel(values, other).pvalue)
    assert p_value([0.0, 0.0, 0.0]) == 1
    assert p_value([-5.0, -5.0, -5.0]) == 0
