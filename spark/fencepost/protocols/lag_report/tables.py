"""Silver tables of Kafka Streams: lag reports, assignments, state directories and their deletions.

An application is a group: ``application_id`` is its group id. An instance is one process of it, named by the
client id of its KafkaStreams (with which all its threads' names begin). The scope of a verdict is one log,
``log``. It is either the log of an instance (``instance:<configured client>/<client id>``), whose positions
count the entries that are read, or ``group``, which has the reports that members sent to the coordinator;
there a position is the time in milliseconds since 1970, by the broker's clock.

A task is named as Kafka's TaskId prints it: ``<subtopology>_<partition>``, before that the name of its
topology and two underscores if it has one. Its offset sums are those of its logged stores (the stores that
have a changelog). A negative one is a special value: LATEST_OFFSET (-2, the task is active and running on
the member), UNKNOWN_OFFSET_SUM (-3, a standby task in a report before version 7).
"""

from __future__ import annotations

from fencepost.tables.table import INTERVAL, Table

GROUP_LOG = "group"
"""The scope of the reports that members of an application sent to their coordinator."""

_SCOPE = {"cluster": "string", "application_id": "string", "log": "string"}

_INSTANCE = {
    "instance": "string",  # client.id of the KafkaStreams instance; null if no evidence has it
    "process_id": "string",  # the uuid of its state directory, as Java prints it; null if unknown
}

_TASK = {
    "task_id": "string",
    "topology": "string",  # of a named topology; null for the others
    "subtopology": "int",
    "partition": "int",
}

_PLACE = {"file": "string", "position": "bigint"}  # of the log entry; for requests of the line

STREAMS_COVERAGE = Table(
    "silver.streams_coverage",
    "Each log of the audit of Kafka Streams, cut into pieces that are completely known and pieces that are "
    "not: a missing file between two rolled ones, or an entry that cannot be read, is a hole.",
    {**_SCOPE, "covered": "boolean", **INTERVAL},
    ("cluster", "application_id", "log", "from_position"),
)

STREAMS_INSTANCES = Table(
    "silver.streams_instances",
    "History of each instance over its log, one row per state (KafkaStreams.State) from one transition to "
    "the next. The configuration is that of the previous StreamsConfig in the log.",
    {
        **_SCOPE,
        **_INSTANCE,
        # CREATED, REBALANCING, RUNNING, PENDING_SHUTDOWN, NOT_RUNNING, PENDING_ERROR, ERROR; null before the
        # first transition
        "state": "string",
        "version": "string",  # of Kafka Streams, from its log
        "group_protocol": "string",  # classic, streams
        "state_dir": "string",
        "cleanup_delay_ms": "bigint",  # state.cleanup.delay.ms
        "acceptable_recovery_lag": "bigint",  # acceptable.recovery.lag
        "probing_rebalance_interval_ms": "bigint",
        "num_standby_replicas": "int",
        "processing_guarantee": "string",
        **_PLACE,
        **INTERVAL,
    },
    ("cluster", "application_id", "log", "from_position"),
)

STREAMS_REBALANCES = Table(
    "silver.streams_rebalances",
    "One row per thread of an instance and rebalance: from its lag report (it joins the group) to its "
    "assignment. The interval is open if the log ends before the assignment.",
    {
        **_SCOPE,
        **_INSTANCE,
        "rebalance_id": "string",  # digest of log, thread and position of the report
        "thread": "string",  # its name
        "member_id": "string",  # null if no line has it
        "generation": "int",
        "reason": "string",  # why it joined, in Kafka's words; null if unknown
        # assigned, failed (the join was refused, the assignment was lost, the thread ended); null while open
        "outcome": "string",
        "reported_at": "timestamp",
        "assigned_at": "timestamp",
        **_PLACE,
        **INTERVAL,
    },
    ("cluster", "rebalance_id"),
)

TASK_DIRECTORIES = Table(
    "silver.task_directories",
    "History of each task's directory over its instance's log: one row per change of its known state, from "
    "when it is first seen.",
    {
        **_SCOPE,
        **_INSTANCE,
        **_TASK,
        "directory_exists": "boolean",
        "locked": "boolean",  # by a thread; null if unknown, since taking a lock is not logged
        "holder": "string",  # the thread that holds the lock; '' for none, null if unknown
        # why it holds the lock: task (it has the task), report (only to report its lag); '' for none
        "held_for": "string",
        # '' while it exists; cleaner, startup (older than the age allowed when the instance started), user
        # (cleanUp()), wipe (the thread that has the task: its state was corrupted, or ended unclean)
        "deleted_by": "string",
        "released_at": "timestamp",  # when the task's thread released the lock; null if not yet, or not seen
        # the newest time at which the log shows a modification of the directory, such as its release
        "modified_at": "timestamp",
        **_PLACE,
        **INTERVAL,
    },
    ("cluster", "application_id", "log", "task_id", "from_position"),
)

DIRECTORY_DELETIONS = Table(
    "silver.directory_deletions",
    "One row per deleted directory of a task, from the instance's log.",
    {
        **_SCOPE,
        **_INSTANCE,
        **_TASK,
        "deletion_id": "string",  # digest of log and position
        "deleted_by": "string",  # as in silver.task_directories
        "deleted_at": "timestamp",
        # the task has stores, logged or not: seen in a report, a restore, an assignment or the topology; null
        # if unknown. A task without stores has an empty directory, which may be deleted while the task runs
        "has_state": "boolean",
        "elapsed_ms": "bigint",  # since it was modified, from the cleaner's line
        "cleanup_delay_ms": "bigint",  # from the cleaner's line
        # a lag report of the instance was waiting for its assignment: of which thread, since when
        "lag_reported": "boolean",
        "reported_by": "string",
        "reported_at": "timestamp",
        # since the task's thread released the lock, in milliseconds. If only a bound of it is known: that
        # bound if it shows on which side of the delay the time is, else null
        "since_release_ms": "bigint",
        "released_by": "string",
        "released_at": "timestamp",
        **_PLACE,
        **INTERVAL,
    },
    ("cluster", "deletion_id"),
)

LAG_REPORTS = Table(
    "silver.lag_reports",
    "One row per report of a member (the subscription of a JoinGroup, or of a member in a GroupMetadata "
    "record; protocol 'stream') and task: each task in it, and each task that its instance is known to have "
    "on its disk but that is not in it. In scope 'group', from the report to the assignment.",
    {
        **_SCOPE,
        **_INSTANCE,
        **_TASK,
        "lag_report_id": "string",  # digest of member, request (else generation), and task
        "member_id": "string",
        "group_instance_id": "string",
        "client_id": "string",
        "client_host": "string",
        "generation": "int",  # of the rebalance of the report; null without the answer
        "subscription_info_version": "int",
        "latest_supported_version": "int",
        "reported": "boolean",  # the task is in the report
        # SUM, LATEST_OFFSET, UNKNOWN_OFFSET_SUM, NOT_REPORTED; UNREADABLE (without a task): user data that is
        # no report, or of a version that no release writes. A report before version 7 has no sums: the leader
        # uses LATEST_OFFSET for its active tasks, and UNKNOWN_OFFSET_SUM for its standby tasks
        "kind": "string",
        "offset_sum": "bigint",  # as reported, or as the leader uses it; 0 if the task is not in the report
        # of its changelogs, as the leader knew them for the assignment; null if unknown
        "end_offset_sum": "bigint",
        "leader_lag": "bigint",  # the task's lag by the leader's log; null if no log shows it
        "logged_stores": "int",  # of the task; null if neither topology nor log shows it
        "non_logged_stores": "int",
        "logged_offset_sum": "bigint",  # of its logged stores at the report, by the instance's log
        "sum_unknown": "string",  # why logged_offset_sum is null (fencepost/reasons.py)
        "reported_at": "timestamp",
        "assigned_at": "timestamp",
        "assigned_to": "string",  # process id of the instance to which the active task was assigned
        "assigned_as": "string",  # to this member: active, standby; '' for none, null if unknown
        "request_id": "string",  # of the JoinGroup; null for a record alone
        "record_offset": "bigint",  # of the GroupMetadata record
        **_PLACE,
        **INTERVAL,
    },
    ("cluster", "lag_report_id"),
    begin_columns=("kind", "offset_sum", "end_offset_sum", "leader_lag", "file", "position"),
)

ASSIGNED_TASKS = Table(
    "silver.assigned_tasks",
    "One row per task that was newly assigned to a thread, from its assignment to when the thread "
    "initialized the task.",
    {
        **_SCOPE,
        **_INSTANCE,
        **_TASK,
        "assigned_task_id": "string",  # digest of log, thread, task and position
        "thread": "string",
        "kind": "string",  # active, standby
        # why there is a standby task: replica (num.standby.replicas), warmup (it becomes active here after it
        # has caught up), handover (it becomes active as soon as its owner has revoked it); '' for an active
        # task. This is not in the assignment, but in the leader's log or the streams protocol; null if
        # neither shows it
        "standby_as": "string",
        # the instance had reported an offset sum of the task in that rebalance
        "on_reported_lag": "boolean",
        "lag_report_id": "string",
        "offset_sum": "bigint",  # the newest that the instance reported
        "directory_exists": "boolean",  # when the thread initialized the task
        "deleted_by": "string",  # '' while it exists, as in silver.task_directories
        "assigned_at": "timestamp",
        "initialized_at": "timestamp",
        **_PLACE,
        **INTERVAL,
    },
    ("cluster", "assigned_task_id"),
)

TASK_RESTORES = Table(
    "silver.task_restores",
    "One row per changelog partition that a thread restored, or kept up to date as standby.",
    {
        **_SCOPE,
        **_INSTANCE,
        **_TASK,
        "restore_id": "string",  # digest of log, changelog and position
        "thread": "string",
        "kind": "string",  # active, standby
        "store": "string",  # null if the line does not have it
        "changelog_topic": "string",
        "changelog_partition": "int",
        "start_offset": "bigint",  # null if the line does not have it
        "end_offset": "bigint",
        "restored_records": "bigint",
        "from_the_beginning": "boolean",  # no checkpoint was on the disk
        # why: cleaner, startup, user, wipe (as in silver.task_directories: who had deleted the directory),
        # corrupted (the thread found its state corrupted, and began anew),
        # new_disk (the process found no state directory, and the task was not here since), no_checkpoint (the
        # instance had the task before, and nobody is known to have deleted it); null if not known, or not so
        "restore_cause": "string",
        "started_at": "timestamp",
        "ended_at": "timestamp",  # null: not seen
        **_PLACE,
        **INTERVAL,
    },
    ("cluster", "restore_id"),
)

STREAMS_GROUP_TASKS = Table(
    "silver.streams_group_tasks",
    "One row per task of a member of a streams group (KIP-1071), in each record of the member's current "
    "assignment. Records that the log cleaner has removed are missing.",
    {
        "cluster": "string",
        "application_id": "string",
        **_INSTANCE,
        **_TASK,
        "group_task_id": "string",  # digest of the record, the task, kind and is_pending_revocation
        "member_id": "string",
        "group_instance_id": "string",
        "client_id": "string",
        "client_host": "string",
        "member_epoch": "int",
        "kind": "string",  # active, standby, warmup
        "is_pending_revocation": "boolean",  # the member must revoke it, and has not confirmed that yet
        "recorded_at": "timestamp",
        "record_offset": "bigint",
        **_PLACE,
    },
    ("cluster", "group_task_id"),
    end_columns=("recorded_at",),
)

TABLES = (
    STREAMS_COVERAGE, STREAMS_INSTANCES, STREAMS_REBALANCES, TASK_DIRECTORIES, DIRECTORY_DELETIONS,
    LAG_REPORTS, ASSIGNED_TASKS, TASK_RESTORES, STREAMS_GROUP_TASKS,
)  # fmt: skip
