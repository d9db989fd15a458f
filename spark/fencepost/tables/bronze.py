"""The tables of bronze: the logs of brokers and clients as they were written."""

from __future__ import annotations

from fencepost.tables.names import Names
from fencepost.tables.table import Table

_PROVENANCE = {"broker_id": "int", "file": "string", "position": "bigint"}

# A log in text is rolled while it is read run by run: ``file`` is its name when a row was taken.
_BEGINS = {"file_begins": "string"}  # digest of the line of its first entry: the same under any name
_PLACE_IN_TEXT = {"file": "string", "position": "bigint", **_BEGINS}

_BATCH_HEADER = {
    "topic": "string",
    "topic_id": "string",
    "partition": "int",
    "leader_epoch": "int",
    "base_offset": "bigint",
    "last_offset": "bigint",
}

# Never partitioned by topic: a cluster of ten thousand would write as many files in each run, all at once.
BATCHES = Table(
    "bronze.batches",
    "One row per record batch (header only), once per cluster however many replicas held it.",
    {
        "cluster": "string",
        **_BATCH_HEADER,
        "record_count": "int",
        "size": "int",
        "crc": "bigint",  # CRC-32C of all that follows it, as the batch says
        "attributes": "int",
        "producer_id": "bigint",
        "producer_epoch": "int",
        "base_sequence": "int",
        "base_timestamp_ms": "bigint",
        "max_timestamp_ms": "bigint",
        "is_transactional": "boolean",
        "is_control": "boolean",
        **_PROVENANCE,
    },
    ("cluster", "topic", "topic_id", "partition", "base_offset", "leader_epoch"),
    ("cluster",),
    time_column="max_timestamp_ms",
    offset_column="base_offset",
)

RECORDS = Table(
    "bronze.records",
    "One row per record of the internal topics, key and value as written (a large value of "
    "__consumer_offsets compressed); of other topics only the control records: what applications wrote is "
    "never read.",
    {
        "cluster": "string",
        **_BATCH_HEADER,
        "record_offset": "bigint",
        "timestamp_ms": "bigint",
        "producer_id": "bigint",
        "producer_epoch": "int",
        "is_transactional": "boolean",
        "is_control": "boolean",
        "record_type": "int",  # key type of __consumer_offsets, apiKey of __cluster_metadata, control type
        "record_name": "string",  # null when the type is unknown
        "value_version": "int",  # null for a tombstone
        "decode_status": "string",  # known, control, unknown_type, unknown_version, malformed
        "key": "binary",
        "value": "binary",
        # bytes of the value as written, where zstd keeps it; null: it is as written (formats/large_values.py)
        "value_size": "int",
        **_PROVENANCE,
    },
    ("cluster", "topic", "topic_id", "partition", "record_offset", "leader_epoch"),
    ("cluster",),
    time_column="timestamp_ms",
    offset_column="base_offset",
    names={"key": Names.RECORD, "value": Names.RECORD},
)

REQUESTS = Table(
    "bronze.requests",
    "One row per completed request that a protocol wants to know of, from the brokers' request logs.",
    {
        "cluster": "string",
        "logged_at_ms": "bigint",  # completion, in UTC
        "total_time_ms": "double",
        "api_key": "int",
        "api_name": "string",
        "api_version": "int",
        "correlation_id": "int",
        "client_id": "string",
        "connection": "string",
        "principal": "string",
        "listener": "string",
        "software_name": "string",
        "software_version": "string",
        "request": "string",  # JSON as logged
        # JSON as logged; but of METADATA and DESCRIBE_TOPIC_PARTITIONS ``topics`` is a key of
        # bronze.topic_lists
        "response": "string",
        "line_digest": "string",  # sha256 of the line: the same line in a rotated file counts once
        **_PROVENANCE,
        **_BEGINS,
    },
    ("cluster", "broker_id", "line_digest"),
    ("cluster",),
    names={
        "client_id": Names.CLIENT,
        "connection": Names.CONNECTION,
        "principal": Names.PRINCIPAL,
        "request": Names.API,
        "response": Names.API,
        "line_digest": Names.DIGEST,
    },
)

REQUEST_IDS = Table(
    "bronze.request_ids",
    "Which correlation ids the lines of request logs had, of all APIs: one row per connection and piece of a "
    "log; a line may count in two of them. Fetches of replicas and what brokers forwarded do not.",
    {
        "cluster": "string",
        "broker_id": "int",
        "client_id": "string",
        "connection": "string",
        "software_name": "string",  # null where no line of the piece names it
        "correlation_ids": "string",  # ranges in order: 0..7 9 12..13
        "first_logged_at_ms": "bigint",  # of these lines, in UTC
        "last_logged_at_ms": "bigint",
        "ids_digest": "string",  # of client id, connection, times and ids
        "file": "string",
    },
    ("cluster", "broker_id", "ids_digest"),
    ("cluster",),
    time_column="first_logged_at_ms",
    names={"client_id": Names.CLIENT, "connection": Names.CONNECTION, "ids_digest": Names.DIGEST},
)

TOPIC_LISTS = Table(
    "bronze.topic_lists",
    "What answers about topics said, each list of topics once, whoever was told it and how often.",
    {
        "cluster": "string",
        "topics_digest": "string",  # stands in the response in place of its topics
        "topic_digests": "array<string>",  # keys of bronze.topic_answers, in the answer's order
        **_PROVENANCE,  # of a line that had it
    },
    ("cluster", "topics_digest"),
    ("cluster",),
)

TOPIC_ANSWERS = Table(
    "bronze.topic_answers",
    "What answers about topics said of one topic, each text once.",
    {
        "cluster": "string",
        "topic_digest": "string",
        "topic": "string",  # JSON as logged: MetadataResponseTopic, or DescribeTopicPartitionsResponseTopic
        **_PROVENANCE,  # of a line that had it
    },
    ("cluster", "topic_digest"),
    ("cluster",),
)

METADATA_SNAPSHOTS = Table(
    "bronze.metadata_snapshots",
    "One row per record of a snapshot of the metadata log (.checkpoint): the cluster's state before "
    "snapshot_offset. Whole snapshots only, once per cluster however many replicas have the same.",
    {
        "cluster": "string",
        "snapshot_offset": "bigint",  # with the next, the file's name: OffsetAndEpoch
        "snapshot_epoch": "int",
        "content_digest": "string",  # of its time and records: replicas may write them in another order
        "record_offset": "bigint",  # in the snapshot, from 0
        "timestamp_ms": "bigint",  # LastContainedLogTimestamp: the newest in the log before snapshot_offset
        "is_control": "boolean",  # header, footer, KRaft's version and voters
        "record_type": "int",
        "record_name": "string",
        "value_version": "int",
        "decode_status": "string",
        "key": "binary",
        "value": "binary",
        **_PROVENANCE,
    },
    ("cluster", "snapshot_offset", "snapshot_epoch", "content_digest", "record_offset"),
    ("cluster",),
    offset_column="snapshot_offset",
    names={"content_digest": Names.DIGEST, "key": Names.RECORD, "value": Names.RECORD},
)

LOG_DIRS = Table(
    "bronze.log_dirs",
    "One row per content of each log directory's meta.properties (Kafka's MetaProperties).",
    {
        "cluster": "string",
        "broker_id": "int",
        # MetaPropertiesVersion: 0 if the broker keeps its metadata in ZooKeeper, 1 with KRaft; null: another
        "version": "int",
        "cluster_id": "string",
        "directory_id": "string",  # null before 3.7, and with ZooKeeper
        "file": "string",
        "captured_at": "timestamp",  # when it was first read
    },
    ("cluster", "broker_id", "file", "version", "cluster_id", "directory_id"),
    ("cluster",),
)

BROKER_SETTINGS = Table(
    "bronze.broker_settings",
    "One row per entry of a server.log in which a broker logs its whole configuration (KafkaConfig values): "
    "when it starts, and after a dynamic change. Only a few settings are kept, none of them a secret.",
    {
        "cluster": "string",
        "broker_id": "int",
        "settings": "string",  # as JSON: those of capture.server_logs.SETTINGS that the broker has
        "logged_at_ms": "bigint",  # the broker's clock, in UTC; null of a log that writes no date
        "line_digest": "string",  # of the whole entry: the same entry in a rotated file counts once
        **_PLACE_IN_TEXT,
    },
    ("cluster", "broker_id", "line_digest", "position"),
    ("cluster",),
    names={"settings": Names.NONE, "line_digest": Names.DIGEST},
)

PRODUCER_SNAPSHOT_ENTRIES = Table(
    "bronze.producer_snapshots",
    "One row per producer in a .snapshot file (ProducerSnapshot.json); one row without a producer for "
    "an empty one.",
    {
        "cluster": "string",
        "topic": "string",
        "topic_id": "string",
        "partition": "int",
        "snapshot_offset": "bigint",  # the file's name: the state before this offset
        "producer_id": "bigint",
        "producer_epoch": "int",
        "last_sequence": "int",
        "last_offset": "bigint",
        "offset_delta": "int",
        "timestamp_ms": "bigint",
        "coordinator_epoch": "int",
        "current_txn_first_offset": "bigint",
        **_PROVENANCE,
    },
    ("cluster", "broker_id", "topic", "topic_id", "partition", "snapshot_offset", "producer_id"),
    ("cluster",),
    offset_column="snapshot_offset",
)

ABORTED_TRANSACTIONS = Table(
    "bronze.aborted_transactions",
    "One row per entry of a .txnindex file (AbortedTxn), and one without a producer for an empty one.",
    {
        "cluster": "string",
        "topic": "string",
        "topic_id": "string",
        "partition": "int",
        "segment_offset": "bigint",  # the file's name
        "producer_id": "bigint",
        "first_offset": "bigint",
        "last_offset": "bigint",
        "last_stable_offset": "bigint",
        **_PROVENANCE,
    },
    (
        "cluster",
        "broker_id",
        "topic",
        "topic_id",
        "partition",
        "segment_offset",
        "producer_id",
        "first_offset",
    ),
    ("cluster",),
    offset_column="last_offset",
)

CLIENT_LINES = Table(
    "bronze.client_lines",
    "One row per line of a client's log that says something about its producer's epoch.",
    {
        "cluster": "string",
        "client": "string",  # as configured
        "client_id": "string",
        "transactional_id": "string",
        "event": "string",
        "producer_id": "bigint",
        "producer_epoch": "int",
        "error": "string",
        "message": "string",
        "logged_at_ms": "bigint",  # the client's clock, in UTC
        "line_digest": "string",
        "file": "string",
        "position": "bigint",
        **_BEGINS,
    },
    ("cluster", "client", "line_digest", "position"),
    ("cluster",),
    names={
        "client_id": Names.CLIENT,
        "transactional_id": Names.BEHIND_CLIENT,
        "message": Names.MESSAGE,
        "line_digest": Names.DIGEST,
    },
)

FILES = Table(
    "bronze.files",
    "Append-only progress: how far each file had been read when a run had safely stored its rows.",
    {
        "cluster": "string",
        "broker_id": "int",
        "kind": "string",  # a capture.kinds.Kind's name: segment, producer_snapshot, request_log, ...
        "file": "string",
        # of the first and last bytes that were read (of data topics: of headers): knows a renamed file
        "head_digest": "string",
        "size": "bigint",  # in bytes on disk
        "consumed_to": "bigint",  # in uncompressed bytes
        "entries": "bigint",  # batches or lines taken
        "skipped": "bigint",  # lines that no protocol wants
        # lines and batches among the entries that are left out: evidence of their time was deleted before
        "too_late": "bigint",
        "next_offset": "bigint",  # of segments: the one after the last offset that was read
        **_BEGINS,  # of logs in text
        "topic_id": "string",  # with which the rows of a partition's file were taken: "" without one
        "timezone": "string",  # in which the local times of a log in text were read
        "run_id": "string",
        "captured_at": "timestamp",
    },
    ("cluster", "broker_id", "kind", "file", "captured_at"),
)

CLEANED = Table(
    "bronze.cleaned",
    "Append-only: how far the log cleaner had been when a run had read the segments.",
    {
        "cluster": "string",
        "broker_id": "int",
        "topic": "string",
        "topic_id": "string",  # of the partition's folder at that time
        "partition": "int",
        "cleaned_to": "bigint",  # the first offset that no compaction has seen
        "file": "string",
        "run_id": "string",
        "captured_at": "timestamp",
    },
    ("cluster", "broker_id", "topic", "topic_id", "partition", "cleaned_to"),
    offset_column="cleaned_to",
)

LOG_ENDS = Table(
    "bronze.log_ends",
    "One row per partition of a broker that was shut down cleanly: where its log ended.",
    {
        "cluster": "string",
        "broker_id": "int",
        "broker_epoch": "bigint",  # of the start that this shutdown ended
        "topic": "string",
        "partition": "int",
        "log_end_offset": "bigint",  # the first offset that is not in it
        "file": "string",
        "run_id": "string",
        "captured_at": "timestamp",
    },
    ("cluster", "broker_id", "broker_epoch", "topic", "partition"),
    offset_column="log_end_offset",
)

HIGH_WATERMARKS = Table(
    "bronze.high_watermarks",
    "One row per replica of a partition of Kafka's own topics: the newest high watermark that its broker "
    "noted, and when.",
    {
        "cluster": "string",
        "broker_id": "int",
        "topic": "string",
        "topic_id": "string",  # of the partition's folder at that time
        "partition": "int",
        "high_watermark": "bigint",
        "written_at": "timestamp",  # the checkpoint, by its file's time
        "segment_written_at": "timestamp",  # the log's newest segment, by its file's time
        "file": "string",
        "run_id": "string",
        "captured_at": "timestamp",
    },
    ("cluster", "broker_id", "topic", "topic_id", "partition"),
)

LOG_STARTS = Table(
    "bronze.log_starts",
    "Append-only: where a partition's log began, if that was not where its first segment begins: records "
    "before it had been deleted.",
    {
        "cluster": "string",
        "broker_id": "int",
        "topic": "string",
        "topic_id": "string",  # of the partition's folder at that time
        "partition": "int",
        "log_start_offset": "bigint",
        "file": "string",
        "run_id": "string",
        "captured_at": "timestamp",
    },
    ("cluster", "broker_id", "topic", "topic_id", "partition", "log_start_offset"),
    offset_column="log_start_offset",
)

BORDERS = Table(
    "bronze.borders",
    "From where on the lake keeps evidence that maintenance deletes by its age: one row per cluster for the "
    "lines of its request logs, and one per log of a topic of applications. What is before is deleted, or is "
    "about to be.",
    {
        "cluster": "string",
        "topic": "string",  # null, as the next two: of request logs
        "topic_id": "string",
        "partition": "int",
        "since_ms": "bigint",  # the begin of a chapter
        "since_offset": "bigint",  # of a log: the first offset that is kept; null: of request logs
    },
    ("cluster", "topic", "topic_id", "partition"),
    ("cluster",),
)

QUARANTINE = Table(
    "bronze.quarantine",
    "Evidence that could not be read: set aside, counted, with file and position.",
    {
        "cluster": "string",
        "broker_id": "int",
        "kind": "string",
        "file": "string",
        "position": "bigint",
        "length": "bigint",
        # torn_tail, bad_crc, out_of_order, truncated, bad_magic, bad_record, bad_line, unreadable, missing,
        # no_requests (of a broker's request logs, or without a broker of all), other_cluster,
        # other_broker (of a request log), contradiction (of a segment and another replica)
        "reason": "string",
        "detail": "string",  # a sentence: what it is and what to do
        "sample": "binary",  # at most 256 bytes
        **_BEGINS,  # of logs in text
        "run_id": "string",
        "captured_at": "timestamp",
    },
    ("cluster", "broker_id", "kind", "file", "file_begins", "position", "reason"),
    names={"reason": Names.NONE, "detail": Names.DETAIL, "sample": Names.SAMPLE},
)
