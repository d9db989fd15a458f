"""Queries with which DuckDB itself reads Iceberg's Parquet files on this disk."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fencepost.quoting import literal, quoted
from fencepost.reading.local_io import local_path

if TYPE_CHECKING:
    from pyiceberg.table import FileScanTask, Table


def from_files(table: Table, tasks: Sequence[FileScanTask]) -> str | None:
    """A query for all rows of Parquet files. It finds columns by Iceberg's ids; a column that a file does
    not have is null. None if DuckDB itself cannot read them.
    """
    if not _is_flat(table) or not all(map(_is_plain, tasks)):
        return None
    fields = [(each.field_id, each.name, duckdb_type(each.field_type)) for each in table.schema().fields]
    files = ", ".join(literal(glob.escape(local_path(task.file.file_path))) for task in tasks)
    if not files:
        nothing = ", ".join(f"CAST(NULL AS {kind}) AS {quoted(name)}" for _, name, kind in fields)
        return f"SELECT {nothing} WHERE false"
    if len(table.metadata.schemas) == 1:
        # All files have the same columns, so DuckDB may take them from the first one. Then it knows how many
        # rows there are; where it is told the columns, it plans joins as if the files had one row.
        names = ", ".join(quoted(name) for _, name, _ in fields)
        return f"SELECT {names} FROM read_parquet([{files}], hive_partitioning = false)"
    columns = ", ".join(
        f"{each}: {{name: {literal(name)}, type: {literal(kind)}, default_value: NULL}}"
        for each, name, kind in fields
    )
    return f"SELECT * FROM read_parquet([{files}], schema = MAP {{{columns}}}, hive_partitioning = false)"


def duckdb_type(kind: Any) -> str:
    """DuckDB's name of an Iceberg type. Raises NotImplementedError for a type that DuckDB does not have."""
    if kind.is_struct:
        fields = (f"{quoted(each.name)} {duckdb_type(each.field_type)}" for each in kind.fields)
        return f"STRUCT({', '.join(fields)})"
    text = str(kind)
    if text.startswith("list<"):
        return f"{duckdb_type(kind.element_type)}[]"
    if text.startswith("map<"):
        return f"MAP({duckdb_type(kind.key_type)}, {duckdb_type(kind.value_type)})"
    if text.startswith("decimal"):
        return f"DECIMAL({kind.precision}, {kind.scale})"
    if text.startswith("fixed"):
        return "BLOB"
    if text not in _TYPES:
        raise NotImplementedError(f"it has a column of type {text}")
    return _TYPES[text]


_TYPES = {
    "boolean": "BOOLEAN",
    "int": "INTEGER",
    "long": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "date": "DATE",
    "time": "TIME",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMPTZ",
    "string": "VARCHAR",
    "uuid": "UUID",
    "binary": "BLOB",
}


def _is_flat(table: Table) -> bool:
    """Whether DuckDB finds every value by its column's id.

    It finds fields of structs by their names in the file, and supports no default except null.
    """
    fields = table.schema().fields
    return not any("struct<" in str(each.field_type) or each.initial_default is not None for each in fields)


def _is_plain(task: FileScanTask) -> bool:
    """Whether a file is Parquet on this disk and none of its rows have been deleted."""
    local = task.file.file_path.startswith(("/", "file:"))
    return local and not task.delete_files and str(task.file.file_format).endswith("PARQUET")
