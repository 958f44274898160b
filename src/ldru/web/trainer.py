"""The process that trains for the playground: prints an event a line, ends well on Ctrl-C."""

import json
import sys
import time
from dataclasses import replace
from pathlib import Path

import torch

from ldru.base.errors import LdruError
from ldru.base.imports import import_module
from ldru.base.json import Json
from ldru.models.settings import LDRUSpec
from ldru.paper.recipe import recipe
from ldru.runs.train import train
from ldru.tasks.find import task as find_task
from ldru.training.log import LogEntry

LENGTHS = (5, 10, 15, 20, 30, 40, 60, 80, 100, 150, 200, 300, 400, 500)
WORDS = 64
VALIDATIONS = 20
SECONDS_BETWEEN_STEPS = 0.1
SECONDS_BETWEEN_CHECKPOINTS = 5
RATE = 3e-3
"""Higher than the recipe's: these networks are small, and trained for minutes."""

DROPOUT = 0.05


def say(kind: str, data: dict[str, Json]) -> None:
    """One event."""
    print(kind, json.dumps(data), flush=True)


class Printer:
    """Tells of steps, a few times a second, and of every validation."""

    def __init__(self) -> None:
        self._last = 0.0

    def on_steps(self, step: int, losses: dict[str, float]) -> None:
        if time.monotonic() - self._last >= SECONDS_BETWEEN_STEPS:
            self._last = time.monotonic()
            say("step", {"step": step, "loss": next(iter(losses.values()))})

    def on_log(self, entries: dict[str, LogEntry]) -> None:
        entry = next(iter(entries.values()))
        say("validation", {"step": entry.step, "accuracy": entry.validation_accuracy})


def work(folder: Path, settings: dict) -> None:
    """Train, evaluate, and keep both in a run folder."""
    regex, alphabet, seed = settings["regex"], settings["alphabet"], settings["seed"]
    usual = recipe("random_trees")
    run = train(
        find_task(settings["task"], regex=regex, alphabet=alphabet),
        model=LDRUSpec(dim=settings["dim"], leaf_block=usual.model.leaf_block, dropout=DROPOUT),
        settings=replace(
            usual.train,
            steps=settings["steps"],
            learning_rate=RATE,
            batch_size=settings["batch_size"],
            max_length=settings["max_length"],
            validate_every=max(10, settings["steps"] // VALIDATIONS),
            validation_words=2 * WORDS,
            validation_length=100,
        ),
        seeds=[seed],
        out=folder,
        resume=True,
        device="cpu",
        checkpoint_seconds=SECONDS_BETWEEN_CHECKPOINTS,
        observers=[Printer()],
    )[seed]
    say("evaluating", {})
    found = run.compute_evaluation(LENGTHS, words=WORDS)
    run = run.with_evaluation(found)
    points: list[Json] = [[length, share] for length, share in found.accuracy.items()]
    say("done", {"run": run.spec.name, "points": points, "trained": settings["max_length"]})


def main() -> None:
    """folder settings modules: what to import first, for languages of others."""
    folder, settings, *modules = sys.argv[1:]
    torch.set_num_threads(1)  # a small network gains nothing from more, and the page wants some
    try:
        for module in modules:
            import_module(module, wanted_by="--import")
        work(Path(folder), json.loads(settings))
    except KeyboardInterrupt:
        say("stopped", {"note": "stopped; the same settings go on from here"})
    except LdruError as problem:
        say("problem", {"error": str(problem)})


if __name__ == "__main__":
    main()
