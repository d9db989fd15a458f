"""The scenario ``fencings``: clients that are refused because of an epoch, and clients that are refused for
another reason.

Producers, each on its own partition, whose refusal is no fencing or whose evidence is scattered; and members
of every kind of group that are refused without a commit: heartbeats, joins, syncs.
"""

from __future__ import annotations

import time
from typing import Any

from brokers import Plan, kafka_uuid
from cases import TOPIC, Case
from classic import HEARTBEAT, JOIN, SYNC, member, rebalance
from commits import BEFORE_MEMBER_EPOCHS, BY_NAME, Commit
from coordinators import await_state
from members import Group, HasConnection, Member
from messages import Message
from producer_cases import TIMEOUT_MS
from producer_requests import Workbench, older
from producer_scenario import workbench
from producers import Producer
from scenario import Scenario, Stage, play_cases, prepare
from streams import StreamsMember
from streams_cases import alone as alone_in_streams
from truth import error_name, now_ms

LEDGER = "fencings"
"""The topic of the producers."""

_APIS = {
    "JoinGroup": (11, JOIN), "Heartbeat": (12, HEARTBEAT), "SyncGroup": (14, SYNC),
    "ConsumerGroupHeartbeat": (68, Member.api_version), "ShareGroupHeartbeat": (76, 1),
    "StreamsGroupHeartbeat": (88, StreamsMember.api_version), "OffsetFetch": (9, 9),
}  # fmt: skip
"""Api key and version of what members send."""

_SEGMENT_MS = "4000"
_LATER_S = 1.0


def refused_for_another_reason(bench: Workbench) -> None:
    """EndTxn that has nothing to end, at the current epoch; a new instance comes much later."""
    case = refused_for_another_reason.__name__
    twice = Producer(bench, case, f"{case}-twice", spoken=older(bench.dialect))
    twice.init()
    twice.transaction((LEDGER, 0))
    await_state(bench, twice.name, "CompleteCommit")
    twice.end(False, step="end_retry")
    nothing = Producer(bench, case, f"{case}-nothing")
    nothing.init()
    nothing.end(True)
    time.sleep(_LATER_S)
    for before in (twice, nothing):
        successor = Producer(bench, case, before.name, "B", spoken=before.spoken)
        successor.init()
        successor.transaction((LEDGER, 0))
        before.close()
        successor.close()


def timed_out(bench: Workbench) -> None:
    """Producers that write, for the first time or again, when their transaction has been aborted.

    On a new connection; after a restart under the same client id; without having written before; two at once.
    """
    case = timed_out.__name__
    for spoken in (bench.dialect, older(bench.dialect)):
        name = f"{case}-v{spoken.end_txn}"
        restarted, _, silent = left = [
            Producer(bench, case, f"{name}-{each}", spoken=spoken, timeout_ms=TIMEOUT_MS)
            for each in ("restarted", "reconnected", "silent")
        ]
        restarted.init()
        restarted.transaction((LEDGER, 1))
        restarted.close()
        for place, each in enumerate(left, start=1):
            each.init()
            if each is silent and spoken.adds_partitions:
                each.add_partitions((LEDGER, place))
            else:
                each.must(each.produce((LEDGER, place)))
        for each in left:
            each.await_timeout()
            each.close()
        for place, each in enumerate(left, start=1):
            each.produce((LEDGER, place), identity=each.identity)
            each.produce((LEDGER, 4), identity=each.identity, sequence=0)
            each.close()


def unknown_id(bench: Workbench) -> None:
    """A producer presents an id to a coordinator that has never heard of its transactional id."""
    case = unknown_id.__name__
    stranger = Producer(bench, case, case)
    stranger.init(presented=(4711, 3))
    stranger.transaction((LEDGER, 5))
    stranger.close()


def ask(who: HasConnection, api: str, message: Message, cause: str = "") -> str:
    """Send a member's request, and record its answer; ``cause``: what fenced it, '' if nothing did."""
    (api_key, version), sent_at = _APIS[api], now_ms()
    correlation_id = who.connection.send(api, version, message)
    answer = who.connection.receive()
    if api == "OffsetFetch":
        (message,), (answer,) = message["Groups"], answer["Groups"]
    error = error_name(answer["ErrorCode"])
    row = {"kind": "member", "case": message["GroupId"], "group_id": message["GroupId"], "api": api}
    row |= {"api_key": api_key, "correlation_id": correlation_id, "client_id": who.connection.client_id}
    row |= {"member_id": message["MemberId"], "error": error, "victim": bool(cause), "cause": cause or None}
    row |= {"instance_id": message.get("GroupInstanceId", message.get("InstanceId"))}
    row |= {"client_epoch": message.get("MemberEpoch", message.get("GenerationId"))}
    row |= {"topic": None, "partition": None, "sent_at_ms": sent_at, "answered_at_ms": now_ms()}
    who.group.write(row)
    return error


def beat(of: Member, cause: str, **fields: Any) -> str:
    message = {"GroupId": of.group.group_id, "MemberId": of.member_id, "MemberEpoch": of.epoch}
    return ask(of, of.api, {**message, "InstanceId": of.instance_id, **fields}, cause)


def _fetch(of: Member, cause: str, epoch: int) -> str:
    named = {"GroupId": of.group.group_id, "MemberId": of.member_id, "MemberEpoch": epoch, "Topics": None}
    return ask(of, "OffsetFetch", {"Groups": [named], "RequireStable": False}, cause)


def consumer(group: Group) -> None:
    """A member with an epoch that never existed, with an old epoch, and after it has left; and one whose
    OffsetCommit version has no member epochs.
    """
    a, b = (group.member(f"{group.group_id}-{name}", [TOPIC]) for name in "ab")
    a.join()
    group.settle(a)
    b.join()
    group.settle(a, b)
    a.commit("owner", a.epoch, a.owned, "owner")
    beat(a, "member_epoch", MemberEpoch=a.epoch + 7)
    for name in ("c", "d"):
        other = group.member(f"{group.group_id}-{name}", [TOPIC]).join()
        group.settle(a, b, other)
    beat(a, "member_epoch", MemberEpoch=a.epoch - 3)
    _fetch(a, "", a.epoch)
    _fetch(a, "member_epoch", a.epoch - 1)
    a.commit("older_api", a.epoch, a.owned, "owner", version=BEFORE_MEMBER_EPOCHS)
    # an administrator must not commit for a group with members
    admin = group.connect("adminclient-1")
    group.commit(
        admin, "", Commit("administrator_of_a_live_group", -1, [(TOPIC, 0)], ["unfenced"], version=BY_NAME)
    )
    b.leave()
    beat(b, "membership", MemberEpoch=a.epoch)
    _fetch(b, "membership", a.epoch)


def nobody(group: Group) -> None:
    """Commits of a member to a group that never existed, with the newest version and an older one."""
    late = group.connect(f"{group.group_id}-late")
    for version in (None, BEFORE_MEMBER_EPOCHS):
        group.commit(
            late, kafka_uuid(), Commit("missing_group", 3, [(TOPIC, 0)], ["not_owner"], version=version)
        )


def static_consumer(group: Group) -> None:
    """A duplicate of a static member; then its successor, and the old one."""
    a = group.member(f"{group.group_id}-a", [TOPIC])
    a.instance_id = "instance-a"
    a.join()
    group.settle(a)
    last = a.epoch
    duplicate = group.member(f"{group.group_id}-duplicate", [TOPIC])
    duplicate.instance_id = a.instance_id
    beat(
        duplicate,
        "instance",
        MemberEpoch=0,
        RebalanceTimeoutMs=30_000,
        SubscribedTopicNames=[TOPIC],
        TopicPartitions=[],
    )
    a.go_away()
    duplicate.join()
    group.settle(duplicate)
    beat(a, "instance", MemberEpoch=last)
    beat(a, "membership", MemberEpoch=last, InstanceId=None)


def streams(group: Group) -> None:
    """A member of a streams group with an epoch that never existed, and after it has left."""
    a = alone_in_streams(group)
    beat(a, "member_epoch", MemberEpoch=a.epoch + 7)
    last = a.epoch
    a.leave()
    beat(a, "membership", MemberEpoch=last)


def share(group: Group) -> None:
    """A client that is no member of a share group, or not any more."""
    a = group.member(f"{group.group_id}-a", [TOPIC])
    message = {"GroupId": group.group_id, "MemberId": kafka_uuid(), "MemberEpoch": 0}
    introduced = {**message, "SubscribedTopicNames": [TOPIC]}
    while ask(a, "ShareGroupHeartbeat", introduced).startswith("COORDINATOR"):
        time.sleep(0.1)
    ask(a, "ShareGroupHeartbeat", {**message, "MemberEpoch": -1})
    ask(a, "ShareGroupHeartbeat", {**message, "MemberEpoch": 1}, "membership")


def classic(group: Group) -> None:
    """Members of an old generation, of a replaced instance, and members that have left."""
    a = member(group, "a", [TOPIC], instance_id="instance-a")
    b = member(group, "b", [TOPIC])
    rebalance(a)
    rebalance(a, b)
    a.commit("owner", a.generation, a.owned, "owner")
    old = {"GenerationId": a.generation - 1}
    ask(a, "Heartbeat", {**a.identity(), **old}, "generation")
    syncing = {"ProtocolType": "consumer", "ProtocolName": a.strategy, "Assignments": []}
    ask(a, "SyncGroup", {**a.identity(), **old, **syncing}, "generation")
    ask(a, "Heartbeat", a.identity())
    stranger = member(group, "stranger", [TOPIC])
    stranger.member_id = f"stranger-{kafka_uuid()}"
    ask(stranger, "JoinGroup", stranger.joining(), "membership")
    wrong = {"GroupInstanceId": "instance-a"}
    ask(b, "Heartbeat", {**b.identity(), **wrong}, "instance")
    b.leave()
    ask(b, "Heartbeat", b.identity(), "membership")


GROUPS: dict[str, Case] = {
    "refused-consumer": consumer,
    "refused-static": static_consumer,
    "refused-nobody": nobody,
}
OTHERS: dict[str, dict[str, Case]] = {
    "classic": {"refused-classic": classic},
    "streams": {"refused-streams": streams},
    "share": {"refused-share": share},
}


def play(stage: Stage) -> None:
    """Producers, then groups."""
    prepare(stage, {LEDGER: 6, TOPIC: 4}, _SEGMENT_MS)
    stage.cluster.coordinator("any", transaction=True)
    stage.cluster.set_topic_config("__transaction_state", "segment.ms", _SEGMENT_MS)
    bench = workbench(stage)
    for case in (refused_for_another_reason, timed_out, unknown_id):
        stage.say(case.__name__)
        case(bench)
    bench.epochs.end_of_recording()
    play_cases(stage, GROUPS, pause_s=0.05)
    for protocol, cases in OTHERS.items():
        play_cases(stage, cases, protocol, pause_s=0.05)


def plan(version: str) -> Plan:
    """One broker whose coordinator often checks for transactions past their timeout."""
    settings: dict[str, object] = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": 500}
    return Plan(version, roll_bytes=300_000, settings=settings)


SCENARIO = Scenario(plan, play)
