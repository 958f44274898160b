"""`ldru train`."""

import dataclasses
import itertools
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, get_origin

from tyro.conf import OmitArgPrefixes, Positional

from ldru.base.errors import LdruError, RunError
from ldru.base.json import Json
from ldru.cli.arguments import DrawnWords, check_not_drawn, check_task_name, drawn_words
from ldru.cli.eval import draw, show_evaluation
from ldru.cli.extract import keep_machine
from ldru.models.registry import model_name
from ldru.models.spec import ModelSpec
from ldru.paper.recipe import RecipeName, settings_by
from ldru.paper.settings import completed, default_model, study_of, study_training
from ldru.tasks.spec import TaskSpec
from ldru.training.execution import CHECKPOINT_SECONDS, Execution
from ldru.training.interruption import time_limit
from ldru.training.spec import TrainSpec

if TYPE_CHECKING:
    from ldru.runs.prove import Round
    from ldru.runs.run import Run
    from ldru.tasks.task import Task

ANY_LANGUAGE = TaskSpec(name="parity_check")
"""Recipes give all regular languages the same settings."""


@dataclass(frozen=True, kw_only=True)
class Train:
    """Train models on tasks, evaluate them by length and keep each as a run folder.

    Args:
        tasks: names from `ldru tasks`; several train at once. A data set such as sst2 has settings
            of its own, and is evaluated on its test sets.
        regex: a regular expression instead of a name, e.g. '(01)*': | & ~ for union, intersection
            and complement, * + ? {n,m}, ( ) [a-c] . and backslashes; see docs/languages.md.
        alphabet: the symbols of the regular expression, where it does not name them all.
        machine: a machine's JSON file instead of a name.
        name: what to call the language of --regex or --machine.
        data: a folder of texts, to be tokenised unless that was done (see `ldru prepare`).
        vocabulary: its vocab.txt, where it has none.
        model: a name from `ldru models`; its settings are options too.
        recipe: where the defaults of the options below come from. random_trees is ours, and the
            default for an LDRU on a regular language: leaf block, no L2, decay, half of the steps
            along random trees, rising dropout. open_gates is ours for texts: gates that start
            around one, small embeddings, decay. paper has the settings of the paper's text, as all
            other models and data sets have them.
        seeds: one model each.
        out: folder for the run folders.
        resume: keep finished runs and go on from the last checkpoint.
        init_from: a run folder whose weights to start from.
        until_proved: go on with the words that the extracted machine shows to be wrong, until it is
            right at every length; the machine is kept beside the weights (machine.json).
        rounds: how often to go on, each for a fifth of the steps.
        lengths: lengths to evaluate, e.g. 41:500; by default 1:500.
        words: test words per length, by default 512.
        device: cpu or cuda; by default a GPU where there is one.
        checkpoint_seconds: how much work a sudden end may cost; Ctrl-C costs none.
        max_hours: stop after so many hours, with a checkpoint and the exit code 75; the same
            command with --resume goes on from there, to the same bits.
        track: tensorboard, wandb.
        json: print JSON.
    """

    tasks: Positional[tuple[str, ...]] = ()
    regex: str | None = None
    alphabet: str | None = None
    machine: Path | None = None
    name: str | None = None
    data: str | None = None
    vocabulary: Path | None = None
    model: str = "ldru"
    recipe: RecipeName | None = None
    seeds: tuple[int, ...] = (0,)
    out: Path = Path("runs")
    resume: bool = False
    init_from: Path | None = None
    until_proved: bool = False
    rounds: int = 5
    lengths: str | None = None
    words: int | None = None
    device: str | None = None
    checkpoint_seconds: float = CHECKPOINT_SECONDS
    max_hours: float | None = None
    track: tuple[str, ...] = ()
    json: bool = False
    train: OmitArgPrefixes[TrainSpec] = field(default_factory=TrainSpec)
    settings: ClassVar[ModelSpec]  # a field of the class that `command` makes

    def __call__(self) -> None:
        drawn = drawn_words(self.lengths, self.words, usual="1:500")
        if not (self.tasks or self.regex is not None or self.machine is not None):
            raise LdruError("name a task (see `ldru tasks`), or give --regex or --machine")
        for name in self.tasks:
            check_task_name(name)
        self.train.check()
        with time_limit(hours=self.max_hours):
            self._train_and_show(drawn)

    def _train_and_show(self, drawn: DrawnWords) -> None:
        from ldru.runs.evaluate import evaluate_and_keep
        from ldru.tasks.text.store import prepare
        from ldru.training.distributed import this_process

        tasks = self._tasks()
        self._check_texts(tasks)
        if self.data is not None:
            for task in tasks:
                prepare(task.name, data=self.data, vocabulary=self.vocabulary)
        rounds = self._prove(tasks) if self.until_proved else []
        runs = [last.run for last in rounds] if self.until_proved else self._train(tasks)
        if not this_process().is_first:  # of several processes one evaluates
            return
        results: list[Json] = []
        parts = tasks[0].test_parts or drawn.lengths
        evaluations = evaluate_and_keep(runs, parts, words=drawn.words, seed=0)
        for run, evaluation in zip(runs, evaluations, strict=True):
            assert run.folder is not None
            results.append(show_evaluation(run, evaluation, as_json=self.json))
            draw(run, evaluation, run.folder / "accuracy.png", as_json=self.json)
        if self.json:
            print(json.dumps(results))
        unproved = [last for last in rounds if not last.is_proved]
        if unproved:
            first = unproved[0]
            raise RunError(
                f"{len(unproved)} of {len(rounds)} runs are not proved, {first.run.spec.name} is "
                f"{first.summary}; allow more steps, or more --rounds"
            )

    def _tasks(self) -> "list[Task]":
        """The tasks that are named, which one command can train."""
        from ldru.tasks.find import task as find_task

        if self.regex is not None and self.machine is not None:
            raise LdruError("give --regex or --machine, not both")
        if self.alphabet is not None and self.regex is None:
            raise LdruError("--alphabet goes with --regex")
        if self.name is not None and self.regex is None and self.machine is None:
            raise LdruError("--name is for the language of --regex or --machine")
        tasks = [find_task(name) for name in self.tasks]
        if self.regex is not None or self.machine is not None:
            tasks.append(
                find_task(self.name, regex=self.regex, alphabet=self.alphabet, path=self.machine)
            )
        data = [task for task in tasks if not task.is_drawn]
        if not data:
            return tasks
        usual, first = TrainSpec(), data[0]
        check_not_drawn(
            first,
            {
                "--lengths": self.lengths is not None,
                "--words": self.words is not None,
                "--max-length": self.train.max_length != usual.max_length,
                "--validation-length": self.train.validation_length != usual.validation_length,
            },
        )
        for other in tasks:
            if _usual(other, self.settings) != _usual(first, self.settings):
                raise LdruError(
                    f"{first.name!r} and {other.name!r} have other settings or test sets: train "
                    "each by a command of its own"
                )
        return tasks

    def _check_texts(self, tasks: "Sequence[Task]") -> None:
        """Raise where texts are given to tasks that have none."""
        from ldru.tasks.text.sets import TEXT_SETS

        if self.vocabulary is not None and self.data is None:
            raise LdruError("--vocabulary is for tokenising texts; give their folder with --data")
        others = [task.name for task in tasks if task.name not in TEXT_SETS]
        if self.data is not None and others:
            raise LdruError(f"--data is for texts ({', '.join(TEXT_SETS)}), {others[0]} has none")

    def _train(self, tasks: "Sequence[Task]") -> "list[Run]":
        from ldru.runs.train import train_many

        with self._execution(tasks) as execution:
            runs = train_many(
                tasks,
                model=self.settings,
                seeds=self.seeds,
                settings=self.train,
                init_from=self.init_from,
                execution=execution,
            )
        return [run for by_seed in runs.values() for run in by_seed.values()]

    def _prove(self, tasks: "Sequence[Task]") -> "list[Round]":
        """Train every task and seed until it is proved: the last round of each."""
        from ldru.analysis.counterexamples import check_provable
        from ldru.runs.prove import train_until_proved

        if self.init_from is not None:
            raise LdruError("--until-proved begins with weights of its own: leave --init-from out")
        for task in tasks:
            check_provable(task, self.settings)
        last = []
        for task, seed in itertools.product(tasks, self.seeds):
            with self._execution([task]) as execution:
                rounds = train_until_proved(
                    task,
                    model=self.settings,
                    seed=seed,
                    settings=self.train,
                    rounds=self.rounds,
                    execution=execution,
                    on_round=None if self.json else show_round,
                )
            last.append(rounds[-1])
            if rounds[-1].extraction is not None:
                keep_machine(rounds[-1].run, rounds[-1].extraction)
        return last

    @contextmanager
    def _execution(self, tasks: "Sequence[Task]") -> "Iterator[Execution]":
        """How this command trains, with a bar for as long as it does."""
        from ldru.training.distributed import this_process
        from ldru.training.observers import ProgressBar, make_trackers

        is_first = this_process().is_first
        trackers = make_trackers(self.track if is_first else (), folder=self.out)
        resolved = [completed(task, self.settings, self.train) for task in tasks]
        with ProgressBar(steps=max(train.steps or 0 for _, train in resolved)) as bar:
            yield Execution(
                out=self.out,
                resume=self.resume,
                device=self.device,
                checkpoint_seconds=self.checkpoint_seconds,
                observers=[bar, *trackers] if is_first else (),
            )


def show_round(found: "Round") -> None:
    """Print what a round came to."""
    steps = found.run.spec.train.steps
    print(f"round {found.number}, {steps:,} steps: {found.summary}", flush=True)


def _usual(task: "Task", model: ModelSpec) -> tuple[object, ...]:
    """Settings that the tasks of one command must share, where a data set is among them."""
    name = model_name(model)
    return (
        default_model(task.spec, name),
        study_training(task.spec, name),
        task.test_parts,
        task.is_drawn,
    )


def command(arguments: list[str]) -> type[Train]:
    """The train command with the options of the model and the data set that are named."""
    named = dict(_words(arguments))
    model = named.get("--model", "ldru")
    specs = [TaskSpec(name=word) for word in named.get("", "").split()]
    data = next((spec for spec in specs if study_of(spec) in ("listops", "text")), None)
    settings, train = settings_by(named.get("--recipe"), data or ANY_LANGUAGE, model)
    fields: list[tuple] = [
        ("settings", Annotated[type(settings), OmitArgPrefixes], field(default=settings)),
        ("train", OmitArgPrefixes[TrainSpec], field(default=train)),
    ]
    made = dataclasses.make_dataclass("Train", fields, bases=(Train,), frozen=True, kw_only=True)
    made.__doc__ = Train.__doc__
    return made


def _words(arguments: list[str]) -> Iterator[tuple[str, str]]:
    """Options with their values, and under "" the words that belong to none."""
    takes = {
        f"--{option.name.replace('_', '-')}": option.type
        for kind in (Train, TrainSpec)
        for option in dataclasses.fields(kind)
    }
    loose: list[str] = []
    option = ""
    for word in arguments:
        if word.startswith("-"):
            option, equals, value = word.partition("=")
            if equals:
                yield option, value
            if equals or takes.get(option) is bool or option not in takes:
                option = ""
        elif not option:
            loose.append(word)
        else:
            yield option, word
            if get_origin(takes[option]) is not tuple:
                option = ""
    yield "", " ".join(loose)
