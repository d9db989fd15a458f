"""The scenario ``removals``: what takes away committed offsets, groups, records that consumers want to read,
and members; each in a group, and where it has one a topic, of its own name.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from brokers import LabError, Plan
from cases import TOPIC
from classic import member, rebalance
from incarnation_bench import Bench
from lab_client import LabClient
from members import Group, Member
from messages import Message
from operator_client import Operator
from partition_requests import Ask, committed, row
from scenario import Scenario, Stage, prepare
from truth import Partition

_RECORDS, _HALF = 30, 10
_SESSION_MS = 1_500
_EXPIRED_S = 90
_PATIENCE_S = 60.0
_APART_S = 0.3
"""More than a line of the request log is late."""


def play(stage: Stage) -> None:
    """Offsets and records first, then members; meanwhile the offsets of a group without members expire."""
    prepare(stage, {TOPIC: 4})
    operator = Operator(stage.cluster, stage.truth, "operator", "set-up")
    bench = Bench(stage, operator, [1])
    forgotten = _with_offset(bench, "expired")
    kept = _with_offset(bench, "kept")
    begun = time.monotonic()
    for case in (
        _offset_deleted, _group_deleted, _topic_deleted, _records_deleted, _retention, _beyond, _late,
    ):  # fmt: skip
        stage.say(case.__name__)
        case(bench)
        time.sleep(_APART_S)
    for name, of_members in _MEMBERS.items():
        stage.say(name)
        group = Group(stage.cluster, stage.truth, name, 0.1, "classic" if "classic" in name else "consumer")
        try:
            of_members(group)
        finally:
            group.close()
    stage.say("offsets expire")
    while _stored(kept, "expired") >= 0:
        bench.commit(kept, "kept", ("kept", 0), _HALF)
        if time.monotonic() > begun + _EXPIRED_S:
            raise LabError("the offsets of a group without members do not expire")
        time.sleep(2)
    bench.come_back(forgotten, "expired", ("expired", 0))
    bench.come_back(kept, "kept", ("kept", 0))
    for client in (*bench.clients, operator):
        client.close()


def _with_offset(bench: Bench, case: str, **configs: str) -> LabClient:
    """A consumer that has read a topic of the case's name, and committed as its group; twice."""
    place, reader = (case, 0), bench.client(case, "reader")
    bench.operator.case = case
    bench.operator.create(case, bench.replicas(), configs or None)
    bench.write(bench.client(case, "writer"), place, _RECORDS)
    bench.read(reader, place, 0)
    for offset in (_HALF - 1, _HALF):
        bench.commit(reader, case, place, offset, leader_epoch=0)
    time.sleep(_APART_S)
    return reader


def _stored(client: LabClient, group_id: str) -> int:
    (told,) = client.must(1, committed(group_id, (group_id, 0)))
    return int(told["told"]["offset"])


def _offset_deleted(bench: Bench) -> None:
    """An administrator deletes a group's offsets of one topic."""
    case = "offset-deleted"
    reader = _with_offset(bench, case)
    asked = {"GroupId": case, "Topics": [{"Name": case, "Partitions": [{"PartitionIndex": 0}]}]}
    _administrate(bench, case, "OffsetDelete", 0, asked)
    bench.come_back(reader, case, (case, 0))


def _group_deleted(bench: Bench) -> None:
    """An administrator deletes a group."""
    case = "group-deleted"
    reader = _with_offset(bench, case)
    _administrate(bench, case, "DeleteGroups", 2, {"GroupsNames": [case]})
    bench.come_back(reader, case, (case, 0))


def _topic_deleted(bench: Bench) -> None:
    """The topic is deleted, and another one of its name created."""
    case = "topic-deleted"
    reader = _with_offset(bench, case)
    bench.operator.delete(case)
    time.sleep(_APART_S)
    bench.operator.create(case, bench.replicas())
    bench.write(bench.client(case, "writer-again"), (case, 0), _RECORDS)
    bench.come_back(reader, case, (case, 0))


def _records_deleted(bench: Bench) -> None:
    """An administrator deletes the records that the group would read next."""
    case = "records-deleted"
    reader = _with_offset(bench, case)
    partition = {"PartitionIndex": 0, "Offset": 2 * _HALF}
    asked = {"Topics": [{"Name": case, "Partitions": [partition]}], "TimeoutMs": 15_000}
    _administrate(bench, case, "DeleteRecords", 2, asked)
    bench.come_back(reader, case, (case, 0))


def _retention(bench: Bench) -> None:
    """The records that the group would read next become too old."""
    case = "retention"
    reader = _with_offset(bench, case, **{"retention.ms": "2000", "segment.ms": "1000"})
    writer, deadline = bench.client(case, "late-writer"), time.monotonic() + _PATIENCE_S
    while bench.bounds((case, 0))[0] <= _HALF:
        if time.monotonic() > deadline:
            raise LabError("no record of a topic with a short retention is deleted")
        bench.write(writer, (case, 0), 1)
        time.sleep(0.5)
    bench.come_back(reader, case, (case, 0))


def _beyond(bench: Bench) -> None:
    """Somebody has committed an offset that the log never had."""
    case = "beyond"
    reader = _with_offset(bench, case)
    bench.commit(reader, case, (case, 0), 100 * _RECORDS)
    bench.come_back(bench.client(case, "back"), case, (case, 0))


def _late(bench: Bench) -> None:
    """An offset of a deleted topic is committed after another one was created."""
    case = "late"
    reader = _with_offset(bench, case)
    bench.read(reader, (case, 0), _RECORDS)
    bench.operator.recreate(case, bench.replicas())
    bench.write(bench.client(case, "writer-again"), (case, 0), _HALF)
    bench.commit(reader, case, (case, 0), _RECORDS, leader_epoch=0)
    bench.come_back(bench.client(case, "back"), case, (case, 0))


def _administrate(bench: Bench, case: str, name: str, version: int, asked: Message) -> None:
    """A request of an administrator, who has a client id of the case."""

    def read(answer: Message) -> list[dict[str, object]]:
        return [row((None, None), None, int(answer.get("ErrorCode", 0)), asked, {"answer": answer})]

    admin = bench.client(case, "admin")
    admin.must(1, Ask(name, version, asked, read))
    time.sleep(_APART_S)


def _joined(group: Group, name: str, instance_id: str | None = None, **more: int) -> Member:
    made = group.member(f"{group.group_id}-{name}", [TOPIC], **more)
    made.instance_id = instance_id
    return made.join()


def _with_session(group: Group) -> None:
    group.cluster.set_group_config(group.group_id, "consumer.session.timeout.ms", str(_SESSION_MS))


def _await_alone(member: Member, names: set[Partition]) -> None:
    """Heartbeat, with what is revoked given up, until the member has everything."""
    deadline = time.monotonic() + _PATIENCE_S
    while member.owned != names:
        if time.monotonic() > deadline:
            raise LabError(f"{member.connection.client_id!r} has {member.owned}")
        member.heartbeat()
        member.give_up_revoked()
        time.sleep(0.2)


_ALL = {(TOPIC, index) for index in range(4)}


def _session(group: Group) -> None:
    """One of two members is silent for longer than its session."""
    _with_session(group)
    a, b = _joined(group, "silent"), _joined(group, "stays")
    group.settle(a, b)
    _await_alone(b, _ALL)
    a.was_fenced()
    b.leave()


def _slow(group: Group) -> None:
    """A member heartbeats and does not give up what is revoked."""
    a = _joined(group, "slow", rebalance_timeout_ms=1_000)
    group.settle(a)
    b = _joined(group, "stays")
    a.heartbeat()
    _await_alone(b, _ALL)
    a.was_fenced()
    b.leave()


def _left(group: Group) -> None:
    a, b = _joined(group, "leaves"), _joined(group, "stays")
    group.settle(a, b)
    a.leave()
    _await_alone(b, _ALL)
    b.leave()


def _static(group: Group) -> None:
    """One static member is replaced while it is away, another does not come back within its session."""
    _with_session(group)
    a, b = _joined(group, "a", "instance-a"), _joined(group, "b", "instance-b")
    group.settle(a, b)
    a.go_away()
    again = _joined(group, "a-again", "instance-a")
    group.settle(again, b)
    b.go_away()
    _await_alone(again, _ALL)
    again.leave()


def _classic(group: Group) -> None:
    """Members of a classic group: one is silent, one is removed by an administrator, one leaves, one
    is replaced.
    """
    silent = member(group, "silent", [TOPIC], session_timeout_ms=6_000)
    rebalance(silent)
    removed, leaves = (member(group, name, [TOPIC]) for name in ("removed", "leaves"))
    fixed = member(group, "static", [TOPIC], instance_id="instance-c")
    rebalance(silent, removed, leaves, fixed)
    again = member(group, "static-again", [TOPIC], instance_id="instance-c", owned=fixed.owned)
    again.send_join()
    again.receive_join()
    fixed.was_removed()
    again.send_sync()
    again.receive_sync()
    everyone = [{"MemberId": removed.member_id, "GroupInstanceId": None, "Reason": "the operator"}]
    group.connect("lab-admin").call("LeaveGroup", 5, {"GroupId": group.group_id, "Members": everyone})
    removed.was_removed()
    time.sleep(_APART_S)
    leaves.leave()
    silent.was_removed()
    rebalance(again)
    again.leave()


_MEMBERS: dict[str, Callable[[Group], None]] = {
    "session": _session,
    "slow": _slow,
    "left": _left,
    "static": _static,
    "classic": _classic,
}


def plan(version: str) -> Plan:
    """One broker that forgets offsets and records soon."""
    settings: dict[str, object] = {
        "offsets.retention.minutes": 1,
        "offsets.retention.check.interval.ms": 1_000,
        "log.retention.check.interval.ms": 500,
        "log.initial.task.delay.ms": 500,
    }
    return Plan(version, unlogged=("BROKER_HEARTBEAT", "FETCH_SNAPSHOT", "API_VERSIONS"), settings=settings)


SCENARIO = Scenario(plan, play)
