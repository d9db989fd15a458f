"""The catalog in a database for PyIceberg, which handles a table's metadata no more often than it changes."""

from __future__ import annotations

from typing import Any

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import IcebergTables, SqlCatalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.io import FileIO
from pyiceberg.serializers import FromInputFile
from pyiceberg.table import CommitTableResponse, Table, Transaction
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.typedef import Identifier
from sqlalchemy import bindparam, select

from fencepost.commits import Change

Known = tuple[str, TableMetadata, FileIO]
"""Where the newest metadata of a table lies, what it says, and what reads the table's files."""


class _Table(Table):
    def transaction(self) -> Transaction:
        """See Table."""
        return Change(self)


class CachingSqlCatalog(SqlCatalog):
    """A catalog that asks the database where a table's metadata lies, and reads it if it lies elsewhere now.

    Iceberg writes metadata once and never changes it: a run that names its tables a thousand times reads
    that of each commit, no more.
    """

    def __init__(self, name: str, **properties: str) -> None:
        super().__init__(name, **properties)
        self._known: dict[Identifier, Known] = {}
        found = select(IcebergTables.metadata_location).where(
            IcebergTables.catalog_name == name,
            IcebergTables.table_namespace == bindparam("namespace"),
            IcebergTables.table_name == bindparam("table"),
        )
        is_table = self._iceberg_type_filter()
        self._location = found if is_table is None else found.where(is_table)

    def load_table(self, identifier: str | Identifier) -> Table:
        """See Catalog. Raises NoSuchTableError."""
        named = Catalog.identifier_to_tuple(identifier)
        names = {"namespace": ".".join(named[:-1]), "table": named[-1]}
        with self.engine.connect() as connection:
            location = connection.execute(self._location, names).scalar()
        if location is None:
            raise NoSuchTableError(f"Table does not exist: {'.'.join(named)}")
        known = self._known.get(named)
        if known is None or known[0] != location:
            file = self._load_file_io({}, location).new_input(location)
            known = self._learn(named, location, FromInputFile.table_metadata(file))
        return _Table(named, known[1], location, known[2], self)

    def commit_table(self, table: Table, requirements: Any, updates: Any) -> CommitTableResponse:
        """See Catalog."""
        done = super().commit_table(table, requirements, updates)
        self._learn(table.name(), done.metadata_location, done.metadata)
        return done

    def _learn(self, named: Identifier, location: str, metadata: TableMetadata) -> Known:
        known = (location, metadata, self._load_file_io(metadata.properties, location))
        self._known[named] = known
        return known
