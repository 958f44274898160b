"""The paper's tables as data, each with the paper's own numbers beside it."""

from ldru.experiments.presets import listops, regular, text
from ldru.experiments.table import Table

TABLES: dict[str, Table] = {**regular.TABLES, **listops.TABLES, **text.TABLES}

__all__ = ["TABLES"]
