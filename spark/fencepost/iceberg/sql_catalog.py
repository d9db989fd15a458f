"""The catalog in a database for PyIceberg, which handles a table's metadata no more often than it changes."""

from __future__ import annotations

import gzip
import uuid
from typing import Any

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import IcebergTables, SqlCatalog
from pyiceberg.exceptions import NoSuchTableError, NoSuchViewError
from pyiceberg.io import FileIO
from pyiceberg.schema import Schema, assign_fresh_schema_ids
from pyiceberg.serializers import FromInputFile
from pyiceberg.table import CommitTableResponse, Table, Transaction
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.typedef import EMPTY_DICT, Identifier, Properties
from pyiceberg.view import View
from pyiceberg.view.metadata import ViewMetadata, ViewVersion
from sqlalchemy import bindparam, delete, insert, select

from fencepost.iceberg.commits import Change

Known = tuple[str, TableMetadata, FileIO]
"""Where the newest metadata of a table lies, what it says, and what reads the table's files."""


_VIEW = "VIEW"
_KEY = ("catalog_name", "table_namespace", "table_name")


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

    def create_view(
        self,
        identifier: str | Identifier,
        schema: Schema | pa.Schema,
        view_version: ViewVersion,
        location: str | None = None,
        properties: Properties = EMPTY_DICT,
    ) -> View:
        """See Catalog. A view is stored as Iceberg's Java has it; PyIceberg 0.12 has none in a database."""
        named = Catalog.identifier_to_tuple(identifier)
        place = self._resolve_table_location(location, ".".join(named[:-1]), named[-1])
        columns = assign_fresh_schema_ids(self._convert_schema_if_needed(schema))
        metadata = ViewMetadata.model_validate(
            {
                "view-uuid": str(uuid.uuid4()),
                "format-version": 1,
                "location": place,
                "schemas": [columns.model_copy(update={"schema_id": view_version.schema_id})],
                "current-version-id": view_version.version_id,
                "versions": [view_version],
                "version-log": [
                    view_version.model_dump(by_alias=True, include={"version_id", "timestamp_ms"})
                ],
                "properties": properties,
            }
        )
        file = f"{place}/metadata/00000-{metadata.view_uuid}.metadata.json"
        with self._load_file_io({}, file).new_output(file).create() as output:
            output.write(metadata.model_dump_json(by_alias=True, exclude_none=True).encode())
        row = dict(zip(_KEY, (self.name, ".".join(named[:-1]), named[-1]), strict=True))
        with self.engine.begin() as connection:
            connection.execute(
                insert(IcebergTables).values(**row, metadata_location=file, iceberg_type=_VIEW)
            )
        return View(named, metadata)

    def load_view(self, identifier: str | Identifier) -> View:
        """See Catalog. Raises NoSuchViewError."""
        found = select(IcebergTables.metadata_location).where(*self._is_view(identifier))
        with self.engine.connect() as connection:
            location = connection.execute(found).scalar()
        if location is None:
            raise NoSuchViewError(f"View does not exist: {identifier}")
        with self._load_file_io({}, location).new_input(location).open() as file:
            content = file.read()
        # Iceberg's Java compresses it
        text = gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content
        return View(Catalog.identifier_to_tuple(identifier), ViewMetadata.model_validate_json(text))

    def view_exists(self, identifier: str | Identifier) -> bool:
        """See Catalog."""
        found = select(IcebergTables.table_name).where(*self._is_view(identifier))
        with self.engine.connect() as connection:
            return connection.execute(found).scalar() is not None

    def drop_view(self, identifier: str | Identifier) -> None:
        """See Catalog. Raises NoSuchViewError."""
        with self.engine.begin() as connection:
            if connection.execute(delete(IcebergTables).where(*self._is_view(identifier))).rowcount < 1:
                raise NoSuchViewError(f"View does not exist: {identifier}")

    def _is_view(self, identifier: str | Identifier) -> list[Any]:
        named = Catalog.identifier_to_tuple(identifier)
        return [
            IcebergTables.catalog_name == self.name,
            IcebergTables.table_namespace == ".".join(named[:-1]),
            IcebergTables.table_name == named[-1],
            IcebergTables.iceberg_type == _VIEW,
        ]
