"""The type of a function that reads rows of a table, as an engine does."""

from __future__ import annotations

from typing import Protocol

from fencepost.conditions import Where
from fencepost.engines import Rows
from fencepost.tables import Table


class Scan(Protocol):
    """Reads some columns of the rows that a condition chooses."""

    def __call__(self, table: Table, columns: tuple[str, ...], where: Where | None) -> Rows:
        """The rows."""
