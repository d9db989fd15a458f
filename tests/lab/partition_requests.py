"""Requests about partitions and their epochs, made by a driver: the message, and the content of its answer.

Every request here is an ``Ask``: it can be sent to any broker, also one that has been overtaken by events.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from messages import Message
from record_batch import Batch, batch_heads
from truth import Partition, error_name

Row = dict[str, Any]

BY_NAME, BY_ID = 12, 13
"""Fetch versions: the last that names topics, the first that identifies them."""

WITHOUT_IDS = 9
"""The last version of Metadata without topic ids."""

EARLIEST, LATEST = -2, -1
"""Timestamps of ListOffsets."""

_NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"
_NO_PARTITION: Message = {"PartitionIndex": None, "ErrorCode": 0}


@dataclass(frozen=True)
class Ask:
    """One request. ``read`` gives a row for each partition of the answer: the fields that the API has."""

    api: str
    version: int
    message: Message
    read: Callable[[Message], list[Row]]


def row(place: tuple[str | None, int | None], topic_id: str | None, error: int, asked: Row, told: Row) -> Row:
    """One partition of a request: its request (``topic_id``: the id in it) and its answer."""
    return {
        "topic": place[0],
        "partition": place[1],
        "topic_id": topic_id,
        "asked": asked,
        "told": told,
        "error": error_name(error),
    }


def metadata(*topics: str, version: int = 12) -> Ask:
    """A broker's metadata of topics: ids, leaders, leader epochs."""

    def read(answer: Message) -> list[Row]:
        return [
            row(
                (topic["Name"], p["PartitionIndex"]),
                None,
                topic["ErrorCode"] or p["ErrorCode"],
                {},
                _told(topic, p),
            )
            for topic in answer["Topics"]
            for p in topic["Partitions"] or [_NO_PARTITION]
        ]

    return Ask("Metadata", version, {"Topics": [{"Name": name} for name in topics]}, read)


def describe(*topics: str) -> Ask:
    """The same as newer administrators ask it (DescribeTopicPartitions)."""
    asked = {"Topics": [{"Name": name} for name in topics]}
    return Ask("DescribeTopicPartitions", 0, asked, metadata(*topics).read)


def _told(topic: Message, partition: Message) -> Row:
    if partition is _NO_PARTITION:
        return {}
    return {
        "topic_id": None if topic["TopicId"] == _NO_ID else topic["TopicId"],
        "leader": partition["LeaderId"],
        "leader_epoch": partition["LeaderEpoch"],
        "replicas": partition["ReplicaNodes"],
        "isr": sorted(partition["IsrNodes"]),
    }


@dataclass(frozen=True)
class Session:
    """A fetch session; without id a request makes one, or at epoch -1 wants none."""

    session_id: int = 0
    epoch: int = -1


def fetch(
    place: Partition,
    offset: int,
    *,
    topic_id: str | None = None,
    leader_epoch: int = -1,
    last_epoch: int = -1,
    session: Session | None = None,
    listed: bool = True,
) -> Ask:
    """A consumer's Fetch, by id where one is presented. Not ``listed``: the session knows the partition."""
    asked = {"fetch_offset": offset, "current_leader_epoch": leader_epoch, "last_fetched_epoch": last_epoch}
    told_by = session or Session()
    topic: Message = {"TopicId": topic_id} if topic_id else {"Topic": place[0]}
    partition = {
        "Partition": place[1],
        "FetchOffset": offset,
        "CurrentLeaderEpoch": leader_epoch,
        "LastFetchedEpoch": last_epoch,
        "PartitionMaxBytes": 1 << 20,
    }
    message: Message = {"MaxWaitMs": 0, "MinBytes": 0, "MaxBytes": 1 << 20}
    message |= {"SessionId": told_by.session_id, "SessionEpoch": told_by.epoch}
    message["Topics"] = [{**topic, "Partitions": [partition]}] if listed else []

    def read(answer: Message) -> list[Row]:
        told = [p for t in answer["Responses"] for p in t["Partitions"]]
        if not told:
            return [row(place, topic_id, answer["ErrorCode"], asked, {"session_id": answer["SessionId"]})]
        return [
            row(place, topic_id, p["ErrorCode"], asked, {**_fetched(p), "session_id": answer["SessionId"]})
            for p in told
        ]

    return Ask("Fetch", BY_ID if topic_id else BY_NAME, message, read)


def _fetched(partition: Message) -> Row:
    heads = batch_heads(partition["Records"] or b"")
    diverging = partition["DivergingEpoch"]
    return {
        "high_watermark": partition["HighWatermark"],
        "log_start_offset": partition["LogStartOffset"],
        "diverging_epoch": diverging["Epoch"],
        "diverging_end_offset": diverging["EndOffset"],
        "first_offset": heads[0][0] if heads else None,
        "last_offset": heads[-1][1] if heads else None,
    }


def list_offsets(place: Partition, timestamp: int, leader_epoch: int = -1) -> Ask:
    """The offset that a log has at a time, ``EARLIEST`` or ``LATEST``."""
    asked = {"timestamp": timestamp, "current_leader_epoch": leader_epoch}
    partition = {"PartitionIndex": place[1], "Timestamp": timestamp, "CurrentLeaderEpoch": leader_epoch}
    message = {"ReplicaId": -1, "Topics": [{"Name": place[0], "Partitions": [partition]}]}

    def read(answer: Message) -> list[Row]:
        (p,) = answer["Topics"][0]["Partitions"]
        return [
            row(place, None, p["ErrorCode"], asked, {"offset": p["Offset"], "leader_epoch": p["LeaderEpoch"]})
        ]

    return Ask("ListOffsets", 7, message, read)


def epoch_end(place: Partition, leader_epoch: int, current: int = -1) -> Ask:
    """Where a leader epoch ended (OffsetForLeaderEpoch)."""
    asked = {"leader_epoch": leader_epoch, "current_leader_epoch": current}
    partition = {"Partition": place[1], "CurrentLeaderEpoch": current, "LeaderEpoch": leader_epoch}
    message = {"ReplicaId": -1, "Topics": [{"Topic": place[0], "Partitions": [partition]}]}

    def read(answer: Message) -> list[Row]:
        (p,) = answer["Topics"][0]["Partitions"]
        told = {"leader_epoch": p["LeaderEpoch"], "end_offset": p["EndOffset"]}
        return [row(place, None, p["ErrorCode"], asked, told)]

    return Ask("OffsetForLeaderEpoch", 4, message, read)


def commit(
    group_id: str,
    place: Partition,
    offset: int,
    *,
    leader_epoch: int = -1,
    topic_id: str | None = None,
    version: int | None = None,
) -> Ask:
    """A commit of a consumer that is no member: by id where one is presented, else by name."""
    asked = {"group_id": group_id, "offset": offset, "leader_epoch": leader_epoch}
    topic: Message = {"TopicId": topic_id} if topic_id else {"Name": place[0]}
    partition = {"PartitionIndex": place[1], "CommittedOffset": offset, "CommittedMetadata": ""}
    partition["CommittedLeaderEpoch"] = leader_epoch
    message = {"GroupId": group_id, "MemberId": "", "GenerationIdOrMemberEpoch": -1}
    message["Topics"] = [{**topic, "Partitions": [partition]}]

    def read(answer: Message) -> list[Row]:
        (p,) = answer["Topics"][0]["Partitions"]
        return [row(place, topic_id, p["ErrorCode"], asked, {})]

    return Ask("OffsetCommit", version or (10 if topic_id else 9), message, read)


def committed(group_id: str, place: Partition, topic_id: str | None = None) -> Ask:
    """What a group has committed (OffsetFetch): offset -1 for nothing."""
    topic: Message = {"TopicId": topic_id} if topic_id else {"Name": place[0]}
    message = {"Groups": [{"GroupId": group_id, "Topics": [{**topic, "PartitionIndexes": [place[1]]}]}]}

    def read(answer: Message) -> list[Row]:
        group = answer["Groups"][0]
        if group["ErrorCode"]:
            return [row(place, topic_id, group["ErrorCode"], {"group_id": group_id}, {})]
        (p,) = group["Topics"][0]["Partitions"]
        told = {"offset": p["CommittedOffset"], "leader_epoch": p["CommittedLeaderEpoch"]}
        return [row(place, topic_id, p["ErrorCode"], {"group_id": group_id}, told)]

    return Ask("OffsetFetch", 10 if topic_id else 9, message, read)


def produce(place: Partition, values: Sequence[bytes], acks: int = -1) -> Ask:
    """Records of a producer that is not idempotent."""
    asked = {"records": len(values), "acks": acks}
    partition = {"Index": place[1], "Records": Batch(values).encode()}
    message = {
        "Acks": acks,
        "TimeoutMs": 15_000,
        "TopicData": [{"Name": place[0], "PartitionData": [partition]}],
    }

    def read(answer: Message) -> list[Row]:
        (p,) = answer["Responses"][0]["PartitionResponses"]
        return [row(place, None, p["ErrorCode"], asked, {"base_offset": p["BaseOffset"]})]

    return Ask("Produce", 11, message, read)
