"""Requests of groups' members: the commits of the request log, and what classic members were told."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from sys import intern
from typing import Any

from fencepost.replay.group_coordinator.requests import (
    CLASSIC_APIS,
    HEARTBEAT,
    JOIN_GROUP,
    LEAVE_GROUP,
    OFFSET_COMMIT,
    SYNC_GROUP,
    TXN_OFFSET_COMMIT,
)
from fencepost.replay.keys import ZERO_ID, digest_of, topic_key
from fencepost.replay.metadata import Topics
from fencepost.replay.requests import NONE, RequestLine, error_name, integer, text

COMMIT_APIS = (OFFSET_COMMIT, TXN_OFFSET_COMMIT)
CONSUMER_GROUP_HEARTBEAT, STREAMS_GROUP_HEARTBEAT = 68, 88
HEARTBEAT_APIS = {CONSUMER_GROUP_HEARTBEAT: "consumer", STREAMS_GROUP_HEARTBEAT: "streams"}
"""The heartbeats that are answered with a member epoch, and the type of group that answers them."""

APIS = (*COMMIT_APIS, *CLASSIC_APIS, *HEARTBEAT_APIS)

FENCING = frozenset(
    {
        "ILLEGAL_GENERATION",
        "UNKNOWN_MEMBER_ID",
        "STALE_MEMBER_EPOCH",
        "FENCED_MEMBER_EPOCH",
        "FENCED_INSTANCE_ID",
        "REBALANCE_IN_PROGRESS",
        "GROUP_ID_NOT_FOUND",
    }
)
"""The errors that mean: the coordinator knows the group and refuses this member or epoch."""

_REBALANCE_IN_PROGRESS, _MEMBER_ID_REQUIRED = 27, 79


@dataclass(slots=True, eq=False)
class CommitRequest:
    """An OffsetCommit or TxnOffsetCommit, with each of its partitions once, as last mentioned.

    ``client_epoch`` is the member epoch or generation it presents, -1 for none. ``requested_ms`` and
    ``responded_ms`` are of the clock of the broker that answered. ``number`` is its place among the requests
    of its coordinator, once they are in order.
    """

    request_id: str
    broker_id: int
    connection: str | None
    group_id: str
    member_id: str
    instance_id: str | None
    client_id: str | None
    correlation_id: int
    api_key: int
    api_version: int
    client_epoch: int
    is_transactional: bool
    transactional_id: str | None
    producer_id: int | None
    producer_epoch: int | None
    requested_ms: int
    responded_ms: int
    file: str
    position: int
    commits: list[Commit]
    number: int = -1


@dataclass(slots=True, eq=False)
class Commit:
    """One partition of a CommitRequest.

    ``broker_error`` is Kafka's name; None when the line has no answer, as ``accepted`` (it was stored, see
    Undecided) and ``fenced`` (a fencing rule refused it).
    """

    request: CommitRequest
    commit_id: str
    topic: str | None
    topic_id: str | None
    partition: int
    partition_key: str | None
    committed_offset: int | None
    committed_leader_epoch: int
    broker_error: str | None
    accepted: bool | None
    fenced: bool | None


@dataclass(slots=True, eq=False)
class MemberLine:
    """What a broker told one classic member.

    ``generation`` is of the answer to JoinGroup, else of the request. ``fine``: without error. Else it is a
    heartbeat that was told of a rebalance, which only a member is, or a JoinGroup that was given the member
    id to join with. ``named``: the request has the member id. ``protocol_type``: "consumer" for consumers;
    None where the request and its answer do not say (SyncGroup before version 5). ``assignment``: of an
    answer to SyncGroup, a consumer's is a ConsumerProtocolAssignment. ``timeout_ms``: of a JoinGroup, how
    long after a sign of life the member is not removed: the shorter of its session and the time to join
    again. Times as CommitRequest has them.
    """

    broker_id: int
    connection: str | None
    api_key: int
    group_id: str
    member_id: str
    instance_id: str | None
    generation: int | None
    fine: bool
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
    """What a broker answered a member of a group that is not classic: the member epoch it had then; None when
    the heartbeat was refused, or the member left (``leaves``). ``assigned``: keys of the partitions that a
    consumer was assigned; None where the answer has none. Times as CommitRequest has them.
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


def commit_request(line: RequestLine, topics: Topics) -> CommitRequest | None:
    """The commits of a line of COMMIT_APIS; None when it names no partition.

    A topic that is asked for by name has the id that the name meant when the line was written, and the other
    way round. Raises AttributeError, KeyError or TypeError for JSON that no broker writes.
    """
    sent = line.sent
    asked = sent.get("topics")
    if sent.get("groupId") is None or not asked:
        return None
    transactional = line.api_key == TXN_OFFSET_COMMIT
    epoch = sent.get("generationIdOrMemberEpoch")
    if epoch is None:
        epoch = sent.get("generationId")
    request = CommitRequest(
        line.request_id,
        line.broker_id,
        line.connection,
        text(sent["groupId"]) or "",
        text(sent.get("memberId")) or "",
        text(sent.get("groupInstanceId")),
        line.client_id,
        line.correlation_id,
        line.api_key,
        line.api_version,
        -1 if epoch is None else integer(epoch),
        transactional,
        text(sent.get("transactionalId")) if transactional else None,
        integer(sent.get("producerId"), 64) if transactional else None,
        integer(sent.get("producerEpoch")) if transactional else None,
        line.requested_ms,
        line.responded_ms,
        line.file,
        line.position,
        [],
    )
    answers = _answers(line.answer)
    newest = {
        (reference, partition["partitionIndex"]): (topic, partition)
        for reference, topic in [(_reference(topic), topic) for topic in asked]
        for partition in topic.get("partitions") or ()
        if "partitionIndex" in partition
    }
    for place, (topic, partition) in newest.items():
        request.commits.append(
            _commit(request, place, topic, partition, topics=topics, code=answers.get(place))
        )
    return request if request.commits else None


_Place = tuple[str | None, int]
"""How a request names a topic, and the partition."""


def _commit(
    request: CommitRequest,
    place: _Place,
    topic: Mapping[str, Any],
    partition: Mapping[str, Any],
    *,
    topics: Topics,
    code: int | None,
) -> Commit:
    reference, number = place[0], integer(place[1])
    name, topic_id = text(topic.get("name")), text(_given_id(topic))
    if name is None:
        name = topics.name_of(topic_id)
    elif topic_id is None:
        topic_id = topics.id_at(name, request.responded_ms)
    leader_epoch = partition.get("committedLeaderEpoch")
    error = error_name(integer(code))
    key = topic_key(topic_id, name, number)
    return Commit(
        request,
        digest_of(request.request_id, reference, number),
        name,
        topic_id,
        number,
        None if key is None else intern(key),
        integer(partition.get("committedOffset"), 64),
        -1 if leader_epoch is None else integer(leader_epoch),
        error,
        None if error is None else error == NONE,
        None if error is None else error in FENCING,
    )


def _answers(answer: Mapping[str, Any] | None) -> dict[_Place, int | None]:
    if not answer:
        return {}
    return {
        (reference, partition.get("partitionIndex")): partition.get("errorCode")
        for reference, topic in [(_reference(topic), topic) for topic in answer.get("topics") or ()]
        for partition in topic.get("partitions") or ()
    }


def _reference(topic: Mapping[str, Any]) -> str | None:
    """How a request names a topic: by id from OffsetCommit v10 and TxnOffsetCommit v6 on, else by name."""
    topic_id = _given_id(topic)
    if topic_id is not None:
        return f"id:{topic_id}"
    return None if topic.get("name") is None else f"name:{topic['name']}"


def _given_id(topic: Mapping[str, Any]) -> str | None:
    topic_id = topic.get("topicId")
    return None if topic_id == ZERO_ID else topic_id


def heartbeat_answer(line: RequestLine) -> HeartbeatAnswer | None:
    """A line of HEARTBEAT_APIS; None when it names no group or member."""
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
    """What a line of CLASSIC_APIS tells of members; nothing when it was refused."""
    sent, answer = line.sent, line.answer or {}
    group_id, code = sent.get("groupId"), answer.get("errorCode")
    if group_id is None:
        return []
    expected = {HEARTBEAT: _REBALANCE_IN_PROGRESS, JOIN_GROUP: _MEMBER_ID_REQUIRED}
    goes_on = code is not None and expected.get(line.api_key) == code
    source = answer if line.api_key == JOIN_GROUP else sent
    found = []
    for member_id, instance_id, error in _members(line.api_key, sent, answer):
        fine = code == 0 and error == 0
        if member_id is not None and (fine or goes_on):
            found.append(
                MemberLine(
                    line.broker_id,
                    line.connection,
                    line.api_key,
                    text(group_id),
                    text(member_id),
                    text(instance_id),
                    integer(source.get("generationId")),
                    fine,
                    line.api_key != JOIN_GROUP or sent.get("memberId") == member_id,
                    text(sent.get("protocolType") or answer.get("protocolType")),
                    _assignment(answer) if line.api_key == SYNC_GROUP else None,
                    _timeout_ms(sent) if line.api_key == JOIN_GROUP else None,
                    line.requested_ms,
                    line.responded_ms,
                    line.file,
                    line.position,
                )
            )
    return found


def _members(
    api_key: int, sent: Mapping[str, Any], answer: Mapping[str, Any]
) -> Sequence[tuple[str | None, str | None, int | None]]:
    """The members that a request is about: member id, instance id, error. LeaveGroup may name several."""
    if api_key == LEAVE_GROUP and answer.get("members"):
        return [
            (member.get("memberId"), member.get("groupInstanceId"), member.get("errorCode"))
            for member in answer["members"]
        ]
    told = answer.get("memberId") if api_key == JOIN_GROUP else None
    member_id = told if told is not None else sent.get("memberId")
    return [(member_id, sent.get("groupInstanceId"), answer.get("errorCode"))]


def _timeout_ms(sent: Mapping[str, Any]) -> int | None:
    """JoinGroup before version 1 has one timeout for both."""
    given = (integer(sent.get("sessionTimeoutMs")), integer(sent.get("rebalanceTimeoutMs")))
    return min((each for each in given if each is not None and each >= 0), default=None)


def _assignment(answer: Mapping[str, Any]) -> bytes | None:
    """What a member was assigned; only that of a consumer is of partitions."""
    given = answer.get("assignment")
    if not given:
        return None
    try:
        return b64decode(given, validate=True)
    except ValueError:
        return None
