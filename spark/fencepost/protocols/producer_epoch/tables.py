"""Silver tables of the histories of producer epochs: transactional ids, producers and partitions."""

from __future__ import annotations

from fencepost.tables.clocks import clock_table
from fencepost.tables.table import INTERVAL, Table

_LOG = {"cluster": "string", "topic": "string", "partition": "int", "partition_key": "string"}
"""The log of one partition of one incarnation of a topic; ``partition_key`` as in silver.owned_partitions."""

_MET = {
    "known": "boolean",  # the coordinator has the transactional id
    "status": "string",  # Empty if unknown, as for a new transactional id
    "producer_id": "bigint",  # -1 if unknown
    "producer_epoch": "int",  # -1 if unknown
    # the last epoch that KIP-360 stores in the log: the one before the last bump that its owner requested,
    # or -1
    "last_epoch": "int",
    "previous_id": "bigint",  # the last exhausted producer id, or -1
    # the values in this coordinator's memory: it loses the first when it loads the log (and before 4.3 the
    # second); from transaction version 2, last_epoch_held is also the epoch of a fenced producer
    "last_epoch_held": "int",
    "previous_id_held": "bigint",
}
"""A state of the coordinator in which a request was handled."""

LOG_COVERAGE = Table(
    "silver.log_coverage",
    "Each log of transactions (__transaction_state, and every partition that has batches of a producer) "
    "cut into pieces that are completely known (no offset is missing; the state before is known, or starts "
    "as unknown) and pieces that are not. The last piece goes on, unless the topic was deleted.",
    {
        **_LOG,
        # where the log began when a Produce was last answered (of a topic that was created once), or when a
        # replica was captured; null if neither tells, and for __transaction_state
        "log_start_offset": "bigint",
        "covered": "boolean",
        **INTERVAL,
        "last_position": "bigint",  # the first offset after the known part of the piece
        "last_time": "timestamp",  # the newest in it by a broker's clock; null if clients set all of them
    },
    ("cluster", "partition_key", "from_position"),
    stays_open=True,
)

TRANSACTIONAL_IDS = Table(
    "silver.transactional_ids",
    "History of each transactional id, one row per record of __transaction_state (TransactionLogValue), "
    "from its first record to its tombstone. All state columns are null from a hole in the log to the "
    "next record.",
    {
        **_LOG,
        "transactional_id": "string",
        "status": "string",  # Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit, CompleteAbort, ...
        "producer_id": "bigint",
        "producer_epoch": "int",
        "previous_producer_id": "bigint",  # as recorded; -1 if the record has none
        "next_producer_id": "bigint",  # as recorded; -1 if the record has none
        # the epoch before the last bump that its owner requested, which KIP-360 would store (-1 after a fence
        # or a new instance); null if the log does not show who bumped
        "last_producer_epoch": "int",
        "coordinator_epoch": "int",  # leader epoch of the record's batch
        "transaction_version": "int",  # clientTransactionVersion; 0 if the record has none
        "transaction_timeout_ms": "int",
        "transaction_partitions": "array<string>",  # 'topic:partition', sorted; empty for none
        "started_at": "timestamp",  # of the open transaction; null for none
        # why the epoch or the producer id differs from the previous row: new_instance, client_bump,
        # retry (nothing changed), timeout, operator, end_txn; null if it does not, or if unknown, as of an
        # InitProducerId that may be a new instance's or an operator's
        "cause": "string",
        "caused_by_request_id": "string",  # of silver.producer_requests; null if no line shows it
        "caused_by_client_id": "string",
        "caused_by_connection": "string",
        **INTERVAL,
    },
    ("cluster", "partition_key", "transactional_id", "from_position"),
)

PRODUCER_STATES = Table(
    "silver.producer_states",
    "History of each producer in each partition to which it writes, one row per batch or marker, with the "
    "leader's ProducerStateEntry after it. All state columns are null if a hole hides the previous state.",
    {
        **_LOG,
        "producer_id": "bigint",
        "producer_epoch": "int",
        "first_sequence": "int",  # of the newest batch of this epoch; -1 if this epoch has none yet
        # of the newest batch of this epoch; -1 if this epoch has none yet, and if a group coordinator
        # appended it, which uses no sequences
        "last_sequence": "int",
        "last_offset": "bigint",  # base offset of the newest batch or marker: distinguishes two equal batches
        # of the last marker; -1 before the first; an operator's marker does not change it
        "coordinator_epoch": "int",
        "current_txn_first_offset": "bigint",  # -1 if no transaction is open
        "marker": "boolean",  # this row is a marker's
        "transactional": "boolean",
        # from the time of this batch or marker to that of the producer's next one here, or null; a leader
        # that hears nothing for producer.id.expiration.ms forgets the producer
        "silent_ms": "bigint",
        # why the epoch differs from the previous row: marker, local (an idempotent producer's own bump),
        # coordinator (a transactional producer's, see silver.transactional_ids); null if it does not
        "cause": "string",
        **INTERVAL,
    },
    ("cluster", "partition_key", "producer_id", "from_position"),
    handed_down_columns=(),
)

TRANSACTIONS = Table(
    "silver.transactions",
    "One row per transaction in its coordinator's log, from its first record: Ongoing, or the abort of a "
    "transaction that never began.",
    {
        **_LOG,
        "transactional_id": "string",
        "producer_id": "bigint",
        "producer_epoch": "int",  # of its writes
        "started_position": "bigint",
        "prepared_position": "bigint",
        "completed_position": "bigint",
        "started_at": "timestamp",
        "prepared_at": "timestamp",
        "completed_at": "timestamp",
        "outcome": "string",  # committed, aborted, open; null if a hole hides it
        # end_txn, timeout, new_instance, client_bump, operator; null if not aborted, or if unknown
        "abort_cause": "string",
        "transaction_version": "int",
        "transaction_timeout_ms": "int",
        "transaction_partitions": "array<string>",  # 'topic:partition', sorted
        "late": "boolean",  # open past its timeout when its coordinator's log is last known, or noted to end
    },
    ("cluster", "partition_key", "transactional_id", "started_position"),
    end_columns=("completed_at",),
)

UNLOGGED_ENDS = Table(
    "silver.unlogged_ends",
    "One row per committed transaction of which the request log has no EndTxn, although its coordinator has "
    "logged requests of the transactional id before and after it: lines are missing there.",
    {
        **_LOG,
        "transactional_id": "string",
        "producer_id": "bigint",
        "producer_epoch": "int",  # of the Prepare record
        "record_offset": "bigint",  # of the Prepare record
        "broker_id": "int",  # that wrote it
        "prepared_at": "timestamp",
    },
    ("cluster", "partition_key", "record_offset"),
    end_columns=("prepared_at",),
)

TRANSACTION_MARKERS = Table(
    "silver.transaction_markers",
    "One row per prepared transaction and partition in it, with the marker that is due there. The scope "
    "is the coordinator's log, at the position of the Prepare record.",
    {
        **_LOG,
        "marker_id": "string",  # digest of the transaction and the partition
        "transactional_id": "string",
        "producer_id": "bigint",
        "producer_epoch": "int",  # of the Prepare record
        "transaction_partition": "string",  # 'topic:partition'
        "due_type": "string",  # COMMIT, ABORT
        "completed": "boolean",  # the coordinator wrote Complete: every marker was acknowledged
        "found": "int",  # markers of the due type; null if the partition's log is unknown
        # how many pairs of a coordinator (by its epoch) and a leader of the partition wrote those; 1 if
        # operators sent all of them; null as above, and if a hole in the log may hide another marker
        "writers": "int",
        "wrong": "int",  # markers of the other type that ended this transaction there; null as above
        "coordinator_epoch": "int",  # of the Prepare record
        # of the first found marker that no operator sent; -1 if operators sent all of them; null without one,
        # and if an operator may have sent one that is out of order
        "marker_coordinator_epoch": "int",
        "marker_position": "bigint",
        "marker_at": "timestamp",
        # of the first of the wrong markers; by_operator: no coordinator sent it (null if that is not known),
        # and if so, who did
        "wrong_type": "string",
        "wrong_position": "bigint",
        "wrong_at": "timestamp",
        "wrong_by_operator": "boolean",
        "wrong_client_id": "string",
        "wrong_connection": "string",
        "wrong_first_offset": "bigint",  # of the transaction that it ended
        "wrong_last_offset": "bigint",
        "wrong_records": "bigint",
        # why found, coordinators, wrong or coordinator_epoch is null (fencepost/reasons.py)
        "unknown_reason": "string",
        "unknown_detail": "string",  # the same in words
        **INTERVAL,
    },
    ("cluster", "marker_id"),
)

PARTITION_TRANSACTIONS = Table(
    "silver.partition_transactions",
    "One row per transaction in a partition's log, from the first batch of a producer to the "
    "marker, or to the end of the log if the topic was deleted. The interval is [first_offset, "
    "ended_position).",
    {
        **_LOG,
        "partition_transaction_id": "string",  # digest of partition_key, producer_id, first_offset
        "producer_id": "bigint",
        "producer_epoch": "int",
        "transactional_id": "string",  # null if no coordinator's log has the producer id
        "first_offset": "bigint",
        "last_offset": "bigint",
        "batches": "bigint",
        "records": "bigint",
        "open": "boolean",  # no marker yet; null if a hole may hide one
        "aborted": "boolean",  # null if open or unknown
        # the coordinator's log, known beyond that time, has this transaction with this partition; for an open
        # one, it has one that is not completed and will end it, of this epoch or of a later one. Null if that
        # log is not known beyond that time
        "listed": "boolean",
        # what the coordinator had decided of an open one that it does not list any more: committed, aborted;
        # unknown if it may be one of several, or was only part of it; null if the coordinator never had it,
        # and if it is listed
        "coordinator_outcome": "string",
        # of an open one that it does not list any more: the coordinator had one of the epoch with this
        # partition when its log was deleted; else null
        "log_deleted": "boolean",
        "indexed": "boolean",  # an aborted one is in the .txnindex; null if no such index was captured
        "unindexed_broker_id": "int",  # the broker whose .txnindex lacks it; null if none does
        "marker_epoch": "int",
        "marker_coordinator_epoch": "int",
        "unknown_reason": "string",  # why listed is null (fencepost/reasons.py)
        "unknown_detail": "string",  # the same in words
        **INTERVAL,
    },
    ("cluster", "partition_transaction_id"),
    open_row_columns=("listed", "coordinator_outcome", "log_deleted"),
    explained_column="listed",
    stays_open=True,
)

PRODUCER_SNAPSHOTS = Table(
    "silver.producer_snapshots",
    "One row per .snapshot file of a replica and producer whose state it should have, with a comparison of "
    "the log and the file.",
    {
        **_LOG,
        "snapshot_id": "string",  # digest of partition_key, broker, snapshot offset and producer id
        "broker_id": "int",
        "snapshot_offset": "bigint",
        "producer_id": "bigint",
        # the log has the producer, and the snapshot has it, or it cannot have been silent for
        # producer.id.expiration.ms when the snapshot was taken; false if it must have been; null if neither
        # the log, a broker's clock, another producer in the snapshot nor its configuration shows it
        "due": "boolean",
        "present": "boolean",
        # epoch, last sequence and open transaction are those of the log; null if absent
        "agrees": "boolean",
        "file": "string",
        "unknown_reason": "string",  # why due is null (fencepost/reasons.py)
        "unknown_detail": "string",  # the same in words
        **INTERVAL,
    },
    ("cluster", "snapshot_id"),
    explained_column="due",
)

LOCAL_BUMPS = Table(
    "silver.local_bumps",
    "One row per partition and epoch to which a producer without a transactional id bumped itself after an "
    "earlier epoch in that partition (KIP-360). The interval is [first_offset, first_offset of the next "
    "one).",
    {
        **_LOG,
        "local_bump_id": "string",  # digest of partition_key, producer id and epoch
        "producer_id": "bigint",
        "producer_epoch": "int",
        "previous_epoch": "int",  # of its previous batch; null if a hole lies in between
        "first_offset": "bigint",
        "last_offset": "bigint",
        "batches": "bigint",
        "records": "bigint",
        # a batch of this epoch has the records of a batch of an earlier epoch of this producer, by checksum,
        # size and timestamps; null if such a batch may be missing, or built anew
        "written_twice": "boolean",
        "batches_again": "bigint",  # how many were found
        "records_again": "bigint",
        "again_offset": "bigint",  # of the first that was found; null for none
        "original_offset": "bigint",  # of the batch that had its records before
        **INTERVAL,
    },
    ("cluster", "local_bump_id"),
    handed_down_columns=(),
)

PRODUCER_REQUESTS = Table(
    "silver.producer_requests",
    "One row per request of a producer, of a coordinator, or of a broker for a producer, and "
    "transactional id and partition in it: INIT_PRODUCER_ID, ADD_PARTITIONS_TO_TXN, ADD_OFFSETS_TO_TXN, "
    "TXN_OFFSET_COMMIT, END_TXN, WRITE_TXN_MARKERS, PRODUCE, as the request log calls them; of OFFSET_FETCH, "
    "each partition whose offset a transaction held.",
    {
        "cluster": "string",
        "request_id": "string",  # digest of broker and request line
        "broker_id": "int",
        "api_key": "int",
        "api_name": "string",
        "api_version": "int",
        "correlation_id": "int",
        "client_id": "string",
        "connection": "string",
        "principal": "string",
        "software_name": "string",
        "software_version": "string",
        "transactional_id": "string",
        "producer_id": "bigint",  # in the request; -1 for none; null if the request has no such field
        "producer_epoch": "int",  # in the request; -1 for none; null if the request has no such field
        "group_id": "string",  # AddOffsetsToTxn, TxnOffsetCommit, OffsetFetch
        "committed_partitions": "array<string>",  # TxnOffsetCommit: 'topic:partition' of each accepted offset
        # the partition that is written, marked, added or asked about; for AddOffsetsToTxn and TxnOffsetCommit
        # the partition with the group's offsets
        "topic": "string",
        "partition": "int",
        "transaction_timeout_ms": "int",  # InitProducerId
        "verify_only": "boolean",
        "result": "string",  # EndTxn and WriteTxnMarkers: COMMIT, ABORT
        "coordinator_epoch": "int",  # WriteTxnMarkers
        "base_offset": "bigint",  # Produce, as answered
        "log_start_offset": "bigint",  # Produce, as answered: where the log began; -1 if not known
        "returned_producer_id": "bigint",
        "returned_producer_epoch": "int",
        "error": "string",  # Kafka's name, NONE if accepted; null without an answer
        "requested_at": "timestamp",
        "responded_at": "timestamp",
        "file": "string",
        "position": "bigint",
    },
    ("cluster", "request_id", "transactional_id", "topic", "partition"),
    end_columns=("responded_at",),
)

PRODUCER_FENCINGS = Table(
    "silver.producer_fencings",
    "One row per request that was refused because its producer epoch (or producer id) is not current.",
    {
        "cluster": "string",
        "request_id": "string",
        "transactional_id": "string",  # null for an idempotent producer
        "producer_id": "bigint",  # the victim's; null if neither request nor log shows it
        "victim_epoch": "int",
        "current_producer_id": "bigint",
        "current_epoch": "int",
        "client_id": "string",
        "connection": "string",
        "api_name": "string",
        "error": "string",
        "occurred_at": "timestamp",
        # what raised the epoch above the victim's, as in silver.transactional_ids; expired (the coordinator
        # forgot the idle id); removed (a tombstone while its transaction was open); log_deleted (the
        # coordinator's log, which had the producer id, was deleted); unassigned_epoch (nobody had been given
        # the epoch yet); null if unknown
        "cause": "string",
        "caused_by_client_id": "string",
        "caused_by_connection": "string",
        "fenced_position": "bigint",  # of the record that raised it, in the coordinator's log
        "fenced_at": "timestamp",  # null if the coordinator's clock was later than occurred_at
        # the same, by the clock that dated occurred_at; null if another broker's clock dated it
        "caused_at": "timestamp",
        # JSON list of {topic, partition, first_offset, records, outcome}: the content of the
        # victim's transaction when it was fenced; '[]' for none; null if unknown
        "in_flight": "string",
        "file": "string",
        "position": "bigint",
    },
    ("cluster", "request_id", "transactional_id"),
    end_columns=("occurred_at",),
)

_REQUEST = {
    "request_id": "string",
    "broker_id": "int",
    "api_version": "int",
    "client_id": "string",
    "connection": "string",
    "correlation_id": "int",
    "transactional_id": "string",
}
"""Which request it is, of a client with a transactional id."""
_DECIDED = {
    "requested_at": "timestamp",
    "responded_at": "timestamp",
    "candidates": "int",  # states in which the request may have been handled
    "unknown_reason": "string",  # a word of fencepost.reasons; null if all of every state is known
    "unknown_detail": "string",  # the same in words
    "file": "string",
    "position": "bigint",
}
"""When a coordinator decided about the request, what it may have known then, and the line that says so."""

INIT_PRODUCER_IDS = Table(
    "silver.init_producer_ids",
    "One row per InitProducerId request with a transactional id that a coordinator answered.",
    {
        "cluster": "string",
        **_REQUEST,
        "provided_id": "bigint",  # -1 for none
        "provided_epoch": "int",  # -1 for none
        "error": "string",
        "returned_id": "bigint",
        "returned_epoch": "int",
        "record_offset": "bigint",  # of the record that an accepted one wrote; null if refused or not found
        **_DECIDED,
    },
    ("cluster", "request_id"),
    end_columns=("responded_at",),
)

INIT_PRODUCER_ID_STATES = Table(
    "silver.init_producer_id_states",
    "The states in which an InitProducerId may have been handled: one if it was accepted, all of its window "
    "if it was refused. The scope is the coordinator's log.",
    {
        **_LOG,
        "request_id": "string",
        "candidate": "int",
        "transactional_id": "string",
        "provided_id": "bigint",
        "provided_epoch": "int",
        "granted": "boolean",  # answered NONE
        "fenced": "boolean",  # answered PRODUCER_FENCED or INVALID_PRODUCER_EPOCH
        "busy": "boolean",  # answered CONCURRENT_TRANSACTIONS
        "failed": "boolean",  # answered UNKNOWN_SERVER_ERROR
        "returned_id": "bigint",  # -1 unless granted
        "returned_epoch": "int",
        **_MET,
        **INTERVAL,
    },
    ("cluster", "request_id", "candidate"),
    ends_with=(INIT_PRODUCER_IDS, "request_id"),
)

END_TXNS = Table(
    "silver.end_txns",
    "One row per EndTxn request that a coordinator answered.",
    {
        "cluster": "string",
        **_REQUEST,
        "provided_id": "bigint",
        "provided_epoch": "int",
        "commit": "boolean",
        "error": "string",
        "returned_id": "bigint",  # from version 5 on; null before, and without an answer
        "returned_epoch": "int",
        # of an accepted one: the client that was given provided_id and provided_epoch; null if no line
        # shows it
        "given_client_id": "string",
        "given_connection": "string",
        # of an accepted one: that was another client; null also if one client id has two connections whose
        # correlation ids do not go on from one to the other
        "by_another": "boolean",
        "record_offset": "bigint",  # of the Prepare record that it wrote; null for none or unknown
        **_DECIDED,
    },
    ("cluster", "request_id"),
    end_columns=("responded_at",),
)

END_TXN_STATES = Table(
    "silver.end_txn_states",
    "The states in which an EndTxn may have been handled: one if its record was found, or else all of its "
    "window. The scope is the coordinator's log.",
    {
        **_LOG,
        "request_id": "string",
        "candidate": "int",
        "transactional_id": "string",
        "api_version": "int",
        "commit": "boolean",
        "provided_id": "bigint",
        "provided_epoch": "int",
        "error": "string",
        "returned_id": "bigint",
        "returned_epoch": "int",
        **_MET,
        "by_another": "boolean",  # as in silver.end_txns
        **INTERVAL,
    },
    ("cluster", "request_id", "candidate"),
    ends_with=(END_TXNS, "request_id"),
)

ADD_PARTITIONS_TO_TXNS = Table(
    "silver.add_partitions_to_txns",
    "One row per partition that an AddPartitionsToTxn request adds to a transaction, or verifies.",
    {
        "cluster": "string",
        "addition_id": "string",  # digest of request, transactional id, topic and partition
        **_REQUEST,
        "transaction_partition": "string",  # 'topic:partition'
        "verify_only": "boolean",
        "provided_id": "bigint",
        "provided_epoch": "int",
        "error": "string",
        "record_offset": "bigint",  # of the Ongoing record that it wrote; null for none or unknown
        **_DECIDED,
    },
    ("cluster", "addition_id"),
    end_columns=("responded_at",),
)

ADD_PARTITIONS_TO_TXN_STATES = Table(
    "silver.add_partitions_to_txn_states",
    "The states in which the addition of a partition may have been handled: one if its record was found, or "
    "else all of its window. The scope is the coordinator's log.",
    {
        **_LOG,
        "addition_id": "string",
        "request_id": "string",
        "candidate": "int",
        "transactional_id": "string",
        "transaction_partition": "string",
        "api_version": "int",
        "verify_only": "boolean",
        "provided_id": "bigint",
        "provided_epoch": "int",
        "error": "string",
        **_MET,
        "listed": "boolean",  # the transaction has the partition
        **INTERVAL,
    },
    ("cluster", "addition_id", "candidate"),
    ends_with=(ADD_PARTITIONS_TO_TXNS, "addition_id"),
)

CLIENT_EVENTS = Table(
    "silver.client_events",
    "The lines about epochs in producers' own logs "
    "(org.apache.kafka.clients.producer.internals.TransactionManager).",
    {
        "cluster": "string",
        "client": "string",  # as configured
        "client_id": "string",
        "transactional_id": "string",
        "event": "string",  # producer_id_set, abortable_error, fatal_error, epoch_bumped, ...
        "producer_id": "bigint",
        "producer_epoch": "int",
        "error": "string",  # Kafka's name or the exception's class
        "message": "string",
        "logged_at": "timestamp",  # the client's clock
        "file": "string",
        "position": "bigint",
    },
    ("cluster", "file", "position"),
    end_columns=("logged_at",),
)

LOG_STATES = Table(
    "states.partition_logs",
    "The state of each partition's log.",
    {
        "cluster": "string",
        "topic": "string",
        "topic_id": "string",
        "partition": "int",
        "state": "binary",  # state.dump_log
    },
    ("cluster", "topic", "topic_id", "partition"),
)

ID_STATES = Table(
    "states.transactional_ids",
    "The state of each transactional id.",
    {
        "cluster": "string",
        "partition": "int",
        "partition_key": "string",
        "transactional_id": "string",
        "state": "binary",  # state.dump_id
    },
    ("cluster", "partition_key", "transactional_id"),
)

COUNTS = Table(
    "states.transaction_counts",
    "How many transactions of a current epoch there were: before transaction version 2 producers keep an "
    "epoch for days. Those of coordinators and of partitions are counted to offsets of their own logs.",
    {
        "cluster": "string",
        "producer_id": "bigint",
        "name": "string",  # 'topic:partition'
        "producer_epoch": "int",  # null for markers that may have ended no transaction
        # of the Prepare record, and of the markers; null for transactions without one
        "prepared_epoch": "int",
        "due_type": "string",  # of the Prepare record: COMMIT, ABORT; null for markers
        "completed_ms": "bigint",  # the newest time of a Complete record among them
        "listed": "bigint",  # transactions with the partition in the coordinator's log
        "ended": "bigint",  # transactions in the partition's log that a coordinator's marker ended
        "markers": "bigint",  # markers in the partition's log, without those of operators
        # transactions in the partition's log that were ended before their coordinator prepared them
        "interrupted": "bigint",
    },
    ("cluster", "producer_id", "name", "producer_epoch", "prepared_epoch", "due_type"),
)

TRANSACTION_CLOCKS = clock_table("silver.transaction_clocks", "__transaction_state")

TABLES = (
    LOG_COVERAGE, TRANSACTIONAL_IDS, PRODUCER_STATES, TRANSACTIONS, TRANSACTION_MARKERS,
    PARTITION_TRANSACTIONS, PRODUCER_SNAPSHOTS, LOCAL_BUMPS, PRODUCER_REQUESTS, PRODUCER_FENCINGS,
    INIT_PRODUCER_IDS, INIT_PRODUCER_ID_STATES, END_TXNS, END_TXN_STATES, ADD_PARTITIONS_TO_TXNS,
    ADD_PARTITIONS_TO_TXN_STATES, CLIENT_EVENTS, TRANSACTION_CLOCKS,
    UNLOGGED_ENDS,
)  # fmt: skip

STATES = (LOG_STATES, ID_STATES, COUNTS)
"""What a rebuild begins with (``state``)."""
