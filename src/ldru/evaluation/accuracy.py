"""Accuracy by length or test set: how often a model is right, and how often it could by chance."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from ldru.errors import LdruError
from ldru.randomness import Stream, fold, seed_key
from ldru.tasks import AnyTask, Batch, DataTask, Task
from ldru.tasks.padded import batches_by_length

CHUNK_TOKENS = 2**16
"""How many tokens are scored at once: bounds the memory, whatever the length."""

MAX_LENGTH = 1_000_000

Score = Callable[..., Tensor]
Part = int | str
"""What is evaluated at once: words of a length, or a test set by name."""


@dataclass(frozen=True, kw_only=True)
class LengthResult:
    """Words of one length or set: how many of each label there were, and how many were right."""

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

    def interval(self, *, z: float = 1.959964) -> tuple[float, float]:
        """Wilson's interval for the accuracy, 95 % by default."""
        n, share = self.words, self.accuracy
        middle = (share + z * z / (2 * n)) / (1 + z * z / n)
        half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
        # Rounding must not push an end past what was seen.
        return min(max(0.0, middle - half), share), max(min(1.0, middle + half), share)


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """Results by length, in order of length; of a data set, by the name of a test set."""

    by_length: dict[Part, LengthResult]

    @property
    def lengths(self) -> list[int]:
        return [length for length in self.by_length if isinstance(length, int)]

    @property
    def accuracy(self) -> dict[Part, float]:
        return {length: result.accuracy for length, result in self.by_length.items()}

    def mean_accuracy(self, lengths: Iterable[Part] | None = None) -> float:
        """The mean over lengths, each length counting alike, as the paper reports it."""
        return self._mean(lengths, lambda result: result.accuracy)

    def mean_majority_share(self, lengths: Iterable[Part] | None = None) -> float:
        """The mean of the majority shares over lengths."""
        return self._mean(lengths, lambda result: result.majority_share)

    def accuracy_by_class(self, lengths: Iterable[Part] | None = None) -> dict[int, float]:
        """The share of right answers among all words of each label."""
        words: dict[int, int] = {}
        correct: dict[int, int] = {}
        for length in self.by_length if lengths is None else lengths:
            result = self.by_length[length]
            for label, count in result.words_by_class.items():
                words[label] = words.get(label, 0) + count
                correct[label] = correct.get(label, 0) + result.correct_by_class[label]
        return {label: correct[label] / words[label] for label in sorted(words)}

    def within(self, low: int, high: int) -> list[int]:
        """The evaluated lengths from `low` to `high`."""
        return [length for length in self.lengths if low <= length <= high]

    def _mean(
        self, lengths: Iterable[Part] | None, value: Callable[[LengthResult], float]
    ) -> float:
        chosen = list(self.by_length if lengths is None else lengths)
        if not chosen:
            raise LdruError("there is no evaluated length to take a mean over")
        return sum(value(self.by_length[length]) for length in chosen) / len(chosen)


@torch.no_grad()
def evaluate(
    score: Score,
    task: AnyTask,
    lengths: Iterable[Part],
    *,
    words: int = 512,
    seed: int = 0,
    device: torch.device | str = "cpu",
    on_length: Callable[[Part], None] | None = None,
) -> Evaluation:
    """Score test words of each length, the same words for every model.

    A length that has no words is answered by the nearest that has (`Task.word_length`). Of a data
    set, whole test sets are scored, by name.

    score: tokens [batch, length] -> scores [batch, classes], a model in evaluation mode; for a data
        set it takes the words' lengths [batch] too.
    words, seed: how many words are drawn, and by what; for a data set they mean nothing.
    on_length: called with each length when it is done.
    """
    if words < 1:
        raise LdruError(f"at least one word per length is needed, got {words}")
    by_length: dict[Part, LengthResult] = {}
    for part in check_parts(task, lengths):
        if isinstance(task, DataTask):
            answers, labels = _answer_set(score, task, str(part), device=device)
        else:
            assert isinstance(part, int)
            batch = draw_test_words(task, part, words=words, seed=seed, device=device)
            rows = batch.tokens.split(max(1, CHUNK_TOKENS // part))
            answers = torch.cat([score(some).argmax(dim=-1) for some in rows])
            labels = batch.labels
        by_length[part] = count_answers(answers, labels, task.num_classes)
        if on_length is not None:
            on_length(part)
    return Evaluation(by_length=by_length)


def check_parts(task: AnyTask, parts: Iterable[Part]) -> list[Part]:
    """Lengths in order, or names of sets of words, each once."""
    if isinstance(parts, str):
        raise LdruError(f"give a list of sets, such as [{parts!r}], not one name")
    chosen = list(dict.fromkeys(parts))
    if not chosen:
        raise LdruError("give at least one length or set of words to evaluate on; got none")
    is_data = isinstance(task, DataTask)
    wrong = [part for part in chosen if isinstance(part, str) != is_data]
    if wrong:
        wanted = "lengths"
        if isinstance(task, DataTask):
            wanted = f"sets of words, such as {', '.join(map(repr, task.tests[:2]))}"
        raise LdruError(f"{task.name!r} is evaluated by {wanted}; got {wrong[0]!r}")
    return chosen if is_data else sorted(chosen)


def _answer_set(
    score: Score, task: DataTask, name: str, *, device: torch.device | str
) -> tuple[Tensor, Tensor]:
    """Answers and labels of a set of words, short ones first."""
    answers, labels = [], []
    for batch in batches_by_length(task.words(name), tokens=CHUNK_TOKENS, device=device):
        answers.append(score(batch.tokens, batch.lengths).argmax(dim=-1))
        labels.append(batch.labels)
    return torch.cat(answers), torch.cat(labels)


def draw_test_words(
    task: Task, length: int, *, words: int, seed: int, device: torch.device | str
) -> Batch:
    """The test words of a length."""
    key = fold(fold(seed_key(seed, device=device), Stream.TEST), length)
    return task.draw(key, batch_size=words, length=length, split="test")


def count_answers(answers: Tensor, labels: Tensor, num_classes: int) -> LengthResult:
    """Answers against labels, both [batch]."""
    seen = torch.bincount(labels, minlength=num_classes).tolist()
    right = torch.bincount(labels[answers == labels], minlength=num_classes).tolist()
    present = [label for label, count in enumerate(seen) if count]
    return LengthResult(
        words_by_class={label: seen[label] for label in present},
        correct_by_class={label: right[label] for label in present},
    )


def parse_lengths(text: str) -> list[int]:
    """Lengths from text: `41:500` (both ends), `10:100:5` (a step), `40,80,160`, or a mix."""
    lengths: list[int] = []
    for part in text.split(","):
        pieces = part.strip().split(":")
        if not 1 <= len(pieces) <= 3 or not all(
            piece.isascii() and piece.isdigit() for piece in pieces
        ):
            raise LdruError(f"cannot read the lengths {text!r}; write 41:500, 10:100:5 or 40,80")
        numbers = [int(piece) for piece in pieces]
        low, high = numbers[0], numbers[1] if len(numbers) > 1 else numbers[0]
        step = numbers[2] if len(numbers) == 3 else 1
        if low < 1 or high < 1 or step < 1:
            raise LdruError(f"lengths and steps count from 1, got {part.strip()!r}")
        if high > MAX_LENGTH:
            raise LdruError(f"lengths up to {MAX_LENGTH} are evaluated, got {part.strip()!r}")
        if high < low:
            raise LdruError(f"the range {part.strip()!r} runs backwards; write {high}:{low}")
        lengths.extend(range(low, high + 1, step))
    return sorted(set(lengths))
