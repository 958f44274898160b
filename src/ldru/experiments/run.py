"""A trained model with all that belongs to it, in memory and as a folder.

A run folder holds settings.json, record.json, weights.safetensors, log.jsonl and, once evaluated,
accuracy.png. It appears whole, by one rename.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ldru.analysis.extraction import Extraction
from ldru.errors import LdruError, RunError
from ldru.evaluation import Evaluation, Part, evaluate
from ldru.experiments.extracting import extract
from ldru.experiments.records import Record
from ldru.experiments.shipped import SHIPPED, find_run
from ldru.experiments.spec import RunSpec
from ldru.files import whole_folder, write_text
from ldru.tasks import AnyTask, DataTask, Task, WordSet, task_from_spec
from ldru.tasks.data_task import TRAIN, VALIDATION, Encoded, data_folder
from ldru.tasks.padded import batches_by_length
from ldru.tensors import load_tensors, save_tensors
from ldru.training.checkpoint import LogEntry, log_lines
from ldru.training.spec import products_in

Parsed = TypeVar("Parsed")
PREDICTED_TOKENS = {"cpu": 2**14, "cuda": 2**18}
"""How many tokens are answered at once, padding included."""

SETTINGS, RECORD, WEIGHTS, LOG = "settings.json", "record.json", "weights.safetensors", "log.jsonl"
PARTS = (SETTINGS, RECORD, WEIGHTS, LOG)


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """A model's answer to a word, and the right one (None where there is none).

    name: of the label, where it has one.
    is_cut: whether the word was longer than the model takes.
    """

    word: str
    label: int
    probability: float
    expected: int | None
    name: str | None = None
    is_cut: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class Run:
    """A trained model.

    log: one entry per validation.
    folder: where it was saved; None when it lives in memory only, or was shipped.
    """

    spec: RunSpec
    task: AnyTask
    model: nn.Module
    record: Record
    log: list[LogEntry]
    folder: Path | None = None

    @classmethod
    def open(cls, path: str | Path, *, task: AnyTask | None = None) -> "Run":
        """A run from its folder, or a shipped one by its name; that one stays as it is.

        task: what it was trained on, needed only for a data set of one's own.
        """
        folder = find_run(path)
        missing = [name for name in PARTS if not (folder / name).is_file()]
        if missing == [WEIGHTS]:
            raise RunError(
                f"{str(path)!r} is a run without its weights, a record for tables; nothing can be "
                "asked of it here"
            )
        if missing:
            raise RunError(
                f"{str(path)!r} is not a whole run folder: {', '.join(missing)} missing; move it "
                "away and train again, or give the folder of a finished run"
            )
        spec = _read(folder / SETTINGS, RunSpec.from_json)
        if task is None:
            task = _known_task(spec, path)
        elif task.spec != spec.task:
            raise LdruError(f"{str(path)!r} was trained on {spec.task.name!r}, not {task.name!r}")
        weights, _ = load_tensors(folder / WEIGHTS)
        record = _read(folder / RECORD, Record.from_json)
        if record.digest != spec.digest:
            raise RunError(f"{str(path)!r} holds settings and a record of different runs")
        return cls(
            spec=spec,
            task=task,
            model=trained_model(spec, task, weights, source=str(folder / WEIGHTS)),
            record=record,
            log=read_log(folder),
            folder=None if folder.parent == SHIPPED else folder,
        )

    def saved(self, folder: Path) -> "Run":
        """The same run in a new folder, which must not exist."""
        if folder.exists():
            raise LdruError(f"{str(folder)!r} is already there and is not overwritten")
        with whole_folder(folder) as parts:
            (parts / SETTINGS).write_text(json.dumps(self.spec.to_json(), indent=2) + "\n")
            (parts / RECORD).write_text(json.dumps(self.record.to_json()) + "\n")
            (parts / LOG).write_text(log_lines(self.log))
            save_tensors(parts / WEIGHTS, self.model.state_dict(), {"run": self.spec.digest})
        return replace(self, folder=folder)

    def evaluate(
        self, lengths: Iterable[Part] | None = None, *, words: int = 512
    ) -> dict[Part, float]:
        """Accuracy by length on test words; of a data set by test set, by default all."""
        return self.evaluation(lengths, words=words).accuracy

    def evaluation(
        self,
        lengths: Iterable[Part] | None = None,
        *,
        words: int = 512,
        seed: int = 0,
        on_length: Callable[[Part], None] | None = None,
    ) -> Evaluation:
        """Counts by length on test words, or by test set; see `ldru.evaluate`."""
        self.check_store()
        if lengths is None:
            if not isinstance(self.task, DataTask):
                raise LdruError(f"{self.task.name} is evaluated by length; say which: [50, 500]")
            lengths = self.task.tests
            if not lengths:
                raise LdruError(f"{self.task.name} has no test sets; name a set of its words")
        device = next(self.model.parameters()).device
        with products_in(self.spec.train.precision, device=device):
            return evaluate(
                self.model,
                self.task,
                lengths,
                words=words,
                seed=seed,
                device=device,
                on_length=on_length,
            )

    def with_evaluation(self, evaluation: Evaluation) -> "Run":
        """The same run with an evaluation added to its record, on disk too.

        Lengths that were evaluated before stay, unless they are evaluated again.
        """
        # Another process may have added to it since.
        record = self.record
        if self.folder is not None:
            record = _read(self.folder / RECORD, Record.from_json)
        before = record.evaluation
        if before is not None:
            by_length = {**before.by_length, **evaluation.by_length}
            if isinstance(self.task, DataTask):
                order: list[Part] = [TRAIN, VALIDATION, *self.task.tests]
                known = {name: by_length[name] for name in order if name in by_length}
                by_length = {**known, **by_length}
            else:
                by_length = dict(sorted(by_length.items()))
            evaluation = Evaluation(by_length=by_length)
        record = replace(record, evaluation=evaluation)
        if self.folder is not None:
            write_text(self.folder / RECORD, json.dumps(record.to_json()) + "\n")
        return replace(self, record=record)

    def encode(self, word: str) -> NDArray[np.int64]:
        """A word as the task's tokens; the empty word is an error."""
        tokens = self.task.encode(word)
        if not len(tokens):
            raise LdruError(f"the word {word!r} is empty; the model needs at least one symbol")
        return tokens

    def encode_all(self, words: Sequence[str]) -> list[Encoded]:
        """Many words as the task's tokens, faster where the task can."""
        self.check_vocabulary()
        if isinstance(self.task, DataTask) and self.task.encode_all is not None:
            return self.task.encode_all(words)
        return [Encoded(self.encode(word)) for word in words]

    def check_vocabulary(self) -> None:
        """Raise if texts would be read with another vocabulary than the run was trained with."""
        if not self._has_own_vocabulary:
            raise RunError(
                f"{self.spec.name} was trained with another vocabulary than that of the store "
                f"{str(data_folder())!r}; choose its own store with $LDRU_DATA"
            )

    def check_store(self) -> None:
        """Raise if the texts of the store are others than those that the run was trained on."""
        self.check_vocabulary()
        if isinstance(self.task, DataTask) and self.task.vocabulary() is not None:
            self.check_words()

    def check_words(self) -> None:
        """Raise if a data set has other words here than the run was trained on."""
        known = self.record.data
        if known is None or not isinstance(self.task, DataTask):
            return
        if (checksum := self.task.words(TRAIN).checksum) != known:
            raise LdruError(
                f"{self.spec.name} was trained on other words of {self.task.name!r} (checksum "
                f"{known}) than those in {str(data_folder())!r} ({checksum}); choose its own store "
                "with $LDRU_DATA, or train in another folder"
            )

    @cached_property
    def _has_own_vocabulary(self) -> bool:
        known = self.record.vocabulary
        now = self.task.vocabulary() if isinstance(self.task, DataTask) else None
        return known is None or now is None or now == known

    def predict(self, words: Sequence[str]) -> list[Prediction]:
        """The model's answer to each word, given as the task's text."""
        if isinstance(words, str):
            raise LdruError(f"give a list of words, such as [{words!r}], not one word")
        if not words:
            return []
        encoded = self.encode_all(words)
        tokens = [tokens for tokens, _ in encoded]
        labels, shares = self._answers(tokens)
        names = self.task.labels if isinstance(self.task, DataTask) else ()
        return [
            Prediction(
                word=word,
                label=label,
                probability=share,
                expected=expected,
                name=names[label] if names else None,
                is_cut=is_cut,
            )
            for word, (_, is_cut), label, share, expected in zip(
                words, encoded, labels, shares, self._right_answers(tokens), strict=True
            )
        ]

    def _right_answers(self, tokens: Sequence[NDArray[np.int64]]) -> Sequence[int | None]:
        if isinstance(self.task, DataTask) and self.task.answer_all is not None:
            return self.task.answer_all(tokens)
        return [self.task.answer(word) for word in tokens]

    @property
    def language(self) -> Task:
        """The task, which must be a regular language."""
        if isinstance(self.task, DataTask):
            raise LdruError(
                f"{self.spec.name} is trained on a data set, and no machine knows its answers; "
                "give a run on a regular language"
            )
        return self.task

    @cached_property
    def exact(self) -> Extraction:
        """What an LDRU has learned, as an exact machine; see `ldru.extract`."""
        return extract(self.model, self.language)

    @torch.no_grad()
    def _answers(self, encoded: Sequence[NDArray[np.int64]]) -> tuple[list[int], list[float]]:
        """Labels and their probabilities, computed in batches of like lengths."""
        words = WordSet.of(encoded, np.zeros(len(encoded), dtype=np.uint8))
        device = next(self.model.parameters()).device
        batches = batches_by_length(words, tokens=PREDICTED_TOKENS[device.type], device=device)
        scores = torch.cat([self.model(batch.tokens, batch.lengths) for batch in batches])
        shares, labels = scores.softmax(dim=-1).cpu().max(dim=-1)
        places = np.argsort(np.argsort(words.lengths, kind="stable"))  # short words came first
        return labels[places].tolist(), shares[places].tolist()


def trained_model(
    spec: RunSpec, task: AnyTask, weights: dict[str, Tensor], *, source: str
) -> nn.Module:
    """A run's model with its weights, ready to answer."""
    with torch.random.fork_rng(devices=[]):  # the weights drawn here are overwritten
        model = spec.model.build(vocab_size=task.vocab_size, num_classes=task.num_classes)
    model = model.to(spec.train.dtype)
    try:
        model.load_state_dict(weights)
    except RuntimeError as problem:
        reason = str(problem).splitlines()[1:2] or [str(problem)]
        raise RunError(
            f"the weights in {source!r} are not those of {spec.name}: {reason[0].strip()}"
        ) from problem
    return model.eval()


def load(path: str | Path) -> nn.Module:
    """A trained model from a run folder or by a shipped name, ready to answer.

    The shipped names are the paper's 21 tasks; `ldru/shipped` has a card for each.
    """
    return Run.open(path).model


def read_log(folder: Path) -> list[LogEntry]:
    """The log of a run folder."""
    path = folder / LOG
    try:
        return [LogEntry(**json.loads(line)) for line in path.read_text().splitlines()]
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, TypeError) as problem:
        raise RunError(f"cannot read the log {str(path)!r}: {problem}") from problem


def _known_task(spec: RunSpec, path: str | Path) -> AnyTask:
    """The task of a run whose name or machine says all of it."""
    try:
        return task_from_spec(spec.task)
    except LdruError as problem:
        raise RunError(
            f"{str(path)!r}: {problem}; a run on a data set of one's own is opened in Python, by "
            "Run.open(folder, task=...)"
        ) from problem


def _read(path: Path, parse: Callable[[dict], Parsed]) -> Parsed:
    """What a JSON file of a run says."""
    data = _read_json(path)
    try:
        return parse(data)
    except LdruError as problem:
        raise type(problem)(f"{str(path)!r}: {problem}") from problem


def _read_json(path: Path) -> dict:
    try:
        data = json.loads(path.read_text())
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as problem:
        raise RunError(f"cannot read {str(path)!r}: {problem}") from problem
    if not isinstance(data, dict):
        raise RunError(f"{str(path)!r} holds no JSON object")
    return data
