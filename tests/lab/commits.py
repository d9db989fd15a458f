"""Commits of the driver: their content, how they are sent, and their answers."""

from __future__ import annotations

from dataclasses import dataclass, field

from messages import Message
from truth import Partition, error_name

OLDER, BEFORE_MEMBER_EPOCHS, BY_NAME, BY_ID = 7, 8, 9, 10
"""OffsetCommit versions: one of older clients, the last without member epochs, the last that names topics,
the first that identifies them.
"""

TXN_BY_ID = 6
"""The first TxnOffsetCommit version that identifies topics by their ids (KIP-1319)."""


def release(version: str) -> tuple[int, ...]:
    """A Kafka version as numbers, to compare."""
    return tuple(int(part) for part in version.split("."))


def newest_version(kafka: str) -> int:
    """The newest stable version of OffsetCommit that brokers of a Kafka version accept."""
    return BY_ID if release(kafka) >= (4, 2) else BY_NAME


@dataclass(frozen=True)
class Transaction:
    """A transactional id's producer, as InitProducerId answered.

    ``api_version`` is the TxnOffsetCommit version of its commits; ``rows`` are their rows of ground truth.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    api_version: int = 5
    rows: list[Message] = field(default_factory=list, compare=False)


@dataclass
class Commit:
    """One hand-made commit request. ``epoch`` and ``member_id`` are those of the request, true or not.

    ``version`` None is the newest of the broker. ``protocol`` is that of the committer, None that of its
    group. ``rebalancing`` is the phase of a classic group's rebalance, as the driver knows it.
    """

    case: str
    epoch: int
    partitions: list[Partition]
    expect: list[str]  # the truth of each partition, as the scenario's author knows it
    version: int | None = None
    racing: bool = False
    transaction: Transaction | None = None
    instance_id: str | None = None
    protocol: str | None = None
    rebalancing: str | None = None

    @property
    def api(self) -> str:
        """The request's name in Kafka's schemas."""
        return "TxnOffsetCommit" if self.transaction else "OffsetCommit"

    @property
    def api_key(self) -> int:
        """The request's api key."""
        return 28 if self.transaction else 8

    def request(self, group_id: str, member_id: str, rows: list[Message]) -> Message:
        """The request for these rows of ground truth."""
        topics: dict[str, Message] = {}
        for row in rows:
            by_id = row["api_version"] >= (BY_ID if self.transaction is None else TXN_BY_ID)
            name = {"TopicId": row["topic_id"]} if by_id else {"Name": row["topic"]}
            partition = {"PartitionIndex": row["partition"], "CommittedOffset": row["committed_offset"]}
            topic = topics.setdefault(row["topic"], {**name, "Partitions": []})
            topic["Partitions"].append({**partition, "CommittedMetadata": ""})
        request: Message = {"GroupId": group_id, "MemberId": member_id, "Topics": list(topics.values())}
        if self.instance_id is not None:
            request["GroupInstanceId"] = self.instance_id
        request["GenerationIdOrMemberEpoch"] = self.epoch
        if self.transaction is None:
            return request
        return {
            **request,
            "TransactionalId": self.transaction.transactional_id,
            "ProducerId": self.transaction.producer_id,
            "ProducerEpoch": self.transaction.producer_epoch,
        }


def answered(response: Message, rows: list[Message]) -> list[str]:
    """The error of each row's partition in a response, by Kafka's names."""
    codes = {
        (topic["Name"] or topic["TopicId"], partition["PartitionIndex"]): partition["ErrorCode"]
        for topic in response["Topics"]
        for partition in topic["Partitions"]
    }
    return [
        error_name(
            codes.get((row["topic"], row["partition"]), codes.get((row["topic_id"], row["partition"])))
        )
        for row in rows
    ]
