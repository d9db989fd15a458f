"""Reads the files that a partition's leader keeps beside its segments, ``.snapshot`` and ``.txnindex``, into
Arrow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fencepost.formats.batches import as_bytes
from fencepost.formats.crc32c import crc32c
from fencepost.formats.faults import Fault

# Kafka's ProducerSnapshot.json, version 1: what ProducerStateManager writes and reads.
_SNAPSHOT_HEAD = np.dtype([("version", ">i2"), ("crc", ">u4"), ("count", ">i4")])
_SNAPSHOT_VERSION = 1
_CRC_FROM = 6
_SNAPSHOT_ENTRY = np.dtype(
    [
        ("producer_id", ">i8"),
        ("producer_epoch", ">i2"),
        ("last_sequence", ">i4"),
        ("last_offset", ">i8"),
        ("offset_delta", ">i4"),
        ("timestamp_ms", ">i8"),
        ("coordinator_epoch", ">i4"),
        ("current_txn_first_offset", ">i8"),
    ]
)
# Kafka's AbortedTxn, version 0: what TransactionIndex holds.
_ABORTED_VERSION = 0
_ABORTED_ENTRY = np.dtype(
    [
        ("version", ">i2"),
        ("producer_id", ">i8"),
        ("first_offset", ">i8"),
        ("last_offset", ">i8"),
        ("last_stable_offset", ">i8"),
    ]
)

SNAPSHOT_SCHEMA = pa.schema(
    [
        ("position", pa.int64()),
        ("producer_id", pa.int64()),
        ("producer_epoch", pa.int32()),
        ("last_sequence", pa.int32()),
        ("last_offset", pa.int64()),
        ("offset_delta", pa.int32()),
        ("timestamp_ms", pa.int64()),
        ("coordinator_epoch", pa.int32()),
        ("current_txn_first_offset", pa.int64()),
    ]
)
ABORTED_SCHEMA = pa.schema(
    [
        ("position", pa.int64()),
        ("producer_id", pa.int64()),
        ("first_offset", pa.int64()),
        ("last_offset", pa.int64()),
        ("last_stable_offset", pa.int64()),
    ]
)


@dataclass(frozen=True)
class Entries:
    """The entries of a file, one row each, with their ``position``. ``consumed_to``: where to read on next
    time.
    """

    rows: pa.RecordBatch
    faults: tuple[Fault, ...]
    consumed_to: int


def read_snapshot(data: bytes) -> Entries:
    """The producers in a ``.snapshot`` file, all or none: its only checksum covers everything.

    A file that is refused is not consumed: its broker may still be writing it.
    """
    head = _SNAPSHOT_HEAD.itemsize
    if len(data) < head:
        return _refused(
            data, "truncated", f"a snapshot has at least {head} bytes: the broker makes a new one"
        )
    version, crc, count = np.frombuffer(data, _SNAPSHOT_HEAD, 1)[0].tolist()
    if version != _SNAPSHOT_VERSION:
        detail = f"snapshots of version {version} are not known here: update Fencepost"
        return _refused(data, "unreadable", detail)
    if crc32c(as_bytes(data), _CRC_FROM, len(data)) != crc:
        detail = "the snapshot does not match its checksum: the broker makes a new one at its next start"
        return _refused(data, "bad_crc", detail)
    if head + count * _SNAPSHOT_ENTRY.itemsize != len(data):
        detail = f"the snapshot matches its checksum but is not {count} entries long: copy it again"
        return _refused(data, "bad_record", detail)
    entries = np.frombuffer(data, _SNAPSHOT_ENTRY, count, head)
    return Entries(_arrow(entries, SNAPSHOT_SCHEMA, head), (), len(data))


def read_aborted_index(data: bytes, base_position: int = 0, *, closed: bool = False) -> Entries:
    """The aborted transactions of a ``.txnindex`` file, from ``base_position`` on, which is an entry's start.

    ``closed`` says that nothing will be appended any more: an incomplete last entry is then a fault
    (``truncated``), otherwise it is left for the next time (``torn_tail``).
    """
    size = _ABORTED_ENTRY.itemsize
    whole = np.frombuffer(data, _ABORTED_ENTRY, len(data) // size)
    unknown = np.flatnonzero(whole["version"] != _ABORTED_VERSION)
    known = whole[: unknown[0]] if unknown.size else whole
    after = base_position + known.size * size
    left = len(data) - known.size * size
    faults, consumed_to = [], after
    if unknown.size:
        version = int(whole["version"][unknown[0]])
        detail = (
            f"entries of version {version} are not known here: update Fencepost; if Kafka does not know them "
            "either, delete the index: the broker rebuilds it"
        )
        faults.append(Fault(after, left, "unreadable", detail))
        consumed_to = base_position + len(data)
    elif left:
        reason = "truncated" if closed else "torn_tail"
        detail = "the last entry is incomplete: the broker rebuilds the index when it recovers the segment"
        faults.append(Fault(after, left, reason, detail))
    return Entries(_arrow(known, ABORTED_SCHEMA, base_position), tuple(faults), consumed_to)


def nothing(schema: pa.Schema) -> pa.RecordBatch:
    """One row without a producer, which stands for a file that was read and is empty."""
    return pa.RecordBatch.from_pylist([{"position": 0}], schema=schema)


def _refused(data: bytes, reason: str, detail: str) -> Entries:
    fault = Fault(0, len(data), reason, detail)
    return Entries(pa.RecordBatch.from_pylist([], schema=SNAPSHOT_SCHEMA), (fault,), 0)


def _arrow(
    entries: np.ndarray[tuple[int], np.dtype[np.void]], schema: pa.Schema, first: int
) -> pa.RecordBatch:
    columns = [pa.array(first + np.arange(entries.size) * entries.dtype.itemsize)]
    columns += [
        pa.array(entries[field.name].astype(field.type.to_pandas_dtype())) for field in list(schema)[1:]
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
