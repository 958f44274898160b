"""Work on files that may end at any moment, and what must be there when it was done again."""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from attack.children import Child, Ended, free_port, group_environment
from attack.material import LENGTHS, WORDS, Material, train
from attack.operations import kill
from ldru.models.settings import LDRUSpec, RNNSpec
from ldru.paper.table import Column, Table
from ldru.reproduce.board import Board
from ldru.reproduce.engines.local import LocalEngine
from ldru.reproduce.plan import make_plan
from ldru.reproduce.render import write_table
from ldru.runs.evaluate import evaluate_missing
from ldru.runs.folder import RECORD
from ldru.runs.pack import pack, unpack
from ldru.runs.results import Results
from ldru.runs.run import Run
from ldru.training.spec import TrainSpec

TRAIN = TrainSpec(
    steps=4, batch_size=4, max_length=4, validation_words=4, validation_length=6, validate_every=2
)
TABLE = Table(
    name="small",
    caption="For attacks.",
    tasks=("parity_check",),
    columns={
        "ldru": Column(model=LDRUSpec(dim=4), train=TRAIN),
        "rnn": Column(model=RNNSpec(dim=4), train=TRAIN),
    },
    seeds=(0,),
    lengths=(5, 6),
    words=4,
)
"""Two fleets of one run each."""


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """Some work that can be done again until it is done.

    prepare: fills an empty folder; work: takes that folder.
    by: how many processes work, "alone", "pair" (both on the same folder, one of them stops) or
        "group" (as `torchrun` starts them, the one that writes stops and takes the other along).
    """

    name: str
    work: Callable[[Path], None]
    prepare: Callable[[Material, Path], None] = lambda material, folder: None
    by: str = "alone"

    def run(
        self,
        folder: Path,
        *,
        at: int | None = None,
        action: Callable[[str], None] = kill,
        is_lasting: bool = False,
    ) -> Ended:
        """Do the work in processes of its own; at: where the first one stops.

        Where it stops nowhere, a pair is one process: what it leaves is what two have to leave.
        """
        port = free_port() if self.by == "group" else 0
        is_alone = self.by == "alone" or (self.by == "pair" and at is None)
        environments = [group_environment(rank, port) if port else {} for rank in range(2)]
        first = Child(
            self.work,
            folder,
            at=at,
            action=action,
            is_lasting=is_lasting,
            environment=environments[0],
        )
        second = None if is_alone else Child(self.work, folder, environment=environments[1])
        ended = first.join()
        if second is None:
            return ended
        if self.by == "group" and (ended.is_killed or ended.problem):
            second.kill()
            second.join()
            return ended
        other = second.join()
        return ended if other.problem is None else other


def copy_run(material: Material, folder: Path) -> None:
    shutil.copytree(material.run, folder / material.run.name)


def copy_unfinished(material: Material, folder: Path) -> None:
    shutil.copytree(material.unfinished, folder, dirs_exist_ok=True)


def copy_results(material: Material, folder: Path) -> None:
    shutil.copytree(material.folder / "results", folder / "results")


def copy_pack(material: Material, folder: Path) -> None:
    shutil.copy(material.pack, folder / "runs.zip")


def train_two(folder: Path) -> None:
    train(folder, seeds=(0, 1))


def go_on(folder: Path) -> None:
    train(folder)


def evaluate(folder: Path) -> None:
    """More lengths for a run that has some."""
    run = Run.open(next(folder.glob("parity*")))
    evaluate_missing([run], (*LENGTHS, 6, 7, 8), words=WORDS)


def reproduce(folder: Path) -> None:
    """A table from nothing to its text."""
    results = Results(folder)
    jobs = make_plan([TABLE], results).jobs
    with Board(jobs) as board:
        LocalEngine(at_once=1).run(jobs, board)
    if not make_plan([TABLE], results).jobs:  # else another process is still at it
        write_table(TABLE, results)


def pack_runs(folder: Path) -> None:
    results = Results(folder / "results")
    specs = [Run.open(path).spec for path in sorted(results.runs.glob("[!.]*"))]
    if not (folder / "runs.zip").exists():
        pack(results, specs, folder / "runs.zip")


def unpack_runs(folder: Path) -> None:
    unpack(folder / "runs.zip", Results(folder / "results"))


SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario(name="train", work=train_two),
        Scenario(name="train by a group of two", work=go_on, by="group"),
        Scenario(name="resume", work=go_on, prepare=copy_unfinished),
        Scenario(name="evaluate", work=evaluate, prepare=copy_run),
        Scenario(name="evaluate by two", work=evaluate, prepare=copy_run, by="pair"),
        Scenario(name="reproduce", work=reproduce),
        Scenario(name="reproduce by two", work=reproduce, by="pair"),
        Scenario(name="pack", work=pack_runs, prepare=copy_results),
        Scenario(name="unpack", work=unpack_runs, prepare=copy_pack),
        Scenario(name="unpack by two", work=unpack_runs, prepare=copy_pack, by="pair"),
    )
}


def state(folder: Path) -> dict[str, object]:
    """All that lies in a folder, but for clocks, commits, and locks that nobody holds."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.is_file() and ".claims" not in name.parts and path.suffix != ".lock":
            is_hidden = any(part.startswith(".") for part in name.parts)
            found[str(name)] = path.read_bytes() if is_hidden else _without_clocks(path)
    return found


def _without_clocks(path: Path) -> object:
    content = path.read_bytes()
    if path.name == RECORD:
        return {**json.loads(content), "seconds": None, "commit": None}
    if path.suffix == ".jsonl":
        return [{**json.loads(line), "seconds": None} for line in content.splitlines()]
    return content


def check_whole(folder: Path) -> None:
    """Raise unless every run that can be seen is whole."""
    for record in folder.rglob(RECORD):
        if not any(part.startswith(".") for part in record.relative_to(folder).parts):
            Run.open(record.parent)
