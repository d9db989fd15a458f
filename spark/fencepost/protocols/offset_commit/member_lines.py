"""The answers of brokers to the members of groups: to heartbeats, JoinGroup, SyncGroup and LeaveGroup."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fencepost.replay.group_coordinator.requests import (
    ELSEWHERE,
    HEARTBEAT,
    JOIN_GROUP,
    LEAVE_GROUP,
    SYNC_GROUP,
    timeout_of_join,
)
from fencepost.replay.keys import topic_key
from fencepost.replay.requests import NONE, RequestLine, error_name, integer, text

CONSUMER_GROUP_HEARTBEAT, STREAMS_GROUP_HEARTBEAT = 68, 88
HEARTBEAT_APIS = {CONSUMER_GROUP_HEARTBEAT: "consumer", STREAMS_GROUP_HEARTBEAT: "streams"}
"""The heartbeats that are answered with a member epoch, and the type of group that answers them."""

_UNKNOWN, _REBALANCING, _ID_REQUIRED = "UNKNOWN_MEMBER_ID", "REBALANCE_IN_PROGRESS", "MEMBER_ID_REQUIRED"
_AT_ONCE_MS = 100
_TELLING = {(HEARTBEAT, _REBALANCING), (HEARTBEAT, _UNKNOWN), (SYNC_GROUP, _UNKNOWN)}
"""The errors, by API, that show whether the member exists."""


@dataclass(slots=True, eq=False)
class MemberLine:
    """A broker's answer to one member of a classic group.

    ``generation``: in the answer to JoinGroup, otherwise in the request; None if the answer shows none.
    ``error``: Kafka's name of the error, None without an answer. Lines with errors are of three kinds: a
    Heartbeat answered REBALANCE_IN_PROGRESS, as only members are; a Heartbeat or SyncGroup answered
    UNKNOWN_MEMBER_ID (``unknown``); and any JoinGroup that a coordinator answered, because it may have waited
    as a member's. ``member_id`` is empty in the JoinGroup of a member that got none. ``named``: the request
    has the member id. ``protocol_type``: "consumer" for consumers; None if neither the request nor its answer
    has it (SyncGroup before version 5). ``assignment``: in the answer to SyncGroup; a consumer's is a
    ConsumerProtocolAssignment. ``assignments``: in a leader's SyncGroup, (member id, assignment in base64) of
    every member, if they were asked for. ``timeout_ms``: in JoinGroup, how long after a sign of life the
    coordinator keeps the member: the shorter of session timeout and rebalance timeout. Times are as in
    CommitRequest.
    """

    broker_id: int
    connection: str | None
    correlation_id: int
    api_key: int
    group_id: str
    member_id: str
    client_id: str | None
    instance_id: str | None
    generation: int | None
    error: str | None
    named: bool
    protocol_type: str | None
    assignment: bytes | None
    assignments: Sequence[tuple[str, str]]
    timeout_ms: int | None
    requested_ms: int
    responded_ms: int
    file: str
    position: int

    @property
    def fine(self) -> bool:
        """Answered without error."""
        return self.error == NONE

    @property
    def unknown(self) -> bool:
        """A Heartbeat or SyncGroup of a member that the coordinator does not have."""
        return self.error == _UNKNOWN and self.api_key != JOIN_GROUP

    @property
    def is_unknown_join(self) -> bool:
        """A JoinGroup of a member that the coordinator does not have."""
        return self.error == _UNKNOWN and self.api_key == JOIN_GROUP

    @property
    def waited(self) -> bool:
        """It took so long that it waited for a generation to begin."""
        return self.responded_ms - self.requested_ms > _AT_ONCE_MS

    @property
    def gives_id(self) -> bool:
        """A JoinGroup that was answered with the member id to join with: no member yet."""
        return self.error == _ID_REQUIRED


@dataclass(slots=True, eq=False)
class HeartbeatAnswer:
    """A broker's answer to a heartbeat of a member of a group that is not classic.

    ``presented``: the epoch in the request; ``member_epoch``: in the answer, None if the heartbeat was
    refused or the member left (``leaves``). ``assigned``: keys of the partitions that the answer assigns to a
    consumer; None if it has no assignment. Times are as in CommitRequest.
    """

    broker_id: int
    connection: str | None
    group_type: str
    group_id: str
    member_id: str
    joins: bool
    leaves: bool
    presented: int | None
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
        presented,
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


def member_lines(line: RequestLine, *, with_assignments: bool = False) -> list[MemberLine]:
    """The answers to members in a line of CLASSIC_APIS. None for a request, other than JoinGroup, that was
    refused with an error that does not show whether the member exists. ``with_assignments``: with what
    leaders assign, which is much in a large group.
    """
    sent, answer = line.sent, line.answer or {}
    group_id, code = sent.get("groupId"), answer.get("errorCode")
    if group_id is None:
        return []
    joins = line.api_key == JOIN_GROUP
    source = answer if joins else sent
    lines = []
    for member_id, instance_id, of_member in _members(line.api_key, sent, answer):
        error = error_name(integer(of_member if code == 0 else code))
        if member_id is not None and (
            error == NONE or (joins and error not in ELSEWHERE) or (line.api_key, error) in _TELLING
        ):
            shows_none = error == _UNKNOWN or (joins and error != NONE)
            lines.append(
                MemberLine(
                    line.broker_id,
                    line.connection,
                    line.correlation_id,
                    line.api_key,
                    text(group_id),
                    text(member_id),
                    line.client_id,
                    text(instance_id),
                    None if shows_none else integer(source.get("generationId")),
                    error,
                    not joins or sent.get("memberId") == member_id,
                    text(sent.get("protocolType") or answer.get("protocolType")),
                    _assignment(answer) if line.api_key == SYNC_GROUP else None,
                    _assignments(sent) if with_assignments and line.api_key == SYNC_GROUP else (),
                    timeout_of_join(sent) if joins else None,
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
    # a JoinGroup that is refused after it has waited is answered without the member id
    assigned_id = answer.get("memberId") if api_key == JOIN_GROUP else None
    return [(assigned_id or sent.get("memberId"), sent.get("groupInstanceId"), answer.get("errorCode"))]


def _assignments(sent: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    """What a leader assigns to each member: the member's id, and the assignment in base64."""
    return [(text(each["memberId"]), text(each["assignment"])) for each in sent.get("assignments") or ()]


def _assignment(answer: Mapping[str, Any]) -> bytes | None:
    """The assignment that a member got, as bytes. Only that of a consumer has partitions."""
    encoded = answer.get("assignment")
    if not encoded:
        return None
    try:
        return b64decode(encoded, validate=True)
    except ValueError:
        return None
