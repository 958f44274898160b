"""Results as rows, and rows as Markdown, LaTeX and CSV."""

import csv
import html
import io
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from ldru.base.json import Json

SHOWN = 50
"""Rows that a notebook shows."""

LATEX = {"&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#", "$": r"\$", "{": r"\{", "}": r"\}"}


class Tabular(ABC):
    """Something that can be shown as a table.

    `pandas.DataFrame(found.rows())` makes a data frame of it.

    >>> found = ldru.Run.open("parity_check").compute_evaluation([40, 500], words=64)
    >>> print(found.to_markdown())
    | length | accuracy | low | high | majority_share | words |
    | ---: | ---: | ---: | ---: | ---: | ---: |
    | 40 | 1.0000 | 0.9434 | 1.0000 | 0.5312 | 64 |
    | 500 | 1.0000 | 0.9434 | 1.0000 | 0.5156 | 64 |
    """

    @abstractmethod
    def rows(self) -> list[dict[str, Json]]:
        """Rows of the same keys, with plain values."""

    def to_markdown(self) -> str:
        """A table in Markdown; fractions with four digits."""
        names, cells, are_numbers = self._cells(_as_it_is)
        rule = ["---:" if is_number else "---" for is_number in are_numbers]
        return "\n".join(f"| {' | '.join(row)} |" for row in (names, rule, *cells))

    def to_latex(self) -> str:
        """A `tabular` in LaTeX; fractions with four digits."""
        names, cells, are_numbers = self._cells(_escaped)
        columns = "".join("r" if is_number else "l" for is_number in are_numbers)
        lines = [rf"{' & '.join(row)} \\" for row in (names, *cells)]
        return "\n".join(
            [rf"\begin{{tabular}}{{{columns}}}", lines[0], r"\hline", *lines[1:], r"\end{tabular}"]
        )

    def to_csv(self) -> str:
        """Comma-separated values, all digits kept."""
        rows, out = self.rows(), io.StringIO()
        writer = csv.DictWriter(out, fieldnames=list(rows[0]) if rows else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return out.getvalue()

    def _repr_html_(self) -> str:
        """A table in notebooks, of the first rows alone."""
        names, cells, _ = self._cells(html.escape)
        head = "".join(f"<th>{name}</th>" for name in names)
        body = "".join(
            f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in cells[:SHOWN]
        )
        more = f"<p>... and {len(cells) - SHOWN} more</p>" if len(cells) > SHOWN else ""
        return f"<table><tr>{head}</tr>{body}</table>{more}"

    def _cells(
        self, text_of: Callable[[str], str]
    ) -> tuple[list[str], list[list[str]], Sequence[bool]]:
        """Names, cells, and which columns hold numbers."""
        rows = self.rows()
        names = list(rows[0]) if rows else []
        cells = [[text_of(_text(row[name])) for name in names] for row in rows]
        are_numbers = [all(_is_number(row[name]) for row in rows) for name in names]
        return [text_of(name) for name in names], cells, are_numbers


def _is_number(value: Json) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _text(value: Json) -> str:
    if value is None:
        return "-"
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def _as_it_is(text: str) -> str:
    return text.replace("|", r"\|")


def _escaped(text: str) -> str:
    return "".join(LATEX.get(character, character) for character in text)
