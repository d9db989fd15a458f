"""Members of classic groups, whose requests the driver sends by hand; the driver is also the leader's
assignor.

A classic member owns the assignment of its last SyncGroup until the next one. ``rebalance`` performs a whole
rebalance; its steps (``send_join``, ``receive_join``, ``send_sync``, ``receive_sync``) can be performed
separately, to commit between them. Subscription and assignment are the bytes of Kafka's ConsumerProtocol.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from brokers import LabError
from commits import BY_NAME, Commit
from members import Group
from messages import Message, Reader, decode, encode, structure
from truth import Partition, error_name
from wire import Connection

JOIN, SYNC, HEARTBEAT, LEAVE = 9, 5, 4, 5
"""The versions of JoinGroup, SyncGroup, Heartbeat and LeaveGroup that are used."""

COOPERATIVE, EAGER = "cooperative-sticky", "range"

_PROTOCOL_VERSION = 3
_MEMBER_ID_REQUIRED, _REBALANCE_IN_PROGRESS = 79, 27
_PATIENCE_S = 15.0

Assignment = Mapping[str, frozenset[Partition]]
"""Member id -> its assignment."""


@dataclass
class ClassicMember:
    """One member of a classic group, or a classic member of a consumer group."""

    group: Group
    connection: Connection
    topics: tuple[str, ...]
    instance_id: str | None = None
    strategy: str = COOPERATIVE
    session_timeout_ms: int = 30_000
    member_id: str = ""
    generation: int = -1
    owned: frozenset[Partition] = frozenset()
    leader: str = ""
    others: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        # a live consumer continues to send heartbeats: without them nobody would know when it had left
        self.group.last_words.append(self.heartbeat)

    @property
    def epoch(self) -> int:
        """The generation, under the name of the consumer groups' epoch."""
        return self.generation

    def send_join(self) -> None:
        """Send JoinGroup; its answer comes when every member has sent one."""
        if not self.member_id and self.instance_id is None:
            answer = self.connection.call("JoinGroup", JOIN, self.joining())
            if answer["ErrorCode"] != _MEMBER_ID_REQUIRED:
                raise LabError(f"JoinGroup of {self.connection.client_id!r}: {answer}")
            self.member_id = answer["MemberId"]
        self.connection.send("JoinGroup", JOIN, self.joining())

    def receive_join(self) -> None:
        """Wait for the answer to ``send_join``: the new generation, and for the leader its members."""
        answer = self.connection.receive()
        self._expect("JoinGroup", answer)
        self.member_id, self.generation = answer["MemberId"], answer["GenerationId"]
        self.leader = answer["Leader"]
        self.others = [m["MemberId"] for m in answer["Members"]]

    def send_sync(self, assignment: Assignment | None = None) -> None:
        """Send SyncGroup, as the leader with everybody's assignment."""
        given = [
            {"MemberId": member_id, "Assignment": self._assignment(partitions)}
            for member_id, partitions in (assignment or {}).items()
        ]
        request = {**self.identity(), "ProtocolType": "consumer", "ProtocolName": self.strategy}
        self.connection.send("SyncGroup", SYNC, {**request, "Assignments": given})

    def receive_sync(self) -> None:
        """Wait for the answer to ``send_sync``: the member's assignment."""
        answer = self.connection.receive()
        self._expect("SyncGroup", answer)
        self.owned = self._assigned(answer["Assignment"])
        self.group.ownership.holds(self.member_id, self.generation, set(self.owned))

    def keep_on(self) -> None:
        """Note that the member still owns everything in the generation that it has just joined."""
        self.group.ownership.holds(self.member_id, self.generation, set(self.owned))

    def heartbeat(self) -> str:
        """Heartbeat; returns the error by Kafka's name."""
        return error_name(self.connection.call("Heartbeat", HEARTBEAT, self.identity())["ErrorCode"])

    def leave(self) -> None:
        """Leave the group."""
        self.was_removed()
        identity = {"MemberId": self.member_id, "GroupInstanceId": self.instance_id, "Reason": "the lab"}
        request = {"GroupId": self.group.group_id, "Members": [identity]}
        answer = self.connection.call("LeaveGroup", LEAVE, request)
        self._expect("LeaveGroup", answer)
        self._expect("LeaveGroup", answer["Members"][0])

    def was_removed(self) -> None:
        """Note that the member owns nothing any more, whatever it believes."""
        self.group.ownership.holds(self.member_id, self.generation, set())

    def commit(
        self, case: str, epoch: int, partitions: Iterable[Partition], expect: str | list[str], **more: Any
    ) -> list[str]:
        """Commit at any generation; see ``Commit``. By topic name by default, as Kafka's classic consumer."""
        chosen = sorted(partitions)
        truths = [expect] * len(chosen) if isinstance(expect, str) else expect
        fields = {"version": BY_NAME, "instance_id": self.instance_id, "protocol": "classic", **more}
        return self.group.commit(
            self.connection, self.member_id, Commit(case, epoch, chosen, truths, **fields)
        )

    def identity(self) -> Message:
        """The identity of the member in requests."""
        return {
            "GroupId": self.group.group_id,
            "GenerationId": self.generation,
            "MemberId": self.member_id,
            "GroupInstanceId": self.instance_id,
        }

    def joining(self) -> Message:
        """The content of JoinGroup."""
        return {
            "GroupId": self.group.group_id,
            "SessionTimeoutMs": self.session_timeout_ms,
            "RebalanceTimeoutMs": 30_000,
            "MemberId": self.member_id,
            "GroupInstanceId": self.instance_id,
            "ProtocolType": "consumer",
            "Protocols": [{"Name": self.strategy, "Metadata": self._subscription()}],
            "Reason": "the lab",
        }

    def _subscription(self) -> bytes:
        claimed = self.owned if self.strategy == COOPERATIVE else frozenset[Partition]()
        return self._bytes(
            "ConsumerProtocolSubscription",
            {
                "Topics": sorted(self.topics),
                "OwnedPartitions": _by_topic(claimed),
                "GenerationId": self.generation,
            },
        )

    def _assignment(self, partitions: frozenset[Partition]) -> bytes:
        return self._bytes("ConsumerProtocolAssignment", {"AssignedPartitions": _by_topic(partitions)})

    def _assigned(self, data: bytes) -> frozenset[Partition]:
        reader = Reader(data)
        version = reader.fixed(">h")
        fields = structure(self.connection.clients_jar, "ConsumerProtocolAssignment").fields
        topics = decode(fields, reader, version, False)["AssignedPartitions"]
        return frozenset((t["Topic"], p) for t in topics for p in t["Partitions"])

    def _bytes(self, name: str, message: Message) -> bytes:
        fields = structure(self.connection.clients_jar, name).fields
        return struct.pack(">h", _PROTOCOL_VERSION) + encode(fields, message, _PROTOCOL_VERSION, False)

    def _expect(self, api: str, answer: Message) -> None:
        if answer["ErrorCode"]:
            raise LabError(f"{api} of {self.connection.client_id!r}: error {answer['ErrorCode']}")


def member(group: Group, name: str, topics: Sequence[str], **more: Any) -> ClassicMember:
    """A member that has not joined yet; ``name`` completes its client id."""
    return ClassicMember(group, group.connect(f"{group.group_id}-{name}"), tuple(topics), **more)


def join_all(*members: ClassicMember) -> None:
    """Every member sends JoinGroup, newcomers first, and gets its answer."""
    newcomers = [m for m in members if not m.member_id]
    present = [m for m in members if m.member_id]
    for each in newcomers:
        each.send_join()
    if newcomers:
        await_rebalance(*present)
    for each in present:
        each.send_join()
    for each in members:
        each.receive_join()


def sync_all(assignment: Assignment, *members: ClassicMember) -> None:
    """The leader sends an assignment, and every member gets its own."""
    for each in sorted(members, key=lambda m: m.member_id != m.leader):
        each.send_sync(assignment if each.member_id == each.leader else None)
    for each in members:
        each.receive_sync()


def rebalance(*members: ClassicMember) -> None:
    """Rebalance evenly: at once when eager, with a generation for revoking when cooperative."""
    while True:
        join_all(*members)
        wanted = _even(members)
        granted = {
            m.member_id: frozenset(
                p
                for p in wanted[m.member_id]
                if not any(p in other.owned for other in members if other is not m)
            )
            for m in members
        }
        sync_all(granted if members[0].strategy == COOPERATIVE else wanted, *members)
        if {m.member_id: m.owned for m in members} == wanted:
            return


def await_rebalance(*members: ClassicMember) -> None:
    """Heartbeat until every member has learned that a rebalance has begun."""
    deadline = time.monotonic() + _PATIENCE_S
    for each in members:
        while (error := each.heartbeat()) != "REBALANCE_IN_PROGRESS":
            if error != "NONE" or time.monotonic() > deadline:
                raise LabError(f"{each.connection.client_id!r} is told {error}, not to rebalance")
            time.sleep(0.05)


def _even(members: Sequence[ClassicMember]) -> dict[str, frozenset[Partition]]:
    """As even as possible with as few moves as possible, like a sticky assignor."""
    cluster = members[0].group.cluster
    wanted = {m.member_id: set(m.owned) for m in members}
    for topic in sorted({t for m in members for t in m.topics}):
        subscribed = [m.member_id for m in members if topic in m.topics]
        share = -(-cluster.partitions(topic) // len(subscribed))
        free = []
        for index in range(cluster.partitions(topic)):
            owner = next((m.member_id for m in members if (topic, index) in m.owned), None)
            held = sorted(p for p in wanted.get(owner or "", ()) if p[0] == topic)
            if owner not in subscribed or held.index((topic, index)) >= share:
                free.append((topic, index))
        for member_id in wanted:
            wanted[member_id] -= set(free)
        for partition in free:
            least = min(subscribed, key=lambda i: (sum(p[0] == topic for p in wanted[i]), i))
            wanted[least].add(partition)
    return {member_id: frozenset(partitions) for member_id, partitions in wanted.items()}


def _by_topic(partitions: Iterable[Partition]) -> list[Message]:
    topics: dict[str, list[int]] = {}
    for topic, index in sorted(partitions):
        topics.setdefault(topic, []).append(index)
    return [{"Topic": topic, "Partitions": indexes} for topic, indexes in topics.items()]
