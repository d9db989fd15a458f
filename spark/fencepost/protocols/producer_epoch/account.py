"""What the replays of single logs tell the step after them: rows of several kinds, a table for each.

A row names its ``cluster`` and, where it is about one producer, the ``producer_id``: the key by which logs of
partitions and logs of coordinators meet. Rows of the kinds LOG and COORDINATOR are facts about whole logs,
few enough to be given to every task. ``pack`` makes one Arrow table of all kinds, which can be sent to the
tasks of the last step by its ``bucket``. ``before_cut`` says of what is over that the next chapter, if there
is one, will not see it: it begins to read that log later.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.formats.arrow_stream import read, written
from fencepost.protocols.producer_epoch.arrow import Longs, Rows, longs

_LOG = [("topic", pa.string()), ("partition", pa.int32()), ("partition_key", pa.string())]

_HOW_FAR = [
    ("whole", pa.bool_()), ("whole_ms", pa.int64()), ("whole_by", pa.int32()), ("known_ms", pa.int64()),
    ("known_by", pa.int32()),
]  # fmt: skip

HELD, MARKER, EPOCH, WROTE, LOG = "held", "marker", "epoch", "wrote", "log"
COUNTED = "counted"
LISTED, TOLD, KNOWN, FENCED, COORDINATOR = "listed", "told", "known", "fenced", "coordinator"

KINDS: dict[str, pa.StructType] = {
    # a transaction as a partition's log has it: the columns of silver.partition_transactions, and when its
    # first batch was written (by the batch, and by the answer to Produce) and its marker; when the first
    # batch that was answered for from there on was answered, and by which broker
    HELD: pa.struct(
        [
            *_LOG,
            ("partition_transaction_id", pa.string()),
            ("producer_epoch", pa.int32()),
            ("first_offset", pa.int64()),
            ("last_offset", pa.int64()),
            ("batches", pa.int64()),
            ("records", pa.int64()),
            ("open", pa.bool_()),
            ("aborted", pa.bool_()),
            ("indexed", pa.bool_()),
            ("marker_epoch", pa.int32()),
            ("marker_coordinator_epoch", pa.int32()),
            ("ended_position", pa.int64()),
            ("first_ms", pa.int64()),
            ("ended_ms", pa.int64()),
            ("answered_ms", pa.int64()),
            ("written_by_ms", pa.int64()),
            ("answered_by", pa.int32()),
            ("before_cut", pa.bool_()),
        ]
    ),
    # a marker in a partition's log; ``type`` is ABORT, COMMIT or null where its record could not be read
    MARKER: pa.struct(
        [
            *_LOG,
            ("producer_epoch", pa.int32()),
            ("offset", pa.int64()),
            ("timestamp_ms", pa.int64()),
            ("type", pa.string()),
            ("coordinator_epoch", pa.int32()),
            ("before_cut", pa.bool_()),
        ]
    ),
    # the first time of an epoch of a producer that has no transactions, in one partition
    EPOCH: pa.struct(
        [("topic", pa.string()), ("partition", pa.int32()), ("producer_epoch", pa.int32()),
         ("first_ms", pa.int64())]
    ),
    # the producer id and epoch that a connection wrote with; only of connections that ask (see `asking`)
    WROTE: pa.struct(
        [("broker_id", pa.int32()), ("connection", pa.string()), ("transactional_id", pa.string()),
         ("producer_epoch", pa.int32()), ("at_ms", pa.int64())]
    ),
    # how much of a partition's log is known: without a hole, and so from its beginning on
    LOG: pa.struct([*_LOG, ("unbroken", pa.bool_()), ("whole", pa.bool_())]),
    # a transaction of a coordinator's log and one partition (``name``, 'topic:partition') that it lists
    LISTED: pa.struct(
        [
            *_LOG,
            ("transactional_id", pa.string()),
            ("name", pa.string()),
            ("producer_epoch", pa.int32()),
            ("prepared_epoch", pa.int32()),
            ("prepared_by_epoch", pa.int32()),
            ("due_type", pa.string()),
            # the log shows every transaction that was prepared with the epoch: no hole is before its end, or
            # the end of a transaction moves the epoch
            ("counted", pa.bool_()),
            # a hole follows that may hide its end
            ("cut", pa.bool_()),
            ("prepared_position", pa.int64()),
            ("completed_position", pa.int64()),
            ("prepared_ms", pa.int64()),
            ("before_cut", pa.bool_()),
        ]
    ),
    # transactions and markers that earlier chapters have counted, as in tables.CARRIED_COUNTS
    COUNTED: pa.struct(
        [("name", pa.string()), ("producer_epoch", pa.int32()), ("prepared_epoch", pa.int32()),
         ("listed", pa.int64()), ("ended", pa.int64()), ("markers", pa.int64())]
    ),
    # transactions of a compacted log and one partition (``name``), by answers: AnsweredTransactions
    TOLD: pa.struct(
        [("name", pa.string()), ("producer_epoch", pa.int32()), ("prepared_epoch", pa.int32()),
         ("transactions", pa.int64())]
    ),
    # a producer id that a coordinator's log names, and how much of that log is known, as COORDINATOR; the
    # newest epoch of which compaction may have taken transactions (facts.NO_EPOCH for none); the oldest of
    # which the next chapter may count on all being counted, null for none (handed_down_ids)
    KNOWN: pa.struct(
        [*_LOG, *_HOW_FAR, ("transactional_id", pa.string()), ("compacted_epoch", pa.int32()),
         ("counted_from", pa.int32())]
    ),
    # a row of silver.producer_fencings; ``in_flight`` are the partitions of the victim's transaction and what
    # became of it, null where that is not known
    FENCED: pa.struct(
        [
            ("request_id", pa.string()),
            ("transactional_id", pa.string()),
            ("victim_epoch", pa.int32()),
            ("current_producer_id", pa.int64()),
            ("current_epoch", pa.int32()),
            ("client_id", pa.string()),
            ("connection", pa.string()),
            ("api_name", pa.string()),
            ("error", pa.string()),
            ("occurred_ms", pa.int64()),
            ("cause", pa.string()),
            ("caused_by_client_id", pa.string()),
            ("caused_by_connection", pa.string()),
            ("fenced_position", pa.int64()),
            ("fenced_ms", pa.int64()),
            ("in_flight", pa.list_(pa.struct([("name", pa.string()), ("outcome", pa.string())]))),
            ("topic", pa.string()),
            ("partition", pa.int32()),
            ("file", pa.string()),
            ("position", pa.int64()),
        ]
    ),
    # how much of a coordinator's log is known: ``whole`` without a hole, from its beginning or from where it
    # was compacted on; since when (null for the beginning); until when (facts.FOREVER where nothing was
    # written afterwards); and by the clocks of which brokers (null where that is not known)
    COORDINATOR: pa.struct([*_LOG, *_HOW_FAR]),
}  # fmt: skip
"""What a row of each kind says."""

FACTS = (LOG, COORDINATOR)

Account = dict[str, pa.Table]
"""Rows by kind, as ``schema_of`` says; a kind may be absent."""

PACKED = pa.schema([("bucket", pa.int32()), ("kind", pa.string()), ("rows", pa.binary())])
"""An account as one table. ``rows`` is an Arrow IPC stream of rows of one kind; ``bucket`` is null for FACTS,
else the same for all rows of one (cluster, producer id).
"""


def schema_of(kind: str) -> pa.Schema:
    """The columns of a kind."""
    return pa.schema([("cluster", pa.string()), ("producer_id", pa.int64()), *KINDS[kind]])


def rows_of(account: Account, kind: str) -> pa.Table:
    """The rows of a kind."""
    return account.get(kind, schema_of(kind).empty_table())


def together(accounts: Iterable[Account]) -> Account:
    """The rows of several accounts."""
    found: dict[str, list[pa.Table]] = {}
    for each in accounts:
        for kind, rows in each.items():
            found.setdefault(kind, []).append(rows)
    return {kind: pa.concat_tables(tables) for kind, tables in found.items()}


def pack(account: Account, buckets: int) -> pa.Table:
    """An account as PACKED, its rows spread over this many buckets."""
    packed = Rows(PACKED)
    for kind, rows in account.items():
        if kind in FACTS:
            packed.add(None, kind, written(rows))
            continue
        at = _buckets(rows, buckets)
        for number in np.unique(at).tolist():
            packed.add(number, kind, written(rows.filter(pa.array(at == number))))
    return packed.to_arrow()


def _buckets(rows: pa.Table, buckets: int) -> Longs:
    clusters = rows["cluster"].combine_chunks().dictionary_encode()
    numbers = np.array([crc32(name.encode()) for name in clusters.dictionary.to_pylist()], dtype=np.int64)
    ids = longs(pc.fill_null(rows["producer_id"], -1))
    return (numbers[longs(clusters.indices)] + ids) % buckets


def unpack(packed: pa.Table) -> Account:
    """The account in rows of PACKED."""
    found: dict[str, list[pa.Table]] = {}
    for kind, rows in zip(packed["kind"].to_pylist(), packed["rows"].to_pylist(), strict=True):
        found.setdefault(kind, []).append(read(rows))
    return {kind: pa.concat_tables(tables) for kind, tables in found.items()}


@dataclass(frozen=True)
class Replayed:
    """What a step gives: rows of silver by table name, and what the next steps need."""

    tables: dict[str, pa.Table] = field(default_factory=dict)
    account: Account = field(default_factory=dict)
