"""Evaluation: accuracy by length."""

from ldru.evaluation.accuracy import (
    Evaluation,
    LengthResult,
    count_answers,
    evaluate,
    parse_lengths,
)

__all__ = [
    "Evaluation",
    "LengthResult",
    "count_answers",
    "evaluate",
    "parse_lengths",
]
