"""`python -m attack [NAME ...]`: run attacks, print what came of them, and show it in the docs."""

import argparse
import json
import os
import sys
import tempfile
import time
import warnings
from dataclasses import asdict
from pathlib import Path

import torch

from attack.attack import Tally
from attack.material import make_material
from attack.report import HEADER, as_row, write_page
from attack.runner import replay, run_attack
from attack.table import ATTACKS

MEMORY_FOLDER = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""Where files are made: in memory, where each `fsync` takes no time."""

SHOWN = 20


def main() -> int:
    """The number of findings, at most 100, is the exit code."""
    options = _options()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="attack-", dir=MEMORY_FOLDER) as folder:
        keep_caches_in(Path(folder) / "caches")
        material = make_material(Path(folder))
        if options.replay:
            name, seed, number = options.replay.split(":")
            replay(ATTACKS[name], material, seed=int(seed), number=int(number))
            return 0
        print(HEADER, flush=True)
        tallies: list[Tally] = []
        names = options.names or list(ATTACKS)
        for name in names:
            deadline = None
            if options.minutes is not None:  # what is left, in equal shares
                now, end = time.monotonic(), began + 60 * options.minutes
                deadline = now + (end - now) / (len(names) - len(tallies))
            tally = run_attack(
                ATTACKS[name],
                material,
                seed=options.seed,
                cases=options.cases,
                every=options.every,
                workers=options.workers,
                deadline=deadline,
            )
            tallies.append(tally)
            show(tally)
    if options.json:
        Path(options.json).write_text(json.dumps([asdict(tally) for tally in tallies], indent=1))
    if options.page:
        write_page(Path(options.page), tallies, seed=options.seed)
    return min(100, sum(len(tally.findings) for tally in tallies))


def keep_caches_in(folder: Path) -> None:
    """Import what would otherwise be imported in each case, with its caches in a folder."""
    sys.dont_write_bytecode = True
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    os.environ["LDRU_DATA"] = str(folder / "data")
    os.environ["MPLCONFIGDIR"] = str(folder / "matplotlib")
    import matplotlib.pyplot as plt

    plt.close(plt.figure())


def show(tally: Tally) -> None:
    """Print a row of the table, and some findings."""
    print(as_row(tally), flush=True)
    if len(tally.findings) > SHOWN:
        print(f"  {SHOWN} of {len(tally.findings)} findings; --json has all", file=sys.stderr)
    for finding in tally.findings[:SHOWN]:
        print(
            f"  {finding.address}: {finding.what}\n    {finding.case}", file=sys.stderr, flush=True
        )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m attack", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(ATTACKS)}")
    parser.add_argument("--seed", type=int, default=0, help="another seed draws other cases")
    parser.add_argument("--cases", type=int, help="of each attack, at most")
    parser.add_argument("--every", type=int, default=1, help="run only one of so many")
    parser.add_argument("--minutes", type=float, help="stop after so many")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="processes at once")
    parser.add_argument("--json", help="write the counts to this file")
    parser.add_argument("--page", help="write the table into this page, between its markers")
    parser.add_argument("--replay", metavar="NAME:SEED:NUMBER", help="run one case, openly")
    options = parser.parse_args()
    if unknown := [name for name in options.names if name not in ATTACKS]:
        parser.error(f"there is no attack {unknown[0]!r}; known: {', '.join(ATTACKS)}")
    return options


if __name__ == "__main__":
    sys.exit(main())
