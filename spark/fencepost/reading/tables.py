"""The tables and views in the catalog of the lake, by name."""

from __future__ import annotations

import gzip
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from urllib.parse import quote

from fencepost.iceberg.catalog import (
    NAME,
    STORE_FAILED,
    CatalogError,
    MissingPackageError,
    catalog_properties,
    open_catalog,
)
from fencepost.reading import LakeError
from fencepost.settings import Lake, sqlite_file

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyiceberg.view.metadata import ViewMetadata

_BUSY_SECONDS = 10
_ENTRIES = """
SELECT table_namespace || '.' || table_name, coalesce(iceberg_type, 'TABLE'), metadata_location
FROM iceberg_tables WHERE catalog_name = ?
"""
_LOCAL_IO = {"py-io-impl": "fencepost.reading.local_io.LocalFileIO"}


@dataclass(frozen=True)
class View:
    """The names of a view's columns, and its query in Spark's SQL. dbt makes views of intermediate models."""

    columns: tuple[str, ...]
    sql: str


class Tables(Protocol):
    """The tables of a lake; every method raises LakeError when the catalog cannot be read."""

    def find(self, name: str) -> Table | View | None:
        """The current version of the table or view ``schema.table``; None if there is none."""

    def names(self, schema: str) -> list[str]:
        """The tables of a schema."""

    def schemas(self) -> list[str]:
        """All schemas."""


def tables_of(lake: Lake) -> Tables:
    """The tables of a lake. Raises LakeError."""
    properties = catalog_properties(lake)
    # a catalog of the kind jdbc may be such a file, too
    database = sqlite_file(properties.get("uri", ""))
    if database is not None and lake.is_local:
        return SqliteTables(database)
    return CatalogTables(lake)


def row_count(tables: Tables) -> int:
    """The number of rows of all tables, from their newest snapshots; no rows are read. Raises LakeError."""
    tables_and_views = (tables.find(name) for schema in tables.schemas() for name in tables.names(schema))
    newest = (
        None if each is None or isinstance(each, View) else each.current_snapshot()
        for each in tables_and_views
    )
    return sum(int(each.summary["total-records"] or 0) for each in newest if each and each.summary)


class SqliteTables:
    """The default catalog: a SQLite database, with the tables on this machine's disk.

    It is one small table and is read once, so all tables are in their versions of one moment, even if others
    commit. PyIceberg's class for it takes as long to load as all the rest of PyIceberg.
    """

    def __init__(self, database: Path) -> None:
        self._database = database

    def find(self, name: str) -> Table | View | None:
        """See Tables."""
        kind, location = self._entries.get(name, ("", ""))
        if not kind:
            return None
        with _errors(str(self._database)):
            if kind == "VIEW":
                return _view(_view_metadata(location))
            from pyiceberg.table import StaticTable

            return StaticTable.from_metadata(location, _LOCAL_IO)

    def names(self, schema: str) -> list[str]:
        """See Tables."""
        return [name for name in self._entries if name.startswith(f"{schema}.")]

    def schemas(self) -> list[str]:
        """See Tables."""
        return sorted({name.rpartition(".")[0] for name in self._entries})

    @cached_property
    def _entries(self) -> dict[str, tuple[str, str]]:
        where = f"file:{quote(str(self._database))}?mode=ro"
        with _errors(str(self._database)):
            try:
                with closing(sqlite3.connect(where, uri=True, timeout=_BUSY_SECONDS)) as connection:
                    entries = connection.execute(_ENTRIES, (NAME,)).fetchall()
            except sqlite3.OperationalError as error:
                if "no such table" not in str(error):
                    raise
                entries = []
        return {name: (kind, location) for name, kind, location in entries}


class CatalogTables:
    """Any catalog that PyIceberg supports."""

    def __init__(self, lake: Lake) -> None:
        self._name = lake.catalog
        with _errors(self._name):
            self._catalog = open_catalog(lake)

    def find(self, name: str) -> Table | View | None:
        """See Tables."""
        from pyiceberg.exceptions import NoSuchTableError, NoSuchViewError

        with _errors(self._name):
            try:
                return self._catalog.load_table(name)
            except NoSuchTableError:
                pass
            try:
                return _view(self._catalog.load_view(name).metadata)
            except (NoSuchViewError, NotImplementedError):
                return None

    def names(self, schema: str) -> list[str]:
        """See Tables."""
        with _errors(self._name):
            return [".".join(each) for each in self._catalog.list_tables(schema)]

    def schemas(self) -> list[str]:
        """See Tables."""
        with _errors(self._name):
            return sorted(".".join(each) for each in self._catalog.list_namespaces())


def _view_metadata(location: str) -> ViewMetadata:
    from pyiceberg.view.metadata import ViewMetadata

    from fencepost.reading.local_io import local_path

    content = Path(local_path(location)).read_bytes()
    if content.startswith(b"\x1f\x8b"):
        # Iceberg compresses the metadata of views
        content = gzip.decompress(content)
    return ViewMetadata.model_validate_json(content)


def _view(metadata: ViewMetadata) -> View | None:
    version = next(each for each in metadata.versions if each.version_id == metadata.current_version_id)
    schema = next(each for each in metadata.schemas if each.schema_id == version.schema_id)
    queries = (each.root.sql for each in version.representations if each.root.dialect == "spark")
    query = next(queries, None)
    return None if query is None else View(tuple(field.name for field in schema.fields), query)


@contextmanager
def _errors(catalog: str) -> Iterator[None]:
    """Turn every error into a LakeError: a catalog may raise errors of databases, of HTTP, of clouds."""
    try:
        yield
    except MissingPackageError:
        raise
    except Exception as error:
        raise LakeError(in_words(catalog, error)) from error


def in_words(catalog: str, error: Exception) -> str:
    """The message for an error of the catalog or the store: its meaning, and what to do."""
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    if "database is locked" in reason:
        return f"{catalog}: another process has locked the catalog. Try again when it is done."
    if isinstance(error, FileNotFoundError):
        return f"{error.filename or reason} is not there: an audit may have replaced it just now. Try again."
    if "No files found" in reason:
        return f"{reason}: an audit may have replaced it just now. Try again."
    if isinstance(error, CatalogError):
        return f"{reason}. Spark may know it: fencepost sql --engine spark"
    what = "The lake's store" if STORE_FAILED in reason else f"The catalog {catalog}"
    return f"{what} cannot be read ({reason}). Check [lake] in the configuration."
