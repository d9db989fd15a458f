"""Declares a table of the lake: its name, columns and key, and how its rows relate to chapters of history."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyarrow as pa

from fencepost.tables.names import ByEvent, Names

ARROW = {
    "string": pa.string(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "array<string>": pa.list_(pa.string()),
    "array<int>": pa.list_(pa.int32()),
    "array<bigint>": pa.list_(pa.int64()),
}
"""Arrow's type for each Spark type that a table has."""


CHAPTER = "chapter"
"""The column of silver with the begin of the chapter in which a row ended, in ms; 0 for the first chapter."""


@dataclass(frozen=True)
class Table:
    """One table: ``name`` (``schema.table``), ``columns`` (name -> Spark DDL type), ``key`` (grain)."""

    name: str
    doc: str
    columns: dict[str, str]
    key: tuple[str, ...]
    partitioned_by: tuple[str, ...] = ()
    time_column: str | None = None
    """Of bronze: the column of the time, in ms, at which a row was written; by default ``logged_at_ms``."""
    offset_column: str | None = None
    """Of bronze: the column of the offset that a row tells of, in the log of its topic and partition."""
    content_column: str | None = None
    """Of bronze: the digest of a file that is replaced as a whole, such as a list of leader epochs. Each
    content that was read has a row for each of its entries, named by the last column of the key.
    """
    is_unread_by_chapters: bool = False
    """Of bronze: no rebuild reads it, so its rows change no chapter."""
    names: Mapping[str, Names | ByEvent] = field(default_factory=dict)
    """Of bronze: the columns that may hold names of clients, hosts or principals, and how."""
    end_columns: tuple[str, ...] = ()
    """Of silver: the column of the time at which a row ends, null while it goes on. Of several columns the
    first that is not null counts. If none is named, it is ``to_time``.
    """
    ends_with: tuple[Table, str] | None = None
    """Of silver: another table, and a column of both. A row ends with the row of the same value there."""

    is_bookkeeping: bool = False
    """Of silver: its rows say how silver was rebuilt."""
    stays_open: bool = False
    """Of silver: a row goes on although the chapter's evidence does not mention it."""

    begin_columns: tuple[str, ...] = ()
    """Of silver: columns about how a row began. The chapter in which the row began has the evidence about
    that. Later chapters see only a part of it, so they take these columns from the chapter before.
    """

    handed_down_columns: tuple[str, ...] | None = None
    """Of silver: the columns of a row that goes on which a chapter takes from the chapter before where it
    does not know them itself; None: all columns. The rebuild computes all other columns itself, from what
    the chapter before handed down to it (``Protocol.states``).
    """

    open_row_columns: tuple[str, ...] = ()
    """Of silver: columns about a row that has not ended. They are not taken from the chapter before once the
    row has ended.
    """

    explained_column: str | None = None
    """Of silver: the column of a row that goes on of which ``unknown_reason`` and ``unknown_detail`` say why
    it is null.
    """

    @property
    def dated_by(self) -> str | None:
        """``time_column``, or its default; None where rows have no time."""
        return self.time_column or ("logged_at_ms" if "logged_at_ms" in self.columns else None)

    @property
    def has_interval(self) -> bool:
        """Whether a row is true from a position to another one."""
        return "from_position" in self.columns and "to_position" in self.columns

    @property
    def begin_column(self) -> str | None:
        """Of silver: the column of the time at which a row begins to be true."""
        return "from_time" if "from_time" in self.columns else None

    @property
    def is_handed_down(self) -> bool:
        """Of silver: whether a row may be true for longer than a moment."""
        return not self.end_columns and self.ends_with is None

    @property
    def effective_end_columns(self) -> tuple[str, ...]:
        """``end_columns``, or its default."""
        return self.end_columns or ("to_time",)

    @property
    def in_chapters(self) -> bool:
        """Whether its rows are kept by chapter (``fencepost.replay.chapters``): all of silver."""
        return self.name.startswith("silver.") and not self.is_bookkeeping

    @property
    def stored(self) -> dict[str, str]:
        """``columns``, and CHAPTER where rows are kept by chapter. It is read only where it
        is asked for by name.
        """
        return {**self.columns, CHAPTER: "bigint"} if self.in_chapters else self.columns

    @property
    def stored_by(self) -> tuple[str, ...]:
        """The columns by which the table is partitioned."""
        return ("cluster", CHAPTER) if self.in_chapters else self.partitioned_by

    @cached_property
    def stored_schema(self) -> pa.Schema:
        """``stored`` as Arrow types."""
        return pa.schema([(name, ARROW[kind]) for name, kind in self.stored.items()])

    @cached_property
    def arrow_schema(self) -> pa.Schema:
        """The columns as Arrow types; a timestamp is microseconds in UTC."""
        return pa.schema([(name, ARROW[kind]) for name, kind in self.columns.items()])

    def schema_of(self, columns: Iterable[str]) -> pa.Schema:
        """Arrow's schema of some columns, in this order; CHAPTER may be among them."""
        return pa.schema([self.stored_schema.field(name) for name in columns])

    def rows(self, values: Iterable[Sequence[Any]]) -> pa.Table:
        """Rows given as one value for each column, in the table's order. For what is few."""
        named = [dict(zip(self.columns, each, strict=True)) for each in values]
        return pa.Table.from_pylist(named, schema=self.arrow_schema)


INTERVAL = {
    "from_position": "bigint",
    "to_position": "bigint",
    "from_time": "timestamp",
    "to_time": "timestamp",
}
"""The columns of a history row: from where to where, and from when to when, it is true."""
