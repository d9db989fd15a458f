"""Quotes names and texts for the SQL of DuckDB, and of Spark."""

from __future__ import annotations


def table_name(table: str) -> str:
    """A table, ``schema.table``, in DuckDB's SQL."""
    return ".".join(map(quoted, table.split(".", maxsplit=1)))


def quoted(name: str) -> str:
    """A name in DuckDB's SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: str) -> str:
    """A text in DuckDB's SQL."""
    return "'" + value.replace("'", "''") + "'"


def spark_quoted(name: str) -> str:
    """A name in Spark's SQL."""
    return "`" + name.replace("`", "``") + "`"


def spark_literal(value: str) -> str:
    """A text in Spark's SQL."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
