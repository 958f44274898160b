"""Evaluation: accuracy by length."""

from ldru.evaluation.accuracy import (
    Evaluation,
    LengthResult,
    count_answers,
    draw_test_words,
    evaluate,
    parse_lengths,
)

__all__ = [
    "Evaluation",
    "LengthResult",
    "count_answers",
    "draw_test_words",
    "evaluate",
    "parse_lengths",
]
