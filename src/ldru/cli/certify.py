"""`ldru certify`."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tyro.conf import Positional

from ldru.base.errors import LdruError, RunError
from ldru.base.reading import is_there
from ldru.cli.arguments import open_run

if TYPE_CHECKING:
    from ldru.analysis.certificate import Certificate
    from ldru.runs.run import Run


@dataclass(frozen=True, kw_only=True)
class Certify:
    """Prove that a trained LDRU itself, in float32, is right on words of every length.

    Where it has to be, the network is first consolidated: trained further on its own exact machine,
    so that its states gather. This gives a new run, with its certificate. A run that has one is
    checked against it.

    Args:
        run: a run folder, or the name of a shipped model such as parity_check.
        out: where the run of the consolidated network is kept.
        rounds: how often it is consolidated at most, each time for twice as many steps.
        steps: of the first consolidation; by default 1,000, and more for large machines.
        device: cpu or cuda; by default a GPU where there is one.
        json: print JSON.
    """

    run: Positional[Path]
    out: Path = Path("runs")
    rounds: int = 4
    steps: int | None = None
    device: str | None = None
    json: bool = False

    def __call__(self) -> None:
        from ldru.analysis.certificate import Certificate
        from ldru.runs.certify import CERTIFICATE

        run = open_run(self.run, device=self.device)
        path = None if run.folder is None else run.folder / CERTIFICATE
        if path is not None and is_there(path):
            certificate = Certificate.load(path)
            certificate.check(run.model, run.language)
            self._show(run, certificate, f"checked: {path} holds")
            return
        self._certify(run)

    def _certify(self, run: "Run") -> None:
        """Certify, and keep what became of the run."""
        from ldru.base.progress import counting
        from ldru.runs.certify import CERTIFICATE, certify_run

        def show_round(number: int, found: "Certificate") -> None:
            if not self.json:
                print(f"round {number}: {found.summary}", flush=True)

        with counting(f"consolidating {run.spec.name}, steps", total=None) as advance:
            done = certify_run(
                run, rounds=self.rounds, steps=self.steps, on_round=show_round, on_step=advance
            )
        if not done.certificate.is_certified:
            raise RunError(
                f"{run.spec.name} is not certified after {done.run.spec.consolidated:,} steps of "
                f"consolidation; {done.certificate.summary}; give it more with --rounds or --steps"
            )
        folder = done.run.folder
        if done.rounds:
            folder = done.run.save(self.out / done.run.spec.name).folder
        if folder is None:
            raise LdruError(
                f"{run.spec.name} is certified as it is; copy it to a folder to keep it"
            )
        done.certificate.save(folder / CERTIFICATE)
        self._show(done.run, done.certificate, f"written to {folder}")

    def _show(self, run: "Run", certificate: "Certificate", note: str) -> None:
        if self.json:
            found = certificate.to_json()
            brief = {name: found[name] for name in ("summary", "radius", "farthest", "lead")}
            print(json.dumps({"run": run.spec.name, "task": run.task.name, **brief, "note": note}))
            return
        print(f"{run.spec.name}: {certificate.summary}\n{note}")


def command(arguments: list[str]) -> type[Certify]:
    return Certify
