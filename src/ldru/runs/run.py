"""A trained model with all that belongs to it."""

import html
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from ldru.analysis.extract import extract
from ldru.analysis.extraction import TOLERANCES, Extraction
from ldru.analysis.teaching import GATHERED_TOLERANCES
from ldru.base.errors import LdruError, RunError
from ldru.base.files import lock
from ldru.base.labels import Labels
from ldru.base.safetensors import check_finite
from ldru.evaluation.accuracy import Evaluation, evaluate
from ldru.evaluation.answers import Score
from ldru.evaluation.lengths import WORDS
from ldru.models.ldru import LDRUClassifier
from ldru.models.shapes import model_shapes
from ldru.runs.folder import WEIGHTS, RunFolder
from ldru.runs.predict import Prediction, predict
from ldru.runs.record import Record
from ldru.runs.shipped import SHIPPED, find_run
from ldru.runs.spec import RunSpec
from ldru.tasks.data_task import data_folder
from ldru.tasks.find import task_from_spec
from ldru.tasks.regular_task import RegularTask
from ldru.tasks.task import Part, Task
from ldru.training.log import LogEntry

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, kw_only=True, eq=False)
class Run:
    """A trained model.

    log: one entry per validation; empty for a shipped model.
    folder: where it was saved; None when it lives in memory only, or was shipped.

    >>> run = ldru.Run.open("parity_check")
    >>> run.evaluate([40, 500])
    {40: 1.0, 500: 1.0}
    >>> [answer.label for answer in run.predict(["0110", "111"])]
    [1, 0]
    """

    spec: RunSpec
    task: Task
    model: nn.Module
    record: Record
    log: list[LogEntry]
    folder: Path | None = None

    @classmethod
    def open(cls, path: str | Path, *, task: Task | None = None) -> "Run":
        """A run from its folder, or a shipped one by its name; that one stays as it is.

        task: what it was trained on, needed only for a data set of one's own.
        """
        folder = RunFolder(find_run(path))
        folder.check_whole()
        spec = folder.spec()
        if task is None:
            task = _known_task(spec, path)
        elif task.spec != spec.task:
            raise LdruError(f"{str(path)!r} was trained on {spec.task.name!r}, not {task.name!r}")
        source = str(folder.path / WEIGHTS)
        return cls(
            spec=spec,
            task=task,
            model=trained_model(spec, task, folder.weights(), source=source),
            record=folder.record(),
            log=folder.log(),
            folder=None if folder.path.parent == SHIPPED else folder.path,
        )

    def __repr__(self) -> str:
        final = self.record.final
        return f"Run({self.spec.name}, step {final.step:,}, validation {final.accuracy:.1%})"

    def _repr_html_(self) -> str:
        found = self.record.evaluation
        return f"<p>{html.escape(repr(self))}</p>{'' if found is None else found._repr_html_()}"

    def save(self, folder: str | Path) -> "Run":
        """Save the run in a new folder, which must not exist; -> the run that lives there."""
        folder = Path(folder)
        RunFolder(folder).write(self.spec, self.record, self.log, self.model.state_dict())
        return replace(self, folder=folder)

    def evaluate(
        self,
        lengths: Iterable[Part] | None = None,
        *,
        words: int = WORDS,
        labels: Labels = "words",
    ) -> dict[Part, float]:
        """Accuracy by length on test words; of a data set by test set, by default all.

        labels: "prefixes" counts the answers at every position of the words.
        """
        return self.compute_evaluation(lengths, words=words, labels=labels).accuracy

    def compute_evaluation(
        self,
        parts: Iterable[Part] | None = None,
        *,
        words: int = WORDS,
        seed: int = 0,
        on_part: Callable[[Part], None] | None = None,
        labels: Labels = "words",
    ) -> Evaluation:
        """Count right answers by length or test set; see `ldru.evaluate`."""
        score: Score = self.model
        if labels == "prefixes":
            if not isinstance(self.model, LDRUClassifier):
                raise LdruError(
                    f"{self.spec.name} gives no answer at every position; evaluate it with "
                    "labels='words'"
                )
            score = self.model.scan
        self.check_store()
        if parts is None:
            parts = self.task.test_parts
            if not parts and self.task.is_drawn:
                raise LdruError(f"{self.task.name} is evaluated by length; say which: [50, 500]")
            if not parts:
                raise LdruError(f"{self.task.name} has no test sets; name a set of its words")
        return evaluate(
            score,
            self.task,
            parts,
            words=words,
            seed=seed,
            device=self.device,
            precision=self.spec.train.precision,
            on_part=on_part,
            labels=labels,
        )

    def plot(self, lengths: Iterable[int] | None = None, *, words: int = WORDS) -> "Figure":
        """Draw accuracy by length, as a figure of Matplotlib.

        lengths: to evaluate now; by default those that its record has.

        >>> figure = ldru.Run.open("dyck_6").plot()
        >>> figure.savefig("dyck_6.png")
        """
        evaluation = self.record.evaluation
        if lengths is not None:
            evaluation = self.compute_evaluation(lengths, words=words)
        if evaluation is None:
            raise LdruError(f"{self.spec.name} was not evaluated yet; say which lengths to draw")
        return evaluation.plot(title=self.spec.name, max_length=self.spec.train.max_length)

    def with_evaluation(self, evaluation: Evaluation) -> "Run":
        """Add an evaluation to the run's record, on disk too.

        Lengths that were evaluated before stay, unless they are evaluated again on as many words.
        """
        if self.folder is not None:
            # Another process may add to it at the same time.
            with lock(self.folder, waits=True):
                return self._with_added(RunFolder(self.folder).record(), evaluation)
        return self._with_added(self.record, evaluation)

    def _with_added(self, record: Record, evaluation: Evaluation) -> "Run":
        if record.evaluation is not None:
            by_part = dict(record.evaluation.by_part)
            for part, result in evaluation.by_part.items():
                if part not in by_part or result.words >= by_part[part].words:
                    by_part[part] = result
            parts = self.task.in_order(by_part)
            evaluation = Evaluation(by_part={part: by_part[part] for part in parts})
        record = replace(record, evaluation=evaluation)
        if self.folder is not None:
            RunFolder(self.folder).write_record(record)
        return replace(self, record=record)

    def predict(self, words: Sequence[str]) -> list[Prediction]:
        """The model's answer to each word, given as the task's text."""
        if isinstance(words, str):
            raise LdruError(f"give a list of words, such as [{words!r}], not one word")
        if not isinstance(words, Iterable):
            raise LdruError(f"give a list of words, such as ['0110'], got {words!r}")
        if not words:
            return []
        if strange := [word for word in words if not isinstance(word, str)]:
            raise LdruError(f"words are given as text, such as '0110', got {strange[0]!r}")
        self.check_vocabulary()
        return predict(self.model, self.task, words, precision=self.spec.train.precision)

    def exact(self) -> Extraction:
        """Extract an exact machine from an LDRU; takes seconds to minutes.

        See `ldru.extract`, which has options.
        """
        tolerances = GATHERED_TOLERANCES if self.spec.taught else TOLERANCES
        return extract(self.model, self.language, tolerances=tolerances)

    @property
    def device(self) -> torch.device:
        """Where its model is."""
        return next(self.model.parameters()).device

    @property
    def language(self) -> RegularTask:
        """The task, which must be a regular language."""
        if not isinstance(self.task, RegularTask):
            raise LdruError(
                f"{self.spec.name} is trained on a data set, and no machine knows its answers; "
                "give a run on a regular language"
            )
        return self.task

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
        if self.task.vocabulary() is not None:
            self.check_words()

    def check_words(self) -> None:
        """Raise if a data set has other words here than the run was trained on."""
        known = self.record.data
        if known is None or (words := self.task.training_set) is None:
            return
        if (checksum := words.checksum) != known:
            raise LdruError(
                f"{self.spec.name} was trained on other words of {self.task.name!r} (checksum "
                f"{known}) than those in {str(data_folder())!r} ({checksum}); choose its own store "
                "with $LDRU_DATA, or train in another folder"
            )

    @cached_property
    def _has_own_vocabulary(self) -> bool:
        known, now = self.record.vocabulary, self.task.vocabulary()
        return known is None or now is None or now == known


def trained_model(
    spec: RunSpec, task: Task, weights: dict[str, Tensor], *, source: str
) -> nn.Module:
    """A run's model with its weights, ready to answer.

    Weights that are not finite, or not of its settings, are an error, before a model is built.
    """
    sizes = {"vocab_size": task.vocab_size, "num_classes": task.num_classes}
    check_weights(spec, task, weights, source=source)
    with torch.random.fork_rng(devices=[]):  # the weights drawn here are overwritten
        model = spec.model.build(**sizes)
    model = model.to(spec.train.dtype)
    try:
        model.load_state_dict(weights)
    except RuntimeError as problem:
        reason = str(problem).splitlines()[1:2] or [str(problem)]
        raise RunError(
            f"the weights in {source!r} are not those of {spec.name}: {reason[0].strip()}"
        ) from problem
    return model.eval()


def check_weights(spec: RunSpec, task: Task, weights: Mapping[str, Tensor], *, source: str) -> None:
    """Raise unless weights are finite and those of the settings; no model is built."""
    check_finite(weights, source=source)
    shapes = model_shapes(spec.model, vocab_size=task.vocab_size, num_classes=task.num_classes)
    if shapes is None:
        return
    for name in (*shapes, *weights):
        found = weights.get(name)
        if found is None or found.shape != shapes.get(name) or not found.is_floating_point():
            given = "nothing" if found is None else f"{found.dtype} {list(found.shape)}"
            wanted = f"numbers {list(shapes[name])}" if name in shapes else "nothing"
            raise RunError(
                f"the weights in {source!r} are not those of {spec.name}: {name[:80]} is {given}, "
                f"expected is {wanted}"
            )


def load(path: str | Path) -> nn.Module:
    """A trained model from a run folder or by a shipped name, ready to answer.

    The shipped names are the paper's 21 tasks; `ldru/shipped` has a card for each.

    >>> model = ldru.load("parity_check")
    >>> model(torch.tensor([[0, 1, 1, 0], [1, 1, 1, 0]])).argmax(dim=-1)  # 1: ones are even
    tensor([1, 0])
    """
    return Run.open(path).model


def _known_task(spec: RunSpec, path: str | Path) -> Task:
    """The task of a run whose name or machine says all of it."""
    try:
        return task_from_spec(spec.task)
    except LdruError as problem:
        raise RunError(
            f"{str(path)!r}: {problem}; a run on a data set of one's own is opened in Python, by "
            "Run.open(folder, task=...)"
        ) from problem
