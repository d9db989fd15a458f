"""Groups, and members of consumer groups, whose requests the driver sends by hand (KIP-848).

A ``Group`` is driven from one thread. Its members send nothing except what the driver calls: heartbeats,
confirmations of revoked partitions, and commits with any epoch for any partition.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from brokers import LabError, kafka_uuid
from cluster import Cluster
from commits import Commit, answered, newest_version
from messages import Message, WireError
from truth import ERRORS, GroundTruth, Ownership, Partition
from wire import Connection

_COORDINATOR_ERRORS = {14, 15, 16}  # loading, not available, not (yet) this broker
_PATIENCE_S = 15.0


class HasConnection(Protocol):
    """A member of any kind of group."""

    connection: Connection

    @property
    def group(self) -> Group:
        """Its group."""


class Group:
    """One group and the driver's account of it. ``protocol`` is the group's type, while it has one."""

    def __init__(
        self,
        cluster: Cluster,
        truth: GroundTruth,
        group_id: str,
        pause_s: float = 0.35,
        protocol: str = "consumer",
    ) -> None:
        self.cluster = cluster
        self.group_id = group_id
        self.pause_s = pause_s
        self.protocol = protocol
        self.ownership = Ownership()
        self.broker_id = cluster.coordinator(group_id)
        self._truth = truth
        self._connections: list[Connection] = []
        self.last_words: list[Callable[[], object]] = []

    def member(self, client_id: str, topics: Iterable[str], rebalance_timeout_ms: int = 30_000) -> Member:
        """A member that has not joined yet."""
        connection = self.connect(client_id)
        return Member(self, connection, tuple(topics), rebalance_timeout_ms)

    def connect(self, client_id: str) -> Connection:
        """A connection to the group's coordinator."""
        self._connections.append(self.cluster.connect(client_id, self.broker_id))
        return self._connections[-1]

    def supports(self, version: int) -> bool:
        """Whether the broker takes this version of OffsetCommit."""
        return version <= newest_version(self.cluster.plan.version)

    def follow(self, *members: HasConnection) -> None:
        """Find the group's coordinator and let the members connect to it."""
        deadline = time.monotonic() + 2 * _PATIENCE_S
        while True:
            self.broker_id = self.cluster.coordinator(self.group_id)
            try:
                for member in members:
                    member.connection = self.connect(member.connection.client_id)
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
            else:
                return

    def settle(self, *members: Member) -> None:
        """Heartbeat in turns, and confirm revocations, until a whole round changes nothing."""
        deadline = time.monotonic() + _PATIENCE_S
        while time.monotonic() < deadline:
            before = [(m.epoch, m.assigned, m.owned) for m in members]
            for member in members:
                member.heartbeat()
                member.give_up_revoked()
            after = [(m.epoch, m.assigned, m.owned) for m in members]
            if before == after and len({m.epoch for m in members}) == 1 and all(m.assigned for m in members):
                return
            time.sleep(0.02)
        raise LabError(f"group {self.group_id!r} did not settle: {after}")

    def await_held(self, member: Member, partitions: set[Partition]) -> None:
        """Heartbeat until the member has been assigned all of these."""
        deadline = time.monotonic() + _PATIENCE_S
        while not partitions <= member.assigned:
            if time.monotonic() > deadline:
                raise LabError(
                    f"{member.connection.client_id!r} did not get {partitions}, has {member.assigned}"
                )
            member.heartbeat()
            time.sleep(0.05)

    def commit(self, connection: Connection, member_id: str, commit: Commit) -> list[str]:
        """Send one commit, wait for its answer, record both; returns the error of each partition.

        A commit in a version that the broker does not have is left out.
        """
        if commit.transaction is None and commit.version and not self.supports(commit.version):
            return []
        time.sleep(0 if commit.racing else self.pause_s)
        rows = self.send_commit(connection, member_id, commit)
        errors = self.receive_commit(connection, rows)
        time.sleep(0 if commit.racing else self.pause_s)
        return errors

    def send_commit(self, connection: Connection, member_id: str, commit: Commit) -> list[Message]:
        """Send one commit without waiting for the answer; returns its rows of ground truth."""
        rows = [
            self._row(connection, member_id, commit, partition, expect)
            for partition, expect in zip(commit.partitions, commit.expect, strict=True)
        ]
        request = commit.request(self.group_id, member_id, rows)
        sent_at = time.time_ns() // 1_000_000
        correlation_id = connection.send(commit.api, rows[0]["api_version"], request)
        for row in rows:
            row.update(correlation_id=correlation_id, sent_at_ms=sent_at)
            self._truth.add(row)
            if commit.transaction is not None:
                commit.transaction.rows.append(row)
        return rows

    def receive_commit(self, connection: Connection, rows: list[Message]) -> list[str]:
        """Wait for the answer to ``send_commit`` on the same connection, and complete its rows."""
        errors = answered(connection.receive(), rows)
        answered_at = time.time_ns() // 1_000_000
        for row, error in zip(rows, errors, strict=True):
            row.update(answered_at_ms=answered_at, error=error)
            if row["transactional_id"] is not None and error == "NONE":
                row.update(outcome="pending")
        return errors

    def write(self, row: Message) -> None:
        """Add a row of ground truth that is not about a commit: it has a ``kind``."""
        self._truth.add(row)

    def rows(self, partition: Partition) -> list[Message]:
        """The ground truth of every commit of a partition in this group, in the order of sending."""
        return [
            row
            for row in self._truth.rows
            if "kind" not in row
            and row["group_id"] == self.group_id
            and (row["topic"], row["partition"]) == partition
        ]

    def delete(self) -> None:
        """Delete the group, which must be empty."""
        answer = self.connect("lab-admin").call("DeleteGroups", 2, {"GroupsNames": [self.group_id]})
        if answer["Results"][0]["ErrorCode"]:
            raise LabError(f"cannot delete group {self.group_id!r}: {answer['Results'][0]}")

    def close(self) -> None:
        """Run the members' ``last_words``, then close every connection of the group."""
        for last_word in self.last_words:
            # leftovers of a failed scenario, or a lost broker, do not matter at the end
            with suppress(LabError, WireError, OSError):
                last_word()
        for connection in self._connections:
            connection.close()

    def _row(
        self, connection: Connection, member_id: str, commit: Commit, partition: Partition, expect: str
    ) -> Message:
        known = self.ownership.truth(member_id, commit.epoch, partition)
        if known != expect:
            raise LabError(f"{commit.case}: {partition} is {known}, the scenario expected {expect}")
        owner = self.ownership.owner(partition)
        transaction = commit.transaction
        newest = newest_version(self.cluster.plan.version)
        version = transaction.api_version if transaction else commit.version or newest
        return {
            "case": commit.case,
            "group_id": self.group_id,
            "protocol": commit.protocol or self.protocol,
            "group_type": self.protocol,
            "member_id": member_id,
            "instance_id": commit.instance_id,
            "client_id": connection.client_id,
            "correlation_id": None,
            "api_key": commit.api_key,
            "api_version": version,
            "topic": partition[0],
            "topic_id": self.cluster.topic_id(partition[0]),
            "partition": partition[1],
            "committed_offset": self._truth.next_offset(),
            "client_epoch": commit.epoch,
            "sent_at_ms": None,
            "answered_at_ms": None,
            "error": None,
            "truth": expect,
            "owner_member_id": None if owner == member_id else owner,
            "racing": commit.racing,
            "rebalancing": commit.rebalancing,
            "transactional_id": transaction.transactional_id if transaction else None,
            "outcome": None,
        }


@dataclass
class Member:
    """One member: its state (``epoch``, ``assigned``) and the partitions that it reports as owned
    (``owned``).
    """

    group: Group
    connection: Connection
    topics: tuple[str, ...]
    rebalance_timeout_ms: int
    member_id: str = field(default_factory=kafka_uuid)
    epoch: int = 0
    assigned: frozenset[Partition] = frozenset()
    owned: frozenset[Partition] = frozenset()
    instance_id: str | None = None
    api: ClassVar[str] = "ConsumerGroupHeartbeat"
    api_version: ClassVar[int] = 1

    def join(self) -> Member:
        """Join at epoch 0 without partitions."""
        self.epoch, self.assigned, self.owned = 0, frozenset(), frozenset()
        self._exchange({"RebalanceTimeoutMs": self.rebalance_timeout_ms, **self._introduction()})
        return self

    def heartbeat(self) -> None:
        """Heartbeat; new partitions are owned at once, revoked ones until ``give_up_revoked``."""
        self._exchange({})

    def subscribe(self, *topics: str) -> None:
        """Change the subscription."""
        self.topics = topics
        self._exchange({"SubscribedTopicNames": list(topics)})

    def give_up_revoked(self) -> None:
        """Acknowledge the revocation of everything that is no longer assigned."""
        if self.owned - self.assigned:
            self.owned = self.owned & self.assigned
            self._exchange({})

    def leave(self) -> None:
        """Leave the group."""
        self.group.ownership.holds(self.member_id, self.epoch, set())
        self._request({"MemberEpoch": -1})
        self.epoch, self.assigned, self.owned = -1, frozenset(), frozenset()

    def go_away(self) -> None:
        """Leave as a static member: its partitions wait for the next member of its instance id."""
        self.group.ownership.holds(self.member_id, self.epoch, set())
        self._request({"MemberEpoch": -2})

    def was_fenced(self) -> None:
        """The coordinator has removed the member (the driver waited for it); the member does not know yet."""
        self.group.ownership.holds(self.member_id, self.epoch, set())

    def commit(
        self, case: str, epoch: int, partitions: Iterable[Partition], expect: str | list[str], **more: Any
    ) -> list[str]:
        """Commit at any epoch; see ``Commit``. Returns the error of each partition."""
        return self.group.commit(
            self.connection, self.member_id, self.commit_request(case, epoch, partitions, expect, **more)
        )

    def commit_request(
        self, case: str, epoch: int, partitions: Iterable[Partition], expect: str | list[str], **more: Any
    ) -> Commit:
        """The commit that ``commit`` sends."""
        chosen = sorted(partitions)
        truths = [expect] * len(chosen) if isinstance(expect, str) else expect
        return Commit(case, epoch, chosen, truths, **{"instance_id": self.instance_id, **more})

    def _introduction(self) -> Message:
        """The content of the first heartbeat."""
        return {"SubscribedTopicNames": list(self.topics), "ServerAssignor": "uniform"}

    def _holdings(self) -> Message:
        """The owned partitions in every heartbeat."""
        by_topic: dict[str, list[int]] = {}
        for topic, index in sorted(self.owned):
            by_topic.setdefault(self.group.cluster.topic_id(topic), []).append(index)
        return {"TopicPartitions": [{"TopicId": t, "Partitions": p} for t, p in by_topic.items()]}

    def _given(self, answer: Message) -> frozenset[Partition] | None:
        """The assignment in an answer; None if it has none."""
        if answer["Assignment"] is None:
            return None
        names = {self.group.cluster.topic_id(t): t for t in self.topics}
        given = answer["Assignment"]["TopicPartitions"]
        return frozenset((names[a["TopicId"]], p) for a in given for p in a["Partitions"])

    def _request(self, fields: Message) -> Message:
        request = {
            "GroupId": self.group.group_id,
            "MemberId": self.member_id,
            "MemberEpoch": self.epoch,
            "InstanceId": self.instance_id,
            **fields,
        }
        answer = self.connection.call(self.api, self.api_version, request)
        deadline = time.monotonic() + _PATIENCE_S
        while answer["ErrorCode"] in _COORDINATOR_ERRORS and time.monotonic() < deadline:
            time.sleep(0.1)
            answer = self.connection.call(self.api, self.api_version, request)
        if answer["ErrorCode"]:
            name = ERRORS.get(answer["ErrorCode"], answer["ErrorCode"])
            raise LabError(f"heartbeat of {self.connection.client_id!r}: {name} {answer['ErrorMessage']}")
        return answer

    def _exchange(self, fields: Message) -> None:
        said = self.owned
        answer = self._request({**self._holdings(), **fields})
        self.epoch = answer["MemberEpoch"]
        given = self._given(answer)
        if given is not None:
            self.assigned = given
        # New partitions are owned at once; reported ones stay owned until the member reports otherwise.
        self.owned = said | self.assigned
        self.group.ownership.holds(self.member_id, self.epoch, set(self.owned))
