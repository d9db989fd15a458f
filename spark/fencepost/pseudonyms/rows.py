"""Replaces the names in rows of bronze before anything is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.capture.rows import OUTCOME, Rows
from fencepost.formats.large_values import as_written, compressed
from fencepost.pseudonyms import texts, values
from fencepost.pseudonyms.names import Pseudonyms
from fencepost.tables import RECORDS, Names, Table

_BAD_LINE = "bad_line"
_NOT_TOLD = "the line cannot be read; what it says is left out, since names are replaced by pseudonyms"
_READABLE = ("known", "control")


def with_pseudonyms(pseudonyms: Pseudonyms, read: Callable[[Any], Rows], some: Any) -> Rows:
    """What ``read`` yields of ``some``, with pseudonyms in place of names."""
    for table, rows in read(some):
        if rows.num_rows == 0:
            yield table, rows
        elif table is OUTCOME or table.name == OUTCOME.name:
            yield table, _outcome(rows)
        elif table.name == RECORDS.name:
            for piece in as_written(pa.Table.from_batches([rows])):
                yield table, _batch(_large(replaced(pseudonyms, table, _batch(piece))))
        else:
            yield table, replaced(pseudonyms, table, rows)


def replaced(pseudonyms: Pseudonyms, table: Table, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Rows of a table of bronze, with pseudonyms in place of names."""
    for column, holds in table.names.items():
        array = rows[column]
        if isinstance(holds, Names):
            array = _column(pseudonyms, holds, column, rows)
        else:
            told = zip(rows["event"].to_pylist(), array.to_pylist(), strict=True)
            array = pa.array(
                [_by_event(pseudonyms, holds.get(event), text) for event, text in told], array.type
            )
        rows = rows.set_column(rows.schema.get_field_index(column), rows.schema.field(column), array)
    return rows


def _by_event(pseudonyms: Pseudonyms, holds: Names | None, text: str | None) -> str | None:
    return None if text is None or holds is None else _OF_TEXT[holds](pseudonyms, text)


def _column(pseudonyms: Pseudonyms, holds: Names, column: str, rows: pa.RecordBatch) -> pa.Array:
    array = rows[column]
    if holds is Names.API:
        told = zip(rows["api_name"].to_pylist(), array.to_pylist(), strict=True)
        return pa.array([values.api(pseudonyms, name, text) for name, text in told], array.type)
    if holds is Names.RECORD:
        return pa.array(_records(pseudonyms, column, rows), array.type)
    return _distinct(partial(_OF_TEXT[holds], pseudonyms), array)


def _records(pseudonyms: Pseudonyms, part: str, rows: pa.RecordBatch) -> Iterator[bytes | None]:
    columns = (rows[name].to_pylist() for name in ("record_name", "decode_status", part))
    for name, status, data in zip(*columns, strict=True):
        if status == "control" and part == "key":
            yield data
        else:
            # the key of a record may be readable although its value is not
            is_readable = status in _READABLE or part == "key"
            yield values.record(pseudonyms, name, part, data, is_readable=is_readable)


def _distinct(replace: Callable[[str], str | None], array: pa.Array) -> pa.Array:
    """Each text replaced once, since a column has few."""
    encoded = array.dictionary_encode()
    made = pa.array([replace(text) for text in encoded.dictionary.to_pylist()], array.type)
    return made.take(encoded.indices)


def _outcome(rows: pa.RecordBatch) -> pa.RecordBatch:
    """What became of files, without samples of their bytes, and without what lines say."""
    detail = pc.if_else(
        pc.fill_null(pc.equal(rows["reason"], _BAD_LINE), False), pa.scalar(_NOT_TOLD), rows["detail"]
    )
    nothing = pa.nulls(rows.num_rows, rows.schema.field("sample").type)
    for column, array in (("detail", detail), ("sample", nothing)):
        rows = rows.set_column(rows.schema.get_field_index(column), rows.schema.field(column), array)
    return rows


def _large(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Records whose large values are compressed as capture does."""
    if rows.num_rows == 0 or rows["topic"][0].as_py() != "__consumer_offsets":
        return rows
    stored, sizes = compressed(rows["value"])
    for column, array in (("value", stored), ("value_size", sizes)):
        field = rows.schema.field(column)
        rows = rows.set_column(rows.schema.get_field_index(column), field, array.cast(field.type))
    return rows


def _batch(rows: pa.Table | pa.RecordBatch) -> pa.RecordBatch:
    if isinstance(rows, pa.RecordBatch):
        return rows
    batches: Sequence[pa.RecordBatch] = rows.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], rows.schema)


_OF_TEXT: dict[Names, Callable[[Pseudonyms, str], str | None]] = {
    Names.NONE: lambda _, text: text,
    Names.CLIENT: Pseudonyms.client,
    Names.BEHIND_CLIENT: lambda _, text: texts.behind_client(text),
    Names.MEMBER: Pseudonyms.member,
    Names.PRINCIPAL: Pseudonyms.principal,
    Names.CONNECTION: Pseudonyms.connection,
    Names.DIGEST: Pseudonyms.digest,
    Names.MEMBERS: texts.members,
    Names.ASSIGNMENTS: texts.assignments,
    Names.REASON: texts.reason,
    Names.MESSAGE: lambda _, text: texts.message(text),
    Names.SETTINGS: texts.settings,
    Names.PROCESSES: lambda _, text: texts.processes(text),
}
