"""Members of streams groups, whose requests the driver sends by hand (KIP-1071).

Every subtopology has one source topic here, so a task is a partition of it: a member's ``assigned`` and
``owned`` are its active tasks, written as partitions. Standby tasks are kept apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from brokers import kafka_uuid
from members import Group, Member
from messages import Message
from truth import Partition

Topology = Mapping[str, bool]
"""Source topic -> whether its subtopology has a state store; subtopologies are numbered in this order."""


@dataclass
class StreamsMember(Member):
    """One member of a streams group."""

    topology: Topology = field(default_factory=dict)
    process_id: str = field(default_factory=kafka_uuid)
    standby: frozenset[Partition] = frozenset()
    api: ClassVar[str] = "StreamsGroupHeartbeat"
    api_version: ClassVar[int] = 0

    def retag(self, value: str) -> None:
        """Change a client tag: the group's epoch is raised, and no task moves."""
        self._exchange({"ClientTags": [{"Key": "lab", "Value": value}]})

    def _introduction(self) -> Message:
        self.standby = frozenset()
        subtopologies = [
            {
                "SubtopologyId": str(number),
                "SourceTopics": [topic],
                "StateChangelogTopics": [_changelog(self.group, topic)] if stateful else [],
            }
            for number, (topic, stateful) in enumerate(self.topology.items())
        ]
        return {
            "ProcessId": self.process_id,
            "Topology": {"Epoch": 0, "Subtopologies": subtopologies},
            "ClientTags": [],
        }

    def _holdings(self) -> Message:
        return {
            "ActiveTasks": self._tasks(self.owned),
            "StandbyTasks": self._tasks(self.standby),
            "WarmupTasks": [],
        }

    def _given(self, answer: Message) -> frozenset[Partition] | None:
        if answer["StandbyTasks"] is not None:
            self.standby = self._partitions(answer["StandbyTasks"])
        return None if answer["ActiveTasks"] is None else self._partitions(answer["ActiveTasks"])

    def _tasks(self, partitions: Iterable[Partition]) -> list[Message]:
        chosen = sorted(partitions)
        return [
            {"SubtopologyId": str(number), "Partitions": [index for t, index in chosen if t == topic]}
            for number, topic in enumerate(self.topology)
            if any(t == topic for t, _ in chosen)
        ]

    def _partitions(self, tasks: Iterable[Message]) -> frozenset[Partition]:
        topics = list(self.topology)
        return frozenset((topics[int(t["SubtopologyId"])], p) for t in tasks for p in t["Partitions"])


def member(group: Group, name: str, topology: Topology, **more: Any) -> StreamsMember:
    """A member that has not joined yet; ``name`` completes its client id."""
    connection = group.connect(f"{group.group_id}-{name}")
    return StreamsMember(group, connection, tuple(topology), 30_000, topology=topology, **more)


def _changelog(group: Group, topic: str) -> Message:
    return {"Name": f"{group.group_id}-{topic}-changelog", "Partitions": 0, "ReplicationFactor": 1}
