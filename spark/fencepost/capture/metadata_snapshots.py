"""Snapshots of the metadata log (``.checkpoint``) as rows: all of a snapshot's rows, or none."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.capture.digests import head_digest
from fencepost.capture.files import opened
from fencepost.capture.kinds import Kind
from fencepost.capture.plan import METADATA_SNAPSHOT, Fault, Source
from fencepost.capture.rows import OUTCOME, Rows, arrow_rows, fault_of, outcome
from fencepost.capture.secrets import without_secrets
from fencepost.capture.whole import windows
from fencepost.formats import faults as formats
from fencepost.formats.classify import classify
from fencepost.formats.decode import decode
from fencepost.tables import METADATA_SNAPSHOTS as TABLE

# Snapshots.java: a snapshot is named after the OffsetAndEpoch that it ends at
_FILE = re.compile(r"(?P<offset>\d{20})-(?P<epoch>\d{10})\.checkpoint(\.deleted)?")
_TOPIC = "__cluster_metadata"
_HEADER, _FOOTER = "SNAPSHOT_HEADER", "SNAPSHOT_FOOTER"
_NO_FOOTER = (
    "the snapshot has no footer: it is still being copied, or was cut; it is read again: copy it anew, or "
    "read another replica's"
)


def rows(source: Source) -> Rows:
    """The records of the file, if it is complete, and its outcome.

    A refused file is not consumed, so the next run reads it again: it may still be written or copied.
    """
    faults: list[Fault] = []
    parts = list(_parts(source, faults))
    read = pa.Table.from_batches(parts) if parts else None
    if not faults and (read is None or read["record_name"][-1].as_py() != _FOOTER):
        fault = formats.Fault(0, source.end, "truncated", _NO_FOOTER)
        faults.append(fault_of(source, fault))
    count = 0 if faults or read is None else read.num_rows
    if read is not None and count:
        yield TABLE, _rows(source, read.combine_chunks().to_batches()[0])
    consumed_to = 0 if faults else source.end
    with opened(source.file) as file:
        progress = {
            "head_digest": head_digest(file, consumed_to),
            "size": source.end,
            "consumed_to": consumed_to,
            "entries": count,
            "records": count,
            "skipped": 0,
        }
    yield OUTCOME, outcome(source, faults, progress)


def _parts(source: Source, faults: list[Fault]) -> Iterator[pa.RecordBatch]:
    """The classified records, window by window. Adds what cannot be read to ``faults``."""
    for window in windows(source):
        read = window.records()
        faults += [
            fault_of(source, fault, window.sample(fault), window.position)
            for fault in (*window.walk.faults, *read.faults)
        ]
        records = read.records
        if not records.num_rows:
            continue
        position = window.walk.batches["position"].take(records["batch_index"])
        classified = classify(_TOPIC, records["key"], records["value"], records["is_control"])
        columns = {name: records[name] for name in records.schema.names if name != "batch_index"}
        columns |= {name: classified[name] for name in classified.schema.names}
        columns["position"] = pc.add(position, window.position)
        yield pa.RecordBatch.from_pydict(columns)


def snapshot_of(file: str) -> tuple[int, int]:
    """The offset and the epoch that a snapshot ends at, by its file's name."""
    name = _FILE.fullmatch(Path(file).name)
    assert name is not None, "the kind's files have such names"
    return int(name["offset"]), int(name["epoch"])


def _rows(source: Source, read: pa.RecordBatch) -> pa.RecordBatch:
    offset, epoch = snapshot_of(source.file)
    columns = {each: read[each] for each in read.schema.names}
    columns["value"] = without_secrets(read["record_name"], read["value"])
    written = _log_timestamp(read)
    if written is not None:
        # each replica gives the records the time at which it wrote the file, and only one replica's are
        # stored
        columns["timestamp_ms"] = pa.repeat(pa.scalar(written, pa.int64()), read.num_rows)
    origin = {
        "cluster": source.cluster,
        "broker_id": source.broker_id,
        "file": source.file,
        "snapshot_offset": offset,
        "snapshot_epoch": epoch,
        "content_digest": _digest(written, read.filter(pc.invert(read["is_control"]))["value"].to_pylist()),
    }
    return arrow_rows(TABLE, read.num_rows, {**columns, **origin})


def _log_timestamp(read: pa.RecordBatch) -> int | None:
    """LastContainedLogTimestamp of the snapshot's header; None if that cannot be read."""
    header = read.filter(pc.equal(read["record_name"], _HEADER))
    times = decode(_HEADER, "value", header["value"]).values.to_pylist()
    return times[0]["last_contained_log_timestamp"] if times and times[0] is not None else None


def _digest(written: int | None, values: Sequence[bytes | None]) -> str:
    digest = hashlib.sha256(str(written).encode())
    for value in values:
        digest.update(len(value or b"").to_bytes(4))
        digest.update(value or b"")
    return digest.hexdigest()


METADATA_SNAPSHOTS = Kind(
    METADATA_SNAPSHOT, rows, (TABLE,), file=_FILE, grows_by={TABLE.name: "snapshot_offset"}
)
