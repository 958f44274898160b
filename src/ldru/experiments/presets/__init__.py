"""The paper's tables as data, each with the paper's own numbers beside it."""

from ldru.experiments.presets.regular import TABLES

__all__ = ["TABLES"]
