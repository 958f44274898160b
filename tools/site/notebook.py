"""Notebooks as text: Python files in the percent format, run and shown with what they print.

`# %%` begins a cell of code, `# %% [markdown]` one of text. Such a file is a plain script for
Python, a notebook for Jupytext, VS Code and PyCharm, and a readable page on a code host. Running
it takes no Jupyter: a cell is executed, and the value of its last line is shown.
"""

import ast
import contextlib
import io
import json
import os
import re
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ldru.base.errors import RunError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUICK = "LDRU_QUICK"
"""The environment variable that makes the notebooks train for a few steps only."""

MARK = re.compile(r"^# %%(?P<kind> \[markdown\])?[^\n]*\n", flags=re.MULTILINE)
MAGIC = re.compile(r"^# (%\w.*\n)", flags=re.MULTILINE)
"""A command of IPython, such as `# %matplotlib inline`: a comment to Python."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A cell and, once run, what it showed.

    printed: to standard output.
    value: the last line's value as text; table: as HTML, where it has such a form; picture: as SVG.
    """

    text: str
    is_code: bool
    printed: str = ""
    value: str = ""
    table: str = ""
    picture: str = ""


def read_notebook(path: Path) -> list[Cell]:
    """The cells of a notebook."""
    text = path.read_text()
    marks = list(MARK.finditer(text))
    if not marks or text[: marks[0].start()].strip():
        raise RunError(f"{path} is no notebook in the percent format: it does not begin with # %%")
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    cells = []
    for mark, end in zip(marks, ends, strict=True):
        body, is_code = text[mark.end() : end].strip("\n"), mark["kind"] is None
        if not is_code:
            body = re.sub(r"^# ?", "", body, flags=re.MULTILINE)
        cells.append(Cell(text=body, is_code=is_code))
    return cells


def run_notebook(path: Path, *, folder: Path, is_quick: bool = False) -> list[Cell]:
    """Run all cells in a folder, one after the other; an error names the cell."""
    names: dict[str, object] = {"__name__": "notebook"}
    with _inside(folder, is_quick=is_quick):
        return [
            _run(cell, names, where=f"{path.name}, cell {number}") if cell.is_code else cell
            for number, cell in enumerate(read_notebook(path))
        ]


def _run(cell: Cell, names: dict[str, object], *, where: str) -> Cell:
    tree = ast.parse(cell.text, filename=where)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    value, printed = None, io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(tree, where, "exec"), names)
            if last is not None:
                assert isinstance(last, ast.Expr)
                value = eval(compile(ast.Expression(last.value), where, "eval"), names)
    except Exception as problem:
        raise RunError(f"{where} failed:\n{traceback.format_exc()}") from problem
    cell = replace(cell, printed=printed.getvalue())
    if value is None:
        return cell
    if hasattr(value, "savefig"):
        return replace(cell, value=repr(value), picture=_svg(value))
    html = getattr(value, "_repr_html_", None)
    return replace(cell, value=repr(value), table=html() if html else "")


def _svg(figure: "Figure") -> str:
    import matplotlib

    written = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "notebook"}):
        figure.savefig(written, format="svg", metadata={"Date": None})
    return written.getvalue().decode()


@contextlib.contextmanager
def _inside(folder: Path, *, is_quick: bool) -> Iterator[None]:
    """Work in a folder, with the size of the notebooks in the environment."""
    before = os.environ.pop(QUICK, None)
    if is_quick:
        os.environ[QUICK] = "1"
    try:
        with contextlib.chdir(folder):
            yield
    finally:
        os.environ.pop(QUICK, None)
        if before is not None:
            os.environ[QUICK] = before


def to_markdown(cells: Sequence[Cell], *, name: str) -> tuple[str, dict[str, str]]:
    """A notebook as a page, and its pictures by their file names."""
    parts: list[str] = []
    pictures: dict[str, str] = {}
    for cell in cells:
        if not cell.is_code:
            parts.append(cell.text)
            continue
        parts.append(f"```python\n{MAGIC.sub('', cell.text)}\n```")
        if cell.printed:
            parts.append(f"``` {{ .text .output }}\n{cell.printed.rstrip()}\n```")
        if cell.picture:
            pictures[file := f"{name}-{len(pictures)}.svg"] = cell.picture
            parts.append(f"![What the cell above drew]({file})")
        elif cell.table:
            parts.append(f'<div class="output">{cell.table}</div>')
        elif cell.value:
            parts.append(f"``` {{ .text .output }}\n{cell.value}\n```")
    return "\n\n".join(parts) + "\n", pictures


def to_jupyter(cells: Sequence[Cell]) -> str:
    """A notebook as Jupyter keeps it (format 4.5), outputs included."""
    found: list[Mapping[str, object]] = []
    for number, cell in enumerate(cells):
        common: dict[str, object] = {"id": f"cell-{number}", "metadata": {}}
        if not cell.is_code:
            found.append({"cell_type": "markdown", "source": cell.text, **common})
            continue
        source = MAGIC.sub(r"\1", cell.text)
        code = {"cell_type": "code", "source": source, "execution_count": None, **common}
        found.append({**code, "outputs": _outputs(cell)})
    python = {"display_name": "Python 3", "language": "python", "name": "python3"}
    about = {"kernelspec": python, "language_info": {"name": "python"}}
    whole = {"cells": found, "metadata": about, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1) + "\n"


def _outputs(cell: Cell) -> list[dict[str, object]]:
    outputs: list[dict[str, object]] = []
    if cell.printed:
        outputs.append({"output_type": "stream", "name": "stdout", "text": cell.printed})
    if cell.value:
        data = {"text/plain": cell.value}
        if cell.table:
            data["text/html"] = cell.table
        if cell.picture:
            data["image/svg+xml"] = cell.picture
        outputs.append({"output_type": "display_data", "data": data, "metadata": {}})
    return outputs
