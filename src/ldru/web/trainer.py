"""The process that trains for the playground: prints an event a line, ends well on Ctrl-C."""

import json
import sys
import time
from pathlib import Path

from ldru.base.errors import LdruError
from ldru.base.json import Json
from ldru.models.settings import LDRUSpec
from ldru.runs.train import train
from ldru.training.log import LogEntry
from ldru.training.spec import TrainSpec
from ldru.web.languages import language

LENGTHS = (5, 10, 15, 20, 30, 40, 60, 80, 100, 150, 200, 300, 400, 500)
WORDS = 64
SECONDS_BETWEEN = 0.1


def say(kind: str, data: dict[str, Json]) -> None:
    """One event."""
    print(kind, json.dumps(data), flush=True)


class Printer:
    """Tells of steps, a few times a second, and of every validation."""

    def __init__(self) -> None:
        self._last = 0.0

    def on_steps(self, step: int, losses: dict[str, float]) -> None:
        if time.monotonic() - self._last >= SECONDS_BETWEEN:
            self._last = time.monotonic()
            say("step", {"step": step, "loss": next(iter(losses.values()))})

    def on_log(self, entries: dict[str, LogEntry]) -> None:
        entry = next(iter(entries.values()))
        say(
            "validation",
            {"step": entry.step, "loss": entry.loss, "accuracy": entry.validation_accuracy},
        )


def main() -> None:
    folder, settings = Path(sys.argv[1]), json.loads(sys.argv[2])
    try:
        task = language(settings["task"], settings["regex"], settings["alphabet"])
        run = train(
            task,
            model=LDRUSpec(dim=settings["dim"], leaf_block=True, dropout=0.05),
            settings=TrainSpec(
                steps=settings["steps"],
                learning_rate=3e-3,
                batch_size=settings["batch_size"],
                max_length=settings["max_length"],
                l2=0.0,
                decay="cosine",
                random_trees=0.5,
                validate_every=max(10, settings["steps"] // 20),
                validation_words=128,
                validation_length=100,
            ),
            seeds=[settings["seed"]],
            out=folder,
            resume=True,
            device="cpu",
            checkpoint_seconds=5,
            observers=[Printer()],
        )[settings["seed"]]
    except KeyboardInterrupt:
        say("stopped", {"note": "stopped; the same settings go on from here"})
        return
    except LdruError as problem:
        say("problem", {"error": str(problem)})
        return
    found = run.compute_evaluation(LENGTHS, words=WORDS)
    run = run.with_evaluation(found)
    points = [[length, share] for length, share in found.accuracy.items()]
    say("done", {"run": run.spec.name, "points": points, "trained": settings["max_length"]})  # type: ignore[dict-item]


if __name__ == "__main__":
    main()
