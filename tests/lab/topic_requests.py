"""Requests of an administrator about topics: create, delete, expand, elect, reassign."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from messages import Message
from partition_requests import Ask, Row, row
from truth import Partition

_TIMEOUT_MS = 20_000

PREFERRED, UNCLEAN = 0, 1
"""Types of ElectLeaders."""


def create(name: str, replicas: Sequence[Sequence[int]], configs: Mapping[str, str] | None = None) -> Ask:
    """A topic whose partition N is on the brokers ``replicas[N]``, the preferred leader first."""
    assignments = [{"PartitionIndex": n, "BrokerIds": list(ids)} for n, ids in enumerate(replicas)]
    topic = {"Name": name, "NumPartitions": -1, "ReplicationFactor": -1, "Assignments": assignments}
    topic["Configs"] = [{"Name": key, "Value": value} for key, value in (configs or {}).items()]
    asked = {"replicas": [list(ids) for ids in replicas]}

    def read(answer: Message) -> list[Row]:
        (told,) = answer["Topics"]
        return [row((name, None), None, told["ErrorCode"], asked, {"topic_id": told["TopicId"]})]

    return Ask("CreateTopics", 7, {"Topics": [topic], "timeoutMs": _TIMEOUT_MS}, read)


def delete(name: str, topic_id: str | None = None) -> Ask:
    """A topic deleted by its name, or by its id where one is presented."""
    topic = {"Name": None, "TopicId": topic_id} if topic_id else {"Name": name}

    def read(answer: Message) -> list[Row]:
        (told,) = answer["Responses"]
        return [row((name, None), topic_id, told["ErrorCode"], {}, {"topic_id": told["TopicId"]})]

    return Ask("DeleteTopics", 6, {"Topics": [topic], "TimeoutMs": _TIMEOUT_MS}, read)


def expand(name: str, count: int, replicas: Sequence[Sequence[int]]) -> Ask:
    """More partitions: ``count`` in all, the new ones on ``replicas``."""
    assignments = [{"BrokerIds": list(ids)} for ids in replicas]
    topic = {"Name": name, "Count": count, "Assignments": assignments}

    def read(answer: Message) -> list[Row]:
        (told,) = answer["Results"]
        return [row((name, None), None, told["ErrorCode"], {"partitions": count}, {})]

    message = {"Topics": [topic], "TimeoutMs": _TIMEOUT_MS, "ValidateOnly": False}
    return Ask("CreatePartitions", 3, message, read)


def elect(place: Partition, election: int) -> Ask:
    """An election of one partition's leader."""
    wanted = {"Topic": place[0], "Partitions": [place[1]]}
    message = {"ElectionType": election, "TopicPartitions": [wanted], "TimeoutMs": _TIMEOUT_MS}

    def read(answer: Message) -> list[Row]:
        (told,) = answer["ReplicaElectionResults"][0]["PartitionResult"]
        return [row(place, None, told["ErrorCode"], {"election": election}, {})]

    return Ask("ElectLeaders", 2, message, read)


def reassign(place: Partition, replicas: Sequence[int]) -> Ask:
    """A partition moved to these brokers, the preferred leader first."""
    partition = {"PartitionIndex": place[1], "Replicas": list(replicas)}
    message = {"TimeoutMs": _TIMEOUT_MS, "Topics": [{"Name": place[0], "Partitions": [partition]}]}

    def read(answer: Message) -> list[Row]:
        (told,) = answer["Responses"][0]["Partitions"]
        return [row(place, None, told["ErrorCode"], {"replicas": list(replicas)}, {})]

    return Ask("AlterPartitionReassignments", 0, message, read)
