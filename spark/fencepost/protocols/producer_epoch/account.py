"""The account: what the replays of single logs pass on to the last step, as one table for each kind of row.

A row names its ``cluster`` and, where it is about one producer, the ``producer_id``: the key by which the
last step compares logs of partitions with logs of coordinators. Rows of the kinds LOG and COORDINATOR are
facts about whole logs; they are so few that every task gets them all. ``pack`` makes one Arrow table of all
kinds, whose rows are sent to the tasks of the last step by their ``bucket``. ``dumped`` is true of a
transaction or a marker that ended before the offset at which the state of its log is dumped.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.formats.arrow_stream import read, written
from fencepost.protocols.producer_epoch.arrow import Longs, longs
from fencepost.replay.columns import Rows

_LOG = [("topic", pa.string()), ("partition", pa.int32()), ("partition_key", pa.string())]

_HOW_FAR = [
    ("whole", pa.bool_()), ("whole_ms", pa.int64()), ("whole_by", pa.int32()), ("known_ms", pa.int64()),
    ("known_by", pa.int32()), ("cut", pa.bool_()),
]  # fmt: skip

# what replays of partitions' logs know
PARTITION_TRANSACTION, MARKER, EPOCH, CONNECTION_EPOCH, LOG = (
    "partition_transaction", "marker", "epoch", "connection_epoch", "log"
)  # fmt: skip
# what replays of coordinators' logs know
LISTED_PARTITION, ANSWERED_TRANSACTION, NAMED_PRODUCER, FENCING, COORDINATOR = (
    "listed_partition", "answered_transaction", "named_producer", "fencing", "coordinator"
)  # fmt: skip

KINDS: dict[str, pa.StructType] = {
    # a transaction as a partition's log has it: the columns of silver.partition_transactions; the newest
    # epoch of its batches while it is open; the times of its first batch (``first_ms`` by the batch itself,
    # ``answered_ms`` by the answer to Produce) and of its marker (``ended_ms``; without one, when the topic
    # was deleted); when, and by which broker, the first Produce at or behind that batch was answered; and
    # who sent its marker, as in MARKER
    PARTITION_TRANSACTION: pa.struct(
        [
            *_LOG,
            ("partition_transaction_id", pa.string()),
            ("producer_epoch", pa.int32()),
            ("newest_epoch", pa.int32()),
            ("first_offset", pa.int64()),
            ("last_offset", pa.int64()),
            ("batches", pa.int64()),
            ("records", pa.int64()),
            ("open", pa.bool_()),
            ("aborted", pa.bool_()),
            ("indexed", pa.bool_()),
            ("unindexed_broker_id", pa.int32()),
            ("marker_epoch", pa.int32()),
            ("marker_coordinator_epoch", pa.int32()),
            ("by_operator", pa.bool_()),
            ("ended_position", pa.int64()),
            ("first_ms", pa.int64()),
            ("ended_ms", pa.int64()),
            ("answered_ms", pa.int64()),
            ("written_by_ms", pa.int64()),
            ("answered_by", pa.int32()),
            ("dumped", pa.bool_()),
        ]
    ),
    # a marker in a partition's log; ``type`` is ABORT, COMMIT or null where its record could not be read.
    # ``ended_epoch``: the epoch of the batches of the transaction that it ended (-1: it ended none; null: a
    # hole may hide one), with their offsets and records; ``first_known``: no hole hides another marker since
    # the producer's transaction before; ``to_end``: none lies between it and the end of the log.
    # ``by_operator``: no coordinator sent it (null if no line tells), and if so, who did (marker_senders).
    # ``leader_epoch``: that of the leader that dated it
    MARKER: pa.struct(
        [
            *_LOG,
            ("producer_epoch", pa.int32()),
            ("offset", pa.int64()),
            ("leader_epoch", pa.int32()),
            ("timestamp_ms", pa.int64()),
            ("type", pa.string()),
            ("coordinator_epoch", pa.int32()),
            ("ended_epoch", pa.int32()),
            ("ended_first_offset", pa.int64()),
            ("ended_last_offset", pa.int64()),
            ("ended_records", pa.int64()),
            ("first_known", pa.bool_()),
            ("to_end", pa.bool_()),
            ("by_operator", pa.bool_()),
            ("client_id", pa.string()),
            ("connection", pa.string()),
            ("dumped", pa.bool_()),
        ]
    ),
    # when a producer without transactions first wrote with an epoch, in one partition
    EPOCH: pa.struct(
        [("topic", pa.string()), ("partition", pa.int32()), ("producer_epoch", pa.int32()),
         ("first_ms", pa.int64())]
    ),
    # the producer id and epoch that a connection wrote with; only of connections that were refused a Produce
    CONNECTION_EPOCH: pa.struct(
        [("broker_id", pa.int32()), ("connection", pa.string()), ("transactional_id", pa.string()),
         ("producer_epoch", pa.int32()), ("at_ms", pa.int64())]
    ),
    # how much of a partition's log is known: ``unbroken`` without a hole, ``whole`` also from its beginning
    # on; ``shortened``: its broker says that it begins where it is known from. ``dated_ms``: the newest time
    # of a broker in it; ``asked_ms``: when the newest Produce arrived whose batch is in it: all that was
    # appended earlier is
    LOG: pa.struct(
        [*_LOG, ("unbroken", pa.bool_()), ("whole", pa.bool_()), ("shortened", pa.bool_()),
         ("end_offset", pa.int64()), ("dated_ms", pa.int64()), ("asked_ms", pa.int64())]
    ),
    # one partition (``name``, 'topic:partition') that a transaction in a coordinator's log lists
    LISTED_PARTITION: pa.struct(
        [
            *_LOG,
            ("transactional_id", pa.string()),
            ("name", pa.string()),
            ("producer_epoch", pa.int32()),
            ("prepared_epoch", pa.int32()),
            ("prepared_by_epoch", pa.int32()),
            ("due_type", pa.string()),
            # whether the log shows every transaction that was prepared with the epoch: either the log has no
            # hole while the epoch lasts, or each end of a transaction bumps the epoch
            ("counted", pa.bool_()),
            # whether a hole follows that may hide its end
            ("cut", pa.bool_()),
            # whether it was open, and not prepared, when its coordinator's log was deleted
            ("lost", pa.bool_()),
            ("prepared_position", pa.int64()),
            ("completed_position", pa.int64()),
            ("started_ms", pa.int64()),
            # the time of the first record that is known to list the partition
            ("listed_ms", pa.int64()),
            ("prepared_ms", pa.int64()),
            ("completed_ms", pa.int64()),
            # how long before its Prepare record a leader of the partition had verified it, at least; null if
            # no line shows that it did
            ("verified_ms", pa.int64()),
            ("dumped", pa.bool_()),
        ]
    ),
    # transactions with one partition (``name``) that answers show and compaction removed:
    # AnsweredTransactions
    ANSWERED_TRANSACTION: pa.struct(
        [("name", pa.string()), ("producer_epoch", pa.int32()), ("prepared_epoch", pa.int32()),
         ("transactions", pa.int64())]
    ),
    # a producer id that a coordinator's log names, and how much of that log is known, as in COORDINATOR;
    # ``compacted_epoch``: the newest epoch of which compaction may have removed transactions (facts.NO_EPOCH
    # for none); ``counted_from``: that of the state of its transactional id where that is dumped, null for
    # none (id_state)
    NAMED_PRODUCER: pa.struct(
        [*_LOG, *_HOW_FAR, ("transactional_id", pa.string()), ("compacted_epoch", pa.int32()),
         ("counted_from", pa.int32())]
    ),
    # a row of silver.producer_fencings; ``in_flight`` are the partitions of the victim's transaction and its
    # outcome, null where that is not known
    FENCING: pa.struct(
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
            ("caused_ms", pa.int64()),
            ("in_flight", pa.list_(pa.struct([("name", pa.string()), ("outcome", pa.string())]))),
            ("topic", pa.string()),
            ("partition", pa.int32()),
            ("file", pa.string()),
            ("position", pa.int64()),
        ]
    ),
    # how much of a coordinator's log is known. ``whole``: it has no hole, from its beginning or from the end
    # of compaction on; ``whole_ms``: since when (null for the beginning); ``known_ms``: until when
    # (facts.FOREVER where nothing was written afterwards); ``whole_by``, ``known_by``: by the clocks of
    # which brokers (null where that is not known); ``cut``: an unclean election may have taken records
    COORDINATOR: pa.struct([*_LOG, *_HOW_FAR]),
}  # fmt: skip
"""The columns of a row of each kind, beside ``cluster`` and ``producer_id``."""

FACTS = (LOG, COORDINATOR)
"""The kinds of rows that are about a whole log."""

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


def concatenate(accounts: Iterable[Account]) -> Account:
    """The rows of several accounts."""
    by_kind: dict[str, list[pa.Table]] = {}
    for each in accounts:
        for kind, rows in each.items():
            by_kind.setdefault(kind, []).append(rows)
    return {kind: pa.concat_tables(tables) for kind, tables in by_kind.items()}


def pack(account: Account, buckets: int) -> pa.Table:
    """An account as PACKED, its rows spread over this many buckets."""
    packed = Rows(PACKED)
    for kind, rows in account.items():
        if kind in FACTS:
            packed.add(None, kind, written(rows))
            continue
        at = buckets_of(rows, buckets)
        for number in np.unique(at).tolist():
            packed.add(number, kind, written(rows.filter(pa.array(at == number))))
    return packed.to_arrow()


def buckets_of(rows: pa.Table, buckets: int) -> Longs:
    """The bucket of each row."""
    clusters = rows["cluster"].combine_chunks().dictionary_encode()
    numbers = np.array([crc32(name.encode()) for name in clusters.dictionary.to_pylist()], dtype=np.int64)
    ids = longs(pc.fill_null(rows["producer_id"], -1))
    return (numbers[longs(clusters.indices)] + ids) % buckets


def unpack(packed: pa.Table) -> Account:
    """The account in rows of PACKED."""
    by_kind: dict[str, list[pa.Table]] = {}
    for kind, rows in zip(packed["kind"].to_pylist(), packed["rows"].to_pylist(), strict=True):
        by_kind.setdefault(kind, []).append(read(rows))
    return {kind: pa.concat_tables(tables) for kind, tables in by_kind.items()}


@dataclass(frozen=True)
class Replayed:
    """What a step returns: rows of silver by table name, and the account that the next steps need."""

    tables: dict[str, pa.Table] = field(default_factory=dict)
    account: Account = field(default_factory=dict)
