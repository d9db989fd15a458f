"""The states of tables, and which tables a step reads and writes.

A state is the table's uuid and its newest snapshot in Iceberg. So a table that was dropped and created again
has another one, and so has a table with other rows or files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table

from fencepost.protocols import captured, protocols
from fencepost.tables import INCIDENT_NOTES, OF_REBUILDS, OF_VERDICTS, VERDICTS, WAIVERS

State = str | None
"""None: there is no such table."""
States = Mapping[str, State]
"""Table's name -> its state."""

STEPS = ("rebuild", "judge", "marts", "gate")
"""The steps whose work the ledger notes or waits for, in order."""


def state_of(table: Table) -> str:
    """The state of a table."""
    return f"{table.metadata.table_uuid} {table.metadata.current_snapshot_id or ''}"


def snapshot_in(state: str) -> int | None:
    """The snapshot in a state; None if the table never had a row."""
    snapshot = state.partition(" ")[2]
    return int(snapshot) if snapshot else None


def find(catalog: Catalog, name: str) -> Table | None:
    """A table of the lake; None if it does not exist."""
    try:
        return catalog.load_table(name)
    except NoSuchTableError:
        return None


def states(catalog: Catalog, names: Iterable[str]) -> States:
    """The states of tables now."""
    tables = ((name, find(catalog, name)) for name in names)
    return {name: None if table is None else state_of(table) for name, table in tables}


def read_by(step: str) -> list[str]:
    """The tables from which a step makes its rows."""
    return _READS[step]()


def written_by(step: str, catalog: Catalog) -> list[str]:
    """The tables that have the rows of a step."""
    return _WRITES[step](catalog)


def _captured() -> list[str]:
    return sorted(table.name for table in captured())


def _silver() -> list[str]:
    own = (table for protocol in protocols() for table in protocol.tables)
    return [table.name for table in (*OF_REBUILDS, *own)]


def _verdicts() -> list[str]:
    return [table.name for table in VERDICTS]


def _marts(catalog: Catalog) -> list[str]:
    return sorted(".".join(name) for name in catalog.list_tables("marts"))


_READS: Mapping[str, Callable[[], list[str]]] = {
    "rebuild": _captured,
    "judge": _silver,
    "marts": lambda: [*_captured(), *_silver(), *_verdicts(), INCIDENT_NOTES.name, WAIVERS.name],
}
_WRITES: Mapping[str, Callable[[Catalog], list[str]]] = {
    "rebuild": lambda _: _silver(),
    "judge": lambda _: [*_verdicts(), *(table.name for table in OF_VERDICTS)],
    "marts": _marts,
}
