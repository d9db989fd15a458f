"""What a table of the lake is, and the columns that many share."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """One table: ``name`` (``schema.table``), ``columns`` (name -> Spark DDL type), ``key`` (grain)."""

    name: str
    doc: str
    columns: dict[str, str]
    key: tuple[str, ...]
    partitioned_by: tuple[str, ...] = ()

    @property
    def ddl(self) -> str:
        """The columns as a Spark DDL schema string."""
        return ", ".join(f"`{name}` {kind}" for name, kind in self.columns.items())


INTERVAL = {
    "from_position": "bigint",
    "to_position": "bigint",
    "from_time": "timestamp",
    "to_time": "timestamp",
}
"""The columns of a history row: from where to where, and from when to when, it is true."""
