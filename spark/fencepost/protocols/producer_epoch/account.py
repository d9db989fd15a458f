"""What the replays of single logs tell the step after them: one Arrow table, whose rows are of several kinds.

A row names its ``kind``, its ``cluster`` and, where it is about one producer, the ``producer_id``: the key by
which logs of partitions and logs of coordinators meet. What it says is in the struct column of its kind; all
others are null. Rows without a producer id are facts about whole logs, few enough to be given to every task.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

_LOG = [("topic", pa.string()), ("partition", pa.int32()), ("partition_key", pa.string())]

HELD, MARKER, EPOCH, WROTE, LOG = "held", "marker", "epoch", "wrote", "log"
LISTED, KNOWN, FENCED, COORDINATOR = "listed", "known", "fenced", "coordinator"

KINDS: dict[str, pa.StructType] = {
    # a transaction as a partition's log has it: the columns of silver.partition_transactions, and when its
    # first batch was written (by the batch, and by the answer to Produce) and its marker
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
    # how much of a partition's log is known: from its beginning on without a hole
    LOG: pa.struct([*_LOG, ("whole", pa.bool_())]),
    # a transaction of a coordinator's log and one partition (``name``, 'topic:partition') that it lists
    LISTED: pa.struct(
        [
            *_LOG,
            ("stretch", pa.int32()),
            ("transactional_id", pa.string()),
            ("name", pa.string()),
            ("producer_epoch", pa.int32()),
            ("prepared_epoch", pa.int32()),
            ("prepared_by_epoch", pa.int32()),
            ("due_type", pa.string()),
            ("prepared_position", pa.int64()),
            ("completed_position", pa.int64()),
            ("prepared_ms", pa.int64()),
        ]
    ),
    # a producer id that a coordinator's log names, and how much of that log is known, as COORDINATOR
    KNOWN: pa.struct(
        [
            ("transactional_id", pa.string()),
            ("whole", pa.bool_()),
            ("whole_ms", pa.int64()),
            ("known_ms", pa.int64()),
        ]
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
    # was compacted on; since when (null for the beginning); until when
    COORDINATOR: pa.struct(
        [*_LOG, ("whole", pa.bool_()), ("whole_ms", pa.int64()), ("known_ms", pa.int64())]
    ),
}  # fmt: skip
"""What a row of each kind says."""

SCHEMA = pa.schema(
    [("kind", pa.string()), ("cluster", pa.string()), ("producer_id", pa.int64()), *KINDS.items()]
)


def pack(kind: str, rows: pa.Table) -> pa.Table:
    """Rows of one kind (``cluster``, ``producer_id`` where they have one, and the kind's fields)."""
    count = rows.num_rows
    told = [rows[field.name].combine_chunks().cast(field.type) for field in KINDS[kind]]
    said = pa.StructArray.from_arrays([_flat(column) for column in told], fields=list(KINDS[kind]))
    given = {
        "kind": pa.repeat(kind, count),
        "cluster": rows["cluster"],
        "producer_id": rows["producer_id"] if "producer_id" in rows.schema.names else None,
        kind: said,
    }
    columns = [
        pa.nulls(count, field.type) if given.get(field.name) is None else given[field.name]
        for field in SCHEMA
    ]
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def unpack(account: pa.Table, kind: str) -> pa.Table:
    """The rows of one kind: ``cluster``, ``producer_id`` and the kind's fields."""
    rows = account.filter(pc.equal(account["kind"], kind)).select(["cluster", "producer_id", kind])
    return rows.flatten().rename_columns(
        ["cluster", "producer_id", *(field.name for field in KINDS[kind])]
    )


def schema_of(kind: str) -> pa.Schema:
    """The columns that ``pack`` takes and ``unpack`` gives."""
    return pa.schema([("cluster", pa.string()), ("producer_id", pa.int64()), *KINDS[kind]])


def _flat(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


@dataclass(frozen=True)
class Replayed:
    """What a step gives: rows of silver by table name, and what the next steps need (SCHEMA)."""

    tables: dict[str, pa.Table] = field(default_factory=dict)
    account: pa.Table = field(default_factory=SCHEMA.empty_table)
