"""A share group whose members join and leave, so that its epochs rise. They commit nothing."""

from __future__ import annotations

import time

from brokers import LabError, kafka_uuid
from cases import TOPIC, Case
from members import Group

_TRANSIENT = {14, 15, 16}
_PATIENCE_S = 15.0


def _heartbeat(group: Group, member_id: str, epoch: int, topics: list[str] | None = None) -> int:
    request = {"GroupId": group.group_id, "MemberId": member_id, "MemberEpoch": epoch}
    connection = group.connect(f"{group.group_id}-{member_id[:4]}")
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        answer = connection.call("ShareGroupHeartbeat", 1, {**request, "SubscribedTopicNames": topics})
        if answer["ErrorCode"] not in _TRANSIENT or time.monotonic() > deadline:
            break
        time.sleep(0.1)
    if answer["ErrorCode"]:
        raise LabError(f"share heartbeat: {answer['ErrorCode']} {answer['ErrorMessage']}")
    return int(answer["MemberEpoch"])


def share(group: Group) -> None:
    """Two members join, the first leaves, a third joins, all leave."""
    a, b, c = kafka_uuid(), kafka_uuid(), kafka_uuid()
    alone = _follow(group, a, _heartbeat(group, a, 0, [TOPIC]), 1)
    joined = _heartbeat(group, b, 0, [TOPIC])
    _follow(group, a, alone, alone + 1)
    _heartbeat(group, a, -1)
    third = _heartbeat(group, c, 0, [TOPIC])
    _follow(group, b, joined, alone + 2)
    _follow(group, c, third, alone + 2)
    _heartbeat(group, b, -1)
    _heartbeat(group, c, -1)


def _follow(group: Group, member_id: str, epoch: int, wanted: int) -> int:
    """Heartbeat until the member's epoch is at least the wanted one."""
    deadline = time.monotonic() + _PATIENCE_S
    while epoch < wanted:
        if time.monotonic() > deadline:
            raise LabError(f"the share group's epoch stays at {epoch}")
        time.sleep(0.1)
        epoch = _heartbeat(group, member_id, epoch)
    return epoch


CASES: dict[str, Case] = {"share-restless": share}
"""Group id -> the case played in it."""
