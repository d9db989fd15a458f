"""``.snapshot`` and ``.txnindex`` files as rows."""

from __future__ import annotations

import re

import pyarrow as pa

from fencepost.capture.digests import head_digest
from fencepost.capture.files import opened
from fencepost.capture.kinds import Kind
from fencepost.capture.log_dirs import base_offset
from fencepost.capture.plan import ABORTED_INDEX, PRODUCER_SNAPSHOT, Source
from fencepost.capture.rows import OUTCOME, Rows, arrow_rows, fault_of, outcome
from fencepost.formats.producer_state import (
    ABORTED_SCHEMA,
    SNAPSHOT_SCHEMA,
    Entries,
    nothing,
    read_aborted_index,
    read_snapshot,
)
from fencepost.tables import ABORTED_TRANSACTIONS, PRODUCER_SNAPSHOT_ENTRIES

_SAMPLE = 256


def rows(source: Source) -> Rows:
    """The entries of the file, and its outcome."""
    with opened(source.file) as file:
        file.seek(source.start)
        data = file.read(source.end - source.start)
        entries = _entries(source, data)
        digest = head_digest(file, entries.consumed_to)
    of_snapshots = source.kind == PRODUCER_SNAPSHOT
    entry_rows = entries.rows
    if _is_empty(source, entries):
        entry_rows = nothing(SNAPSHOT_SCHEMA if of_snapshots else ABORTED_SCHEMA)
    origin = {
        "cluster": source.cluster,
        "broker_id": source.broker_id,
        "file": source.file,
        "topic": source.topic,
        "topic_id": source.topic_id,
        "partition": source.partition,
        "snapshot_offset" if of_snapshots else "segment_offset": base_offset(source.file),
    }
    columns = {name: entry_rows[name] for name in entry_rows.schema.names}
    table = PRODUCER_SNAPSHOT_ENTRIES if of_snapshots else ABORTED_TRANSACTIONS
    yield table, arrow_rows(table, entry_rows.num_rows, {**columns, **origin})
    yield OUTCOME, _outcome(source, data, entries, digest)


def _entries(source: Source, data: bytes) -> Entries:
    if source.kind == PRODUCER_SNAPSHOT:
        return read_snapshot(data)
    return read_aborted_index(data, source.start, closed=source.closed)


def _is_empty(source: Source, entries: Entries) -> bool:
    return source.start == 0 and entries.rows.num_rows == 0 and not entries.faults


def _outcome(source: Source, data: bytes, entries: Entries, digest: str) -> pa.RecordBatch:
    faults = []
    for fault in entries.faults:
        at = fault.position - source.start
        sample = data[at : at + min(fault.length, _SAMPLE)]
        faults.append(fault_of(source, fault, sample))
    progress = {
        "head_digest": digest,
        "size": source.end,
        "consumed_to": entries.consumed_to,
        # the row for a file without entries counts
        "entries": entries.rows.num_rows + _is_empty(source, entries),
        "records": 0,
        "skipped": 0,
    }
    return outcome(source, faults, progress)


PRODUCER_SNAPSHOTS = Kind(
    PRODUCER_SNAPSHOT, rows, (PRODUCER_SNAPSHOT_ENTRIES,), file=re.compile(r"\d{20}\.snapshot")
)
ABORTED_INDEXES = Kind(ABORTED_INDEX, rows, (ABORTED_TRANSACTIONS,), file=re.compile(r"\d{20}\.txnindex"))
