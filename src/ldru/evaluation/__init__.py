"""Evaluation: accuracy by length or test set, and metrics of test sets."""

from ldru.evaluation.accuracy import (
    Evaluation,
    LengthResult,
    Part,
    check_parts,
    count_answers,
    evaluate,
    parse_lengths,
)
from ldru.evaluation.metrics import METRICS

__all__ = [
    "METRICS",
    "Evaluation",
    "LengthResult",
    "Part",
    "check_parts",
    "count_answers",
    "evaluate",
    "parse_lengths",
]
