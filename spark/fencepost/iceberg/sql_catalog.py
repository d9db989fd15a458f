"""PyIceberg's catalog in a database, with a cache: a table's metadata is read only when it has changed."""

from __future__ import annotations

import gzip
import uuid
from typing import Any

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import IcebergTables, SqlCatalog
from pyiceberg.exceptions import NoSuchTableError, NoSuchViewError
from pyiceberg.io import FileIO, load_file_io
from pyiceberg.schema import Schema, assign_fresh_schema_ids
from pyiceberg.serializers import FromInputFile
from pyiceberg.table import CommitTableResponse, Table, Transaction
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.typedef import EMPTY_DICT, Identifier, Properties
from pyiceberg.view import View
from pyiceberg.view.metadata import ViewMetadata, ViewVersion
from sqlalchemy import bindparam, delete, insert, select

from fencepost.iceberg.commits import Change
from fencepost.iceberg.patches import share
from fencepost.iceberg.times import in_order

_VIEW = "VIEW"
_KEY = ("catalog_name", "table_namespace", "table_name")

Known = tuple[str, TableMetadata, FileIO]
"""The location of a table's newest metadata, the metadata, and the FileIO for the table's files."""


class _Table(Table):
    def transaction(self) -> Transaction:
        """See Table."""
        return Change(self)


class CachingSqlCatalog(SqlCatalog):
    """A catalog that asks the database for the location of a table's metadata, and reads the file only if the
    location has changed.

    Iceberg never changes a metadata file, so a run that loads its tables a thousand times reads one file for
    each commit. May go when PyIceberg's catalogs keep the metadata that they have read.

    It has views, and stores them as Iceberg's Java library does. They may go when SqlCatalog has them.
    """

    def __init__(self, name: str, **properties: str) -> None:
        super().__init__(name, **properties)
        self._known: dict[Identifier, Known] = {}
        location = select(IcebergTables.metadata_location).where(
            IcebergTables.catalog_name == name,
            IcebergTables.table_namespace == bindparam("namespace"),
            IcebergTables.table_name == bindparam("table"),
        )
        is_table = self._iceberg_type_filter()
        self._location = location if is_table is None else location.where(is_table)

    def load_table(self, identifier: str | Identifier) -> Table:
        """See Catalog. Raises NoSuchTableError."""
        name = Catalog.identifier_to_tuple(identifier)
        names = {"namespace": ".".join(name[:-1]), "table": name[-1]}
        with self.engine.connect() as connection:
            location = connection.execute(self._location, names).scalar()
        if location is None:
            raise NoSuchTableError(f"Table does not exist: {'.'.join(name)}")
        known = self._known.get(name)
        if known is None or known[0] != location:
            file = load_file_io(self.properties, location).new_input(location)
            known = self._remember(name, location, FromInputFile.table_metadata(file))
        return _Table(name, known[1], location, known[2], self)

    def locations(self) -> list[str]:
        """Where the newest metadata of each table and view is."""
        query = select(IcebergTables.metadata_location).where(
            IcebergTables.catalog_name == self.name, IcebergTables.metadata_location.is_not(None)
        )
        with self.engine.connect() as connection:
            return [str(each) for each in connection.execute(query).scalars()]

    def commit_table(self, table: Table, requirements: Any, updates: Any) -> CommitTableResponse:
        """See Catalog."""
        response = super().commit_table(table, requirements, updates)
        self._remember(table.name(), response.metadata_location, response.metadata)
        return response

    @staticmethod
    def _write_metadata(metadata: TableMetadata, io: FileIO, metadata_path: str) -> None:
        SqlCatalog._write_metadata(in_order(metadata), io, metadata_path)

    def _remember(self, name: Identifier, location: str, metadata: TableMetadata) -> Known:
        known = (
            location,
            share(metadata),
            load_file_io({**self.properties, **metadata.properties}, location),
        )
        self._known[name] = known
        return known

    def create_view(
        self,
        identifier: str | Identifier,
        schema: Schema | pa.Schema,
        view_version: ViewVersion,
        location: str | None = None,
        properties: Properties = EMPTY_DICT,
    ) -> View:
        """See Catalog."""
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
        with load_file_io(self.properties, file).new_output(file).create() as output:
            output.write(metadata.model_dump_json(by_alias=True, exclude_none=True).encode())
        row = dict(zip(_KEY, (self.name, ".".join(named[:-1]), named[-1]), strict=True))
        with self.engine.begin() as connection:
            connection.execute(
                insert(IcebergTables).values(**row, metadata_location=file, iceberg_type=_VIEW)
            )
        return View(named, metadata)

    def load_view(self, identifier: str | Identifier) -> View:
        """See Catalog. Raises NoSuchViewError."""
        location_query = select(IcebergTables.metadata_location).where(*self._is_view(identifier))
        with self.engine.connect() as connection:
            location = connection.execute(location_query).scalar()
        if location is None:
            raise NoSuchViewError(f"View does not exist: {identifier}")
        with load_file_io(self.properties, location).new_input(location).open() as file:
            content = file.read()
        # Iceberg's Java library compresses it
        text = gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content
        return View(Catalog.identifier_to_tuple(identifier), ViewMetadata.model_validate_json(text))

    def view_exists(self, identifier: str | Identifier) -> bool:
        """See Catalog."""
        view_query = select(IcebergTables.table_name).where(*self._is_view(identifier))
        with self.engine.connect() as connection:
            return connection.execute(view_query).scalar() is not None

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
