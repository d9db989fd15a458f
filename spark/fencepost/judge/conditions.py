"""The lake's conditions in DuckDB's SQL."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from fencepost.lake import AtLeast, Below, Where
from fencepost.reading.quoting import literal, quoted


def in_duckdb(where: Where) -> str:
    """The condition that chooses the rows that ``where`` chooses."""
    every = (" AND ".join(_is(quoted(name), wanted) for name, wanted in each.items()) for each in where)
    return " OR ".join(f"({each or 'true'})" for each in every) or "false"


def _is(column: str, wanted: Any) -> str:
    if wanted is None:
        return f"{column} IS NULL"
    if isinstance(wanted, AtLeast):
        return f"{column} >= {_value(wanted.value)}"
    if isinstance(wanted, Below):
        least = "" if wanted.least is None else f"{column} >= {_value(wanted.least)} AND "
        return f"{least}{column} < {_value(wanted.value)}"
    if isinstance(wanted, frozenset):
        values = ", ".join(map(_value, wanted - {None})) or "NULL"
        return f"({column} IN ({values}){f' OR {column} IS NULL' if None in wanted else ''})"
    return f"{column} = {_value(wanted)}"


def _value(value: str | int | datetime) -> str:
    if isinstance(value, datetime):
        return f"TIMESTAMPTZ {literal(value.isoformat())}"
    return literal(value) if isinstance(value, str) else str(value)
