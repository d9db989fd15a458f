"""All scenarios: the cluster, the clients and the hand-made cases of each."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import by_hand
import compacted
import days
import ends
import exhausted
import expired
import failover
import fencings
import groups
import incarnations
import local_bumps
import makers
import markers
import natural
import old_clients
import operators
import platformatic
import producer_failover
import producer_scenario
import rebalances
import recreated
import removals
import shares
import streams_lags
import streams_runs
import subscriptions
import tiered
import unclean
import upgraded
import with_zookeeper
from brokers import Plan
from cases import CASES, OTHER_TOPIC, TOPIC
from commits import BY_ID, BY_NAME, Commit
from members import Group
from scenario import ROLL_BYTES, Scenario, Stage, play_cases, prepare
from transactions import TXN_VERSION, begin, end

REAL_TOPIC = "payments.eu-1"
"""The topic of the real clients."""


def _restless_group(stage: Stage) -> None:
    """Real members that join, leave and commit continuously; one is paused until its session has expired."""
    stage.cluster.set_group_config("checkout", "consumer.session.timeout.ms", "6000")
    stage.clients.producer("checkout-producer", REAL_TOPIC, 15)
    first = stage.clients.consumer("checkout-1", "checkout", REAL_TOPIC)
    second = stage.clients.consumer("checkout-2", "checkout", REAL_TOPIC)
    for client in (first, second):
        client.await_event("offsets_committed", 3)
    third = stage.clients.consumer("checkout-3", "checkout", REAL_TOPIC)
    third.await_event("offsets_committed", 2)
    second.ask_to_stop()
    fourth = stage.clients.consumer("checkout-4", "checkout", REAL_TOPIC, autocommit=True)
    fourth.await_event("partitions_assigned")
    time.sleep(2)
    stage.say("freeze checkout-1 past its session")
    first.pause()
    time.sleep(9)
    first.resume()
    time.sleep(4)
    third.ask_to_stop()
    third.wait()
    time.sleep(2)


def troubled(stage: Stage) -> None:
    """Stable and often rebalancing groups, and every hand-made case."""
    prepare(stage, {TOPIC: 4, OTHER_TOPIC: 1, REAL_TOPIC: 6})
    with ThreadPoolExecutor(1) as pool:
        real = pool.submit(_restless_group, stage)
        play_cases(stage, CASES)
        real.result()


def live(stage: Stage) -> None:
    """A short form of ``troubled`` for a test that records while it runs: hand-made cases only."""
    prepare(stage, {TOPIC: 4, OTHER_TOPIC: 1})
    chosen = ["late-kept", "late-moved", "pending-revocation", "current-epoch-anothers", "left-member"]
    play_cases(stage, {group_id: CASES[group_id] for group_id in chosen})


def healthy(stage: Stage) -> None:
    """Groups whose members join, leave, rebalance and commit without a problem."""
    prepare(stage, {TOPIC: 4, OTHER_TOPIC: 1, REAL_TOPIC: 6})
    with ThreadPoolExecutor(1) as pool:
        real = pool.submit(_orderly_groups, stage)
        for part in (_two_lines, _two_lives, _administrator, _exactly_once):
            stage.say(part.__name__.strip("_"))
            part(stage)
        real.result()


def _orderly_groups(stage: Stage) -> None:
    group_id = 'pay\'ments "eu" \N{CHECK MARK}'
    stage.clients.producer("payments-producer", REAL_TOPIC, 10)
    stage.clients.consumer("warehouse-1", "warehouse", REAL_TOPIC, autocommit=True)
    first = stage.clients.consumer("payments-1", group_id, REAL_TOPIC)
    first.await_event("offsets_committed", 5)
    second = stage.clients.consumer("payments-2", group_id, REAL_TOPIC)
    second.await_event("offsets_committed", 5)
    third = stage.clients.consumer("payments-3", group_id, REAL_TOPIC)
    third.await_event("offsets_committed", 5)
    second.ask_to_stop()
    second.wait()
    time.sleep(4)


def _two_lines(stage: Stage) -> None:
    """Rebalances of two members with names that are difficult for shells, logs and queries."""
    group = Group(stage.cluster, stage.truth, "line one\nline two\t\"π\" \\ 'q'", pause_s=0.1)
    a = group.member("client 'α'\n; drop", [TOPIC]).join()
    group.settle(a)
    everything = set(a.owned)
    a.commit("owner_alone", a.epoch, a.owned, "owner")
    for _ in range(2):
        b = group.member('b "β"', [TOPIC, OTHER_TOPIC]).join()
        group.settle(a, b)
        for version in (BY_ID, BY_NAME):
            a.commit("owner_of_two", a.epoch, a.owned, "owner", version=version)
            b.commit("owner_of_two", b.epoch, b.owned, "owner", version=version)
        b.leave()
        group.await_held(a, everything)
        a.commit("owner_again", a.epoch, a.owned, "owner")
    a.leave()
    group.close()


def _two_lives(stage: Stage) -> None:
    """A group that is deleted and created again under its name."""
    for life in ("first_life", "second_life"):
        group = Group(stage.cluster, stage.truth, "ledger", pause_s=0.1)
        a = group.member("ledger-a", [TOPIC]).join()
        group.settle(a)
        b = group.member("ledger-b", [TOPIC]).join()
        group.settle(a, b)
        a.commit(life, a.epoch, a.owned, "owner")
        b.commit(life, b.epoch, b.owned, "owner")
        everything = set(a.owned | b.owned)
        a.leave()
        group.await_held(b, everything)
        b.commit(life, b.epoch, b.owned, "owner")
        b.leave()
        if life == "first_life":
            group.delete()
        group.close()


def _administrator(stage: Stage) -> None:
    """Commits without an epoch to groups without members: unfenced by design."""
    for group_id in ("backfill tool", "ledger"):
        group = Group(stage.cluster, stage.truth, group_id, pause_s=0.1)
        admin = group.connect("backfill")
        for partition in range(2):
            commit = Commit("administrator", -1, [(TOPIC, partition)], ["unfenced"], version=BY_NAME)
            group.commit(admin, "", commit)
        group.close()


def _exactly_once(stage: Stage) -> None:
    """Offsets committed inside transactions by their owner; one transaction is aborted."""
    group = Group(stage.cluster, stage.truth, "exactly-once", pause_s=0.1)
    a = group.member("exactly-once-a", [TOPIC]).join()
    group.settle(a)
    for committed in (True, False, True):
        producer = begin(group, "exactly-once-tx")
        a.commit("transactional_owner", a.epoch, a.owned, "owner", version=TXN_VERSION, transaction=producer)
        end(group, producer, committed)
    a.leave()
    group.close()


def _healthy_plan(version: str) -> Plan:
    if version == "4.2.1":
        return Plan(version, offsets_partitions=3, timezone="Asia/Kolkata", assignment_interval_ms=1000)
    return Plan(version, brokers=3, offsets_partitions=3, roll_bytes=ROLL_BYTES, assignment_interval_ms=1000)


def _troubled_plan(version: str) -> Plan:
    if version == "4.2.1":
        return Plan(version, timezone="America/New_York", roll_bytes=ROLL_BYTES)
    return Plan(version, roll_bytes=ROLL_BYTES)


SCENARIOS: dict[str, Scenario] = {
    "healthy": Scenario(_healthy_plan, healthy, clean=True),
    "troubled": Scenario(_troubled_plan, troubled, live_copy=lambda version: version == "4.2.1"),
    "live": Scenario(Plan, live),
    "groups": groups.SCENARIO,
    "early": groups.EARLY,
    "failover": failover.SCENARIO,
    "compacted": compacted.SCENARIO,
    "subscriptions": subscriptions.SCENARIO,
    "subscribed-again": subscriptions.AGAIN,
    "producers": producer_scenario.SCENARIO,
    "producers-tv1": producer_scenario.OLDER,
    "producers-failover": producer_failover.SCENARIO,
    "exhausted": exhausted.SCENARIO,
    "expired": expired.SCENARIO,
    "ends": ends.SCENARIO,
    "fencings": fencings.SCENARIO,
    "markers": markers.SCENARIO,
    "idempotent": local_bumps.SCENARIO,
    "operators": operators.SCENARIO,
    "natural": natural.SCENARIO,
    "makers": makers.SCENARIO,
    "platformatic": platformatic.SCENARIO,
    "old-clients": old_clients.SCENARIO,
    "days": days.SCENARIO,
    "upgraded": upgraded.SCENARIO,
    "zookeeper": with_zookeeper.SCENARIO,
    "incarnations": incarnations.SCENARIO,
    "by-hand": by_hand.SCENARIO,
    "unclean": unclean.SCENARIO,
    "rebalances": rebalances.SCENARIO,
    "recreated": recreated.SCENARIO,
    "removals": removals.SCENARIO,
    "share": shares.SCENARIO,
    "tiered": tiered.SCENARIO,
    "streams": streams_runs.SCENARIO,
    "lags": streams_lags.SCENARIO,
}
"""Every scenario by name."""
