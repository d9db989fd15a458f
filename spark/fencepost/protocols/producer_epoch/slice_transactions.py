"""The transactions in a slice of a partition's log, and their markers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from fencepost.protocols.producer_epoch.arrow import UNKNOWN, Flags, Longs
from fencepost.protocols.producer_epoch.marker_senders import Senders
from fencepost.protocols.producer_epoch.partition_slice import PartitionSlice
from fencepost.protocols.producer_epoch.producer_state import MARKER, NONE, Transactions
from fencepost.protocols.producer_epoch.transaction_indexes import AbortedTransaction
from fencepost.replay.keys import digests_of

_SEGMENT = re.compile(r"(\d{20})\.log[^/]*$")


def partition_transactions(partition_slice: PartitionSlice) -> Mapping[str, Any]:
    """The transactions that the partition holds: account.PARTITION_TRANSACTION.

    The answer to its Produce tells when a batch was written, by the broker's clock; its own timestamp is the
    producer's. What has no marker when the topic is deleted ends with the log.
    """
    columns = partition_slice.columns
    transactions = Transactions(*(column[~partition_slice.open] for column in partition_slice.transactions))
    first, end = transactions.first_row, transactions.end_row
    ended = end != NONE
    ids = columns["producer_id"][first]
    types = np.where(ended, columns["marker_type"][end], UNKNOWN)
    last = partition_slice.stretches.ends[columns["stretch"][first]] == UNKNOWN
    cluster, _, _, partition_key = partition_slice.log.key
    indexed, lacking = _indexed(partition_slice, transactions, types == 0)

    gone_ms, after_last = partition_slice.log.evidence.gone_ms, partition_slice.log.last_offset + 1

    def of_marker(column: Longs, else_: int | None = None) -> Longs:
        return np.where(ended, column[end], UNKNOWN if else_ is None else else_)

    return {
        "producer_id": ids,
        "partition_transaction_id": pa.array(
            digests_of((cluster, partition_key), ids.tolist(), transactions.first_offset.tolist()),
            pa.string(),
        ),
        "producer_epoch": columns["epoch"][first],
        "newest_epoch": np.where(ended, columns["epoch"][first], _newest_epochs(partition_slice, ids)),
        "first_offset": transactions.first_offset,
        "last_offset": transactions.last_offset,
        "batches": transactions.batches,
        "records": transactions.records,
        "open": np.where(ended, 0, np.where(last, 1, UNKNOWN)),
        "aborted": np.where(types == UNKNOWN, UNKNOWN, types == 0),
        "indexed": indexed,
        "unindexed_broker_id": lacking,
        "marker_epoch": of_marker(columns["epoch"]),
        "marker_coordinator_epoch": of_marker(columns["coordinator_epoch"]),
        "by_operator": of_marker(_senders(partition_slice).by_operator),
        "ended_position": of_marker(columns["base_offset"], None if gone_ms is None else after_last),
        "first_ms": columns["timestamp_ms"][first],
        "ended_ms": of_marker(columns["timestamp_ms"], gone_ms),
        **partition_slice.log.answer_times.of(transactions.first_offset),
        "dumped": ended & _is_dumped(partition_slice, columns["base_offset"][end]),
    }


def _newest_epochs(partition_slice: PartitionSlice, ids: Longs) -> Longs:
    """The epoch of the newest row of each of these producers."""
    rows = np.flatnonzero(partition_slice.is_newest)
    order = np.argsort(partition_slice.columns["producer_id"][rows], kind="stable")
    sorted_rows = rows[order]
    at = np.searchsorted(partition_slice.columns["producer_id"][sorted_rows], ids, side="right") - 1
    return partition_slice.columns["epoch"][sorted_rows[at]]


def _indexed(
    partition_slice: PartitionSlice, transactions: Transactions, aborted: Flags
) -> tuple[Longs, Longs]:
    """Whether each aborted transaction is in its replicas' indexes, and the broker whose index lacks it.

    It is UNKNOWN if no index was captured that would have it, and for the last marker of the log, which may
    have been captured before its entry was written.
    """
    log, columns = partition_slice.log, partition_slice.columns
    indexed, lacking = (np.full(len(transactions.first_row), UNKNOWN, dtype=np.int64) for _ in range(2))
    at = np.flatnonzero(aborted)
    ends = transactions.end_row[at]
    rows, marker_offsets = columns["row"][ends], columns["base_offset"][ends]
    files = (log.evidence.files[each] for each in log.evidence.batches["file"][rows].tolist())
    segments = zip(log.evidence.batches["broker_id"][rows].tolist(), map(_segment_of, files), strict=True)
    for number, *transaction in zip(
        at.tolist(),
        columns["producer_id"][transactions.first_row[at]].tolist(),
        transactions.first_offset[at].tolist(),
        marker_offsets.tolist(),
        segments,
        transactions.first_known[at].tolist(),
        (marker_offsets < log.last_offset).tolist(),
        strict=True,
    ):
        indexed[number], lacking[number] = log.indexes.has(AbortedTransaction(*transaction))
    return indexed, lacking


def markers(partition_slice: PartitionSlice) -> Mapping[str, Any]:
    """Every marker: the columns of account.MARKER; ``type`` is a place in MARKER_TYPES, ``sent_row`` that of
    the line of who sent it, if that is no coordinator.
    """
    columns, at = (
        partition_slice.columns,
        np.flatnonzero(partition_slice.is_new & (partition_slice.kind == MARKER)),
    )
    states, transactions = partition_slice.states, partition_slice.transactions
    ended = np.full(len(columns["row"]), NONE, dtype=np.int64)
    with_end = np.flatnonzero(transactions.end_row != NONE)
    ended[transactions.end_row[with_end]] = with_end
    ended, has_ended = ended[at], ended[at] != NONE
    is_hidden = (states.previous[at] == NONE) & (
        partition_slice.stretches.complete[columns["stretch"][at]] == 0
    )

    def of_ended(column: Longs, nothing: Longs | int = UNKNOWN) -> Longs:
        return (
            np.where(has_ended, column[ended], nothing) if len(column) else np.broadcast_to(nothing, at.shape)
        )

    by_operator, sent_row = (column[at] for column in _senders(partition_slice))
    return {
        "ended_epoch": of_ended(columns["epoch"][transactions.first_row], np.where(is_hidden, UNKNOWN, NONE)),
        "ended_first_offset": of_ended(transactions.first_offset),
        "ended_last_offset": of_ended(transactions.last_offset),
        "ended_records": of_ended(transactions.records),
        "first_known": states.first_known[at],
        "to_end": partition_slice.stretches.ends[columns["stretch"][at]] == UNKNOWN,
        "by_operator": by_operator,
        "sent_row": sent_row,
        "producer_id": columns["producer_id"][at],
        "producer_epoch": columns["epoch"][at],
        "offset": columns["base_offset"][at],
        "leader_epoch": _of_batches(partition_slice, partition_slice.log.log.leader_epoch)[at],
        "timestamp_ms": columns["timestamp_ms"][at],
        "type": columns["marker_type"][at],
        "coordinator_epoch": columns["coordinator_epoch"][at],
        "dumped": _is_dumped(partition_slice, columns["base_offset"][at]),
    }


def _senders(partition_slice: PartitionSlice) -> Senders:
    """Who sent the marker at each row of a slice."""
    return Senders(*(_of_batches(partition_slice, column) for column in partition_slice.log.senders))


def _of_batches(partition_slice: PartitionSlice, column: Longs) -> Longs:
    """The value of each row of a slice, of a ``column`` of the log's batches."""
    base_offset, offsets = partition_slice.log.log.base_offset, partition_slice.columns["base_offset"]
    if not len(base_offset):
        return np.full(len(offsets), UNKNOWN)
    at = np.minimum(np.searchsorted(base_offset, offsets), len(base_offset) - 1)
    return np.where(base_offset[at] == offsets, column[at], UNKNOWN)


def _is_dumped(partition_slice: PartitionSlice, offsets: Longs) -> Flags:
    dump_offset = partition_slice.log.dump_offset
    return offsets < (NONE if dump_offset is None else dump_offset)


def _segment_of(file: str) -> int | None:
    """The base offset of the segment in a file's name."""
    match = _SEGMENT.search(file)
    return int(match[1]) if match else None
