"""The tables of bronze with lines of logs: those of brokers, and those of members of classic groups."""

from __future__ import annotations

from fencepost.tables import Names, Table

_COORDINATORS_WORDS = (
    "preparing", "stabilized", "assignment_received", "emptied", "member_failed", "member_left",
    "migration_disabled", "fenced", "left", "away", "replaced", "expired",
)  # fmt: skip

_LINE = {
    "logged_at_ms": "bigint",  # by the clock of who wrote it, in UTC; null of a log that writes no date
    "line_digest": "string",  # sha256 of the entry: the same entry in a rotated file counts once
    "file": "string",
    "position": "bigint",
    "file_begins": "string",  # digest of the line of its first entry: the same under any name
}

BROKER_LINES = Table(
    "bronze.broker_lines",
    "One row per entry of a broker's server.log that tells of a group, its members or its offsets, or of the "
    "begin of a partition's log. Names are null where they cannot be cut out of the message in one way only.",
    {
        "cluster": "string",
        "broker_id": "int",
        # of classic groups: preparing, stabilized, assignment_received, emptied, member_failed, member_left,
        # migration_disabled. What was removed: not_rejoined, not_synced, fenced, left, away, replaced (of
        # members), expired (offsets and groups), groups_deleted, log_start
        "event": "string",
        "group_id": "string",
        "member_id": "string",
        "generation": "int",  # of preparing: the generation before
        "members": "int",
        "reason": "string",  # of not_rejoined and not_synced: the members; of groups_deleted: the groups
        "coordinator_partition": "int",  # of __consumer_offsets; null before Kafka 4.0
        "took_ms": "bigint",  # of expired
        # of log_start
        "topic": "string",
        "partition": "int",
        "log_start_offset": "bigint",
        **_LINE,
    },
    ("cluster", "broker_id", "line_digest", "position"),
    ("cluster",),
    names={
        "member_id": Names.MEMBER,
        "reason": {
            **dict.fromkeys(_COORDINATORS_WORDS, Names.REASON),
            **dict.fromkeys(("not_rejoined", "not_synced"), Names.MEMBERS),
            **dict.fromkeys(("groups_deleted", "log_start"), Names.NONE),
        },
        "line_digest": Names.DIGEST,
    },
)

CONSUMER_LINES = Table(
    "bronze.consumer_lines",
    "One row per entry of a client's log in which a consumer of a classic group, or its assignor, tells of a "
    "rebalance.",
    {
        "cluster": "string",
        "client": "string",  # as configured
        # null of what assignors log, which name no client, as group_id; and of consumers before 1.0
        "client_id": "string",
        "group_id": "string",
        # join_requested, joining, assignment_made, revoked, lost, added, generation_reset, and of the leader:
        # same_generation_claimed, different_generations_claimed, owned_reassigned
        "event": "string",
        "generation": "int",
        "member_id": "string",
        "other_generation": "int",
        "other_member_id": "string",
        "partitions": "string",  # as logged
        "reason": "string",
        **_LINE,
    },
    ("cluster", "client", "line_digest", "position"),
    ("cluster",),
    names={
        "client_id": Names.CLIENT,
        "group_id": Names.BEHIND_CLIENT,
        "member_id": Names.MEMBER,
        "other_member_id": Names.MEMBER,
        "partitions": {
            "assignment_made": Names.ASSIGNMENTS,
            **dict.fromkeys(
                (
                    "revoked",
                    "lost",
                    "added",
                    "owned_reassigned",
                    "same_generation_claimed",
                    "different_generations_claimed",
                ),
                Names.NONE,
            ),
        },
        "reason": Names.REASON,
        "line_digest": Names.DIGEST,
    },
)
