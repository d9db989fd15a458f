"""The table of bronze with the log lines of Kafka Streams applications."""

from __future__ import annotations

from fencepost.tables import Names, Table

STREAMS_LINES = Table(
    "bronze.streams_lines",
    "One row per entry of a client's log in which Kafka Streams, or the consumer of one of its threads, "
    "tells of its state, a rebalance, a task or its directory. What an entry does not name is null, and so "
    "are names that cannot be cut out of it in one way only.",
    {
        "cluster": "string",
        "client": "string",  # as configured
        # configured, version, streams_protocol, process_id, fresh_process_id (none was on the disk),
        # client_state, thread_state, joining, joined, subscribed, decided, decided_to_probe, sum_past_end,
        # finished_assignment, streams_assignment, assignment, report_lock, lock, released, suspended,
        # initialized, closed, store_not_logged, store_from_checkpoint, store_from_beginning, wiped,
        # corrupted, deleted_by_cleaner, deleted_by_user, deleted_at_startup, deletion_failed, end_offset,
        # restored
        "event": "string",
        "instance": "string",  # client id of the KafkaStreams; null where the entry names none
        "thread": "string",  # its name
        "group_id": "string",
        "member_id": "string",
        "generation": "int",
        "reason": "string",
        "from_state": "string",
        "to_state": "string",
        "task_id": "string",
        "kind": "string",  # active, standby
        "store": "string",
        "changelog": "string",  # topic-partition
        "changelog_offset": "bigint",  # of the checkpoint, or the changelog's end (of a task their sum)
        "records": "bigint",
        "elapsed_ms": "bigint",
        "delay_ms": "bigint",
        "new_active": "string",  # tasks, as logged
        "new_standby": "string",
        "existing_active": "string",
        "existing_standby": "string",
        # process id, version, the configuration, warm-up tasks, corrupted tasks, what a leader decided of
        # each process, what it gave to whom
        "told": "string",
        "logged_at_ms": "bigint",  # by the application's clock, in UTC; null of a log that writes no date
        "line_digest": "string",  # sha256 of the entry: the same entry in a rotated file counts once
        "file": "string",  # its name when it was read: it is another one when it was rolled
        "file_begins": "string",  # sha256 of the line of its first entry: the same under any name
        "position": "bigint",
    },
    ("cluster", "client", "line_digest", "position"),
    ("cluster",),
    names={
        "instance": Names.CLIENT,
        "thread": Names.CLIENT,
        "member_id": Names.MEMBER,
        "reason": Names.REASON,
        "told": {
            "configured": Names.SETTINGS,
            **dict.fromkeys(("decided", "decided_to_probe"), Names.PROCESSES),
            "finished_assignment": Names.ASSIGNMENTS,
            # uuids, versions and tasks
            **dict.fromkeys(
                ("version", "process_id", "fresh_process_id", "streams_assignment", "corrupted"), Names.NONE
            ),
        },
        "line_digest": Names.DIGEST,
    },
)
