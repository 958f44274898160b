"""Making and writing figures."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ldru.base.errors import LdruError, MissingExtraError
from ldru.base.files import whole_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")

COLORS = (*(f"C{number}" for number in range(10)), "black", "navy", "gold")
"""Of curves that are compared: as many as there are models."""


def save_figure(figure: "Figure", path: Path, *, note: str | None = None) -> None:
    """Write a figure; the file's ending says the format.

    note: kept in the file as its description (of a PNG).
    """
    import matplotlib

    check_figure_path(path)
    metadata: dict[str, str | None] = {"Date": None} if path.suffix == ".svg" else {}
    if note is not None:
        metadata["Description"] = note
    for axes in figure.axes:
        legend = axes.get_legend()
        # A dollar sign in a user's text is one; those of ticks are Matplotlib's own.
        for text in (axes.title, *axes.texts, *([] if legend is None else legend.get_texts())):
            text.set_parse_math(False)
    # The same figure gives the same bytes: no date, no random names.
    with whole_file(path) as temporary, matplotlib.rc_context({"svg.hashsalt": path.stem}):
        figure.savefig(temporary, format=path.suffix[1:], dpi=150, metadata=metadata)


def check_figure_path(path: Path) -> None:
    """Raise unless figures can be written under such a name."""
    if path.suffix[1:] not in FORMATS:
        raise LdruError(f"a figure is one of {', '.join(FORMATS)}, got the name {path.name!r}")


def new_figure(*, width: float, height: float) -> "Figure":
    """A figure of its own, without pyplot's global state."""
    try:
        from matplotlib.figure import Figure
    except ImportError as problem:
        raise MissingExtraError(package="matplotlib", extra="") from problem
    return Figure(figsize=(width, height), layout="constrained")


def save_figures(figure: "Figure", paths: Iterable[Path]) -> None:
    """Write a figure under every name."""
    for path in paths:
        save_figure(figure, path)
