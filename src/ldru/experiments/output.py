"""Tables and figures as files under a results folder."""

from ldru.experiments.figures import save_figure
from ldru.experiments.rendering import as_csv, as_latex, as_markdown, cell_results
from ldru.experiments.results import Results
from ldru.experiments.study_figures import STUDY_FIGURES
from ldru.experiments.table import Table
from ldru.files import write_text

WRITERS = {"md": as_markdown, "tex": as_latex, "csv": as_csv}


def write_table(table: Table, results: Results) -> None:
    """Write a table in every form, and its figure where there is something to draw."""
    cells = cell_results(table, results)
    for ending, write in WRITERS.items():
        write_text(results.folder / "tables" / f"{table.name}.{ending}", write(table, cells))
    if table.figure is not None and any(cell.seeds for cell in cells.values()):
        figure = STUDY_FIGURES[table.figure](table, results)
        for ending in ("png", "svg"):
            save_figure(figure, results.folder / "figures" / f"{table.name}.{ending}")
