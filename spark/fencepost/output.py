"""Rows as they are printed: as a table, as JSON, as CSV."""

from __future__ import annotations

import csv
import datetime as dt
import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TextIO

from fencepost.words import counted, printable

if TYPE_CHECKING:
    import pyarrow as pa


def _write_table(table: pa.Table, out: TextIO) -> None:
    from tabulate import tabulate

    rows = [[printable(_cell(value)) for value in row] for row in _rows(table)]
    print(tabulate(rows, headers=table.column_names, disable_numparse=True), file=out)
    print(f"({counted(len(rows), 'row')})", file=out)


def _write_json(table: pa.Table, out: TextIO) -> None:
    write_json([dict(zip(table.column_names, row, strict=True)) for row in _rows(table)], out)


def write_json(value: Any, out: TextIO) -> None:
    """Write rows or facts as JSON; times are ISO 8601 in UTC. What a terminal does not show is escaped."""
    text = json.dumps(value, default=_plain, ensure_ascii=False, indent=2)
    for line in text.split("\n"):
        print(line if line.isprintable() else "".join(map(_json_escape, line)), file=out)


def _json_escape(char: str) -> str:
    return char if char.isprintable() else json.dumps(char)[1:-1]


def _write_csv(table: pa.Table, out: TextIO) -> None:
    writer = csv.writer(out)
    writer.writerow(table.column_names)
    writer.writerows([_cell(value) for value in row] for row in _rows(table))


def _rows(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    from fencepost.reading import columns

    return zip(*columns(table), strict=True)


def _cell(value: Any) -> str:
    """A value as one cell of text: null is empty, true, false and nested values are JSON."""
    if value is None:
        return ""
    if isinstance(value, (bool, dict, list)):
        return json.dumps(value, default=_plain, ensure_ascii=False)
    return str(value) if isinstance(value, (str, int, float, Decimal)) else str(_plain(value))


def _plain(value: Any) -> str:
    """A value that JSON does not have: times as ISO 8601 in UTC, bytes as hexadecimal digits."""
    if isinstance(value, dt.datetime):
        return value.isoformat(timespec="milliseconds") + ("Z" if value.tzinfo is None else "")
    if isinstance(value, (bytes, bytearray)):
        return value.hex()
    return str(value)


WRITERS: dict[str, Callable[[pa.Table, TextIO], None]] = {
    "table": _write_table,
    "json": _write_json,
    "csv": _write_csv,
}
