"""Lessons: which labels models are told in a step, and the loss of their answers.

A model answers to whole words, to all of their prefixes, or to all stretches of words that a tree
has a node for, by a method for each; the task labels what it answers to.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from ldru.base.errors import LdruError
from ldru.tasks.batch import PaddedBatch
from ldru.tasks.data_task import DataTask
from ldru.training.draws.base import Draws
from ldru.training.draws.data import DataDraws
from ldru.training.draws.regular import RegularDraws
from ldru.training.loss import (
    cross_entropy,
    factor_cross_entropy,
    prefix_cross_entropy,
    weighted_cross_entropy,
)
from ldru.training.spec import TrainSpec

ANSWERS = {
    "words": "forward",
    "prefixes": "scan",
    "factors": "factors",
    "classes": "class_factors",
}
"""The methods by which models answer to what they are told of, along the balanced tree."""

ALONG_TREES = {"factors": "factors_along", "classes": "class_factors_along"}
"""The methods along random trees, where these are no answers to words alone."""

WORDS_ALONG_TREES, WITH_ASSOCIATIVITY = "forward_along", "forward_with_associativity"
"""Methods of models that reduce words in a tree, by an operator."""


Losses = Callable[[PaddedBatch, Any], Tensor]


class Lesson(NamedTuple):
    """One way to tell the members of a fleet what is right.

    method: of a model, by which it answers.
    losses: of the members, from their words and answers: -> [members].
    """

    method: str
    losses: Losses


class Lessons:
    """The lessons of a fleet, along the balanced tree and along random trees.

    model: which the members share.
    classes, stretch_classes: how many classes each member's words and their stretches have
        [members].
    associativity: how much it weighs [members].
    """

    def __init__(
        self,
        settings: TrainSpec,
        draws: Draws,
        model: nn.Module,
        *,
        classes: Tensor,
        stretch_classes: Tensor,
        associativity: Tensor,
    ) -> None:
        _check(settings, draws, model)
        self.draws, self.classes = draws, classes
        self.stretch_classes, self.associativity = stretch_classes, associativity
        told = settings.labels
        losses: dict[str, Losses] = {
            "words": self._of_words,
            "prefixes": self._of_prefixes,
            "factors": self._of_factors,
            "classes": self._of_classes,
        }
        self.balanced = Lesson(ANSWERS[told], losses[told])
        if settings.associativity:
            self.balanced = Lesson(WITH_ASSOCIATIVITY, self._of_words_with_associativity)
        self.random = Lesson(WORDS_ALONG_TREES, self._of_words)
        if told in ALONG_TREES:
            self.random = Lesson(ALONG_TREES[told], losses[told])

    def _of_words(self, batch: PaddedBatch, scores: Tensor) -> Tensor:
        return cross_entropy(scores, batch.labels, self.classes)

    def _of_words_with_associativity(
        self, batch: PaddedBatch, answers: tuple[Tensor, Tensor]
    ) -> Tensor:
        scores, lost = answers
        return self._of_words(batch, scores) + self.associativity * lost.mean(dim=1)

    def _of_prefixes(self, batch: PaddedBatch, scores: Tensor) -> Tensor:
        assert isinstance(self.draws, RegularDraws)
        labels = self.draws.label_prefixes(batch.tokens)
        if batch.lengths is not None:
            place = torch.arange(labels.shape[2], device=labels.device)
            labels = torch.where(place < batch.lengths[..., None], labels, -1)
        return prefix_cross_entropy(scores, labels, self.classes)

    def _of_factors(self, batch: PaddedBatch, answers: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        """Of stretches from begin to end, as a model's `factors` gives them."""
        scores, begin, end = answers
        labels = self.draws.label_factors(batch.tokens, begin, end)
        return factor_cross_entropy(scores, labels, end - begin, self.classes)

    def _of_classes(
        self, batch: PaddedBatch, answers: tuple[Tensor, Tensor, Tensor, Tensor]
    ) -> Tensor:
        """Of labels and of classes, as a model's `class_factors` has their scores."""
        scores, of_classes, begin, end = answers
        told = self.draws.classify_factors(batch.tokens, begin, end)
        losses = factor_cross_entropy(of_classes, told, end - begin, self.stretch_classes)
        if isinstance(self.draws, RegularDraws):
            return losses + self._of_factors(batch, (scores, begin, end))
        return losses + self._of_whole_words(batch, (scores, begin, end))

    def _of_whole_words(self, batch: PaddedBatch, answers: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        """Of words alone, among all stretches."""
        scores, begin, end = answers
        rows, length = batch.tokens.shape[1:]
        lengths = batch.lengths
        if lengths is None:
            lengths = torch.full_like(batch.labels, length)
        # Rows without a stretch may say anything of where it is.
        word = (begin.long() // length).clamp(max=rows - 1)
        is_whole = (begin == word * length) & (end - begin == lengths.gather(1, word))
        weights = is_whole.to(scores.dtype)
        return weighted_cross_entropy(scores, batch.labels.gather(1, word), weights, self.classes)


def check_answers(model: nn.Module, labels: str) -> None:
    """Raise unless a model answers to what it is to be told of."""
    if not hasattr(model, ANSWERS[labels]):
        raise LdruError(
            f"{type(model).__name__} gives no answer to {labels} of words: train it with "
            "labels='words', or take the model ldru"
        )


def _check(settings: TrainSpec, draws: Draws, model: nn.Module) -> None:
    """Raise where a model has no answer that the settings ask for, or a task no label."""
    if settings.associativity:
        _check_reduces(model, WITH_ASSOCIATIVITY, "associativity")
    if settings.random_trees:
        _check_reduces(model, WORDS_ALONG_TREES, "random_trees")
    if settings.labels != "words" and isinstance(draws, DataDraws):
        _check_stretches(draws.tasks, settings.labels)
    check_answers(model, settings.labels)


def _check_reduces(model: nn.Module, method: str, setting: str) -> None:
    if not hasattr(model, method):
        raise LdruError(
            f"{type(model).__name__} reduces words by no operator in a tree: train it with "
            f"{setting}=0"
        )


def _check_stretches(tasks: Sequence[DataTask], labels: str) -> None:
    """Raise unless data sets label what a model is to be told of."""
    ways = {task.label_stretches for task in tasks}
    if None in ways:
        raise LdruError(
            f"{tasks[0].name!r} is a data set, which labels whole words: train it with "
            "labels='words'"
        )
    if labels == "prefixes":
        raise LdruError(
            f"{tasks[0].name!r} is a data set, which labels stretches of words, but no {labels}: "
            "train it with labels='words', 'factors' or 'classes'"
        )
    if len(ways) > 1:
        raise LdruError(
            f"members of a fleet label stretches in one way, {', '.join(t.name for t in tasks)} "
            "have several: train each by itself"
        )
