"""The tables of silver about offset-commit fencing: histories of groups and members, and their commits."""

from __future__ import annotations

from fencepost.tables.clocks import clock_table
from fencepost.tables.table import INTERVAL, Table

_GROUP = {"cluster": "string", "group_id": "string", "life": "bigint"}
"""``life``: the offset of the life's first record in its coordinator's log. If ``__consumer_offsets`` was
deleted and created again, 2^50 is added for each earlier incarnation (Incarnation.first_life).
"""

GROUPS = Table(
    "silver.consumer_groups",
    "History of each group's own epochs, at batch boundaries.",
    {
        **_GROUP,
        "coordinator_partition": "int",
        "group_type": "string",  # consumer, classic, streams, share, simple (only commits were ever seen)
        "group_epoch": "int",
        "target_assignment_epoch": "int",
        **INTERVAL,
    },
    ("cluster", "group_id", "life", "from_position"),
)

MEMBERS = Table(
    "silver.group_members",
    "History of each member: its epochs, with the group's beside them so that an epoch rule is one scan. "
    "A classic member's epoch is the generation. A row goes on while the group's epochs rise and none of its "
    "epochs gets ahead of one that it follows.",
    {
        **_GROUP,
        "coordinator_partition": "int",
        "member_id": "string",
        "client_id": "string",
        "instance_id": "string",
        "protocol": "string",  # the protocol that the member uses: classic, consumer, streams, share
        "state": "string",  # Kafka's MemberState of its protocol; STABLE in classic groups; UNKNOWN
        "member_epoch": "int",
        "previous_member_epoch": "int",
        "revocation_epoch": "int",
        "group_epoch": "int",  # at the beginning of the row, as target_assignment_epoch
        "target_assignment_epoch": "int",
        "last_group_epoch": "int",  # at its end
        "last_target_assignment_epoch": "int",
        # of a static member whose row goes on: its newest sign of life, and its session timeout; else null
        "last_seen_at": "timestamp",
        "session_timeout_ms": "int",
        **INTERVAL,
    },
    ("cluster", "group_id", "life", "member_id", "from_position"),
    open_row_columns=("last_seen_at", "session_timeout_ms"),
)

OWNED_PARTITIONS = Table(
    "silver.owned_partitions",
    "History of ownership: a partition is owned while assigned or pending revocation. In a streams group the "
    "active tasks are owned, which carry the partitions of their subtopology's source topics. In a classic "
    "group a row goes on from generation to generation; its epochs are those it begins with, and rise alike.",
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
        "last_member_epoch": "int",  # at the end of the row; of a classic group's the generation
        "owned_since": "bigint",  # from_position of the first row of this uninterrupted ownership
        **INTERVAL,
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
        "revocation_epoch": "int",  # the revocation epoch of the member itself
        **INTERVAL,
    },
    ("cluster", "group_id", "life", "member_id", "partition_key", "from_position"),
)

COVERAGE = Table(
    "silver.coverage",
    "Each group's extent cut into pieces that are wholly known (no offset missing, beginning seen) and not.",
    {**_GROUP, "coordinator_partition": "int", "covered": "boolean", **INTERVAL},
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
        # Kafka's name; NONE when accepted, but NOT_COORDINATOR or COORDINATOR_NOT_AVAILABLE of one that was
        # stored and whose replicas did not take it in time
        "broker_error": "string",
        "fenced": "boolean",  # refused by a fencing rule; null when the log has no answer
        "record_offset": "bigint",  # of the commit's own record; null when refused or not found
        # of the transaction, refused commits' too: pending, committed, aborted; null when not known
        "transaction_outcome": "string",
        "transaction_ended_position": "bigint",  # of the marker in the coordinator's log
        "transaction_ended_at": "timestamp",
        # committed, pending, aborted, skipped (the stored offset was newer when the transaction committed) or
        # replaced (by a later commit of the same transaction); null when refused or not known
        "outcome": "string",
        "offset_before": "bigint",  # the offset stored when this was decided; null for none or unknown
        "candidates": "int",  # states the request may have met
        # why no state was found, or not all of one: a word of fencepost.reasons, and in words; null otherwise
        "unknown_reason": "string",
        "unknown_detail": "string",
        "file": "string",
        "position": "bigint",
    },
    ("cluster", "commit_id"),
    end_columns=("responded_at",),
)

COMMIT_STATES = Table(
    "silver.offset_commit_states",
    "The states a commit may have met: one for an accepted commit, all of its window for a refused one, one "
    "of which nothing is known for a commit that no coordinator decided. "
    "These columns are the fields of the specification's commit record.",
    {
        "cluster": "string",
        "group_id": "string",
        "life": "bigint",
        "request_id": "string",
        "commit_id": "string",
        "candidate": "int",
        "member_id": "string",
        "partition_key": "string",
        "client_epoch": "int",
        "accepted": "boolean",  # it was stored, whatever the broker answered
        "fenced": "boolean",  # refused by a fencing rule; neither when another error came first
        "error": "string",  # the broker's answer: Kafka's name of the error
        "api_version": "int",
        "transactional": "boolean",
        "protocol": "string",  # of the group: classic, consumer, streams, share; null if it has no members
        # generation (classic groups), strict, assignment_epoch or none_accepted (share groups): what this
        # broker's version implements
        "rule": "string",
        "rebalancing": "boolean",  # a classic group that has a new generation and no assignment for it yet
        "unfenced": "boolean",  # negative epoch to an empty group: accepted by design
        # the coordinator has the group; null also of brokers that do not name one they have not (before 4.0)
        "group_known": "boolean",
        "member_known": "boolean",
        "classic_member": "boolean",  # the member uses the classic protocol, whatever its group's type
        "instance_fenced": "boolean",  # another member has the group instance id that was presented
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
        **INTERVAL,
    },
    ("cluster", "commit_id", "candidate"),
    ends_with=(COMMITS, "commit_id"),
)

MEMBER_FENCINGS = Table(
    "silver.member_fencings",
    "One row per request of a member, seldom a commit, and group in it that was refused because the "
    "member, its epoch or its instance id is not, or no longer, the group's: heartbeats of every protocol, "
    "JOIN_GROUP, SYNC_GROUP, OFFSET_FETCH.",
    {
        "cluster": "string",
        "request_id": "string",  # digest of broker and request line
        "broker_id": "int",
        "api_name": "string",
        "group_id": "string",
        "member_id": "string",  # empty for none
        "instance_id": "string",
        "client_id": "string",
        "connection": "string",
        "client_epoch": "int",  # member epoch or generation as sent; null where the request has none
        "broker_error": "string",  # Kafka's name
        # what the coordinator refused: generation, member_epoch, membership (of the member id), or instance:
        # another member has the instance id; log_deleted if the log of the coordinator that had the member
        # was deleted (the only cause for which a commit has a row)
        "cause": "string",
        "requested_at": "timestamp",
        "responded_at": "timestamp",
        "file": "string",
        "position": "bigint",
    },
    ("cluster", "request_id", "group_id"),
    end_columns=("responded_at",),
)

MEMBER_DEPARTURES = Table(
    "silver.member_departures",
    "One row per request, and member in it, by which a member left its group or an administrator removed it: "
    "LEAVE_GROUP, and heartbeats with a negative epoch.",
    {
        "cluster": "string",
        "request_id": "string",  # digest of broker and request line
        "broker_id": "int",
        "api_name": "string",
        "kind": "string",  # left (epoch -1), away (a static member's epoch -2), leave_group
        "group_id": "string",
        "member_id": "string",  # null where LEAVE_GROUP names the instance id alone
        "instance_id": "string",
        "reason": "string",  # as the client gave it in LEAVE_GROUP
        "client_id": "string",  # of who sent it
        "client_host": "string",
        "requested_at": "timestamp",
        "responded_at": "timestamp",
        "file": "string",
        "position": "bigint",
    },
    ("cluster", "request_id", "member_id", "instance_id"),
    end_columns=("responded_at",),
)

SHARE_REDELIVERIES = Table(
    "silver.share_redeliveries",
    "One row per range of offsets that a share group's member acquired again, and per range that was "
    "archived after a delivery, so that nobody gets it again: what ended the delivery before.",
    {
        "cluster": "string",
        "redelivery_id": "string",  # digest of the partition, the first offset, and the line or record
        "group_id": "string",
        "topic": "string",
        "topic_id": "string",
        "partition": "int",
        "first_offset": "bigint",
        "last_offset": "bigint",  # the last of them
        "outcome": "string",  # delivered_again, archived
        # lock_expired, released, rejected, session_closed, connection_closed, leader_moved, offsets_altered
        "cause": "string",
        "possible_causes": "array<string>",  # where the cause is unknown: those that are left; else null
        "told_by": "string",  # request_log, group_state
        # the delivery before; null if it is not known
        "member_id_before": "string",
        "client_id_before": "string",
        "client_host_before": "string",
        "delivery_count_before": "int",
        "acquired_before_at": "timestamp",
        "locked_until": "timestamp",  # by the broker's answer to it, or to its last renewal
        "renewals": "int",
        "given_back_at": "timestamp",  # of the record that ended it
        # the delivery again; null if archived
        "member_id": "string",
        "client_id": "string",
        "client_host": "string",
        "delivery_count": "int",
        "broker_id": "int",
        "request_id": "string",
        "occurred_at": "timestamp",  # delivered again, or archived
        "cause_unknown_because": "string",
        "file": "string",
        "position": "bigint",
    },
    ("cluster", "redelivery_id"),
    end_columns=("occurred_at",),
)

UNLOGGED_COMMITS = Table(
    "silver.unlogged_commits",
    "One row per stored commit of which the request log has no line, although its broker has logged requests "
    "of the coordinator's groups before and after it: lines are missing there.",
    {
        "cluster": "string",
        "coordinator_topic_id": "string",  # of __consumer_offsets; '' if it is not known
        "coordinator_partition": "int",
        "record_offset": "bigint",
        "broker_id": "int",  # that stored it
        "group_id": "string",
        "topic": "string",
        "partition": "int",
        "committed_offset": "bigint",
        "stored_at": "timestamp",
    },
    ("cluster", "coordinator_topic_id", "coordinator_partition", "record_offset"),
    end_columns=("stored_at",),
)

COMMIT_CLOCKS = clock_table("silver.commit_clocks", "__consumer_offsets")
