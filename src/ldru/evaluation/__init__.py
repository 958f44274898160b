"""Evaluation: accuracy by length."""

from ldru.evaluation.accuracy import Evaluation, LengthResult, evaluate, parse_lengths

__all__ = ["Evaluation", "LengthResult", "evaluate", "parse_lengths"]
