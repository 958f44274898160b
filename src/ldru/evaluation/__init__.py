"""Evaluation: accuracy by length."""

from ldru.evaluation.accuracy import (
    Evaluation,
    LengthResult,
    Part,
    check_parts,
    count_answers,
    evaluate,
    parse_lengths,
)

__all__ = [
    "Evaluation",
    "LengthResult",
    "Part",
    "check_parts",
    "count_answers",
    "evaluate",
    "parse_lengths",
]
