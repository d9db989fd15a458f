"""Log lines of brokers and consumers about rebalances of classic groups, as rows.

They have reasons and times, and mostly repeat what the group's records and requests show. Three things only
they say: that a generation began that has no record, that a member was removed before the next record, and
that a broker's configuration keeps classic members out of a consumer group.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial

from fencepost.capture.kinds import Kind
from fencepost.capture.log_messages import LogMessages, find_client_logs
from fencepost.capture.plan import Fault, Source
from fencepost.capture.text import files
from fencepost.formats.log_entries import Message
from fencepost.protocols.ownership_claim.bronze import CONSUMER_LINES, COORDINATOR_LINES
from fencepost.settings import Cluster

_MANAGER = "org/apache/kafka/coordinator/group/GroupMetadataManager"
_BEFORE_4 = "kafka/coordinator/group/GroupCoordinator"
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
"""The messages of Kafka 3.9 to 4.3, in the order in which they are tried."""

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
)

_OF_CONSUMER = re.compile(
    r"Consumer (?:instanceId=.*?, )?clientId=(?P<client_id>.*?), groupId=(?P<group_id>.*)"
)
_MISSING = "no file matches: correct server_logs in the configuration, or mount them"


def find_server_logs(cluster: Cluster) -> tuple[list[Source], list[Fault]]:
    """Every file of the brokers' ``server_logs``, and the patterns that match none."""
    sources: list[Source] = []
    faults: list[Fault] = []
    for broker in cluster.brokers:
        matching, absent = files(broker.server_logs, _MISSING)
        sources += [
            Source(cluster.name, broker.id, "server_log", file, timezone=broker.timezone) for file in matching
        ]
        faults += [
            Fault(cluster.name, broker.id, "server_log", each.path, 0, 0, each.reason, each.detail)
            for each in absent
        ]
    return sources, faults


def _of_coordinator(_: str, fields: Mapping[str, str | None]) -> Mapping[str, str | None]:
    return fields


def _of_consumer(_: str, fields: Mapping[str, str | None]) -> Mapping[str, str | None]:
    consumer = _OF_CONSUMER.fullmatch(fields.get("context") or "")
    return {**(consumer.groupdict() if consumer else {}), **fields}


SERVER_LOGS = Kind(
    "server_log",
    LogMessages(COORDINATOR_LINES, COORDINATOR_MESSAGES, _of_coordinator).rows,
    (COORDINATOR_LINES,),
    find_server_logs,
)
CONSUMER_LOGS = Kind(
    "consumer_log",
    LogMessages(CONSUMER_LINES, CONSUMER_MESSAGES, _of_consumer).rows,
    (CONSUMER_LINES,),
    partial(find_client_logs, "consumer_log"),
)
KINDS = (SERVER_LOGS, CONSUMER_LOGS)
