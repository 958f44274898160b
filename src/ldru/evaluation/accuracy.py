"""Accuracy by length or test set: how often a model is right, and how often it could by chance."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ldru.base.errors import LdruError
from ldru.base.json import Json
from ldru.base.labels import Labels, check_labels
from ldru.base.precision import Precision
from ldru.base.tabular import Tabular
from ldru.drawing.curves import Curve, curves_figure
from ldru.evaluation.answers import Score, answers_and_labels
from ldru.evaluation.lengths import WORDS
from ldru.evaluation.statistics import wilson_interval
from ldru.tasks.batch import PaddedBatch
from ldru.tasks.find import as_task
from ldru.tasks.regular_task import RegularTask
from ldru.tasks.task import Part, Task

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, kw_only=True)
class PartResult:
    """Words of one length or test set: how many there were of each label, and how many right.

    >>> result = ldru.PartResult(words_by_class={0: 6, 1: 2}, correct_by_class={0: 5, 1: 2})
    >>> result.accuracy, result.majority_share
    (0.875, 0.75)
    """

    words_by_class: dict[int, int]
    correct_by_class: dict[int, int]

    @property
    def words(self) -> int:
        return sum(self.words_by_class.values())

    @property
    def correct(self) -> int:
        return sum(self.correct_by_class.values())

    @property
    def accuracy(self) -> float:
        return self.correct / self.words

    @property
    def majority_share(self) -> float:
        """The accuracy of always giving the most frequent label."""
        return max(self.words_by_class.values()) / self.words

    @property
    def accuracy_by_class(self) -> dict[int, float]:
        return {
            label: self.correct_by_class[label] / words
            for label, words in self.words_by_class.items()
        }

    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval for the accuracy."""
        return wilson_interval(self.correct, self.words)


@dataclass(frozen=True, kw_only=True)
class Evaluation(Tabular):
    """Results by part: by length, in order of length, or by the name of a test set.

    As a table it has a row for each part (see `Tabular`).

    >>> run = ldru.Run.open("parity_check")
    >>> found = run.compute_evaluation([10, 20, 500], words=64)
    >>> found.lengths, found.mean_accuracy([20, 500])
    ([10, 20, 500], 1.0)
    """

    by_part: dict[Part, PartResult]

    def __repr__(self) -> str:
        lengths = self.lengths
        parts = f"{len(self.by_part)} test sets"
        if lengths:
            parts = f"{len(lengths)} lengths from {lengths[0]} to {lengths[-1]}"
        mean = f", mean accuracy {self.mean_accuracy():.2%}" if self.by_part else ""
        return f"Evaluation({parts}{mean})"

    @property
    def lengths(self) -> list[int]:
        """The lengths that were evaluated."""
        return [part for part in self.by_part if isinstance(part, int)]

    @property
    def accuracy(self) -> dict[Part, float]:
        return {part: result.accuracy for part, result in self.by_part.items()}

    def mean_accuracy(self, parts: Iterable[Part] | None = None) -> float:
        """The mean over parts, each counting alike, as the paper reports it."""
        return self._mean(parts, lambda result: result.accuracy)

    def mean_majority_share(self, parts: Iterable[Part] | None = None) -> float:
        """The mean of the majority shares over parts."""
        return self._mean(parts, lambda result: result.majority_share)

    def accuracy_by_class(self, parts: Iterable[Part] | None = None) -> dict[int, float]:
        """The share of right answers among all words of each label."""
        words: dict[int, int] = {}
        correct: dict[int, int] = {}
        for part in self.by_part if parts is None else parts:
            result = self.by_part[part]
            for label, count in result.words_by_class.items():
                words[label] = words.get(label, 0) + count
                correct[label] = correct.get(label, 0) + result.correct_by_class[label]
        return {label: correct[label] / words[label] for label in sorted(words)}

    def rows(self) -> list[dict[str, Json]]:
        """A row for each length or test set, with Wilson's interval."""
        name = "length" if self.lengths else "test set"
        return [
            {
                name: part,
                "accuracy": result.accuracy,
                "low": result.interval()[0],
                "high": result.interval()[1],
                "majority_share": result.majority_share,
                "words": result.words,
            }
            for part, result in self.by_part.items()
        ]

    def curve(self) -> Curve:
        """Accuracies and their intervals as they are drawn."""
        if not self.lengths:
            raise LdruError("an evaluation by test set has no curve; see `rows`")
        results = [self.by_part[length] for length in self.lengths]
        intervals = [result.interval() for result in results]
        return Curve(
            lengths=self.lengths,
            accuracy=[result.accuracy for result in results],
            low=[low for low, _ in intervals],
            high=[high for _, high in intervals],
            majority_share=[result.majority_share for result in results],
        )

    def plot(self, *, title: str = "", max_length: int | None = None) -> "Figure":
        """Draw accuracy by length, as a figure of Matplotlib.

        max_length: the longest training word, which is marked.
        """
        return curves_figure({"accuracy": self.curve()}, title=title, max_length=max_length)

    def pooled(self, others: Iterable["Evaluation"]) -> "Evaluation":
        """The counts of several evaluations of the same parts together."""
        by_part = dict(self.by_part)
        for other in others:
            for part, theirs in other.by_part.items():
                ours = by_part[part]
                by_part[part] = PartResult(
                    words_by_class=_added(ours.words_by_class, theirs.words_by_class),
                    correct_by_class=_added(ours.correct_by_class, theirs.correct_by_class),
                )
        return Evaluation(by_part=by_part)

    def within(self, low: int, high: int) -> list[int]:
        """The evaluated lengths from `low` to `high`."""
        return [length for length in self.lengths if low <= length <= high]

    def _mean(self, parts: Iterable[Part] | None, value: Callable[[PartResult], float]) -> float:
        # Kinds of words stand beside the lengths, and are no part of their mean.
        chosen = list((self.lengths or self.by_part) if parts is None else parts)
        if not chosen:
            raise LdruError("there is no evaluated length to take a mean over")
        return sum(value(self.by_part[part]) for part in chosen) / len(chosen)


def _added(first: dict[int, int], second: dict[int, int]) -> dict[int, int]:
    labels = sorted({*first, *second})
    return {label: first.get(label, 0) + second.get(label, 0) for label in labels}


def evaluate(
    score: Score,
    task: str | Task,
    parts: Iterable[Part],
    *,
    words: int = WORDS,
    seed: int = 0,
    device: torch.device | str = "cpu",
    precision: Precision | None = None,
    on_part: Callable[[Part], None] | None = None,
    labels: Labels = "words",
) -> Evaluation:
    """Count right answers on test words of each length or set, the same words for every model.

    A length that has no words is answered by the nearest that has (`RegularTask.word_length`).

    score: tokens [batch, length] -> scores [batch, classes], a model in evaluation mode; for a data
        set it takes the words' lengths [batch] too.
    words, seed: how many words are drawn, and by what; for a data set they mean nothing.
    precision: of products on a GPU; None leaves it as it is.
    on_part: called with each length or set when it is done.
    labels: "prefixes" counts the answers at every position, of a score [batch, length, classes];
        for a regular language. What is counted as words are then prefixes.

    >>> def guess(tokens):
    ...     return torch.tensor([0.0, 1.0]).expand(len(tokens), 2)  # always the label 1
    >>> ldru.evaluate(guess, ldru.task("dyck_2"), [3, 40]).accuracy
    {3: 0.0, 40: 0.5}
    """
    if not isinstance(words, int) or words < 1:
        raise LdruError(f"at least one word per length is needed, got {words!r}")
    check_labels(labels)
    by_part: dict[Part, PartResult] = {}
    task = as_task(task)
    for part in task.check_parts(parts):
        batches = task.test_words(part, words=words, seed=seed, device=device)
        if labels == "prefixes":
            batches = _with_prefix_labels(task, batches)
        answers, right = answers_and_labels(score, batches, precision=precision)
        # A prefix may be outside the domain.
        by_part[part] = count_answers(answers[right >= 0], right[right >= 0], task.num_classes)
        if on_part is not None:
            on_part(part)
    return Evaluation(by_part=by_part)


def _with_prefix_labels(task: Task, batches: Iterable[PaddedBatch]) -> Iterator[PaddedBatch]:
    if not isinstance(task, RegularTask):
        raise LdruError(
            f"{task.name!r} is a data set, which labels whole words: evaluate it with "
            "labels='words'"
        )
    for batch in batches:
        yield PaddedBatch(batch.tokens, task.label_prefixes(batch.tokens), batch.lengths)


def count_answers(answers: Tensor, labels: Tensor, num_classes: int) -> PartResult:
    """Answers against labels, both [batch]."""
    seen = torch.bincount(labels, minlength=num_classes).tolist()
    right = torch.bincount(labels[answers == labels], minlength=num_classes).tolist()
    present = [label for label, count in enumerate(seen) if count]
    return PartResult(
        words_by_class={label: seen[label] for label in present},
        correct_by_class={label: right[label] for label in present},
    )
