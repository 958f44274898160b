"""Printing: results on standard output, the rest on standard error."""

import json
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ldru.base.json import Json

if TYPE_CHECKING:
    from rich.console import RenderableType


def print_rows(rows: Sequence[dict], *, as_json: bool, note: str = "") -> None:
    """Rows of the same keys as a table, or as JSON."""
    if as_json:
        print(json.dumps(rows))
        return
    if not rows:
        print(note or "nothing to show")
        return
    from rich.box import SIMPLE
    from rich.table import Table

    table = Table(box=SIMPLE)
    for name, value in rows[0].items():
        table.add_column(name, justify="right" if isinstance(value, int | float) else "left")
    for row in rows:
        table.add_row(*(_cell(value) for value in row.values()))
    show(table)
    if note:
        print(note)


def say(text: str) -> None:
    """A line for people, on standard error."""
    print(text, file=sys.stderr)


def show(content: "RenderableType") -> None:
    """Print with rich; wide enough not to fold when standard output is no terminal."""
    from rich.console import Console

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # as `print` does: the reader has seen enough, nothing failed

    # Neither emoji nor marks: lengths such as 60:100:4, and names with brackets, would become some.
    width = None if sys.stdout.isatty() else 160
    console = Plain(width=width, emoji=False, markup=False, highlight=False)
    console.print(content)


def short(rows: Iterable[dict[str, Json]]) -> list[dict[str, Json]]:
    """Rows with their fractions cut to four digits, for people."""
    return [{k: f"{v:.4f}" if isinstance(v, float) else v for k, v in row.items()} for row in rows]


def in_percent(rows: Iterable[dict[str, Json]]) -> list[dict[str, Json]]:
    """Rows with their fractions as percentages, for people."""
    return [{k: f"{v:.2%}" if isinstance(v, float) else v for k, v in row.items()} for row in rows]


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)
