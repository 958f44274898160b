"""`ldru train`."""

import dataclasses
import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, ClassVar

from tyro.conf import OmitArgPrefixes, Positional

import ldru
from ldru.cli.arguments import check_not_drawn, drawn_words
from ldru.cli.evaluating import draw, show_evaluation
from ldru.config import Json
from ldru.errors import LdruError
from ldru.evaluation import Part
from ldru.experiments.defaults import default_model, default_training
from ldru.experiments.evaluating import evaluate_and_keep
from ldru.experiments.observers import ProgressBar, make_trackers
from ldru.experiments.run import Run
from ldru.models import ModelSpec, model_name, model_spec
from ldru.tasks import AnyTask, DataTask
from ldru.tasks.find import data_task
from ldru.tasks.text import TEXT_SETS, prepare
from ldru.training.distributed import this_process
from ldru.training.loop import CHECKPOINT_SECONDS
from ldru.training.spec import TrainSpec


@dataclass(frozen=True, kw_only=True)
class Train:
    """Train models on tasks, evaluate them by length and keep each as a run folder.

    Args:
        tasks: names from `ldru tasks`; several train at once. A data set such as sst2 comes right
            behind `train`; it has settings of its own, and is evaluated on its test sets.
        regex: a regular expression instead of a name, e.g. '(01)*'.
        alphabet: the symbols of the regular expression, where it does not name them all.
        machine: a machine's JSON file instead of a name.
        data: a folder of texts, to be tokenised unless that was done (see `ldru prepare`).
        vocabulary: its vocab.txt, where it has none.
        model: a name from `ldru models`; its settings are options too.
        seeds: one model each.
        out: folder for the run folders.
        resume: keep finished runs and go on from the last checkpoint.
        init_from: a run folder whose weights to start from.
        lengths: lengths to evaluate, e.g. 41:500; by default 1:500.
        words: test words per length, by default 512.
        device: cpu or cuda; by default a GPU where there is one.
        checkpoint_seconds: how much work a sudden end may cost; Ctrl-C costs none.
        track: tensorboard, wandb.
        json: print JSON.
    """

    tasks: Positional[tuple[str, ...]] = ()
    regex: str | None = None
    alphabet: str | None = None
    machine: Path | None = None
    data: str | None = None
    vocabulary: Path | None = None
    model: str = "ldru"
    seeds: tuple[int, ...] = (0,)
    out: Path = Path("runs")
    resume: bool = False
    init_from: Path | None = None
    lengths: str | None = None
    words: int | None = None
    device: str | None = None
    checkpoint_seconds: float = CHECKPOINT_SECONDS
    track: tuple[str, ...] = ()
    json: bool = False
    train: OmitArgPrefixes[TrainSpec] = field(default_factory=TrainSpec)
    is_data: ClassVar[bool] = False

    def __call__(self) -> None:
        drawn = drawn_words(self.lengths, self.words, usual="1:500")
        tasks = self._tasks()
        self._check_texts(tasks)
        if self.data is not None:
            for task in tasks:
                prepare(task.name, data=self.data, vocabulary=self.vocabulary)
        runs = self._train(tasks)
        if not this_process().is_first:  # of several processes one evaluates
            return
        results: list[Json] = []
        first = tasks[0]
        parts: Sequence[Part] = first.tests if isinstance(first, DataTask) else drawn.lengths
        evaluations = evaluate_and_keep(runs, parts, words=drawn.words, seed=0)
        for run, evaluation in zip(runs, evaluations, strict=True):
            assert run.folder is not None
            results.append(show_evaluation(run, evaluation, as_json=self.json))
            draw(run, evaluation, run.folder / "accuracy.png", as_json=self.json)
        if self.json:
            print(json.dumps(results))

    def _tasks(self) -> list[AnyTask]:
        """The tasks that are named, which one command can train."""
        tasks = [ldru.task(name) for name in self.tasks]
        if self.regex is not None or self.machine is not None or self.alphabet is not None:
            tasks.append(ldru.task(regex=self.regex, alphabet=self.alphabet, path=self.machine))
        if not tasks:
            raise LdruError("name a task (see `ldru tasks`), or give --regex or --machine")
        data = [task for task in tasks if isinstance(task, DataTask)]
        if bool(data) != self.is_data:
            raise LdruError(f"name the data set {data[0].name!r} right behind `train`")
        if data:
            usual = TrainSpec()
            check_not_drawn(
                data[0],
                {
                    "--lengths": self.lengths is not None,
                    "--words": self.words is not None,
                    "--max-length": self.train.max_length != usual.max_length,
                    "--validation-length": self.train.validation_length != usual.validation_length,
                },
            )
        for other in data[1:]:
            if _usual(other, self.settings) != _usual(data[0], self.settings):  # type: ignore[attr-defined]
                raise LdruError(
                    f"{data[0].name!r} and {other.name!r} have other settings or test sets: train "
                    "each by a command of its own"
                )
        return tasks

    def _check_texts(self, tasks: Sequence[AnyTask]) -> None:
        """Raise where texts are given to tasks that have none."""
        if self.vocabulary is not None and self.data is None:
            raise LdruError("--vocabulary is for tokenising texts; give their folder with --data")
        others = [task.name for task in tasks if task.name not in TEXT_SETS]
        if self.data is not None and others:
            raise LdruError(f"--data is for texts ({', '.join(TEXT_SETS)}), {others[0]} has none")

    def _train(self, tasks: Sequence[AnyTask]) -> list[Run]:
        is_first = this_process().is_first
        trackers = make_trackers(self.track if is_first else (), folder=self.out)
        steps = max(self.train.resolved(task).steps or 0 for task in tasks)
        with ProgressBar(steps=steps) as bar:
            runs = ldru.train_many(
                tasks,
                model=self.settings,  # type: ignore[attr-defined]
                seeds=self.seeds,
                settings=self.train,
                out=self.out,
                resume=self.resume,
                init_from=self.init_from,
                device=self.device,
                checkpoint_seconds=self.checkpoint_seconds,
                observers=[bar, *trackers] if is_first else (),
            )
        return [run for by_seed in runs.values() for run in by_seed.values()]


def _usual(task: DataTask, model: ModelSpec) -> tuple[object, ...]:
    """What data sets must share to be trained by one command."""
    name = model_name(model)
    return default_model(task, name), default_training(task, model), task.tests


def train_command(arguments: list[str]) -> type[Train]:
    """The train command with the options of the model that the arguments name."""
    name = "ldru"
    for index, word in enumerate(arguments):
        if word == "--model" and index + 1 < len(arguments):
            name = arguments[index + 1]
        elif word.startswith("--model="):
            name = word.partition("=")[2]
    words = itertools.takewhile(lambda word: not word.startswith("-"), arguments[1:])
    data = next((task for task in map(data_task, words) if task is not None), None)
    model: ModelSpec = model_spec(name) if data is None else default_model(data, name)
    fields: list[tuple] = [
        ("settings", Annotated[type(model), OmitArgPrefixes], field(default=model)),
    ]
    if data is not None:
        usual = default_training(data, model)
        fields.append(("train", OmitArgPrefixes[TrainSpec], field(default=usual)))
    command = dataclasses.make_dataclass("Train", fields, bases=(Train,), frozen=True, kw_only=True)
    command.__doc__ = Train.__doc__
    command.is_data = data is not None  # type: ignore[attr-defined]
    return command
