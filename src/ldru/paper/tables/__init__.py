"""The paper's tables as data, each with the paper's own numbers beside it."""

from ldru.base.errors import LdruError
from ldru.paper.table import Table
from ldru.paper.tables import listops, regular, text

TABLES: dict[str, Table] = {**regular.TABLES, **listops.TABLES, **text.TABLES}

__all__ = ["TABLES", "register_table"]


def register_table(table: Table) -> None:
    """Make a table of your own known by its name, to `ldru reproduce`.

    >>> column = ldru.Column(model=ldru.LDRUSpec(dim=8), train=ldru.TrainSpec(steps=100))
    >>> mine = ldru.Table(name="mine", caption="Mine.", tasks=("dyck_2",), columns={"a": column})
    >>> ldru.register_table(mine)
    >>> "mine" in ldru.TABLES
    True
    """
    if not isinstance(table, Table):
        raise LdruError(f"register_table takes a Table, got {table!r}")
    if TABLES.get(table.name, table) != table:
        raise LdruError(f"there is already a table {table.name!r}; choose another name")
    TABLES[table.name] = table
