"""`ldru teach`."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tyro.conf import OmitArgPrefixes

from ldru.base.errors import LdruError, RunError
from ldru.base.json import Json
from ldru.base.reading import is_there
from ldru.cli.arguments import Language
from ldru.cli.extract import keep_machine
from ldru.models.settings import LDRUSpec

if TYPE_CHECKING:
    from ldru.analysis.extraction import Extraction
    from ldru.runs.run import Run


@dataclass(frozen=True, kw_only=True)
class Teach:
    """Teach LDRUs a regular language without a word: by the products of its monoid.

    Every product of two classes is an example. Then the exact machine is extracted, judged at every
    length, and kept beside the weights (machine.json).

    Args:
        seeds: one network each.
        steps: by default 32 for each class of the monoid, and at least 2,000.
        out: folder for the run folders.
        device: cpu or cuda; by default a GPU where there is one.
        json: print JSON.
    """

    language: OmitArgPrefixes[Language] = field(default_factory=Language)
    model: OmitArgPrefixes[LDRUSpec] = field(default_factory=LDRUSpec)
    seeds: tuple[int, ...] = (0,)
    steps: int | None = None
    out: Path = Path("runs")
    device: str | None = None
    json: bool = False

    def __call__(self) -> None:
        from ldru.base.progress import counting
        from ldru.runs.teach import teach, teaching_spec

        task = self.language.find()
        specs = [
            teaching_spec(task, model=self.model, seed=seed, steps=self.steps)
            for seed in dict.fromkeys(self.seeds)
        ]
        for spec in specs:
            if is_there(self.out / spec.name):
                raise LdruError(
                    f"{str(self.out / spec.name)!r} is already there; choose another folder"
                )
        results: list[Json] = []
        wrong = []
        for spec in specs:
            with counting(f"teaching {task.name}, steps", total=spec.taught) as advance:
                run = teach(
                    task,
                    model=self.model,
                    seed=spec.seed,
                    steps=spec.taught,
                    device=self.device,
                    on_step=advance,
                )
            run = run.save(self.out / spec.name)
            found = run.exact()
            keep_machine(run, found)
            results.append(self._show(run, found))
            if not found.is_correct:
                wrong.append(run)
        if self.json:
            print(json.dumps(results))
        if wrong:
            raise RunError(
                f"{len(wrong)} of {len(specs)} machines are not correct, {wrong[0].spec.name} is "
                f"the first; allow more than {wrong[0].spec.taught:,} --steps"
            )

    def _show(self, run: "Run", found: "Extraction") -> Json:
        """Print what came out, or give it as JSON."""
        states = None if found.chosen is None else found.chosen.num_states
        seconds = round(run.record.seconds, 1)
        if not self.json:
            machine = "" if states is None else f", a machine of {states:,} states"
            print(f"{run.spec.name}: {found.summary}{machine}")
            print(f"{run.spec.taught:,} steps in {seconds:g} s, kept in {run.folder}", flush=True)
        return {
            "run": run.spec.name,
            "task": run.task.name,
            "summary": found.summary,
            "correct": found.is_correct,
            "states": states,
            "steps": run.spec.taught,
            "seconds": seconds,
            "folder": str(run.folder),
        }


def command(arguments: list[str]) -> type[Teach]:
    return Teach
