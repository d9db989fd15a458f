"""Every table of the lake: its name, columns and key. The one contract between the layers.

Data flows one way: bronze (what was written), silver (what was believed, from when to when),
verdicts (what the specification says of it), marts (built by dbt, not listed here).

Conventions shared by every table:

* ``cluster`` is the configured name of the Kafka cluster.
* ``*_position`` are offsets in the coordinator's partition of ``__consumer_offsets``. A history row is true
  on the half-open range ``[from_position, to_position)``; ``to_position`` is null while it is still true.
  ``from_time``/``to_time`` are the coordinator's record timestamps at those positions.
* A null value in a state column means *unknown* (missing evidence), never zero and never "none".
* Times are Spark ``timestamp`` in UTC; columns ending in ``_ms`` are milliseconds since the epoch.
* ``topic_id`` is Kafka's text form of the uuid (url-safe base64, no padding).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """One table: ``name`` (``schema.table``), ``columns`` (name -> Spark DDL type), ``key`` (grain)."""

    name: str
    doc: str
    columns: dict[str, str]
    key: tuple[str, ...]
    partitioned_by: tuple[str, ...] = ()

    @property
    def ddl(self) -> str:
        """The columns as a Spark DDL schema string."""
        return ", ".join(f"`{name}` {kind}" for name, kind in self.columns.items())


_PROVENANCE = {"broker_id": "int", "file": "string", "position": "bigint"}

_BATCH_HEADER = {
    "topic": "string",
    "topic_id": "string",
    "partition": "int",
    "leader_epoch": "int",
    "base_offset": "bigint",
    "last_offset": "bigint",
}

_INTERVAL = {
    "from_position": "bigint",
    "to_position": "bigint",
    "from_time": "timestamp",
    "to_time": "timestamp",
}

_GROUP = {"cluster": "string", "group_id": "string", "life": "int"}

BATCHES = Table(
    "bronze.batches",
    "One row per record batch (header only), once per cluster however many replicas held it.",
    {
        "cluster": "string",
        **_BATCH_HEADER,
        "record_count": "int",
        "size": "int",
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
    ("cluster", "topic"),
)

RECORDS = Table(
    "bronze.records",
    "One row per record of the internal topics, key and value as written.",
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
        **_PROVENANCE,
    },
    ("cluster", "topic", "topic_id", "partition", "record_offset", "leader_epoch"),
    ("cluster", "topic"),
)

REQUESTS = Table(
    "bronze.requests",
    "One row per completed request of an API that carries an epoch, from the brokers' request logs.",
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
        "response": "string",  # JSON as logged
        "line_digest": "string",  # sha256 of the line: the same line in a rotated file counts once
        **_PROVENANCE,
    },
    ("cluster", "broker_id", "line_digest"),
    ("cluster",),
)

FILES = Table(
    "bronze.files",
    "Append-only progress: how far each file had been read when a run had safely stored its rows.",
    {
        "cluster": "string",
        "broker_id": "int",
        "kind": "string",  # segment, request_log
        "file": "string",
        "head_digest": "string",  # of the first and last bytes that were read: knows a file that was renamed
        "size": "bigint",  # in bytes on disk
        "consumed_to": "bigint",  # in uncompressed bytes
        "entries": "bigint",  # batches or lines taken
        "skipped": "bigint",  # lines of APIs without epochs
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
        "partition": "int",
        "cleaned_to": "bigint",  # the first offset that no compaction has seen
        "file": "string",
        "run_id": "string",
        "captured_at": "timestamp",
    },
    ("cluster", "broker_id", "topic", "partition", "cleaned_to"),
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
        # torn_tail, bad_crc, truncated, bad_magic, bad_record, bad_line, unreadable, missing
        "reason": "string",
        "detail": "string",  # a sentence: what it is and what to do
        "sample": "binary",  # at most 256 bytes
        "run_id": "string",
        "captured_at": "timestamp",
    },
    ("cluster", "broker_id", "kind", "file", "position", "reason"),
)

GROUPS = Table(
    "silver.consumer_groups",
    "History of each group's own epochs, at batch boundaries.",
    {
        **_GROUP,
        "coordinator_partition": "int",
        "group_type": "string",  # consumer, classic, streams, share, simple (only commits were ever seen)
        "group_epoch": "int",
        "target_assignment_epoch": "int",
        **_INTERVAL,
    },
    ("cluster", "group_id", "life", "from_position"),
)

MEMBERS = Table(
    "silver.group_members",
    "History of each member: its epochs, with the group's beside them so that an epoch rule is one scan. "
    "A classic member's epoch is the generation.",
    {
        **_GROUP,
        "coordinator_partition": "int",
        "member_id": "string",
        "client_id": "string",
        "instance_id": "string",
        "protocol": "string",  # what the member speaks: classic, consumer, streams, share
        "state": "string",  # Kafka's MemberState of its protocol; STABLE in classic groups; UNKNOWN
        "member_epoch": "int",
        "previous_member_epoch": "int",
        "revocation_epoch": "int",
        "group_epoch": "int",
        "target_assignment_epoch": "int",
        **_INTERVAL,
    },
    ("cluster", "group_id", "life", "member_id", "from_position"),
)

OWNED_PARTITIONS = Table(
    "silver.owned_partitions",
    "History of ownership: a partition is owned while assigned or pending revocation. In a streams group the "
    "active tasks are owned, which carry the partitions of their subtopology's source topics.",
    {
        **_GROUP,
        "coordinator_partition": "int",
        "member_id": "string",
        "topic": "string",  # null for a task, as topic_id
        "topic_id": "string",
        "subtopology_id": "string",  # of a task; null otherwise
        "partition": "int",
        # one column to join on: '<topic_id>:<partition>' ('name/<topic>:<partition>' where a classic group's
        # topic has no known id), 'task/<subtopology_id>:<partition>' of a task
        "partition_key": "string",
        "pending_revocation": "boolean",
        "assignment_epoch": "int",  # as shipped; falls back to the member epoch where the record carries none
        "member_epoch": "int",
        "owned_since": "bigint",  # from_position of the first row of this uninterrupted ownership
        **_INTERVAL,
    },
    ("cluster", "group_id", "life", "member_id", "partition_key", "from_position"),
)

REVOKED_PARTITIONS = Table(
    "silver.revoked_partitions",
    "History of the seed's partition-level revocation epoch, from the first one until the member leaves.",
    {
        **_GROUP,
        "coordinator_partition": "int",
        "member_id": "string",
        "partition_key": "string",
        "partition_revocation_epoch": "int",
        "revocation_epoch": "int",  # the member's, beside it
        **_INTERVAL,
    },
    ("cluster", "group_id", "life", "member_id", "partition_key", "from_position"),
)

COVERAGE = Table(
    "silver.coverage",
    "Each group's extent cut into pieces that are wholly known (no offset missing, beginning seen) and not.",
    {**_GROUP, "coordinator_partition": "int", "covered": "boolean", **_INTERVAL},
    ("cluster", "group_id", "life", "from_position"),
)

COMMITS = Table(
    "silver.offset_commits",
    "One row per commit request and partition, with the broker's answer and where in the log it was decided.",
    {
        "cluster": "string",
        "commit_id": "string",  # digest of broker, request line, topic and partition
        "request_id": "string",  # digest of broker and request line
        "broker_id": "int",
        "group_id": "string",
        "group_type": "string",  # as in silver.consumer_groups, at the decision; null when not known
        "committer": "string",  # member, administrator, simple_consumer, producer (without member)
        "member_id": "string",
        "client_id": "string",
        "correlation_id": "int",
        "api_key": "int",
        "api_version": "int",
        "topic": "string",
        "topic_id": "string",
        "partition": "int",
        "partition_key": "string",
        "committed_offset": "bigint",
        "client_epoch": "int",
        "is_transactional": "boolean",
        "transactional_id": "string",
        "producer_id": "bigint",
        "producer_epoch": "int",
        "requested_at": "timestamp",
        "responded_at": "timestamp",
        "broker_error": "string",  # Kafka's name, NONE when accepted
        "record_offset": "bigint",  # of the commit's own record; null when refused or not found
        # of the transaction, refused commits' too: pending, committed, aborted; null when not known
        "transaction_outcome": "string",
        "transaction_ended_position": "bigint",  # of the marker in the coordinator's log
        "transaction_ended_at": "timestamp",
        # committed, pending, aborted, skipped (the stored offset was newer when the transaction committed) or
        # replaced (by a later commit of the same transaction); null when refused or not known
        "outcome": "string",
        "offset_before": "bigint",  # what was stored when this was decided; null for none or unknown
        "candidates": "int",  # states the request may have met
        "unknown_reason": "string",  # why no state could be found; null when one was
        "file": "string",
        "position": "bigint",
    },
    ("cluster", "commit_id"),
)

COMMIT_STATES = Table(
    "silver.offset_commit_states",
    "The states a commit may have met: one for an accepted commit, all of its window for a refused one. "
    "These columns are the fields of the specification's commit record.",
    {
        "cluster": "string",
        "group_id": "string",
        "life": "int",
        "request_id": "string",
        "commit_id": "string",
        "candidate": "int",
        "member_id": "string",
        "partition_key": "string",
        "client_epoch": "int",
        "accepted": "boolean",
        "fenced": "boolean",  # refused by a fencing rule; neither when another error came first
        "transactional": "boolean",
        "protocol": "string",  # of the group: classic, consumer, streams; null when it has or had no members
        # generation (classic groups), strict or assignment_epoch: what this broker's version implements
        "rule": "string",
        "rebalancing": "boolean",  # a classic group that has a new generation and no assignment for it yet
        "unfenced": "boolean",  # negative epoch to an empty group: accepted by design
        "member_known": "boolean",
        "member_epoch": "int",
        "revocation_epoch": "int",
        "partition_revocation_epoch": "int",  # 0 when never revoked from this member
        # -1 when the member does not own the partition; derived where a strict broker recorded none
        "assignment_epoch": "int",
        "owned_at_client_epoch": "boolean",
        "uninterrupted": "boolean",  # owned without a break from the client epoch until now
        "reassigned_since": "boolean",  # another member owned it since
        "owned_by_self": "boolean",
        "owned_by_another": "boolean",
        "owner_member_id": "string",  # the other owner, for the alert
        **_INTERVAL,
    },
    ("cluster", "commit_id", "candidate"),
)

EPISODES = Table(
    "verdicts.episodes",
    "What each marked invariant or step says, one row per episode.",
    {
        "verdict_id": "string",
        "run_id": "string",
        "module": "string",
        "invariant": "string",
        "kind": "string",  # invariant, step
        "severity": "string",  # critical, warning, info
        "cluster": "string",
        "scope": "string",  # JSON object, e.g. {"group_id":"g","life":1}
        "witness": "string",  # JSON object of the quantified variables; null on a holds episode
        **_INTERVAL,
        "verdict": "string",  # holds, violated, unknown
        "failed_conjunct": "string",
        "values": "string",  # JSON object: leaf expression -> value
        "evidence": "string",  # JSON object: pointers into bronze and silver
    },
    ("verdict_id",),
)

VERDICT_COVERAGE = Table(
    "verdicts.coverage",
    "How often each marked definition was checked and exercised: what nothing exercised is never green.",
    {
        "run_id": "string",
        "module": "string",
        "invariant": "string",
        "kind": "string",
        "severity": "string",
        "cluster": "string",
        "scopes": "bigint",
        "checked": "bigint",
        "exercised": "bigint",
        "holds": "bigint",
        "violated": "bigint",
        "unknown": "bigint",
        "status": "string",  # violated, unknown, holds, not_exercised
    },
    ("module", "invariant", "cluster"),
)

DECISIONS = Table(
    "verdicts.decisions",
    "What each policy would have answered to each commit, over every state the commit may have met.",
    {
        "run_id": "string",
        "module": "string",
        "decision": "string",  # the decision's id in the specification
        "cluster": "string",
        "subject": "string",  # commit_id
        "outcome": "boolean",  # true, false, or null when the states disagree or are unknown
    },
    ("module", "decision", "cluster", "subject"),
)

TABLES: tuple[Table, ...] = (
    BATCHES,
    RECORDS,
    REQUESTS,
    FILES,
    CLEANED,
    QUARANTINE,
    GROUPS,
    MEMBERS,
    OWNED_PARTITIONS,
    REVOKED_PARTITIONS,
    COVERAGE,
    COMMITS,
    COMMIT_STATES,
    EPISODES,
    VERDICT_COVERAGE,
    DECISIONS,
)
SCHEMAS: tuple[str, ...] = ("bronze", "silver", "verdicts", "marts")
