"""The administrator of a recording: its changes of topics and leaders, and their results."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import topic_requests
from brokers import LabError
from lab_client import LabClient, note
from log4j import UNLOGGED_CLIENT
from messages import Message, WireError
from partition_requests import Row
from truth import Partition, now_ms

_PATIENCE_S = 90.0
Replicas = Sequence[Sequence[int]]


class Operator(LabClient):
    """Requests every change of a topic, and waits for it on every running broker."""

    home: int = 1
    """The broker to which it sends requests."""

    def create(self, name: str, replicas: Replicas, configs: Mapping[str, str] | None = None) -> str:
        """Create a topic; its id."""
        (row,) = self.must(self.home, topic_requests.create(name, replicas, configs))
        topic_id = str(row["told"]["topic_id"])
        self._note("created", row, topic_id, len(replicas))
        for broker_id in self._awake():
            self.await_topic(broker_id, name, lambda told: told["TopicId"] == topic_id and _led(told))
        return topic_id

    def delete(self, name: str, topic_id: str | None = None) -> str:
        """Delete a topic, by its id where one is given; the id."""
        (row,) = self.must(self.home, topic_requests.delete(name, topic_id))
        gone = str(row["told"]["topic_id"])
        self._note("deleted", row, gone, None)
        for broker_id in self._awake():
            self.await_topic(broker_id, name, lambda told: told["ErrorCode"] == 3)
        return gone

    def recreate(self, name: str, replicas: Replicas, configs: Mapping[str, str] | None = None) -> str:
        """Delete a topic and create another one of its name; the new id."""
        self.delete(name)
        return self.create(name, replicas, configs)

    def expand(self, name: str, count: int, replicas: Replicas) -> None:
        """More partitions, ``count`` in all."""
        (row,) = self.must(self.home, topic_requests.expand(name, count, replicas))
        told = self.await_topic(self.home, name, lambda told: len(told["Partitions"]) == count and _led(told))
        self._note("expanded", row, str(told["TopicId"]), count)

    def reassign(self, place: Partition, replicas: Sequence[int]) -> None:
        """Move a partition, and wait until it is there and in sync."""
        self.must(self.home, topic_requests.reassign(place, replicas))
        self.await_partition(
            place,
            lambda told: told["ReplicaNodes"] == list(replicas) and set(told["IsrNodes"]) == set(replicas),
        )

    def elect(self, place: Partition, leader: int) -> None:
        """A preferred election, after which ``leader`` leads; nothing if it leads already."""
        if self.await_partition(place, lambda told: told["LeaderId"] > 0)["LeaderId"] == leader:
            return
        self.must(self.home, topic_requests.elect(place, topic_requests.PREFERRED))
        self.await_partition(place, lambda told: told["LeaderId"] == leader)

    def await_partition(self, place: Partition, wanted: Callable[[Message], bool]) -> Message:
        """What the broker it asks says of a partition, once that is ``wanted``."""

        def found(told: Message) -> bool:
            return any(p["PartitionIndex"] == place[1] and wanted(p) for p in told["Partitions"])

        topic = self.await_topic(self.home, place[0], found)
        told: Message = next(p for p in topic["Partitions"] if p["PartitionIndex"] == place[1])
        return told

    def await_topic(self, broker_id: int, name: str, wanted: Callable[[Message], bool]) -> Message:
        """What a broker says of a topic, once that is ``wanted``; these requests are not logged."""
        deadline = time.monotonic() + _PATIENCE_S
        told: Message = {}
        while time.monotonic() < deadline:
            try:
                connection = self.cluster.connect(UNLOGGED_CLIENT, broker_id)
                try:
                    (told,) = connection.call("Metadata", 12, {"Topics": [{"Name": name}]})["Topics"]
                finally:
                    connection.close()
            except (OSError, WireError):
                told = {}
            if told and wanted(told):
                return told
            time.sleep(0.1)
        raise LabError(f"{self.case}: broker {broker_id} says of {name!r}: {told}")

    def active_controller(self) -> int:
        """The node that leads the metadata log."""
        asked = {"TopicName": "__cluster_metadata", "Partitions": [{"PartitionIndex": 0}]}
        with self.cluster.admin() as admin:
            answer = admin.call("DescribeQuorum", 1, {"Topics": [asked]})
        return int(answer["Topics"][0]["Partitions"][0]["LeaderId"])

    def did(self, event: str, broker_id: int) -> None:
        """A row about a broker: ``killed``, ``paused``, ``resumed``, ``stopped``, ``started``, ``fenced``."""
        note(self.truth, "broker", case=self.case, event=event, broker_id=broker_id, at_ms=now_ms())

    paused: frozenset[int] = frozenset()

    def _awake(self) -> list[int]:
        return [b.broker_id for b in self.cluster.running() if b.broker_id not in self.paused]

    def _note(self, event: str, row: Row, topic_id: str, partitions: int | None) -> None:
        kept = ("case", "topic", "client_id", "correlation_id", "broker_id", "sent_at_ms", "answered_at_ms")
        told = {name: row[name] for name in kept}
        note(self.truth, "topic", event=event, **told, topic_id=topic_id, partitions=partitions)


def _led(topic: Message) -> bool:
    return topic["ErrorCode"] == 0 and all(p["LeaderId"] > 0 for p in topic["Partitions"])
