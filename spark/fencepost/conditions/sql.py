"""Conditions in the SQL of DuckDB, and of Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fencepost.conditions import Bound, Where, written
from fencepost.quoting import literal, quoted, spark_literal, spark_quoted


def in_duckdb(where: Where) -> str:
    """The condition in DuckDB's SQL."""
    return written(where, _Sql(quoted, literal, "TIMESTAMPTZ"))


def in_spark(where: Where) -> str:
    """The condition in Spark's SQL."""
    return written(where, _Sql(spark_quoted, spark_literal, "TIMESTAMP"))


@dataclass(frozen=True)
class _Sql:
    """``name`` and ``text`` quote names and texts, ``time`` is the word before a time with its zone."""

    name: Callable[[str], str]
    text: Callable[[str], str]
    time: str

    def is_null(self, column: str) -> str:
        return f"{self.name(column)} IS NULL"

    def equals(self, column: str, value: Any) -> str:
        return f"{self.name(column)} = {self._value(value)}"

    def is_in(self, column: str, values: frozenset[Any]) -> str:
        return f"{self.name(column)} IN ({', '.join(map(self._value, values))})"

    def at_least(self, column: str, value: Bound) -> str:
        return f"{self.name(column)} >= {self._value(value)}"

    def below(self, column: str, value: Bound) -> str:
        return f"{self.name(column)} < {self._value(value)}"

    def all_of(self, parts: Iterable[str]) -> str:
        return f"({' AND '.join(parts) or 'true'})"

    def any_of(self, parts: Iterable[str]) -> str:
        return f"({' OR '.join(parts) or 'false'})"

    def _value(self, value: Bound) -> str:
        if isinstance(value, datetime):
            return f"{self.time} {self.text(value.isoformat())}"
        return self.text(value) if isinstance(value, str) else str(value)
