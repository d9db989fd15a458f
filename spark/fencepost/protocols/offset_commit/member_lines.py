"""The answers of brokers to the members of groups: to heartbeats, JoinGroup, SyncGroup and LeaveGroup."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fencepost.replay.group_coordinator.requests import (
    HEARTBEAT,
    JOIN_GROUP,
    LEAVE_GROUP,
    SYNC_GROUP,
    timeout_of_join,
)
from fencepost.replay.keys import topic_key
from fencepost.replay.requests import RequestLine, integer, text

CONSUMER_GROUP_HEARTBEAT, STREAMS_GROUP_HEARTBEAT = 68, 88
HEARTBEAT_APIS = {CONSUMER_GROUP_HEARTBEAT: "consumer", STREAMS_GROUP_HEARTBEAT: "streams"}
"""The heartbeats that are answered with a member epoch, and the type of group that answers them."""

_UNKNOWN_MEMBER_ID, _REBALANCE_IN_PROGRESS, _MEMBER_ID_REQUIRED = 25, 27, 79


@dataclass(slots=True, eq=False)
class MemberLine:
    """A broker's answer to one member of a classic group.

    ``generation``: in the answer to JoinGroup, otherwise in the request. ``fine``: answered without error.
    If not, the line is one of three: a Heartbeat answered REBALANCE_IN_PROGRESS, as only members are; a
    JoinGroup answered MEMBER_ID_REQUIRED, with the member id to join with; or ``unknown``, a Heartbeat or
    SyncGroup answered UNKNOWN_MEMBER_ID, which shows no generation. ``named``: the request has the member
    id. ``protocol_type``: "consumer" for consumers; None if neither the request nor its answer has it
    (SyncGroup before version 5). ``assignment``: in the answer to SyncGroup; a consumer's is a
    ConsumerProtocolAssignment. ``timeout_ms``: in JoinGroup, how long after a sign of life the coordinator
    keeps the member: the shorter of session timeout and rebalance timeout. Times are as in CommitRequest.
    """

    broker_id: int
    connection: str | None
    api_key: int
    group_id: str
    member_id: str
    instance_id: str | None
    generation: int | None
    fine: bool
    unknown: bool
    named: bool
    protocol_type: str | None
    assignment: bytes | None
    timeout_ms: int | None
    requested_ms: int
    responded_ms: int
    file: str
    position: int


@dataclass(slots=True, eq=False)
class HeartbeatAnswer:
    """A broker's answer to a heartbeat of a member of a group that is not classic.

    ``member_epoch``: None if the heartbeat was refused or the member left (``leaves``). ``assigned``: keys of
    the partitions that the answer assigns to a consumer; None if it has no assignment. Times are as in
    CommitRequest.
    """

    broker_id: int
    connection: str | None
    group_type: str
    group_id: str
    member_id: str
    joins: bool
    leaves: bool
    member_epoch: int | None
    assigned: frozenset[str] | None
    requested_ms: int
    responded_ms: int
    file: str
    position: int


def heartbeat_answer(line: RequestLine) -> HeartbeatAnswer | None:
    """The answer in a line of HEARTBEAT_APIS; None if the line names no group or no member."""
    sent, answer = line.sent, line.answer or {}
    group_id = text(sent.get("groupId"))
    member_id = text(answer.get("memberId") or sent.get("memberId"))
    if group_id is None or not member_id:
        return None
    presented, epoch = integer(sent.get("memberEpoch")), integer(answer.get("memberEpoch"))
    fine = answer.get("errorCode") == 0
    if not fine or epoch is None or epoch <= 0:
        epoch = None
    return HeartbeatAnswer(
        line.broker_id,
        line.connection,
        HEARTBEAT_APIS[line.api_key],
        group_id,
        member_id,
        presented == 0,
        fine and presented is not None and presented < 0,
        epoch,
        _assigned(answer.get("assignment")) if epoch is not None else None,
        line.requested_ms,
        line.responded_ms,
        line.file,
        line.position,
    )


def _assigned(assignment: Mapping[str, Any] | None) -> frozenset[str] | None:
    listed = None if assignment is None else assignment.get("topicPartitions")
    if listed is None:
        return None
    keys = {
        topic_key(text(topic["topicId"]), None, integer(partition))
        for topic in listed
        for partition in topic["partitions"]
    }
    return frozenset(key for key in keys if key is not None)


def member_lines(line: RequestLine) -> list[MemberLine]:
    """The answers to members in a line of CLASSIC_APIS. None for a request that was refused with an error
    that does not show whether the member exists.
    """
    sent, answer = line.sent, line.answer or {}
    group_id, code = sent.get("groupId"), answer.get("errorCode")
    if group_id is None:
        return []
    expected = {HEARTBEAT: _REBALANCE_IN_PROGRESS, JOIN_GROUP: _MEMBER_ID_REQUIRED}
    stays_member = code is not None and expected.get(line.api_key) == code
    unknown = code == _UNKNOWN_MEMBER_ID and line.api_key in (HEARTBEAT, SYNC_GROUP)
    source = answer if line.api_key == JOIN_GROUP else sent
    lines = []
    for member_id, instance_id, error in _members(line.api_key, sent, answer):
        fine = code == 0 and error == 0
        if member_id is not None and (fine or stays_member or unknown):
            lines.append(
                MemberLine(
                    line.broker_id,
                    line.connection,
                    line.api_key,
                    text(group_id),
                    text(member_id),
                    text(instance_id),
                    None if unknown else integer(source.get("generationId")),
                    fine,
                    unknown,
                    line.api_key != JOIN_GROUP or sent.get("memberId") == member_id,
                    text(sent.get("protocolType") or answer.get("protocolType")),
                    _assignment(answer) if line.api_key == SYNC_GROUP else None,
                    timeout_of_join(sent) if line.api_key == JOIN_GROUP else None,
                    line.requested_ms,
                    line.responded_ms,
                    line.file,
                    line.position,
                )
            )
    return lines


def _members(
    api_key: int, sent: Mapping[str, Any], answer: Mapping[str, Any]
) -> Sequence[tuple[str | None, str | None, int | None]]:
    """The members that a request is about: member id, instance id, error. LeaveGroup may name several."""
    if api_key == LEAVE_GROUP and answer.get("members"):
        return [
            (member.get("memberId"), member.get("groupInstanceId"), member.get("errorCode"))
            for member in answer["members"]
        ]
    assigned_id = answer.get("memberId") if api_key == JOIN_GROUP else None
    member_id = assigned_id if assigned_id is not None else sent.get("memberId")
    return [(member_id, sent.get("groupInstanceId"), answer.get("errorCode"))]


def _assignment(answer: Mapping[str, Any]) -> bytes | None:
    """The assignment that a member got, as bytes. Only that of a consumer has partitions."""
    encoded = answer.get("assignment")
    if not encoded:
        return None
    try:
        return b64decode(encoded, validate=True)
    except ValueError:
        return None
