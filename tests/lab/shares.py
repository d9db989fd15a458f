"""The scenario ``share``: why records of share groups are delivered again, or never again. Each case has a
topic and a group of its own name.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from brokers import LabError, Plan, kafka_uuid
from cases import TOPIC
from incarnation_bench import Bench
from lab_client import LabClient, note
from operator_client import Operator
from partition_requests import Row
from scenario import Scenario, Stage, prepare
from share_requests import (
    ACCEPT,
    CLOSE,
    REJECT,
    RELEASE,
    RENEW,
    Acknowledged,
    Session,
    share_acknowledge,
    share_fetch,
)

_RECORDS = 6
_LOCK_MS = 2_000
_MOST_DELIVERIES = 2
_PATIENCE_S = 30.0
_APART_S = 0.3
"""More than a line of the request log is late."""


@dataclass
class _Member:
    """A member of the case's group, with its share session on the only broker."""

    bench: Bench
    case: str
    name: str
    topic_id: str

    def __post_init__(self) -> None:
        self.client: LabClient = self.bench.client(self.case, self.name)
        self.member_id, self.epoch = kafka_uuid(), 0
        self._heartbeats = self.bench.stage.cluster.connect(f"{self.case}-{self.name}-heartbeat")
        self._member_epoch = 0
        deadline = time.monotonic() + _PATIENCE_S
        while not self._heartbeat([self.case]):
            if time.monotonic() > deadline:
                raise LabError(f"{self.client.client_id} is assigned nothing")
            time.sleep(0.2)

    def fetch(self, acquired: list[list[int]] | None = None) -> list[list[int]]:
        """What it acquires, as (first offset, last offset, delivery count), once that is something, or is
        what is expected.
        """
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            (row,) = self.client.ask(1, share_fetch(self._session(self.epoch)))
            self.epoch = self.epoch + 1 if row["error"] == "NONE" else 0
            told: list[list[int]] = row["told"].get("acquired") or []
            if told == acquired or (told and acquired is None):
                return told
            if told or time.monotonic() > deadline:
                raise LabError(f"{self.client.client_id} acquired {told}, not {acquired}")

    def acknowledge(self, *given: Acknowledged, must: bool = True) -> Row:
        """Acknowledge some of it, which ``must`` succeed."""
        (row,) = self.client.ask(1, share_acknowledge(self._session(self.epoch), *given))
        if must and row["error"] != "NONE":
            raise LabError(f"{self.client.client_id}: {row}")
        self.epoch += 1
        return row

    def close(self) -> None:
        """Close the session, which gives back what is acquired."""
        self.client.ask(1, share_acknowledge(self._session(CLOSE)))
        self.epoch = 0

    def leave(self) -> None:
        """Leave the group."""
        self._member_epoch = -1
        self._heartbeat(None)
        self._heartbeats.close()

    def _session(self, epoch: int) -> Session:
        return Session(self.case, self.member_id, epoch, (self.case, 0), self.topic_id)

    def _heartbeat(self, topics: list[str] | None) -> bool:
        request = {"GroupId": self.case, "MemberId": self.member_id, "MemberEpoch": self._member_epoch}
        answer = self._heartbeats.call("ShareGroupHeartbeat", 1, {**request, "SubscribedTopicNames": topics})
        if answer["ErrorCode"] == 0:
            self._member_epoch = int(answer["MemberEpoch"])
        return answer["ErrorCode"] == 0 and bool(answer["Assignment"])


@dataclass
class _Case:
    """A case while it is played: its topic, members, and what it knows of redeliveries."""

    bench: Bench
    name: str

    def __post_init__(self) -> None:
        self.bench.operator.case = self.name
        self.bench.stage.cluster.set_group_config(self.name, "share.auto.offset.reset", "earliest")
        self.topic_id = self.bench.operator.create(self.name, self.bench.replicas())
        self.bench.write(self.bench.client(self.name, "writer"), (self.name, 0), _RECORDS)

    def member(self, name: str) -> _Member:
        """A new member."""
        return _Member(self.bench, self.name, name, self.topic_id)

    def again(
        self,
        before: _Member,
        to: _Member | None,
        offsets: tuple[int, int],
        counts: tuple[int, int | None],
        cause: str,
    ) -> None:
        """Note that a range was delivered again, or, ``to`` nobody, never will be; ``counts``: the delivery
        count of the delivery before, and of this one. ``offsets``: its first and its last.
        """
        note(
            self.bench.stage.truth,
            "redelivery",
            case=self.name,
            group_id=self.name,
            topic=self.name,
            partition=0,
            first_offset=offsets[0],
            last_offset=offsets[1],
            cause=cause,
            member_before=before.member_id,
            client_before=before.client.client_id,
            count_before=counts[0],
            member_id=to.member_id if to else None,
            client_id=to.client.client_id if to else None,
            delivery_count=counts[1],
        )
        time.sleep(_APART_S)


_LAST = _RECORDS - 1


def _accepted(case: _Case) -> None:
    """Everything is accepted: nothing is delivered again."""
    a = case.member("a")
    a.fetch([[0, _LAST, 1]])
    a.acknowledge((0, _LAST, ACCEPT))
    a.close()
    a.leave()


def _lock_expired(case: _Case) -> None:
    """One member takes too long; another one gets the records."""
    a, b = case.member("a"), case.member("b")
    a.fetch([[0, _LAST, 1]])
    b.fetch([[0, _LAST, 2]])
    case.again(a, b, (0, _LAST), (1, 2), "lock_expired")
    b.acknowledge((0, _LAST, ACCEPT))


def _released(case: _Case) -> None:
    """A member releases some of what it has, and gets it again."""
    a = case.member("a")
    a.fetch([[0, _LAST, 1]])
    time.sleep(_APART_S)
    a.acknowledge((0, 1, ACCEPT), (2, 3, RELEASE), (4, _LAST, ACCEPT))
    time.sleep(_APART_S)
    a.fetch([[2, 3, 2]])
    case.again(a, a, (2, 3), (1, 2), "released")
    a.acknowledge((2, 3, ACCEPT))


def _closed(case: _Case) -> None:
    """A member closes its session without an acknowledgement."""
    a, b = case.member("a"), case.member("b")
    a.fetch([[0, _LAST, 1]])
    time.sleep(_APART_S)
    a.close()
    a.leave()
    got = b.fetch()
    case.again(a, b, (0, _LAST), (1, got[0][2]), "session_closed")
    b.acknowledge((0, _LAST, ACCEPT))


def _disconnected(case: _Case) -> None:
    """A member's process ends; its lines do not say so."""
    a, b = case.member("a"), case.member("b")
    a.fetch([[0, _LAST, 1]])
    time.sleep(_APART_S)
    a.client.leave(1)
    got = b.fetch()
    case.again(a, b, (0, _LAST), (1, got[0][2]), "connection_closed")
    b.acknowledge((0, _LAST, ACCEPT))


def _reconnected(case: _Case) -> None:
    """A member loses its connection, and comes back on another one."""
    a = case.member("a")
    a.fetch([[0, _LAST, 1]])
    time.sleep(_APART_S)
    a.client.leave(1)
    a.epoch = 0
    time.sleep(_APART_S)
    got = a.fetch()
    case.again(a, a, (0, _LAST), (1, got[0][2]), "connection_closed")
    a.acknowledge((0, _LAST, ACCEPT))


def _renewed(case: _Case) -> None:
    """A member renews its lock once, and still takes too long."""
    a, b = case.member("a"), case.member("b")
    a.fetch([[0, _LAST, 1]])
    time.sleep(_LOCK_MS / 2_000)
    a.acknowledge((0, _LAST, RENEW))
    b.fetch([[0, _LAST, 2]])
    case.again(a, b, (0, _LAST), (1, 2), "lock_expired")
    b.acknowledge((0, _LAST, ACCEPT))


def _archived(case: _Case) -> None:
    """A member releases the records as often as they may be delivered, or lets the lock expire."""
    a = case.member("a")
    a.fetch([[0, _LAST, 1]])
    a.acknowledge((0, _LAST, RELEASE))
    time.sleep(_APART_S)
    a.fetch([[0, _LAST, 2]])
    case.again(a, a, (0, _LAST), (1, 2), "released")
    a.acknowledge((0, 2, RELEASE))
    case.again(a, None, (0, 2), (2, None), "released")
    time.sleep(_LOCK_MS / 1_000 + _APART_S)
    case.again(a, None, (3, _LAST), (2, None), "lock_expired")


def _rejected(case: _Case) -> None:
    """A member rejects a record that it cannot process."""
    a = case.member("a")
    a.fetch([[0, _LAST, 1]])
    time.sleep(_APART_S)
    a.acknowledge((0, 3, ACCEPT), (4, 4, REJECT), (5, _LAST, ACCEPT))
    case.again(a, None, (4, 4), (1, None), "rejected")


def _altered(case: _Case) -> None:
    """An administrator sets the group's start offset back, so that accepted records are delivered again."""
    a = case.member("a")
    a.fetch([[0, _LAST, 1]])
    a.acknowledge((0, _LAST, ACCEPT))
    a.close()
    a.leave()
    time.sleep(_APART_S)
    partition = {"PartitionIndex": 0, "StartOffset": 2}
    asked = {"GroupId": case.name, "Topics": [{"TopicName": case.name, "Partitions": [partition]}]}
    with case.bench.stage.cluster.admin() as admin:
        answer = admin.call("AlterShareGroupOffsets", 0, asked)
    if answer["ErrorCode"] or answer["Responses"][0]["Partitions"][0]["ErrorCode"]:
        raise LabError(f"cannot alter the group's offsets: {answer}")
    # the broker notices when it stores an acknowledgement
    case.bench.write(case.bench.client(case.name, "writer-again"), (case.name, 0), 1)
    b = case.member("b")
    b.fetch([[_RECORDS, _RECORDS, 1]])
    b.acknowledge((_RECORDS, _RECORDS, ACCEPT), must=False)
    b.fetch([[2, _RECORDS, 1]])
    case.again(a, b, (2, _LAST), (1, 1), "offsets_altered")
    case.again(b, b, (_RECORDS, _RECORDS), (1, 1), "offsets_altered")
    b.acknowledge((2, _RECORDS, ACCEPT))


_CASES: dict[str, Callable[[_Case], None]] = {
    "accepted": _accepted,
    "lock-expired": _lock_expired,
    "released": _released,
    "closed": _closed,
    "disconnected": _disconnected,
    "reconnected": _reconnected,
    "renewed": _renewed,
    "archived": _archived,
    "rejected": _rejected,
    "altered": _altered,
}


def play(stage: Stage) -> None:
    """Every case, and then a restart while records are acquired."""
    prepare(stage, {TOPIC: 1})
    bench = Bench(stage, Operator(stage.cluster, stage.truth, "operator", "set-up"), [1])
    for name, of_case in _CASES.items():
        stage.say(name)
        of_case(_Case(bench, name))
    case = _Case(bench, "restarted")
    a = case.member("a")
    a.fetch([[0, _LAST, 1]])
    for client in (*bench.clients, bench.operator):
        client.close()
    stage.cluster.kill_broker(1)
    stage.cluster.start_broker(1)
    b = case.member("b")
    got = b.fetch()
    case.again(a, b, (0, _LAST), (1, got[0][2]), "leader_moved")
    b.acknowledge((0, _LAST, ACCEPT))
    for client in (*bench.clients, bench.operator):
        client.close()


def plan(version: str) -> Plan:
    """One broker, whose share groups lock records for two seconds and deliver them twice."""
    settings: dict[str, object] = {
        "group.share.min.record.lock.duration.ms": 1_000,
        "group.share.record.lock.duration.ms": _LOCK_MS,
        "group.share.delivery.count.limit": _MOST_DELIVERIES,
        "group.share.heartbeat.interval.ms": 500,
        "group.share.min.heartbeat.interval.ms": 100,
    }
    return Plan(version, unlogged=("BROKER_HEARTBEAT", "FETCH_SNAPSHOT"), settings=settings)


SCENARIO = Scenario(plan, play)
