"""The paper's tables as data, each with the paper's own numbers beside it."""

from ldru.paper.table import Table
from ldru.paper.tables import listops, regular, text

TABLES: dict[str, Table] = {**regular.TABLES, **listops.TABLES, **text.TABLES}

__all__ = ["TABLES"]
