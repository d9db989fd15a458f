"""The scenario ``recreated``: an operator deletes coordinators' logs, as an over-eager topic operator does.

``__transaction_state`` is deleted once and ``__consumer_offsets`` twice. The brokers create them again when a
client looks for its coordinator; the last time the operator creates ``__consumer_offsets`` himself, with more
partitions, which brokers use from their next start on. So clients meet a coordinator that does not know them.
"""

from __future__ import annotations

import time
from typing import Any

import tools
from brokers import Plan
from cases import TOPIC
from classic import ClassicMember, member, rebalance
from commits import BY_NAME, Commit
from members import Group, Member
from messages import Message
from operator_client import Operator
from partition_requests import committed
from producer_scenario import workbench
from producers import Producer
from scenario import Scenario, Stage, prepare, restart
from truth import error_name, now_ms

OFFSETS, TRANSACTIONS = "__consumer_offsets", "__transaction_state"
PARTITIONS = 3
"""The partitions of the last ``__consumer_offsets``."""

_LEDGER = "ledger"
_PAUSE_S = 0.3
"""Between requests about the two logs, so that no clock is in doubt."""


def play(stage: Stage) -> None:
    """Groups and transactions before, between and after the deletions."""
    prepare(stage, {TOPIC: 4, _LEDGER: 4})
    operator = Operator(stage.cluster, stage.truth, "ops", "recreated")
    try:
        _transactions(stage, operator)
        _groups(stage, operator)
    finally:
        operator.close()


def _transactions(stage: Stage, operator: Operator) -> None:
    stage.cluster.coordinator("any", transaction=True)
    bench = workbench(stage)
    kept, left, renewed, aborted = clients = [
        Producer(bench, "recreated", name) for name in ("kept", "left-open", "renewed", "aborted")
    ]
    for each in clients:
        each.init()
    for _ in range(3):
        kept.transaction((_LEDGER, 0))
    opened = {each.name: _open(each, place) for place, each in enumerate((left, renewed, aborted), start=1)}
    stage.say(f"delete {TRANSACTIONS}")
    operator.delete(TRANSACTIONS)
    bench.epochs.forget("log_deleted")
    time.sleep(1)
    bench.homes.clear()
    stage.cluster.coordinator("any", transaction=True)
    time.sleep(_PAUSE_S)
    kept.produce((_LEDGER, 0))
    left.end()
    time.sleep(_PAUSE_S)
    for each in (kept, renewed):
        each.init()
    for _ in range(3):
        kept.transaction((_LEDGER, 0))
    # another partition: the old transaction of the id stays open where it is
    renewed.transaction((_LEDGER, 0))
    first = opened[aborted.name]["first_offset"]
    place = ["--topic", _LEDGER, "--partition", "3", "--start-offset", str(first)]
    tools.transactions(stage.cluster, "abort", *place)
    opened[aborted.name]["hanging"] = False
    for row in opened.values():
        stable, end = (_offset(operator, row["partition"], level) for level in (1, 0))
        stage.truth.add({**row, "last_stable_offset": stable, "log_end_offset": end})
    for each in clients:
        each.close()
    bench.epochs.end_of_recording()


def _open(producer: Producer, partition: int) -> dict[str, Any]:
    """A transaction that is not ended: the row of ground truth about it."""
    producer.must(producer.produce((_LEDGER, partition)))
    base = producer.bench.truth.rows[-1]["base_offset"]
    producer_id, producer_epoch = producer.identity
    place = {"case": "recreated", "topic": _LEDGER, "partition": partition}
    of = {"transactional_id": producer.name, "producer_id": producer_id, "producer_epoch": producer_epoch}
    return {"kind": "hanging", **place, **of, "first_offset": base, "hanging": True, "why": "log_deleted"}


def _offset(operator: Operator, partition: int, isolation_level: int) -> int:
    request = {"ReplicaId": -1, "IsolationLevel": isolation_level, "TimeoutMs": 15_000}
    asked = {"PartitionIndex": partition, "CurrentLeaderEpoch": -1, "Timestamp": -1}
    request |= {"Topics": [{"Name": _LEDGER, "Partitions": [asked]}]}
    with operator.cluster.admin() as admin:
        answer = admin.call("ListOffsets", 10, request)
    return int(answer["Topics"][0]["Partitions"][0]["Offset"])


def _groups(stage: Stage, operator: Operator) -> None:
    clients = _members(stage, "first")
    stage.say(f"delete {OFFSETS}")
    operator.delete(OFFSETS)
    time.sleep(1)
    stage.cluster.coordinator("any")
    time.sleep(_PAUSE_S)
    _refused(*clients)
    clients = _members(stage, "second")
    stage.say(f"delete {OFFSETS} again")
    operator.delete(OFFSETS)
    time.sleep(1)
    operator.create(OFFSETS, [[1]] * PARTITIONS, {"cleanup.policy": "compact"})
    time.sleep(_PAUSE_S)
    _refused(*clients)
    for each in _members(stage, "third"):
        each.close()
    # the group coordinator counts partitions when it starts: now it looks for some groups elsewhere
    restart(stage)
    for each in _members(stage, "fourth"):
        each.close()
    for group_id in ("gone", "simple", "classic", "consumer"):
        for partition in range(4):
            operator.must(1, committed(group_id, (TOPIC, partition)))


def _members(stage: Stage, when: str) -> tuple[Group, Group]:
    """A member of a classic and of a consumer group joins and commits; an administrator commits, too."""
    administered = ("simple", "gone") if when == "first" else ("simple",)
    for group_id in administered:
        group = Group(stage.cluster, stage.truth, group_id, _PAUSE_S)
        admin = group.connect("backfill")
        group.commit(admin, "", Commit(when, -1, [(TOPIC, 0)], ["unfenced"], version=BY_NAME))
        group.close()
    classic = Group(stage.cluster, stage.truth, "classic", _PAUSE_S, "classic")
    a = member(classic, when, [TOPIC])
    rebalance(a)
    a.commit(when, a.generation, a.owned, "owner")
    consumer = Group(stage.cluster, stage.truth, "consumer", _PAUSE_S)
    b = consumer.member(f"consumer-{when}", [TOPIC]).join()
    consumer.settle(b)
    b.commit(when, b.epoch, b.owned, "owner")
    classic.last_words = [lambda: _come_back(a)]
    consumer.last_words = [lambda: _come_back(b)]
    return classic, consumer


def _come_back(who: ClassicMember | Member) -> None:
    """A heartbeat of a member that has not heard of the deletion. If it is refused, the member commits;
    otherwise it leaves.
    """
    if isinstance(who, ClassicMember):
        api, api_key, version, message = "Heartbeat", 12, 4, who.identity()
    else:
        api, api_key, version = who.api, 68, who.api_version
        message = {"GroupId": who.group.group_id, "MemberId": who.member_id, "MemberEpoch": who.epoch}
    sent_at, case = now_ms(), who.group.group_id
    correlation_id = who.connection.send(api, version, message)
    error = error_name(who.connection.receive()["ErrorCode"])
    row: Message = {"kind": "member", "case": case, "group_id": case, "api": api, "api_key": api_key}
    row |= {"correlation_id": correlation_id, "client_id": who.connection.client_id, "error": error}
    row |= {"member_id": who.member_id, "instance_id": None, "client_epoch": who.epoch}
    row |= {"victim": error != "NONE", "cause": "log_deleted" if error != "NONE" else None}
    row |= {"topic": None, "partition": None, "sent_at_ms": sent_at, "answered_at_ms": now_ms()}
    who.group.write(row)
    if error == "NONE":
        who.leave()
    else:
        who.group.ownership.holds(who.member_id, who.epoch, set())
        who.commit("after_the_deletion", who.epoch, [(TOPIC, 0), (TOPIC, 1)], "not_owner")


def _refused(*groups: Group) -> None:
    for group in groups:
        group.close()


SCENARIO = Scenario(lambda version: Plan(version, roll_bytes=300_000), play)
