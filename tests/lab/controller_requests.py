"""Requests of brokers to the controller, sent by a client with another broker's epochs."""

from __future__ import annotations

from messages import Message
from partition_requests import Ask, Row, row
from truth import Partition


def heartbeat(broker_id: int, broker_epoch: int) -> Ask:
    """A broker's heartbeat that requests no change."""
    message = {"BrokerId": broker_id, "BrokerEpoch": broker_epoch, "CurrentMetadataOffset": 0}
    asked = {"broker_id": broker_id, "broker_epoch": broker_epoch}

    def read(answer: Message) -> list[Row]:
        return [row((None, None), None, answer["ErrorCode"], asked, {"fenced": answer["IsFenced"]})]

    return Ask("BrokerHeartbeat", 1, {**message, "WantFence": False, "WantShutDown": False}, read)


def alter_partition(
    place: Partition, topic_id: str, broker: tuple[int, int], isr: list[int], epochs: tuple[int, int]
) -> Ask:
    """A leader that requests another ISR: ``broker`` its id and epoch, ``epochs`` its leader epoch and
    KRaft's partition epoch.
    """
    partition = {
        "PartitionIndex": place[1],
        "LeaderEpoch": epochs[0],
        "NewIsr": isr,
        "LeaderRecoveryState": 0,
        "PartitionEpoch": epochs[1],
    }
    message = {"BrokerId": broker[0], "BrokerEpoch": broker[1]}
    asked = {"broker_id": broker[0], "broker_epoch": broker[1], "isr": isr}
    asked |= {"leader_epoch": epochs[0], "partition_epoch": epochs[1]}

    def read(answer: Message) -> list[Row]:
        told = [p for t in answer["Topics"] for p in t["Partitions"]]
        return [
            row(place, topic_id, answer["ErrorCode"] or p.get("ErrorCode", 0), asked, {})
            for p in told or [{}]
        ]

    topics = [{"TopicId": topic_id, "Partitions": [partition]}]
    return Ask("AlterPartition", 2, {**message, "Topics": topics}, read)


def register(broker_id: int, cluster_id: str, incarnation_id: str) -> Ask:
    """The registration of a broker; it is refused for another instance of a live broker."""
    listener = {"Name": "PLAINTEXT", "Host": "127.0.0.1", "Port": 9, "SecurityProtocol": 0}
    feature = {"Name": "metadata.version", "MinSupportedVersion": 1, "MaxSupportedVersion": 100}
    message = {
        "BrokerId": broker_id,
        "ClusterId": cluster_id,
        "IncarnationId": incarnation_id,
        "Listeners": [listener],
        "Features": [feature],
    }
    asked = {"broker_id": broker_id, "incarnation_id": incarnation_id}

    def read(answer: Message) -> list[Row]:
        told = {"broker_epoch": answer["BrokerEpoch"]}
        return [row((None, None), None, answer["ErrorCode"], asked, told)]

    return Ask("BrokerRegistration", 1, message, read)
