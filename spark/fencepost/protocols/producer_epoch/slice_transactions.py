"""What a piece of a partition's log tells of transactions: those that it holds, and their markers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from fencepost.protocols.producer_epoch.arrow import UNKNOWN, Flags, Longs
from fencepost.protocols.producer_epoch.partition_slice import PartitionSlice
from fencepost.protocols.producer_epoch.producer_state import MARKER, NONE, Transactions
from fencepost.replay.keys import digests_of

MARKER_TYPES = ("ABORT", "COMMIT")
"""Types of control records that end a transaction: org.apache.kafka.common.record.ControlRecordType."""

_SEGMENT = re.compile(r"(\d{20})\.log[^/]*$")


def held(of: PartitionSlice) -> Mapping[str, Any]:
    """The transactions that the partition holds: account.HELD.

    When a batch was first answered for tells when it was written by the broker's clock; its own timestamp
    is the producer's.
    """
    columns = of.columns
    found = Transactions(*(column[~of.open] for column in of.transactions))
    first, end = found.first_row, found.end_row
    ended = end != NONE
    ids = columns["producer_id"][first]
    types = np.where(ended, columns["marker_type"][end], UNKNOWN)
    last = of.stretches.ends[columns["stretch"][first]] == UNKNOWN
    cluster, _, _, partition_key = of.log.key

    def of_marker(column: Longs) -> Longs:
        return np.where(ended, column[end], UNKNOWN)

    return {
        "producer_id": ids,
        "partition_transaction_id": pa.array(
            digests_of((cluster, partition_key), ids.tolist(), found.first_offset.tolist()), pa.string()
        ),
        "producer_epoch": columns["epoch"][first],
        "first_offset": found.first_offset,
        "last_offset": found.last_offset,
        "batches": found.batches,
        "records": found.records,
        "open": np.where(ended, 0, np.where(last, 1, UNKNOWN)),
        "aborted": np.where(types == UNKNOWN, UNKNOWN, types == 0),
        "indexed": _indexed(of, found, types == 0),
        "marker_epoch": of_marker(columns["epoch"]),
        "marker_coordinator_epoch": of_marker(columns["coordinator_epoch"]),
        "ended_position": of_marker(columns["base_offset"]),
        "first_ms": columns["timestamp_ms"][first],
        "ended_ms": of_marker(columns["timestamp_ms"]),
        **of.log.answered.of(found.first_offset),
        "before_cut": ended & _is_before_cut(of, columns["base_offset"][end]),
    }


def _indexed(of: PartitionSlice, found: Transactions, aborted: Flags) -> Longs:
    """Whether each aborted transaction is in the index of aborted transactions of its marker's segment.

    Not known where that index was not captured from the broker whose segment holds the marker. The last
    marker of the log may have been read before its entry was written.
    """
    log, columns = of.log, of.columns
    said = np.full(len(found.first_row), UNKNOWN, dtype=np.int64)
    at = np.flatnonzero(aborted)
    if not len(at):
        return said
    ends = found.end_row[at]
    rows = columns["row"][ends]
    known = found.first_known[at] & (columns["base_offset"][ends] < log.last_offset)
    for number, producer_id, first_offset, file, broker_id, settled in zip(
        at.tolist(),
        columns["producer_id"][found.first_row[at]].tolist(),
        found.first_offset[at].tolist(),
        log.evidence.batches["file"][rows].tolist(),
        log.evidence.batches["broker_id"][rows].tolist(),
        known.tolist(),
        strict=True,
    ):
        if (producer_id, first_offset) in log.entered:
            said[number] = 1
        elif settled and (broker_id, _segment_of(log.evidence.files[file])) in log.captured:
            said[number] = 0
    return said


def markers(of: PartitionSlice) -> Mapping[str, Any]:
    """Every marker: account.MARKER; ``type`` is a place in MARKER_TYPES."""
    columns, at = of.columns, np.flatnonzero(of.is_new & (of.kind == MARKER))
    return {
        "producer_id": columns["producer_id"][at],
        "producer_epoch": columns["epoch"][at],
        "offset": columns["base_offset"][at],
        "timestamp_ms": columns["timestamp_ms"][at],
        "type": columns["marker_type"][at],
        "coordinator_epoch": columns["coordinator_epoch"][at],
        "before_cut": _is_before_cut(of, columns["base_offset"][at]),
    }


def _is_before_cut(of: PartitionSlice, offsets: Longs) -> Flags:
    return offsets < (NONE if of.log.cut is None else of.log.cut)


def _segment_of(file: str) -> int | None:
    """The base offset of the segment in a file's name."""
    found = _SEGMENT.search(file)
    return int(found[1]) if found else None
