"""Requests of members of classic groups, made by a driver: any generation, subscription, assignment."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from messages import Message, Reader, decode, encode, structure
from partition_requests import Ask, Row
from truth import Partition, error_name

JOIN, SYNC, HEARTBEAT, LEAVE = 9, 5, 4, 5
"""The versions that are used, unless a member is an older client."""

NEWEST_SUBSCRIPTION = 3
"""ConsumerProtocolSubscription: 1 has owned partitions, 2 their generation, 3 a rack."""

_FIRST_WITH_CLAIMS, _FIRST_WITH_GENERATION = 1, 2


@dataclass(frozen=True)
class Subscription:
    """The content of a subscription. ``sticky_generation`` is the user data of CooperativeStickyAssignor,
    ``previous`` and ``previous_generation`` that of StickyAssignor (whose version 0 has no generation).
    ``raw`` are bytes to send instead.
    """

    topics: tuple[str, ...]
    claims: frozenset[Partition] = frozenset()
    generation: int = -1
    version: int = NEWEST_SUBSCRIPTION
    sticky_generation: int | None = None
    previous: frozenset[Partition] | None = None
    previous_generation: int | None = None
    raw: bytes | None = None

    def bytes(self, clients_jar: Path) -> bytes:
        """The bytes of Kafka's ConsumerProtocol."""
        if self.raw is not None:
            return self.raw
        message: Message = {"Topics": sorted(self.topics), "UserData": self._user_data()}
        if self.version >= _FIRST_WITH_CLAIMS:
            message["OwnedPartitions"] = by_topic(self.claims)
        if self.version >= _FIRST_WITH_GENERATION:
            message["GenerationId"] = self.generation
        fields = structure(clients_jar, "ConsumerProtocolSubscription").fields
        return struct.pack(">h", self.version) + encode(fields, message, self.version, False)

    def seeds_order(self) -> bytes:
        """Version 2 as in KIP-792, which was never shipped: the generation before the user data."""
        topics = struct.pack(">i", len(self.topics)) + b"".join(map(_string, sorted(self.topics)))
        return struct.pack(">h", 2) + topics + struct.pack(">ii", self.generation, -1) + _places(self.claims)

    def claimed(self) -> tuple[int | None, str]:
        """The generation of the claims, and the part of the subscription that has it."""
        if self.raw is not None:
            return None, "unreadable"
        if self.version >= _FIRST_WITH_GENERATION and self.generation >= 0:
            return self.generation, "generation_id"
        if self.sticky_generation is not None:
            return self.sticky_generation, "user_data"
        return -1, "none"

    def _user_data(self) -> bytes | None:
        if self.sticky_generation is not None:
            return struct.pack(">i", self.sticky_generation)
        if self.previous is None:
            return None
        dated = b"" if self.previous_generation is None else struct.pack(">i", self.previous_generation)
        return _places(self.previous) + dated


def read_subscription(clients_jar: Path, data: bytes) -> Message:
    """A subscription as a leader reads it: version, topics, claims, user data, the generation of the claims.

    That is null before version 2, and if it is negative: Kafka's assignors ignore it then.
    """
    reader = Reader(data)
    version = reader.fixed(">h")
    fields = structure(clients_jar, "ConsumerProtocolSubscription").fields
    read = decode(fields, reader, min(version, NEWEST_SUBSCRIPTION), False)
    dated = version >= _FIRST_WITH_GENERATION and read["GenerationId"] >= 0
    return {
        "version": version,
        "topics": read["Topics"],
        "claims": places(read["OwnedPartitions"]),
        "generation": read["GenerationId"] if dated else None,
        "user_data": read["UserData"],
    }


def read_previous(data: bytes | None) -> frozenset[Partition]:
    """The partitions in the user data of StickyAssignor."""
    if data is None:
        return frozenset()
    reader = Reader(data)
    topics = []
    for _ in range(reader.fixed(">i")):
        topic = reader.take(reader.fixed(">h")).decode()
        topics.append({"Topic": topic, "Partitions": [reader.fixed(">i") for _ in range(reader.fixed(">i"))]})
    return places(topics)


def assignment_bytes(clients_jar: Path, partitions: Iterable[Partition], version: int) -> bytes:
    """An assignment of Kafka's ConsumerProtocol."""
    fields = structure(clients_jar, "ConsumerProtocolAssignment").fields
    message = {"AssignedPartitions": by_topic(partitions)}
    return struct.pack(">h", version) + encode(fields, message, version, False)


def read_assignment(clients_jar: Path, data: bytes) -> frozenset[Partition]:
    """The partitions of an assignment, of which empty bytes have none."""
    if not data:
        return frozenset()
    reader = Reader(data)
    version = reader.fixed(">h")
    fields = structure(clients_jar, "ConsumerProtocolAssignment").fields
    return places(decode(fields, reader, version, False)["AssignedPartitions"])


def by_topic(partitions: Iterable[Partition]) -> list[Message]:
    """Partitions grouped as in Kafka's schemas."""
    topics: dict[str, list[int]] = {}
    for topic, index in sorted(partitions):
        topics.setdefault(topic, []).append(index)
    return [{"Topic": topic, "Partitions": indexes} for topic, indexes in topics.items()]


def places(topics: Iterable[Message]) -> frozenset[Partition]:
    """The other way round."""
    return frozenset((t["Topic"], p) for t in topics for p in t["Partitions"])


def _string(text: str) -> bytes:
    return struct.pack(">h", len(text.encode())) + text.encode()


def _places(partitions: Iterable[Partition]) -> bytes:
    topics = by_topic(partitions)
    parts = [
        _string(t["Topic"])
        + struct.pack(f">i{len(t['Partitions'])}i", len(t["Partitions"]), *t["Partitions"])
        for t in topics
    ]
    return struct.pack(">i", len(topics)) + b"".join(parts)


@dataclass(frozen=True)
class Identity:
    """The identity of a member in all of its requests."""

    group_id: str
    member_id: str
    instance_id: str | None = None
    generation: int = -1

    def fields(self) -> Message:
        """With the names of the schemas."""
        return {
            "GroupId": self.group_id,
            "GenerationId": self.generation,
            "MemberId": self.member_id,
            "GroupInstanceId": self.instance_id,
        }

    def asked(self) -> Row:
        """With the names of the ground truth."""
        return {"group_id": self.group_id, "member_id": self.member_id, "instance_id": self.instance_id}


@dataclass(frozen=True)
class Joining:
    """The content of a JoinGroup beside the identity. ``protocols`` are (name, metadata), preferred first."""

    protocols: list[tuple[str, bytes]]
    subscription: Subscription | None
    protocol_type: str = "consumer"
    session_timeout_ms: int = 30_000
    rebalance_timeout_ms: int = 30_000
    reason: str | None = None
    version: int = JOIN
    group_generation: int | None = field(default=None)


def join_group(who: Identity, how: Joining, heard: Callable[[Message], None]) -> Ask:
    """A JoinGroup; ``heard`` is called with the whole answer, which has the members' bytes for the leader."""
    message: Message = {
        "GroupId": who.group_id,
        "SessionTimeoutMs": how.session_timeout_ms,
        "RebalanceTimeoutMs": how.rebalance_timeout_ms,
        "MemberId": who.member_id,
        "ProtocolType": how.protocol_type,
        "Protocols": [{"Name": name, "Metadata": data} for name, data in how.protocols],
    }
    message |= {"GroupInstanceId": who.instance_id} if how.version >= 5 else {}
    message |= {"Reason": how.reason} if how.version >= 8 else {}
    said = how.subscription
    generation, source = said.claimed() if said else (None, "unreadable")
    asked = who.asked() | {
        "protocol_type": how.protocol_type,
        "protocols": [name for name, _ in how.protocols],
        "subscription_version": said.version if said and said.raw is None else None,
        "claims": sorted(said.claims) if said and said.raw is None else None,
        "claimed_generation": generation,
        "claim_source": source,
        "group_generation": how.group_generation,
    }

    def read(answer: Message) -> list[Row]:
        heard(answer)
        told = {
            "member_id": answer["MemberId"],
            "generation": answer["GenerationId"],
            "protocol": answer["ProtocolName"],
            "leader": answer["Leader"],
        }
        return [{"asked": asked, "told": told, "error": error_name(answer["ErrorCode"])}]

    return Ask("JoinGroup", how.version, message, read)


def sync_group(
    who: Identity,
    protocol: tuple[str, str],
    assignments: Mapping[str, bytes],
    heard: Callable[[Message], None],
) -> Ask:
    """A SyncGroup of a protocol type and name; only the leader's has assignments."""
    given = [{"MemberId": member_id, "Assignment": data} for member_id, data in assignments.items()]
    message = {
        **who.fields(),
        "ProtocolType": protocol[0],
        "ProtocolName": protocol[1],
        "Assignments": given,
    }
    asked = who.asked() | {"generation": who.generation}

    def read(answer: Message) -> list[Row]:
        heard(answer)
        return [{"asked": asked, "told": {}, "error": error_name(answer["ErrorCode"])}]

    return Ask("SyncGroup", SYNC, message, read)


def heartbeat(who: Identity) -> Ask:
    """A Heartbeat."""
    asked = who.asked() | {"generation": who.generation}
    return Ask("Heartbeat", HEARTBEAT, who.fields(), _plain(asked))


def leave_group(who: Identity, reason: str) -> Ask:
    """A LeaveGroup of one member."""
    member = {"MemberId": who.member_id, "GroupInstanceId": who.instance_id, "Reason": reason}
    message = {"GroupId": who.group_id, "Members": [member]}
    return Ask("LeaveGroup", LEAVE, message, _plain(who.asked() | {"reason": reason}))


def _plain(asked: Row) -> Callable[[Message], list[Row]]:
    def read(answer: Message) -> list[Row]:
        codes = [m["ErrorCode"] for m in answer.get("Members", ())]  # LeaveGroup has one for each member
        return [{"asked": asked, "told": {}, "error": error_name(max(answer["ErrorCode"], *codes, 0))}]

    return read
