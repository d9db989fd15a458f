"""The log messages of Kafka Streams about states, rebalances, directories and restores, as in 3.9 to 4.4.

The name of a thread stands in front of what it logs (LogContext).
"""

from __future__ import annotations

from fencepost.formats.log_entries import Message

_INTERNALS = "org/apache/kafka/streams/processor/internals/"
_STREAMS = "org/apache/kafka/streams/KafkaStreams"
_CONSUMER = "org/apache/kafka/clients/consumer/internals/"
_DIRECTORY = f"{_INTERNALS}StateDirectory"
_THREAD = "stream-thread [{}] "

ACTIVE, STANDBY = "active", "standby"
KIND_OF = {"task": ACTIVE, "stream-task": ACTIVE, "standby-task": STANDBY}


def _of_task(event: str, logged_by: str, text: str, fields: tuple[str, ...] = ()) -> Message:
    """A message of a task: the task's kind and id stand behind the name of its thread."""
    named = ("thread", "kind", "task_id", *fields)
    return Message(event, _INTERNALS + logged_by, f"{_THREAD}{{}} [{{}}] {text}", named)


MESSAGES = (
    Message(
        "configured",
        "org/apache/kafka/streams/StreamsConfig",
        "StreamsConfig values: {}",
        ("told",),
        goes_on=True,
    ),
    Message("version", _STREAMS, "stream-client [{}] Kafka Streams version: {}", ("instance", "told")),
    Message(
        "streams_protocol", _STREAMS, "stream-client [{}] Streams rebalance protocol enabled", ("instance",)
    ),
    Message(
        "client_state",
        _STREAMS,
        "stream-client [{}] State transition from {} to {}",
        ("instance", "from_state", "to_state"),
    ),
    Message(
        "thread_state",
        f"{_INTERNALS}StreamThread",
        f"{_THREAD}State transition from {{}} to {{}}",
        ("thread", "from_state", "to_state"),
    ),
    Message(
        "fresh_process_id", _DIRECTORY, "No process id found on disk, got fresh process id {}", ("told",)
    ),
    Message("process_id", _DIRECTORY, "Reading UUID from process file: {}", ("told",)),
    Message("joining", f"{_CONSUMER}AbstractCoordinator", "(Re-)joining group"),
    Message(
        "joined",
        f"{_CONSUMER}AbstractCoordinator",
        "Successfully joined group with generation Generation{generationId={}, memberId='{}', "
        "protocol='stream'}",
        ("generation", "member_id"),
    ),
    Message(
        "join_requested", f"{_CONSUMER}AbstractCoordinator", "Request joining group due to: {}", ("reason",)
    ),
    Message("subscribed", f"{_CONSUMER}ClassicKafkaConsumer", "Subscribed to topic(s): {}", ("_",)),
    Message("subscribed", f"{_CONSUMER}ClassicKafkaConsumer", "Subscribed to pattern: '{}'", ("_",)),
    Message(
        "assignment",
        f"{_INTERNALS}TaskManager",
        f"{_THREAD}Handle new assignment with:\n\tNew active tasks: {{}}\n\tNew standby tasks: {{}}\n"
        "\tExisting active tasks: {}\n\tExisting standby tasks: {}",
        ("thread", "new_active", "new_standby", "existing_active", "existing_standby"),
    ),
    Message(
        "decided",
        f"{_INTERNALS}assignment/HighAvailabilityTaskAssignor",
        "Decided on assignment: {} with no followup probing rebalance.",
        ("told",),
    ),
    Message(
        "decided_to_probe",
        f"{_INTERNALS}assignment/HighAvailabilityTaskAssignor",
        "Decided on assignment: {} with followup probing rebalance.",
        ("told",),
    ),
    Message(
        "sum_past_end",
        f"{_INTERNALS}assignment/ClientState",
        "Task {} had endOffsetSum={} smaller than offsetSum={} on member {}. This probably means the task is "
        "corrupted, {}",
        ("task_id", "changelog_offset", "records", "told", "_"),
    ),
    Message(
        "finished_assignment",
        f"{_CONSUMER}ConsumerCoordinator",
        "Finished assignment for group at generation {}: {}",
        ("generation", "told"),
    ),
    Message(
        "streams_assignment",
        f"{_INTERNALS}StreamThread",
        f"{_THREAD}Processing new assignment Assignment{{activeTasks=[{{}}], standbyTasks=[{{}}], "
        "warmupTasks=[{}]{}} from Streams Rebalance Protocol",
        ("thread", "_", "_", "told", "_"),
    ),
    Message(
        "report_lock",
        f"{_INTERNALS}TaskManager",
        f"{_THREAD}Temporarily locked unassigned task {{}} for the upcoming rebalance",
        ("thread", "task_id"),
    ),
    Message("released", _DIRECTORY, f"{_THREAD}Released state dir lock for task {{}}", ("thread", "task_id")),
    Message(
        "deleted_by_cleaner",
        _DIRECTORY,
        f"{_THREAD}Deleting obsolete state directory {{}} for task {{}} as {{}}ms has elapsed "
        "(cleanup delay is {}ms).",
        ("thread", "_", "task_id", "elapsed_ms", "delay_ms"),
    ),
    Message(
        "deletion_failed",
        _DIRECTORY,
        f"{_THREAD}Swallowed the following exception during deletion of obsolete state directory {{}} "
        "for task {}:",
        ("thread", "_", "task_id"),
    ),
    Message(
        "deleted_by_user",
        _DIRECTORY,
        f"{_THREAD}Deleting task directory {{}} for {{}} as user calling cleanup.",
        ("thread", "_", "task_id"),
    ),
    Message(
        "deleted_at_startup",
        _DIRECTORY,
        "Deleting outdated state directory {} as {}ms has elapsed from last update "
        "(max directory age is {}ms).",
        ("task_id", "elapsed_ms", "delay_ms"),
    ),
    Message(
        "corrupted",
        f"{_INTERNALS}StreamThread",
        f"{_THREAD}Detected the states of tasks {{}} are corrupted. Will close the task as dirty and "
        "re-create and bootstrap from scratch.",
        ("thread", "told"),
    ),
    _of_task("lock", "StateManagerUtil", "Acquired state directory lock"),
    _of_task("wiped", "StateManagerUtil", "Wiping state stores for {} task {}", ("_", "_")),
    _of_task("initialized", "StreamTask", "Initialized"),
    _of_task("suspended", "StreamTask", "Suspended from {}", ("_",)),
    _of_task("suspended", "StandbyTask", "Suspended running"),
    _of_task("closed", "StreamTask", "Closed clean"),
    _of_task("closed", "StreamTask", "Closed dirty"),
    _of_task(
        "store_not_logged",
        "ProcessorStateManager",
        "State store {} is not logged and hence would not be restored",
        ("store",),
    ),
    _of_task(
        "store_from_checkpoint",
        "ProcessorStateManager",
        "State store {} initialized from checkpoint with offset {} at changelog {}",
        ("store", "changelog_offset", "changelog"),
    ),
    _of_task(
        "store_from_beginning",
        "ProcessorStateManager",
        "State store {} did not find checkpoint offset, hence would default to the starting offset at "
        "changelog {}",
        ("store", "changelog"),
    ),
    Message(
        "end_offset",
        f"{_INTERNALS}StoreChangelogReader",
        "{} [{}] End offset for changelog {} initialized as {}.",
        ("_", "thread", "changelog", "changelog_offset"),
    ),
    Message(
        "restored",
        f"{_INTERNALS}StoreChangelogReader",
        "{} [{}] Finished restoring changelog {} to store {} with a total number of {} records",
        ("_", "thread", "changelog", "store", "records"),
    ),
)
"""In the order in which they are tried."""
