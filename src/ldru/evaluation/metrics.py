"""GLUE's metrics, computed from the counts that a record keeps.

With two classes, how many words of each there are and how many were right is the whole confusion
matrix: what is not right was taken for the other class.
"""

import math
from collections.abc import Callable

from ldru.base.errors import LdruError
from ldru.evaluation.accuracy import PartResult


def f1(result: PartResult) -> float:
    """Of class 1, as GLUE has it: the harmonic mean of precision and recall."""
    right, missed, wrong, _ = _confusion(result)
    return _f1(right, missed, wrong)


def macro_f1(result: PartResult) -> float:
    """The mean of the F1 of both classes."""
    right, missed, wrong, rejected = _confusion(result)
    return (_f1(right, missed, wrong) + _f1(rejected, wrong, missed)) / 2


def matthews(result: PartResult) -> float:
    """Matthews' correlation of answers and labels, -1 to 1; 0 where one of them is constant."""
    right, missed, wrong, rejected = _confusion(result)
    sizes = (right + wrong) * (right + missed) * (rejected + wrong) * (rejected + missed)
    return (right * rejected - wrong * missed) / math.sqrt(sizes) if sizes else 0.0


METRICS: dict[str, Callable[[PartResult], float]] = {
    "accuracy": lambda result: result.accuracy,
    "f1": f1,
    "macro_f1": macro_f1,
    "matthews": matthews,
}


def _f1(right: int, missed: int, wrong: int) -> float:
    total = 2 * right + missed + wrong
    return 2 * right / total if total else 0.0


def _confusion(result: PartResult) -> tuple[int, int, int, int]:
    """Of class 1 how many were right and how many not, of class 0 how many not and how many."""
    if not set(result.words_by_class) <= {0, 1}:
        raise LdruError(f"this metric is for two classes, got {sorted(result.words_by_class)}")
    words, correct = (
        [counts.get(label, 0) for label in (0, 1)]
        for counts in (result.words_by_class, result.correct_by_class)
    )
    return correct[1], words[1] - correct[1], words[0] - correct[0], correct[0]
