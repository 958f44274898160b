"""Rows as Markdown, LaTeX and CSV."""

import csv
import io

from ldru.base.tabular import Tabular


class Some(Tabular):
    def __init__(self, *rows):
        self.given = list(rows)

    def rows(self):
        return self.given


FOUND = Some({"a_b": "x|y", "n": 1, "share": 1 / 3}, {"a_b": "50 %", "n": None, "share": 1.0})


def test_markdown():
    assert FOUND.to_markdown().splitlines() == [
        "| a_b | n | share |",
        "| --- | ---: | ---: |",
        r"| x\|y | 1 | 0.3333 |",
        "| 50 % | - | 1.0000 |",
    ]


def test_latex():
    assert FOUND.to_latex().splitlines() == [
        r"\begin{tabular}{lrr}",
        r"a\_b & n & share \\",
        r"\hline",
        r"x|y & 1 & 0.3333 \\",
        r"50 \% & - & 1.0000 \\",
        r"\end{tabular}",
    ]


def test_csv_keeps_all_digits():
    back = list(csv.DictReader(io.StringIO(FOUND.to_csv())))
    assert float(back[0]["share"]) == 1 / 3
    assert back[1] == {"a_b": "50 %", "n": "", "share": "1.0"}


def test_no_rows_are_an_empty_table():
    assert Some().to_csv() == "\n"
    assert Some().to_markdown() == "|  |\n|  |"
