"""The user data of StreamsPartitionAssignor: SubscriptionInfo from a member, AssignmentInfo for a member.

Tasks are named as TaskId prints them (org.apache.kafka.streams.processor.TaskId).
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

import pyarrow as pa

from fencepost.formats.decode import decode

PROTOCOL = "stream"
"""The name of the assignor (StreamsPartitionAssignor.name): members that offer it are Kafka Streams."""

LATEST_OFFSET = -2
"""Task.LATEST_OFFSET: an active task that runs."""

UNKNOWN_OFFSET_SUM = -3
"""SubscriptionInfo.UNKNOWN_OFFSET_SUM: a standby task that is reported without a sum."""


class TaskId(NamedTuple):
    """A task; ``topology`` is the name of its topology, None if topologies have no names."""

    topology: str | None
    subtopology: int
    partition: int

    def __str__(self) -> str:
        local_id = f"{self.subtopology}_{self.partition}"
        return local_id if self.topology is None else f"{self.topology}__{local_id}"


class Report(NamedTuple):
    """A SubscriptionInfo: the process that reports, and the offset sum of each task as the leader reads it.

    ``process_id`` is a UUID as Java prints it. Before version 7 a report has no sums: the leader takes
    LATEST_OFFSET for active tasks, UNKNOWN_OFFSET_SUM for standby tasks.
    """

    version: int
    latest_supported_version: int | None
    process_id: str
    offset_sums: Mapping[TaskId, int]


class Assignment(NamedTuple):
    """An AssignmentInfo: the tasks of a member. ``next_rebalance_ms`` is when the member has to request the
    next rebalance, in milliseconds since 1970; None for never.
    """

    version: int
    active: frozenset[TaskId]
    standby: frozenset[TaskId]
    error_code: int
    next_rebalance_ms: int | None


_NEVER = 2**63 - 1


def reports(user_data: Sequence[bytes | None]) -> list[Report | None]:
    """The reports in these bytes; None for bytes that are no report, or one of a version that no release
    writes.
    """
    return [fields and _report(fields) for fields in _each("SubscriptionInfoData", user_data)]


def assignments(user_data: Sequence[bytes | None]) -> list[Assignment | None]:
    """The assignments in these bytes; None for bytes that are none, or of a version that no
    release writes.
    """
    return [fields and _assignment(fields) for fields in _each("AssignmentInfo", user_data)]


def subscribed(subscriptions: Sequence[bytes | None]) -> list[bytes | None]:
    """The user data of ConsumerProtocolSubscriptions; None for one without user data or that
    cannot be read.
    """
    return [fields and fields["user_data"] for fields in _each("ConsumerProtocolSubscription", subscriptions)]


def assigned(messages: Sequence[bytes | None]) -> list[bytes | None]:
    """The user data of ConsumerProtocolAssignments; None for one without user data or that cannot be read."""
    return [fields and fields["user_data"] for fields in _each("ConsumerProtocolAssignment", messages)]


def _each(name: str, messages: Sequence[bytes | None]) -> list[Any]:
    column = pa.array([each or None for each in messages], pa.binary())
    return list(decode(name, "value", column).values.to_pylist())


def _report(fields: Mapping[str, Any]) -> Report:
    version = fields["version"]
    return Report(
        version,
        fields["latest_supported_version"] if version >= 3 else None,
        str(UUID(bytes=base64.urlsafe_b64decode(fields["process_id"] + "=="))),
        dict(_offset_sums(fields)),
    )


def _offset_sums(fields: Mapping[str, Any]) -> Iterator[tuple[TaskId, int]]:
    for name, offset_sum in (("prev_tasks", LATEST_OFFSET), ("standby_tasks", UNKNOWN_OFFSET_SUM)):
        for task in fields[name] or ():
            yield TaskId(None, task["topic_group_id"], task["partition"]), offset_sum
    for each in fields["task_offset_sums"] or ():
        subtopology = each["topic_group_id"]
        if each["partition_to_offset_sum"] is None:
            yield TaskId(each["named_topology"], subtopology, each["partition"]), each["offset_sum"]
        for nested in each["partition_to_offset_sum"] or ():
            yield TaskId(None, subtopology, nested["partition"]), nested["offset_sum"]


def _assignment(fields: Mapping[str, Any]) -> Assignment:
    at = fields["next_rebalance_ms"]
    return Assignment(
        fields["version"],
        frozenset(map(_task, fields["active_tasks"])),
        frozenset(map(_task, fields["standby_tasks"])),
        fields["error_code"] or 0,
        None if at == _NEVER else at,
    )


def _task(fields: Mapping[str, Any]) -> TaskId:
    # the name is written as Java chars, one after the other
    chars = fields["topology_name"] or ()
    name = b"".join((each & 0xFFFF).to_bytes(2, "big") for each in chars).decode("utf-16-be", "replace")
    return TaskId(name or None, fields["subtopology"], fields["partition"])
