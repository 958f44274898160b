"""The table of a run of attacks, as text and in the documentation."""

import json
import platform
import re
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from attack.attack import Finding, Tally
from ldru.base.version import __version__

BEGIN, END = "<!-- attack: begin -->", "<!-- attack: end -->"
HEADER = (
    "| attack | a case | cases | done | refused | findings | slowest | memory |\n"
    "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |"
)


def as_row(tally: Tally) -> str:
    """A row of the table."""
    cells = (
        tally.attack,
        tally.about,
        f"{tally.cases:,}",
        f"{tally.succeeded:,}",
        f"{tally.refused:,}",
        f"{len(tally.findings):,}",
        f"{tally.slowest:.1f} s",
        f"{tally.memory / 2**20:,.0f} MB",
    )
    return f"| {' | '.join(cells)} |"


def write_page(page: Path, tallies: Sequence[Tally], *, seed: int) -> None:
    """Put the table between the markers of a page."""
    total = sum(tally.cases for tally in tallies)
    found = sum(len(tally.findings) for tally in tallies)
    minutes = sum(tally.seconds for tally in tallies) / 60
    summary = (
        f"{total:,} cases of {datetime.now(UTC):%Y-%m-%d}, seed {seed}, ldru {__version__}, Python "
        f"{platform.python_version()}: {found:,} findings in {minutes:.0f} minutes."
    )
    rows = "\n".join(map(as_row, tallies))
    block = f"{BEGIN}\n{summary}\n\n{HEADER}\n{rows}\n{END}"
    text = page.read_text()
    page.write_text(re.sub(f"{BEGIN}.*{END}", lambda _: block, text, flags=re.DOTALL))


def read_tallies(file: Path) -> list[Tally]:
    """What `--json` wrote."""
    return [
        Tally(**{**data, "findings": tuple(Finding(**one) for one in data["findings"])})
        for data in json.loads(file.read_text())
    ]


if __name__ == "__main__":  # attack.report PAGE FILE...: parts of a run, which ran side by side
    parts = [tally for name in sys.argv[2:] for tally in read_tallies(Path(name))]
    write_page(Path(sys.argv[1]), parts, seed=0)
