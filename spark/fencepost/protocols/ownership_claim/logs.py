"""Log lines of brokers and consumers about groups and what became of them, as rows.

Those about rebalances of classic groups have reasons and times, and mostly repeat what the group's records
and requests show. Three things only they say: that a generation began that has no record, that a member was
removed before the next record, and that a broker's configuration keeps classic members out of a consumer
group.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial

from fencepost.capture.kinds import Kind
from fencepost.capture.log_messages import LogMessages, find_client_logs
from fencepost.capture.server_logs import SERVER_LOG, find_server_logs
from fencepost.formats.log_entries import Message
from fencepost.protocols.ownership_claim.bronze import BROKER_LINES, CONSUMER_LINES

_MANAGER = "org/apache/kafka/coordinator/group/GroupMetadataManager"
_BEFORE_4 = "kafka/coordinator/group/GroupCoordinator"
_SHARD = "org/apache/kafka/coordinator/group/GroupCoordinatorShard"
_OFFSETS_BEFORE_4 = "kafka/coordinator/group/GroupMetadataManager"
_LOG = "org/apache/kafka/storage/internals/log/UnifiedLog"
_LOG_BEFORE_4 = "kafka/log/UnifiedLog"
_STICKY = "org/apache/kafka/clients/consumer/internals/AbstractStickyAssignor"
_CONSUMER = "org/apache/kafka/clients/consumer/internals/ConsumerCoordinator"
_COORDINATOR = "org/apache/kafka/clients/consumer/internals/AbstractCoordinator"
_LISTENERS = "org/apache/kafka/clients/consumer/internals/ConsumerRebalanceListenerInvoker"

COORDINATOR_MESSAGES = (
    Message(
        "preparing",
        _BEFORE_4,
        "Preparing to rebalance group {} in state {} with old generation {} (__consumer_offsets-{}) "
        "(reason: {})",
        ("group_id", "_", "generation", "_", "reason"),
    ),
    Message(
        "preparing",
        _MANAGER,
        "Preparing to rebalance group {} in state {} with old generation {} (reason: {}).",
        ("group_id", "_", "generation", "reason"),
    ),
    Message(
        "stabilized",
        _BEFORE_4,
        "Stabilized group {} generation {} (__consumer_offsets-{}) with {} members",
        ("group_id", "generation", "_", "members"),
    ),
    Message(
        "stabilized",
        _MANAGER,
        "Stabilized group {} generation {} with {} members.",
        ("group_id", "generation", "members"),
    ),
    Message(
        "assignment_received",
        _MANAGER,
        "Assignment received from leader {} for group {} for generation {}. The group has {} members, {} of "
        "which are static.",
        ("member_id", "group_id", "generation", "members", "_"),
    ),
    Message(
        "emptied",
        _BEFORE_4,
        "Group {} with generation {} is now empty (__consumer_offsets-{})",
        ("group_id", "generation", "_"),
    ),
    Message("emptied", _MANAGER, "Group {} with generation {} is now empty.", ("group_id", "generation")),
    Message(
        "member_failed",
        _MANAGER,
        "Member {} in group {} has failed, removing it from the group.",
        ("member_id", "group_id"),
    ),
    Message(
        "member_failed",
        _BEFORE_4,
        "Member {} in group {} has failed, removing it from the group",
        ("member_id", "group_id"),
    ),
    Message(
        "member_left",
        _MANAGER,
        "[GroupId {}] Dynamic member {} has left group through explicit `LeaveGroup` request; "
        "client reason: {}",
        ("group_id", "member_id", "reason"),
    ),
    Message(
        "member_left",
        _MANAGER,
        "[Group {}] Member {} has left group through explicit `LeaveGroup` request; client reason: {}",
        ("group_id", "member_id", "reason"),
    ),
    Message(
        "member_left",
        _BEFORE_4,
        "[Group {}] Member {} has left group through explicit `LeaveGroup`; client reason: {}",
        ("group_id", "member_id", "reason"),
    ),
    Message(
        "migration_disabled",
        _MANAGER,
        "Cannot join the consumer group {} with the classic protocol because the group migration is "
        "disabled.",
        ("group_id",),
    ),
)
"""The messages of Kafka 3.9 to 4.4 about rebalances of classic groups, in the order in which they are
tried.
"""

REMOVAL_MESSAGES = (
    *(
        Message(
            "not_rejoined",
            logger,
            "Group {} removed dynamic members who haven't joined: {}",
            ("group_id", "reason"),
        )
        for logger in (_MANAGER, _BEFORE_4)
    ),
    Message(
        "not_synced",
        _MANAGER,
        "Group {} removed members who haven't sent their sync requests: {}",
        ("group_id", "reason"),
    ),
    Message(
        "not_synced",
        _BEFORE_4,
        "Group {} removed members who haven't sent their sync request: {}",
        ("group_id", "reason"),
    ),
    Message(
        "fenced",
        _MANAGER,
        "[GroupId {}] Member {} fenced from the group because {}.",
        ("group_id", "member_id", "reason"),
    ),
    Message(
        "fenced",
        _MANAGER,
        "[GroupId {}] Streams member {} fenced from the group because {}.",
        ("group_id", "member_id", "reason"),
    ),
    Message("left", _MANAGER, "[GroupId {}] Member {} left the consumer group.", ("group_id", "member_id")),
    Message("left", _MANAGER, "[GroupId {}] Member {} left the share group.", ("group_id", "member_id")),
    Message(
        "left",
        _MANAGER,
        "[GroupId {}][MemberId {}] Member {} left the streams group.",
        ("group_id", "_", "member_id"),
    ),
    Message(
        "away",
        _MANAGER,
        "[GroupId {}] Static member {} with instance id {} temporarily left the consumer group.",
        ("group_id", "member_id", "_"),
    ),
    Message(
        "left",
        _MANAGER,
        "[GroupId {}] Static member {} with instance id {} left the consumer group.",
        ("group_id", "member_id", "_"),
    ),
    Message(
        "replaced",
        _MANAGER,
        "[GroupId {}] Static member with instance id {} re-joins the consumer group using the {} protocol. "
        "Created a new member {} to replace the existing member {}.",
        ("group_id", "_", "_", "_", "member_id"),
    ),
    *(
        Message(
            "replaced",
            logger,
            "Static member with groupInstanceId={} and unknown member id joins group {} in {} state. "
            "Replacing previously mapped member {} with this groupInstanceId.",
            ("_", "group_id", "_", "member_id"),
        )
        for logger in (_MANAGER, _BEFORE_4)
    ),
    Message(
        "expired",
        _SHARD,
        "Generated {} tombstone records while cleaning up group metadata in {} milliseconds.",
        ("_", "took_ms"),
    ),
    Message(
        "expired",
        _OFFSETS_BEFORE_4,
        "Removed {} expired offsets in {} milliseconds.",
        ("_", "took_ms"),
    ),
    Message(
        "groups_deleted",
        _SHARD,
        "The following groups were deleted: {}. A total of {} offsets were removed.",
        ("reason", "_"),
    ),
    *(
        Message(
            "log_start",
            logger,
            "Incremented log start offset to {} due to {}",
            ("log_start_offset", "reason"),
        )
        for logger in (_LOG, _LOG_BEFORE_4)
    ),
)
"""The messages about what was removed: members, offsets, groups, and records at the begin of a log."""

REBALANCE_EVENTS = frozenset(message.event for message in COORDINATOR_MESSAGES)
"""The events of which a classic group's rebalances are rebuilt."""

CONSUMER_MESSAGES = (
    Message(
        "different_generations_claimed",
        _STICKY,
        "Consumer {} in generation {} and consumer {} in generation {} claiming the same TopicPartition {} "
        "in different generations. The topic partition {} be assigned to the member with the higher "
        "generation {}.",
        ("member_id", "generation", "other_member_id", "other_generation", "partitions", "_", "_"),
    ),
    Message(
        "same_generation_claimed",
        _STICKY,
        "Found multiple consumers {} and {} claiming the same TopicPartition {} in the same generation {}, "
        "this will be invalidated and removed from their previous assignment.",
        ("member_id", "other_member_id", "partitions", "generation"),
    ),
    Message(
        "owned_reassigned",
        _CONSUMER,
        "With the COOPERATIVE protocol, owned partitions cannot be reassigned to other members; however the "
        "assignor has reassigned partitions {} which are still owned by some members",
        ("partitions",),
    ),
    Message(
        "assignment_made",
        _CONSUMER,
        "Finished assignment for group at generation {}: {}",
        ("generation", "partitions"),
    ),
    Message("join_requested", _COORDINATOR, "Request joining group due to: {}", ("reason",)),
    Message("joining", _COORDINATOR, "(Re-)joining group"),
    Message("generation_reset", _COORDINATOR, "Resetting generation {}due to: {}", ("_", "reason")),
    Message("revoked", _LISTENERS, "Revoke previously assigned partitions {}", ("partitions",)),
    Message("lost", _LISTENERS, "Lost previously assigned partitions {}", ("partitions",)),
    Message("added", _LISTENERS, "Adding newly assigned partitions: {}", ("partitions",)),
    # before 1.0
    Message("joining", _COORDINATOR, "(Re-)joining group {}", ("group_id",)),
    *(
        Message(event, _CONSUMER, f"{words} partitions [{{}}] for group {{}}", ("partitions", "group_id"))
        for event, words in (
            ("revoked", "Revoking previously assigned"),
            ("added", "Setting newly assigned"),
        )
    ),
    # before 2.4
    Message("revoked", _CONSUMER, "Revoking previously assigned partitions [{}]", ("partitions",)),
    Message("added", _CONSUMER, "Setting newly assigned partitions [{}]", ("partitions",)),
)

_OF_CONSUMER = re.compile(
    r"Consumer (?:instanceId=.*?, )?clientId=(?P<client_id>.*?), groupId=(?P<group_id>.*)"
)
_OF_BROKER = re.compile(
    r"GroupCoordinator id=\d+ topic=__consumer_offsets partition=(?P<coordinator_partition>\d+)"
    r"|UnifiedLog partition=(?P<topic>[\w.-]+)-(?P<partition>\d+), dir=.*",
    re.ASCII | re.DOTALL,
)


def _of_broker(_: str, fields: Mapping[str, str | None]) -> Mapping[str, str | None]:
    place = _OF_BROKER.fullmatch(fields.get("context") or "")
    return {**(place.groupdict() if place else {}), **fields}


def _of_consumer(_: str, fields: Mapping[str, str | None]) -> Mapping[str, str | None]:
    consumer = _OF_CONSUMER.fullmatch(fields.get("context") or "")
    return {**(consumer.groupdict() if consumer else {}), **fields}


SERVER_LOGS = Kind(
    SERVER_LOG,
    LogMessages(BROKER_LINES, (*COORDINATOR_MESSAGES, *REMOVAL_MESSAGES), _of_broker).rows,
    (BROKER_LINES,),
    find_server_logs,
)
CONSUMER_LOGS = Kind(
    "consumer_log",
    LogMessages(CONSUMER_LINES, CONSUMER_MESSAGES, _of_consumer).rows,
    (CONSUMER_LINES,),
    partial(find_client_logs, "consumer_log"),
)
KINDS = (SERVER_LOGS, CONSUMER_LOGS)
