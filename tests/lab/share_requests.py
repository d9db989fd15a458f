"""Requests of a share group's members, made by a driver: ShareFetch and ShareAcknowledge (KIP-932)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from messages import Message
from partition_requests import Ask, Row, row
from truth import Partition

ACCEPT, RELEASE, REJECT, RENEW = 1, 2, 3, 4
"""Acknowledge types of org.apache.kafka.clients.consumer.AcknowledgeType."""

CLOSE = -1
"""The share session epoch that closes a session."""

Acknowledged = tuple[int, int, int]
"""First offset, last offset and acknowledge type."""


class Session(NamedTuple):
    """A member's share session: the epoch of its next request, and the only partition that it reads."""

    group_id: str
    member_id: str
    epoch: int
    place: Partition
    topic_id: str


def share_fetch(session: Session) -> Ask:
    """A fetch of at most 100 records that waits for at most a second."""
    place, topic_id = session.place, session.topic_id
    asked = {"group_id": session.group_id, "member_id": session.member_id, "session_epoch": session.epoch}
    message = _message(session, ())
    message |= {"MaxWaitMs": 1_000, "MinBytes": 1, "MaxRecords": 100, "BatchSize": 100}

    def read(answer: Message) -> list[Row]:
        told = [p for t in answer["Responses"] for p in t["Partitions"]]
        lock_ms = answer["AcquisitionLockTimeoutMs"]
        if not told:
            return [row(place, topic_id, answer["ErrorCode"], asked, {"acquired": [], "lock_ms": lock_ms})]
        return [
            row(place, topic_id, p["ErrorCode"], asked, {"acquired": _acquired(p), "lock_ms": lock_ms})
            for p in told
        ]

    return Ask("ShareFetch", 2, message, read)


def share_acknowledge(session: Session, *given: Acknowledged) -> Ask:
    """Acknowledgements of what a member has acquired; at the epoch CLOSE its session ends."""
    place, topic_id = session.place, session.topic_id
    asked = {"group_id": session.group_id, "member_id": session.member_id, "session_epoch": session.epoch}
    asked["acknowledged"] = given
    message = _message(session, given)
    message["IsRenewAck"] = any(kind == RENEW for _, _, kind in given)

    def read(answer: Message) -> list[Row]:
        told = [p for t in answer["Responses"] for p in t["Partitions"]]
        codes = [p["ErrorCode"] for p in told] or [answer["ErrorCode"]]
        return [row(place, topic_id, code, asked, {}) for code in codes]

    return Ask("ShareAcknowledge", 2, message, read)


def _message(session: Session, given: Iterable[Acknowledged]) -> Message:
    batches = [
        {"FirstOffset": first, "LastOffset": last, "AcknowledgeTypes": [kind]} for first, last, kind in given
    ]
    partitions = [{"PartitionIndex": session.place[1], "AcknowledgementBatches": batches}]
    is_named = batches or session.epoch != CLOSE
    return {
        "GroupId": session.group_id,
        "MemberId": session.member_id,
        "ShareSessionEpoch": session.epoch,
        "Topics": [{"TopicId": session.topic_id, "Partitions": partitions}] if is_named else [],
    }


def _acquired(partition: Message) -> list[list[int]]:
    return [
        [each["FirstOffset"], each["LastOffset"], each["DeliveryCount"]]
        for each in partition["AcquiredRecords"]
    ]
