"""Rows of bronze as Arrow columns of a table, and rows about the outcome of every file."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from typing import Any

import pyarrow as pa

from fencepost.capture.digests import head_digest
from fencepost.capture.plan import ORIGIN, Fault, Source, is_text
from fencepost.capture.secrets import METADATA
from fencepost.formats import faults as formats
from fencepost.tables import Table

OUTCOME = Table(
    "outcome",
    "What became of each source: one row per fault (with reason), and one row of progress (without) per file "
    "that could be read to the end of its range, which counts its faults.",
    {
        "cluster": "string",
        "broker_id": "int",
        "kind": "string",
        "file": "string",
        "position": "bigint",
        "length": "bigint",
        "reason": "string",
        "detail": "string",
        "sample": "binary",
        "head_digest": "string",
        "size": "bigint",
        "consumed_to": "bigint",
        "entries": "bigint",
        "records": "bigint",
        "skipped": "bigint",
        "too_late": "bigint",  # null: nothing was left out
        "next_offset": "bigint",
        "faults": "bigint",
        "file_begins": "string",
        "topic_id": "string",
        "timezone": "string",
    },
    ("cluster", "broker_id", "kind", "file", "position", "reason"),
)
_SAMPLE = 256
_NOT_UTF_8 = "the name of the file is not UTF-8, so no table can have it: rename the file"
Rows = Iterator[tuple[Table, pa.RecordBatch]]
"""The rows that are read from a source: those of its tables, and at the end its rows of OUTCOME."""


def arrow_rows(table: Table, count: int, columns: Mapping[str, Any]) -> pa.RecordBatch:
    """``count`` rows of ``table`` from Arrow columns and from single values that every row has."""
    arrays = []
    for field in table.arrow_schema:
        value = columns.get(field.name)
        if isinstance(value, pa.Array):
            arrays.append(value.cast(field.type))
        else:
            arrays.append(pa.repeat(pa.scalar(value, field.type), count))
    return pa.RecordBatch.from_arrays(arrays, names=list(table.columns))


def outcome(
    source: Source, faults: Sequence[Fault], progress: Mapping[str, Any] | None = None
) -> pa.RecordBatch:
    """Rows of OUTCOME: the faults, then ``progress`` (head_digest, size, consumed_to, entries, records,
    skipped; of segments next_offset, of logs in text file_begins).
    """
    rows = [dataclasses.asdict(fault) for fault in faults]
    if progress is not None:
        origin = {
            **dict(zip(ORIGIN, source.origin, strict=True)),
            "topic_id": None if source.topic is None else source.topic_id or "",
            "timezone": source.timezone if is_text(source.kind) else None,
        }
        rows.append({**origin, **progress, "faults": len(faults)})
    schema = OUTCOME.arrow_schema
    return pa.RecordBatch.from_pylist(
        [{name: row.get(name) for name in schema.names} for row in rows], schema=schema
    )


def outcome_of_content(
    source: Source, data: bytes, count: int, faults: Sequence[formats.Fault] = ()
) -> pa.RecordBatch:
    """Rows of OUTCOME for a small file that is read as a whole; ``count``: its entries. With a fault nothing
    of it is consumed, so the next run reads it again.
    """
    consumed_to = 0 if faults else len(data)
    progress = {
        "head_digest": head_digest(BytesIO(data), consumed_to),
        "size": len(data),
        "consumed_to": consumed_to,
        "entries": count,
        "records": 0,
        "skipped": 0,
    }
    quarantined = [fault_of(source, each, data[each.position : each.position + _SAMPLE]) for each in faults]
    return outcome(source, quarantined, progress)


def fault_of(source: Source, fault: formats.Fault, sample: bytes | None = None, shift: int = 0) -> Fault:
    """A reader's fault as a fault of ``source``, with its position moved by ``shift``. Bytes of the metadata
    log, which has secrets, are no sample.
    """
    sample = None if source.topic == METADATA else sample
    return Fault(*source.origin, fault.position + shift, fault.length, fault.reason, fault.detail, sample)


def not_read(source: Source, detail: str) -> Fault:
    """The fault of a file that is there and is not read."""
    return fault_of(source, formats.Fault(0, 0, "unreadable", detail))


def unnamed(source: Source) -> Fault | None:
    """The fault of a file whose name is not UTF-8, which no table can have; None for any other file."""
    try:
        source.file.encode()
    except UnicodeEncodeError:
        name = os.fsencode(source.file).decode("utf-8", "backslashreplace")
        return fault_of(dataclasses.replace(source, file=name), formats.Fault(0, 0, "unreadable", _NOT_UTF_8))
    return None


def unreadable(source: Source, error: OSError) -> Fault:
    """The fault of a file that cannot be opened or read."""
    detail = f"the file cannot be read ({error.strerror or error}): check its permissions; it is tried again"
    return fault_of(source, formats.Fault(0, 0, "unreadable", detail))
