"""The record of a run: what was run, by what, and what came out."""

import platform
import reprlib
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import numpy
import torch

from ldru.base.errors import RunError
from ldru.base.json import Json, from_json
from ldru.base.version import __version__
from ldru.evaluation.accuracy import Evaluation, PartResult
from ldru.tasks.task import Part
from ldru.tasks.word_set import WordSet
from ldru.training.log import LogEntry

MOST_WORDS = 2**53
"""Of a label, so that a share of them is exact."""


@dataclass(frozen=True, kw_only=True)
class Validation:
    """A validation during training."""

    step: int
    accuracy: float


@dataclass(frozen=True, kw_only=True)
class Record:
    """The record of a finished run.

    final: the last step, which is what the weights are (the paper's protocol).
    best: the best validation on the way, for comparison; its weights are not kept.
    backend: what computed the reduction.
    evaluation: on the test words of seed 0; None until the run was evaluated.
    data: the checksum of the training words, where they are a data set.
    cut: how many training texts were cut to the task's length, where there is one.
    vocabulary: what the training texts were read with.
    """

    digest: str
    final: Validation
    best: Validation
    seconds: float
    backend: str
    device: str
    versions: dict[str, str]
    commit: str | None
    evaluation: Evaluation | None = None
    data: str | None = None
    cut: int | None = None
    vocabulary: str | None = None

    def to_json(self) -> dict[str, Json]:
        """As JSON values; counts of words, from which every share can be computed again."""
        data: dict[str, Json] = {**vars(self)}
        data["final"], data["best"] = vars(self.final), vars(self.best)
        data["evaluation"] = None if self.evaluation is None else evaluation_json(self.evaluation)
        return data

    @classmethod
    def from_json(cls, data: dict) -> "Record":
        """From what `to_json` gave."""
        given = dict(data)
        evaluation = given.pop("evaluation", None)
        record = from_json(cls, given)
        if evaluation is None:
            return record
        return replace(record, evaluation=evaluation_from_json(evaluation))


def evaluation_json(evaluation: Evaluation) -> dict[str, Json]:
    """Counts by length or test set: of the words of each class, and of the wrong ones."""
    return {
        str(part): {
            "words": [
                result.words_by_class.get(k, 0) for k in range(max(result.words_by_class) + 1)
            ],
            "wrong": {
                str(k): words - result.correct_by_class[k]
                for k, words in result.words_by_class.items()
                if words > result.correct_by_class[k]
            },
        }
        for part, result in evaluation.by_part.items()
    }


def evaluation_from_json(data: Json) -> Evaluation:
    """From what `evaluation_json` gave."""
    if not isinstance(data, dict):
        raise RunError(f"evaluation: expected an object of parts, got {reprlib.repr(data)}")
    by_part: dict[Part, PartResult] = {}
    for name, found in data.items():
        is_length = name.isascii() and name.isdigit() and name[0] != "0" and len(name) < 19
        part = int(name) if is_length else name
        by_part[part] = _counts(found, part)
    return Evaluation(by_part=by_part)


def _counts(data: Json, part: Part) -> PartResult:
    """Checked by hand: tables read a hundred thousand of them."""
    if not isinstance(data, dict) or data.keys() != {"words", "wrong"}:
        raise _problem(part, f"expected words and wrong, got {reprlib.repr(data)}")
    if not isinstance(data["words"], list) or not isinstance(data["wrong"], dict):
        raise _problem(part, "words is a list and wrong an object of counts")
    words, wrong = cast(list[int], data["words"]), cast(dict[str, int], data["wrong"])
    for count in (*words, *wrong.values()):
        if type(count) is not int or not 0 <= count < MOST_WORDS:
            raise _problem(part, f"a count is a whole number from 0 to {MOST_WORDS:,}")
    by_class = {label: count for label, count in enumerate(words) if count}
    correct = dict(by_class)
    for label, count in wrong.items():
        if not label.isdecimal() or int(label[:9]) not in by_class:
            raise _problem(part, f"of the label {reprlib.repr(label)} there are no words")
        correct[int(label[:9])] -= count
    if not by_class or min(correct.values()) < 0:
        raise _problem(part, "there are no words, or more wrong ones of a label than words")
    return PartResult(words_by_class=by_class, correct_by_class=correct)


def _problem(part: Part, reason: str) -> RunError:
    return RunError(f"evaluation of {reprlib.repr(part)}: {reason}")


def make_record(
    *,
    digest: str,
    log: list[LogEntry],
    backend: str,
    device: torch.device | str,
    words: WordSet | None = None,
    processes: int = 1,
) -> Record:
    """The record of a run that has just finished.

    words: what it was trained on, if a data set.
    processes: how many trained it, on a device each.
    """
    best = max(log, key=lambda entry: entry.validation_accuracy)
    about = {} if words is None else words.about
    device = torch.device(device)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    return Record(
        digest=digest,
        final=Validation(step=log[-1].step, accuracy=log[-1].validation_accuracy),
        best=Validation(step=best.step, accuracy=best.validation_accuracy),
        seconds=sum(entry.seconds for entry in log),
        backend=backend,
        device=name if processes == 1 else f"{processes} x {name}",
        versions={
            "ldru": __version__,
            "python": platform.python_version(),
            "torch": torch.__version__,
            "numpy": numpy.__version__,
        },
        commit=_commit(),
        data=None if words is None else words.checksum,
        cut=about.get("cut"),  # type: ignore[arg-type]
        vocabulary=about.get("vocabulary"),  # type: ignore[arg-type]
    )


def _commit() -> str | None:
    """The commit of the source tree this package runs from, if it is one.

    With "-dirty" where the code has changed since.
    """
    source = Path(__file__).resolve().parents[3]
    if not (source / ".git").exists():
        return None

    def ask(*words: str) -> subprocess.CompletedProcess[str]:
        command = ["git", "-C", str(source), *words]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    found = ask("rev-parse", "HEAD")
    if found.returncode:
        return None
    changed = ask("status", "--porcelain", "--", "src/ldru/**.py").stdout
    return found.stdout.strip() + ("-dirty" if changed else "")
