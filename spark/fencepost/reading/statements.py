"""Statements that ask what the lake has, as in Spark's SQL: DESCRIBE, SHOW TABLES, COLUMNS and SCHEMAS.

Every reader answers them from here, since Spark has no word for all tables of a lake, and knows no columns of
views.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import pyarrow as pa

_NAME = r"(?:`[^`]+`|\w+)"
_STATEMENT = re.compile(
    rf"""\s*(?:
        (?P<describe>desc(?:ribe)?) \s+ (?:table\s+)? (?P<described>{_NAME}(?:\.{_NAME})*)
      | show \s+ (?P<columns>columns) \s+ (?:in|from) \s+ (?P<of>{_NAME}(?:\.{_NAME})*)
        (?: \s+ (?:in|from) \s+ (?P<of_schema>{_NAME}))?
      | show \s+ (?P<tables>tables) (?: \s+ (?:in|from) \s+ (?P<schema>{_NAME}(?:\.{_NAME})?))?
        (?: \s+ (?:like\s+)? '(?P<pattern>[^']*)')?
      | show \s+ (?P<schemas>schemas|databases|namespaces)
    ) \s* ;? \s*""",
    re.IGNORECASE | re.VERBOSE,
)
_ROOT = "lake."


class Names(Protocol):
    """What the lake has; every method raises LakeError."""

    def schemas(self) -> Sequence[str]:
        """All schemas."""

    def tables(self, schema: str) -> Sequence[str]:
        """The tables and views of a schema, without its name."""

    def columns(self, table: str) -> Sequence[tuple[str, str]]:
        """The columns of ``schema.table``: name, and type in Spark's words."""


@dataclass(frozen=True)
class Statement:
    """One of these statements. ``name``: the table or schema that it is about, empty for all."""

    what: str
    name: str
    pattern: str

    def answer(self, names: Names) -> pa.Table:
        """Its rows: ``namespace``; ``namespace, tableName``; ``col_name``; or ``col_name, data_type``. Raises
        LakeError.
        """
        import pyarrow as pa

        if self.what == "schemas":
            return pa.table({"namespace": pa.array(sorted(names.schemas()), pa.string())})
        if self.what == "tables":
            found = [
                (schema, table)
                for schema in ([self.name] if self.name else sorted(names.schemas()))
                for table in sorted(names.tables(schema))
                if any(fnmatchcase(table.lower(), each) for each in self.pattern.lower().split("|"))
            ]
            return _table(("namespace", "tableName"), found)
        columns = names.columns(self.name)
        if self.what == "columns":
            return _table(("col_name",), [(name,) for name, _ in columns])
        return _table(("col_name", "data_type"), columns)


def statement(sql: str) -> Statement | None:
    """The statement, None for a query."""
    found = _STATEMENT.fullmatch(sql)
    if found is None:
        return None
    (what,) = (each for each in ("describe", "columns", "tables", "schemas") if found[each])
    parts = [found["of_schema"], found["described"] or found["of"] or found["schema"]]
    name = ".".join(filter(None, parts)).replace("`", "").removeprefix(_ROOT)
    return Statement(what, name, found["pattern"] or "*")


def no_schema(name: str, schemas: Sequence[str]) -> str:
    """The message for a schema that is not there."""
    return f"The lake has no schema {name}, but {', '.join(sorted(schemas))}."


def _table(columns: Sequence[str], rows: Sequence[tuple[str, ...]]) -> pa.Table:
    import pyarrow as pa

    return pa.table(
        {name: pa.array([row[number] for row in rows], pa.string()) for number, name in enumerate(columns)}
    )
