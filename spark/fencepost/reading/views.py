"""Views of an Iceberg catalog, which dbt makes of intermediate models: their columns and their query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.view.metadata import ViewMetadata


@dataclass(frozen=True)
class View:
    """The names of a view's columns, and its query in Spark's SQL."""

    columns: tuple[str, ...]
    sql: str


def find(catalog: Catalog, name: str) -> View | None:
    """The view of this name, if there is one with a query in Spark's SQL."""
    metadata = _metadata(catalog, name)
    if metadata is None:
        return None
    version = next(each for each in metadata.versions if each.version_id == metadata.current_version_id)
    schema = next(each for each in metadata.schemas if each.schema_id == version.schema_id)
    queries = (each.root.sql for each in version.representations if each.root.dialect == "spark")
    query = next(queries, None)
    return None if query is None else View(tuple(schema.column_names), query)


def _metadata(catalog: Catalog, name: str) -> ViewMetadata | None:
    from pyiceberg.catalog.sql import SqlCatalog
    from pyiceberg.exceptions import NoSuchViewError

    if isinstance(catalog, SqlCatalog):
        return _in_database(catalog, name)
    try:
        return catalog.load_view(name).metadata
    except (NoSuchViewError, NotImplementedError):
        return None


def _in_database(catalog: Catalog, name: str) -> ViewMetadata | None:
    """PyIceberg 0.12 leaves out views of a catalog in a database, though they are kept like tables."""
    from pyiceberg.catalog.sql import IcebergTables, SqlCatalog
    from pyiceberg.io import load_file_io
    from pyiceberg.view.metadata import ViewMetadata
    from sqlalchemy import select
    from sqlalchemy.orm import Session

    assert isinstance(catalog, SqlCatalog)
    namespace, _, table = name.rpartition(".")
    wanted = select(IcebergTables.metadata_location).where(
        IcebergTables.catalog_name == catalog.name,
        IcebergTables.table_namespace == namespace,
        IcebergTables.table_name == table,
        IcebergTables.iceberg_type == "VIEW",
    )
    with Session(catalog.engine) as session:
        location = session.scalar(wanted)
    if location is None:
        return None
    with load_file_io(catalog.properties, location).new_input(location).open() as stream:
        content = stream.read()
    if content[:2] == b"\x1f\x8b":
        # Iceberg deflates the metadata of views, whatever its name ends in
        import gzip

        content = gzip.decompress(content)
    return ViewMetadata.model_validate_json(content)
