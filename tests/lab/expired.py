"""The scenario ``expired``: producers that come back after ``transactional.id.expiration.ms``, epochs that
nobody has been given yet, administrators under names of their own, duplicates of static members, and
transactional commits without a member.
"""

from __future__ import annotations

import time

import tools
from brokers import LabError, Plan
from cases import TOPIC, Case
from classic import member, rebalance
from commits import Commit
from coordinators import await_state, describe
from fencings import LEDGER, ask, beat
from members import Group, Member
from producer_requests import Workbench, note, older
from producer_scenario import workbench
from producers import Producer
from scenario import ROLL_BYTES, Scenario, Stage, play_cases, prepare
from transactions import TXN_OLDER, TXN_VERSION, begin, end

_EXPIRATION_MS = 9_000
_PATIENCE_S = 60
_APART_S = 0.1
"""More than a line of the request log is late."""

_LONG_S = 1.2
"""Longer than the clocks of two brokers may differ where nothing orders them."""

_GROUP = "expired-settlements"


def expired(bench: Workbench) -> list[Producer]:
    """One transaction of each producer, from which its id expires: one of either transaction version."""
    case = expired.__name__
    producers = [
        Producer(bench, case, f"{case}-{name}", spoken=spoken)
        for name, spoken in (("newer", bench.dialect), ("older", older(bench.dialect)))
    ]
    for place, each in enumerate(producers):
        each.init()
        each.transaction((LEDGER, place))
        await_state(bench, each.name, "CompleteCommit")
    return producers


def after_expiration(bench: Workbench, producers: list[Producer]) -> None:
    """Everything that a producer may try when its id has expired, and again when another has got its id."""
    for place, each in enumerate(producers):
        deadline = time.monotonic() + _PATIENCE_S
        while describe(bench, each.name)["ErrorCode"] == 0:
            if time.monotonic() > deadline:
                raise LabError(f"{each.name!r} does not expire")
            time.sleep(0.2)
        bench.epochs.expired(each.name)
        _try_everything(each, place)
        time.sleep(_APART_S)
        other = Producer(bench, each.case, each.name, "B", spoken=each.spoken)
        other.init()
        time.sleep(_APART_S)
        _try_everything(each, place)
        other.transaction((LEDGER, place))
        each.close()
        other.close()


def _try_everything(a: Producer, place: int) -> None:
    if a.spoken.adds_partitions:
        a.add_partitions((LEDGER, place), identity=a.identity)
        a.add_offsets(_GROUP, identity=a.identity)
    for _ in range(2):
        a.produce((LEDGER, place), identity=a.identity)
    a.commit_offsets(_GROUP, (LEDGER, place), identity=a.identity)
    a.end(identity=a.identity)


def not_yet_given(bench: Workbench) -> None:
    """A client presents the epoch after its own; then the end of its transaction gives that one, too."""
    case = not_yet_given.__name__
    a = Producer(bench, case, case)
    a.init()
    a.must(a.produce((LEDGER, 2)))
    ahead = Producer(bench, case, case, "ahead")
    following = (a.identity[0], a.identity[1] + 1)
    ahead.produce((LEDGER, 2), identity=following)
    ahead.commit_offsets(_GROUP, (LEDGER, 2), identity=following)
    ahead.end(identity=following)
    time.sleep(_APART_S)
    a.must(a.end())
    a.transaction((LEDGER, 2))
    ahead.init(presented=(a.identity[0], a.identity[1] + 5))
    for client in (a, ahead):
        client.close()


def never_given(bench: Workbench) -> None:
    """A client presents a producer id to a coordinator that does not know its transactional id."""
    case = never_given.__name__
    stranger = Producer(bench, case, case, spoken=older(bench.dialect))
    stranger.add_partitions((LEDGER, 3), identity=(4711, 0))
    stranger.end(identity=(4711, 0))
    stranger.close()


def administrators(stage: Stage, bench: Workbench) -> None:
    """Java's Admin.fenceProducers under Kafka Connect's name and under a user's; a new instance under a name
    of Admins, and one that does nothing after it has got its epoch.
    """
    case = administrators.__name__
    names = {"connect": "connector-worker-adminclient-orders", "own": "ops-laptop"}
    for which, client_id in names.items():
        a = Producer(bench, case, f"{case}-{which}")
        a.init()
        a.transaction((LEDGER, 4))
        a.must(a.produce((LEDGER, 4)))
        config = stage.clients.folder / f"{which}.properties"
        config.write_text(f"client.id={client_id}\n")
        options = ["--command-config", str(config), "forceTerminateTransaction", "--transactionalId", a.name]
        tools.transactions(bench.cluster, *options)
        config.unlink()
        row = {"step": "init", "transactional_id": a.name, "instance": "operator"}
        note(bench, case, "InitProducerId", row, a.learn("operator"))
        a.produce((LEDGER, 4), identity=a.identity)
        a.end(identity=a.identity)
        a.close()
    for which, writes in (("named", True), ("silent", False)):
        a, b = (Producer(bench, case, f"{case}-{which}", instance) for instance in "AB")
        if writes:
            b.client_id = "adminclient-7"
        a.init()
        a.transaction((LEDGER, 4))
        b.init()
        a.end(identity=a.identity)
        if writes:
            b.transaction((LEDGER, 4))
        for client in (a, b):
            client.close()


def _joining(of: Member) -> dict[str, object]:
    return {
        "MemberEpoch": 0,
        "RebalanceTimeoutMs": 30_000,
        "SubscribedTopicNames": [TOPIC],
        "TopicPartitions": [],
        "InstanceId": of.instance_id,
    }


def static_consumer(group: Group) -> None:
    """A static member whose answer was lost joins again under its id; then a second process, until it may."""
    a = group.member(f"{group.group_id}-a", [TOPIC])
    a.instance_id = "instance-a"
    a.join()
    group.settle(a)
    time.sleep(_LONG_S)
    beat(a, "instance", **_joining(a))
    duplicate = group.member(f"{group.group_id}-b", [TOPIC])
    duplicate.instance_id = a.instance_id
    for _ in range(2):
        beat(duplicate, "instance", **_joining(duplicate))
    time.sleep(_LONG_S)
    a.go_away()
    duplicate.join()
    group.settle(duplicate)
    beat(a, "instance", MemberEpoch=1)


def static_classic(group: Group) -> None:
    """A static member of a classic group is replaced by another process, and heartbeats once more."""
    a = member(group, "a", [TOPIC], instance_id="instance-a")
    rebalance(a)
    successor = member(group, "a-again", [TOPIC], instance_id="instance-a", owned=a.owned)
    successor.send_join()
    successor.receive_join()
    successor.send_sync()
    a.was_removed()
    successor.receive_sync()
    ask(a, "Heartbeat", a.identity(), "instance")


def memberless(group: Group) -> None:
    """Transactional commits without a member, for the partitions of one; and when nobody is left."""
    a = group.member(f"{group.group_id}-a", [TOPIC]).join()
    group.settle(a)
    a.commit("owner", a.epoch, [(TOPIC, 0)], "owner")
    other = group.connect(f"{group.group_id}-worker")
    for version in (TXN_VERSION, TXN_OLDER):
        producer = begin(group, f"{group.group_id}-tx", version)
        commit = Commit("memberless", -1, [(TOPIC, 0)], ["unfenced"], version=version, transaction=producer)
        group.commit(other, "", commit)
        end(group, producer, True)
    a.leave()
    producer = begin(group, f"{group.group_id}-tx")
    commit = Commit(
        "memberless_alone", -1, [(TOPIC, 0)], ["unfenced"], version=TXN_VERSION, transaction=producer
    )
    group.commit(other, "", commit)
    end(group, producer, True)


def memberless_classic(group: Group) -> None:
    """The same in a classic group."""
    a = member(group, "a", [TOPIC])
    rebalance(a)
    a.commit("owner", a.generation, [(TOPIC, 0)], "owner")
    producer = begin(group, f"{group.group_id}-tx")
    commit = Commit("memberless", -1, [(TOPIC, 0)], ["unfenced"], version=TXN_VERSION, transaction=producer)
    group.commit(group.connect(f"{group.group_id}-worker"), "", commit)
    end(group, producer, True)


CONSUMER: dict[str, Case] = {"expired-static": static_consumer, "expired-memberless": memberless}
CLASSIC: dict[str, Case] = {
    "expired-static-classic": static_classic,
    "memberless-classic": memberless_classic,
}


def play(stage: Stage) -> None:
    """Producers whose ids expire while everything else goes on."""
    prepare(stage, {LEDGER: 5, TOPIC: 2})
    stage.cluster.coordinator("any", transaction=True)
    bench = workbench(stage)
    producers = expired(bench)
    for case in (not_yet_given, never_given):
        stage.say(case.__name__)
        case(bench)
    administrators(stage, bench)
    play_cases(stage, CONSUMER, pause_s=0.05)
    play_cases(stage, CLASSIC, "classic", pause_s=0.05)
    stage.say(after_expiration.__name__)
    after_expiration(bench, producers)
    bench.epochs.end_of_recording()


def plan(version: str) -> Plan:
    """One broker on which idle transactional ids expire soon."""
    settings: dict[str, object] = {
        "transactional.id.expiration.ms": _EXPIRATION_MS,
        "transaction.remove.expired.transaction.cleanup.interval.ms": 1000,
    }
    return Plan(version, roll_bytes=ROLL_BYTES, settings=settings)


SCENARIO = Scenario(plan, play)
