"""Progress bars on standard error; silent where that is no terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn


@contextmanager
def counting(description: str, *, total: int | None) -> Iterator[Callable[..., None]]:
    """Show a bar for the length of a block; each call of what it yields moves the bar by one.

    total: None where nobody knows.
    """
    with make_progress() as progress:
        bar = progress.add_task(description, total=total)
        yield lambda *_: progress.advance(bar)


def make_progress(*columns: "ProgressColumn") -> "Progress":
    """Bars with the time left, and some more columns."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        *columns,
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    )
