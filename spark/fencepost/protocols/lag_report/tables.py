"""What instances of Kafka Streams reported, were assigned, had on their disks and deleted (silver).

An application is a group: ``application_id`` is its group id. An instance is one process of it, named by the
client id of its KafkaStreams (what all its threads' names begin with). The scope of a verdict is one log,
``log``: that of an instance (``instance:<configured client>/<client id>``), whose positions count its
entries that are read, or ``group``, in which the reports are that members sent to the coordinator; there a
position is the moment, in milliseconds since 1970, by the broker's clock.

A task is named as Kafka's TaskId prints it: ``<subtopology>_<partition>``, before that the name of its
topology and two underscores if it has one. Its offset sums are those of its logged stores (the stores that
have a changelog). A negative one is a sentinel and no sum: LATEST_OFFSET (-2, the task is active and runs
there), UNKNOWN_OFFSET_SUM (-3, a standby task of a client from before version 7).
"""

from __future__ import annotations

from fencepost.tables.table import INTERVAL, Table

GROUP_LOG = "group"
"""The scope of what members of an application reported to their coordinator."""

_SCOPE = {"cluster": "string", "application_id": "string", "log": "string"}

_INSTANCE = {
    "instance": "string",  # the client id of its KafkaStreams; null where no evidence has it
    "process_id": "string",  # the uuid of its state directory, as Java prints it; null where nothing tells
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
    "Each log of the audit of Kafka Streams cut into pieces that are wholly known and not: a file that is "
    "missing between two that were rolled, or an entry that cannot be read, is a hole.",
    {**_SCOPE, "covered": "boolean", **INTERVAL},
    ("cluster", "application_id", "log", "from_position"),
)

STREAMS_INSTANCES = Table(
    "silver.streams_instances",
    "History of each instance over its log, one row per state (KafkaStreams.State) from one transition to "
    "the next. Configuration is that of the log's newest StreamsConfig before.",
    {
        **_SCOPE,
        **_INSTANCE,
        # CREATED, REBALANCING, RUNNING, PENDING_SHUTDOWN, NOT_RUNNING, PENDING_ERROR, ERROR; null before the
        # first transition
        "state": "string",
        "version": "string",  # of Kafka Streams, as its log names it
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
    "assignment. The interval is open where the log ends before the assignment.",
    {
        **_SCOPE,
        **_INSTANCE,
        "rebalance_id": "string",  # digest of log, thread and position of the report
        "thread": "string",  # its name
        "member_id": "string",  # null where no line names it
        "generation": "int",
        "reason": "string",  # why it joined, in Kafka's words; null where nothing tells
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
    "History of each task's directory over its instance's log: one row per change of what is known of it, "
    "from when it is first seen.",
    {
        **_SCOPE,
        **_INSTANCE,
        **_TASK,
        "directory_exists": "boolean",
        "locked": "boolean",  # by a thread; null where nothing tells: taking a lock is not logged
        "holder": "string",  # the name of the thread that has the lock; '' for none, null where not known
        # why it has it: task (it has the task), report (only to report its lag); '' for none
        "held_for": "string",
        # '' while it exists; cleaner, startup (older than the age allowed when the instance started), user
        # (cleanUp()), wipe (the thread that has the task: its state was corrupted, or ended unclean)
        "deleted_by": "string",
        "released_at": "timestamp",  # when the thread that had the task let go of it; null: not yet, not seen
        # the newest moment at which the log shows that the directory was modified, as its release does it
        "modified_at": "timestamp",
        **_PLACE,
        **INTERVAL,
    },
    ("cluster", "application_id", "log", "task_id", "from_position"),
)

DIRECTORY_DELETIONS = Table(
    "silver.directory_deletions",
    "One row per directory of a task that was deleted, as the instance's log says it.",
    {
        **_SCOPE,
        **_INSTANCE,
        **_TASK,
        "deletion_id": "string",  # digest of log and position
        "deleted_by": "string",  # as in silver.task_directories
        "deleted_at": "timestamp",
        # the task has stores, logged or not: seen in a report, a restore, an assignment or the topology; null
        # where nothing tells. One without has an empty directory, which is deleted also while the task runs
        "has_state": "boolean",
        "elapsed_ms": "bigint",  # since it was modified, as the cleaner says it
        "cleanup_delay_ms": "bigint",  # as the cleaner says it
        # a lag report of the instance was out that had no assignment yet: of which thread, since when
        "lag_reported": "boolean",
        "reported_by": "string",
        "reported_at": "timestamp",
        # since the thread that had the task let go of it, in milliseconds. Where only a bound of it is known,
        # that bound if it tells on which side of the delay it lies, else null
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
    "record; protocol 'stream') and task: each that it lists, and each that its instance is known to have on "
    "its disk and that it leaves out. In scope 'group', from the report to the assignment.",
    {
        **_SCOPE,
        **_INSTANCE,
        **_TASK,
        "lag_report_id": "string",  # digest of member, request (else generation), and task
        "member_id": "string",
        "group_instance_id": "string",
        "client_id": "string",
        "client_host": "string",
        "generation": "int",  # of the rebalance that the report is for; null where the answer is not there
        "subscription_info_version": "int",
        "latest_supported_version": "int",
        "reported": "boolean",  # the task is in the report
        # SUM, LATEST_OFFSET, UNKNOWN_OFFSET_SUM, NOT_REPORTED; UNREADABLE (without a task): user data that is
        # no report, or of a version that no release writes. A report before version 7 has no sums: of its
        # active tasks the leader takes LATEST_OFFSET, of its standby tasks UNKNOWN_OFFSET_SUM
        "kind": "string",
        "offset_sum": "bigint",  # as reported or taken; 0 where the task is not in the report
        # of its changelogs, as the leader was told before it assigned; null if not known
        "end_offset_sum": "bigint",
        "leader_lag": "bigint",  # what the leader made of it, by its log; null where no log shows that
        "logged_stores": "int",  # of the task; null where neither topology nor log tells
        "non_logged_stores": "int",
        "logged_offset_sum": "bigint",  # of its logged stores at the report, by the instance's log
        "reported_at": "timestamp",
        "assigned_at": "timestamp",
        "assigned_to": "string",  # process id of the instance that got it as active task
        "assigned_as": "string",  # by this member: active, standby; '' for none, null where not known
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
    "One row per task that a thread was newly assigned, from its assignment to when it took the task up.",
    {
        **_SCOPE,
        **_INSTANCE,
        **_TASK,
        "assigned_task_id": "string",  # digest of log, thread, task and position
        "thread": "string",
        "kind": "string",  # active, standby
        # what a standby task is: replica (num.standby.replicas), warmup (it is to be active here when it has
        # caught up), handover (as soon as its owner has given it up); '' for an active one. The assignment
        # does not say: the leader's log does, or the streams protocol; null where neither tells
        "standby_as": "string",
        # the instance had reported an offset sum of the task in that rebalance: what it was assigned by
        "on_reported_lag": "boolean",
        "lag_report_id": "string",
        "offset_sum": "bigint",  # the newest that the instance reported
        "directory_exists": "boolean",  # when the thread took the task up
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
        "store": "string",  # null where the line does not name it
        "changelog_topic": "string",
        "changelog_partition": "int",
        "start_offset": "bigint",  # null where the line does not tell
        "end_offset": "bigint",
        "restored_records": "bigint",
        "from_the_beginning": "boolean",  # nothing was on the disk
        "started_at": "timestamp",
        "ended_at": "timestamp",  # null: not seen
        **_PLACE,
        **INTERVAL,
    },
    ("cluster", "restore_id"),
)

STREAMS_GROUP_TASKS = Table(
    "silver.streams_group_tasks",
    "One row per task that a member of a streams group (KIP-1071) has, in each record that its coordinator "
    "stored of the member's assignment. Where the log cleaner has been, records are missing.",
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
        "is_pending_revocation": "boolean",  # the member is to give it up, and has not said yet that it did
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
