"""Quotes names and texts for DuckDB's SQL."""

from __future__ import annotations


def table_name(table: str) -> str:
    return ".".join(map(quoted, table.split(".", maxsplit=1)))


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def literal(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
