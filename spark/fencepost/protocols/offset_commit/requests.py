"""Commits as the request log has them: what was asked of each partition, and what was answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from sys import intern
from typing import Any

from fencepost.replay.group_coordinator.requests import OFFSET_COMMIT, TXN_OFFSET_COMMIT
from fencepost.replay.keys import ZERO_ID, digest_of, topic_key
from fencepost.replay.metadata import Topics
from fencepost.replay.requests import NONE, RequestLine, error_name, integer, text

COMMIT_APIS = (OFFSET_COMMIT, TXN_OFFSET_COMMIT)
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

    ``reference`` is how the request names the topic. ``broker_error`` is Kafka's name; None when the line has
    no answer, as ``accepted`` (it was stored, see Undecided) and ``fenced`` (a fencing rule refused it).
    ``number`` is its place among the commits of its coordinator's requests.
    """

    request: CommitRequest
    reference: str | None
    topic: str | None
    topic_id: str | None
    partition: int
    partition_key: str | None
    committed_offset: int | None
    committed_leader_epoch: int
    broker_error: str | None
    accepted: bool | None
    fenced: bool | None
    number: int = -1

    @property
    def commit_id(self) -> str:
        """A digest of the request and of the partition as it names it."""
        return digest_of(self.request.request_id, self.reference, self.partition)


def is_accepted(error: str | None) -> bool | None:
    """Whether a broker says with this error that it took the commit."""
    return None if error is None else error == NONE


def is_fenced(error: str | None) -> bool | None:
    """Whether it says that a fencing rule refused it."""
    return None if error is None else error in FENCING


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
        None if reference is None else intern(reference),
        name,
        topic_id,
        number,
        None if key is None else intern(key),
        integer(partition.get("committedOffset"), 64),
        -1 if leader_epoch is None else integer(leader_epoch),
        error,
        is_accepted(error),
        is_fenced(error),
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
