"""The request lines that tell of clients' metadata and positions, read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from fencepost.replay.keys import ZERO_ID
from fencepost.replay.requests import RequestLine, integer, text

APIS = {
    0: "PRODUCE", 1: "FETCH", 2: "LIST_OFFSETS", 3: "METADATA", 7: "CONTROLLED_SHUTDOWN", 8: "OFFSET_COMMIT",
    9: "OFFSET_FETCH", 19: "CREATE_TOPICS", 20: "DELETE_TOPICS", 23: "OFFSET_FOR_LEADER_EPOCH",
    28: "TXN_OFFSET_COMMIT", 37: "CREATE_PARTITIONS", 43: "ELECT_LEADERS", 56: "ALTER_PARTITION",
    62: "BROKER_REGISTRATION", 63: "BROKER_HEARTBEAT", 75: "DESCRIBE_TOPIC_PARTITIONS",
}  # fmt: skip
"""Kafka's names of the APIs that are read, by their keys (ApiKeys)."""

(
    PRODUCE, FETCH, LIST_OFFSETS, METADATA, CONTROLLED_SHUTDOWN, OFFSET_COMMIT, OFFSET_FETCH, CREATE_TOPICS,
    DELETE_TOPICS, OFFSET_FOR_LEADER_EPOCH, TXN_OFFSET_COMMIT, CREATE_PARTITIONS, ELECT_LEADERS,
    ALTER_PARTITION, BROKER_REGISTRATION, BROKER_HEARTBEAT, DESCRIBE_TOPIC_PARTITIONS,
) = APIS  # fmt: skip

CLIENT_APIS = (
    FETCH, LIST_OFFSETS, METADATA, OFFSET_COMMIT, OFFSET_FETCH, OFFSET_FOR_LEADER_EPOCH, TXN_OFFSET_COMMIT,
    DESCRIBE_TOPIC_PARTITIONS,
)  # fmt: skip
"""Those that show what one client knows and where it reads."""


class Asked(NamedTuple):
    """A topic's partition in a request, by name or by id."""

    topic: str | None
    topic_id: str | None
    partition: int


class PartitionLine(NamedTuple):
    """What was asked of one partition, and answered; numbers are -1 where there is none.

    ``offset`` is the offset asked, or committed; ``answered`` the one told. ``error`` is None without an
    answer.
    """

    asked: Asked
    offset: int = -1
    leader_epoch: int = -1  # the request's currentLeaderEpoch
    offset_epoch: int = -1  # lastFetchedEpoch, committedLeaderEpoch, or the leader epoch that is asked for
    error: int | None = None
    answered: int = -1
    answered_epoch: int = -1
    log_start_offset: int = -1
    high_watermark: int = -1
    leader_told: tuple[int, int] | None = None  # KIP-951's currentLeader: id and epoch
    group_id: str | None = None


Named = Mapping[str, Any]


def partition_lines(line: RequestLine) -> list[PartitionLine]:
    """What a line says of partitions; nothing where it is no broker's JSON."""
    read = _READERS.get(line.api_key)
    if read is None:
        return []
    try:
        return list(read(line.sent, line.answer))
    except (AttributeError, KeyError, TypeError):
        return []


def replica_of(line: RequestLine) -> int:
    """The broker that fetches; -1 for a consumer."""
    state = line.sent.get("replicaState")
    replica = state.get("replicaId") if isinstance(state, dict) else line.sent.get("replicaId")
    return replica if isinstance(replica, int) else -1


def _fetch(sent: Named, answer: Named | None) -> Iterator[PartitionLine]:
    answers = _by_place((answer or {}).get("responses"), "partitionIndex")
    code = _number(answer, "errorCode", 0) if answer is not None else None
    seen = set()
    for place, each in _places(sent.get("topics"), "partition"):
        seen.add(place)
        yield _fetched(place, each, answers.get(place), code)
    for place, told in answers.items():
        # in a fetch session what was listed before need not be listed again to be refused
        if place not in seen and _number(told, "errorCode", 0):
            yield _fetched(place, {}, told, code)


def _fetched(place: Asked, sent: Named, told: Named | None, code: int | None) -> PartitionLine:
    if told is None:
        told = {}
    diverging, leader = told.get("divergingEpoch"), told.get("currentLeader")
    return PartitionLine(
        place,
        _number(sent, "fetchOffset", -1, 64),
        _number(sent, "currentLeaderEpoch"),
        _number(sent, "lastFetchedEpoch"),
        code or _number(told, "errorCode", 0) if code is not None else None,
        _number(diverging, "endOffset", -1, 64) if diverging else -1,
        _number(diverging, "epoch") if diverging else -1,
        _number(told, "logStartOffset", -1, 64),
        _number(told, "highWatermark", -1, 64),
        (_number(leader, "leaderId"), _number(leader, "leaderEpoch")) if leader else None,
    )


def _list_offsets(sent: Named, answer: Named | None) -> Iterator[PartitionLine]:
    answers = _by_place((answer or {}).get("topics"), "partitionIndex")
    for place, each in _places(sent.get("topics"), "partitionIndex"):
        told = answers.get(place)
        yield PartitionLine(
            place,
            leader_epoch=_number(each, "currentLeaderEpoch"),
            error=None if told is None else _number(told, "errorCode", 0),
            answered=_number(told, "offset", -1, 64),
            answered_epoch=_number(told, "leaderEpoch"),
        )


def _epochs(sent: Named, answer: Named | None) -> Iterator[PartitionLine]:
    answers = _by_place((answer or {}).get("topics"), "partition")
    for place, each in _places(sent.get("topics"), "partition"):
        told = answers.get(place)
        yield PartitionLine(
            place,
            leader_epoch=_number(each, "currentLeaderEpoch"),
            offset_epoch=_number(each, "leaderEpoch"),
            error=None if told is None else _number(told, "errorCode", 0),
            answered=_number(told, "endOffset", -1, 64),
            answered_epoch=_number(told, "leaderEpoch"),
        )


def _commit(sent: Named, answer: Named | None) -> Iterator[PartitionLine]:
    answers = _by_place((answer or {}).get("topics"), "partitionIndex")
    for place, each in _places(sent.get("topics"), "partitionIndex"):
        told = answers.get(place)
        yield PartitionLine(
            place,
            _number(each, "committedOffset", -1, 64),
            offset_epoch=_number(each, "committedLeaderEpoch"),
            error=None if told is None else _number(told, "errorCode", 0),
            group_id=text(sent.get("groupId")),
        )


def _offset_fetch(sent: Named, answer: Named | None) -> Iterator[PartitionLine]:
    groups = (answer or {}).get("groups")
    if groups is None:
        groups = [{**(answer or {}), "groupId": sent.get("groupId")}]
    for group in groups:
        for place, told in _places(group.get("topics"), "partitionIndex"):
            yield PartitionLine(
                place,
                error=_number(told, "errorCode", 0),
                answered=_number(told, "committedOffset", -1, 64),
                answered_epoch=_number(told, "committedLeaderEpoch"),
                group_id=text(group.get("groupId")),
            )


_READERS = {
    FETCH: _fetch,
    LIST_OFFSETS: _list_offsets,
    OFFSET_FOR_LEADER_EPOCH: _epochs,
    OFFSET_COMMIT: _commit,
    TXN_OFFSET_COMMIT: _commit,
    OFFSET_FETCH: _offset_fetch,
}


def _by_place(topics: Sequence[Named] | None, index: str) -> dict[Asked, Named]:
    return dict(_places(topics, index))


def _places(topics: Sequence[Named] | None, index: str) -> Iterator[tuple[Asked, Named]]:
    for topic in topics or ():
        topic_id = text(topic.get("topicId"))
        name = text(topic.get("topic", topic.get("name"))) or None
        topic_id = None if topic_id == ZERO_ID else topic_id
        for each in topic.get("partitions") or ():
            yield Asked(name, topic_id, _number(each, index)), each


def _number(of: Named | None, name: str, default: int = -1, bits: int = 32) -> int:
    value = of.get(name) if of else None
    return default if value is None else integer(value, bits)
