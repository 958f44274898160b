"""`ldru extract`."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tyro.conf import Positional

from ldru.base.errors import LdruError
from ldru.base.json import Json
from ldru.base.reading import is_there
from ldru.cli.arguments import open_run
from ldru.cli.printing import print_rows

if TYPE_CHECKING:
    from ldru.analysis.extraction import Extraction
    from ldru.runs.run import Run


@dataclass(frozen=True, kw_only=True)
class Extract:
    """Turn a trained LDRU into an exact machine, and decide whether it is right at every length.

    Of other models a machine is learned from their answers, which is no proof.

    Args:
        run: a run folder, or the name of a shipped model such as parity_check.
        tolerance: how near states are merged, relative to their length; by default fifteen are
            tried, from 0.8 to 0.02.
        out: a new JSON file for the machine and all that was found.
        limit: the largest monoid to compute.
        words: of models that are no LDRU: random words that a machine is tried on.
        longest: their length at most.
        device: cpu or cuda; by default a GPU where there is one.
        json: print JSON.
    """

    run: Positional[Path]
    tolerance: tuple[float, ...] = ()
    out: Path | None = None
    limit: int = 10_000
    words: int = 20_000
    longest: int = 40
    device: str | None = None
    json: bool = False

    def __call__(self) -> None:
        from ldru.analysis.extraction import TOLERANCES, check_tolerances
        from ldru.models.ldru import LDRUClassifier

        tolerances = self.tolerance or TOLERANCES
        check_tolerances(tolerances)
        if self.out is not None and is_there(self.out):
            raise LdruError(f"{str(self.out)!r} is already there; choose another name with --out")
        run = open_run(self.run, device=self.device)
        if isinstance(run.model, LDRUClassifier):
            self._extract(run, tolerances)
        else:
            self._learn(run)

    def _extract(self, run: "Run", tolerances: Sequence[float]) -> None:
        """Extract an exact machine from the states of a tree."""
        from ldru.analysis.extract import extract
        from ldru.base.progress import counting

        with counting(f"merging states of {run.spec.name}", total=len(tolerances)) as advance:
            found = extract(
                run.model,
                run.language,
                tolerances=tolerances,
                limit=self.limit,
                on_trial=advance,
            )
        self._keep(run, found.to_json())
        if not self.json:
            print(f"{run.spec.name}: {found.summary}")
            notes = [*extraction_notes(found), *self._kept]
            print_rows(scan_rows(found), as_json=False, note="\n".join(notes))

    def _learn(self, run: "Run") -> None:
        """Learn a machine from answers, and say how it compares with the task's."""
        from ldru.analysis.active import learn_machine

        if self.tolerance:
            raise LdruError("--tolerance is for the states of an LDRU's tree")
        found = learn_machine(run.model, run.language, words=self.words, longest=self.longest)
        self._keep(run, found.to_json())
        if not self.json:
            print(f"{run.spec.name}: {found.summary}")
            asked = f"{found.asked:,} words were asked, {found.rounds} machines were tried"
            print("\n".join([asked, *self._kept]))

    def _keep(self, run: "Run", found: dict[str, Json]) -> None:
        """Write what was found to the file, and print it, as asked for."""
        from ldru.base.files import write_text

        text = _as_text(run, found)
        if self.out is not None:
            write_text(self.out, text + "\n")
        if self.json:
            print(text)

    @property
    def _kept(self) -> list[str]:
        return [] if self.out is None else [f"written to {self.out}"]


def keep_machine(run: "Run", found: "Extraction") -> None:
    """Write an extracted machine into the folder of its run, unless it is there."""
    from ldru.base.files import write_text

    assert run.folder is not None
    path = run.folder / "machine.json"
    if not is_there(path):
        write_text(path, _as_text(run, found.to_json()) + "\n")


def _as_text(run: "Run", found: dict[str, Json]) -> str:
    return json.dumps({"run": run.spec.name, "task": run.task.name, **found})


def scan_rows(found: "Extraction") -> list[dict[str, str]]:
    """A row for each tolerance."""
    rows = []
    for trial in found.trials:
        agreement, wrong = found.agreement(trial), trial.verdict.wrong_length
        right = "every length" if trial.verdict.is_closed else f"up to {trial.verdict.longest:,}"
        rows.append(
            {
                "tolerance": f"{trial.tolerance:g}",
                "states": f"{trial.num_states:,}",
                "levels": f"{trial.verdict.levels}",
                "closed": "yes" if trial.verdict.is_closed else "no",
                "right": f"not at {wrong:,}" if wrong else right,
                "agrees with the network": "-" if agreement is None else f"{agreement:.2%}",
                "spread": f"{trial.spread:.2f}",
                "gap": f"{trial.gap:.2f}",
                "": "taken" if trial is found.chosen else "",
            }
        )
    return rows


def extraction_notes(found: "Extraction") -> list[str]:
    """Lines about the algebra that was taken."""
    chosen, nodes = found.chosen, found.nodes
    errors = {height: share for height, share in found.wrong_by_height.items() if share}
    first = min(errors, default=None)
    reach = f"none of the sampled words up to 2^{max(found.wrong_by_height, default=0)} symbols"
    if first is not None:
        reach = f"{errors[first]:.2%} of the sampled words of up to 2^{first} symbols, first there"
    asked = f"network: itself wrong on {reach}"
    if chosen is None or nodes is None:
        return [f"compared on {found.words:,} words up to length {found.longest:,}", asked]
    served = sum(bool(kinds) for kinds in found.classes.values())
    mixed = sum(len(kinds) > 1 for kinds in found.classes.values())
    classes = len({kind for kinds in found.classes.values() for kind in kinds})
    which = "each stands for one" if not mixed else f"{mixed} of them stand for several"
    return [
        f"algebra: {served} states for {classes} of the monoid's {found.monoid.size} classes, "
        f"{which}",
        f"words:   {chosen.disagreements:,} of {found.words:,} up to length {found.longest:,} are "
        "answered otherwise than by the network",
        f"nodes:   {nodes.nearest:.2%} of the network's {nodes.nodes:,} are nearest to their own "
        f"state, at most {nodes.farthest:.2f} away; states are {chosen.gap:.2f} apart",
        asked,
    ]


def command(arguments: list[str]) -> type[Extract]:
    return Extract
