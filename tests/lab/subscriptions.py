"""Members that lose partitions by a change of their subscription (KAFKA-19431), or get them back
soon after.
"""

from __future__ import annotations

import time

from brokers import LabError, Plan
from cases import OTHER_TOPIC, TOPIC
from members import Group, Member
from scenario import ROLL_BYTES, Scenario, Stage, prepare
from truth import Partition

_INTERVAL_MS = "5000"
"""The assignment interval: one second by default, which is short for hand-made requests."""


_PATIENCE_S = 20.0


def play(stage: Stage) -> None:
    """The same change of subscription where the next target assignment waits, and where it does not."""
    prepare(stage, {TOPIC: 2, OTHER_TOPIC: 2}, "1000")
    stage.cluster.set_group_config("unsubscribed-early", "consumer.assignment.interval.ms", _INTERVAL_MS)
    _unsubscribe(stage, "unsubscribed-early")
    _unsubscribe(stage, "unsubscribed-at-once")


def _unsubscribe(stage: Stage, group_id: str) -> None:
    stage.say(group_id)
    group = Group(stage.cluster, stage.truth, group_id)
    try:
        members = [group.member(f"{group_id}-{name}", [TOPIC, OTHER_TOPIC]).join() for name in "ab"]
        group.settle(*members)
        # the assignor chooses who has the topic, or more of it
        b, a = sorted(members, key=lambda member: len(_shared(member)))
        moved = _shared(a)
        held = a.epoch
        a.commit("before_the_change", held, moved, "owner")
        a.subscribe(OTHER_TOPIC)
        a.give_up_revoked()
        deadline = time.monotonic() + _PATIENCE_S
        while not moved <= b.assigned and time.monotonic() < deadline:
            b.heartbeat()
            b.give_up_revoked()
            time.sleep(0.1)
        b.commit("owner_after_the_change", b.epoch, moved, "owner")
        a.commit(group_id.replace("-", "_"), held, moved, "zombie")
    finally:
        group.close()


def play_again(stage: Stage) -> None:
    """A member waits for a partition that another one releases slowly. It loses its own partition by a
    change of subscription, and changes it back before the next target assignment: it gets the partition back
    in the same epoch.
    """
    prepare(stage, {TOPIC: 3, OTHER_TOPIC: 3}, "1000")
    group_id = "subscribed-again"
    stage.cluster.set_group_config(group_id, "consumer.assignment.interval.ms", _INTERVAL_MS)
    stage.say(group_id)
    group = Group(stage.cluster, stage.truth, group_id)
    try:
        quick, slow = (group.member(f"{group_id}-{name}", [TOPIC, OTHER_TOPIC]).join() for name in "bc")
        group.settle(quick, slow)
        a = group.member(f"{group_id}-a", [TOPIC, OTHER_TOPIC]).join()
        deadline = time.monotonic() + _PATIENCE_S
        while not a.owned and time.monotonic() < deadline:
            slow.heartbeat()
            quick.heartbeat()
            quick.give_up_revoked()
            a.heartbeat()
            time.sleep(0.1)
        held, mine = a.epoch, set(a.owned)
        kept = {TOPIC, OTHER_TOPIC} - {topic for topic, _ in mine}
        a.commit("before_the_change", held, mine, "owner")
        a.subscribe(*kept)
        a.give_up_revoked()
        a.subscribe(TOPIC, OTHER_TOPIC)
        if a.owned != mine or a.epoch != held:
            raise LabError(f"{group_id}: had {mine} at {held}, has {a.owned} at {a.epoch}")
        a.commit("subscribed_again", held, mine, "owner")
        group.settle(a, quick, slow)
    finally:
        group.close()


def _shared(member: Member) -> set[Partition]:
    return {partition for partition in member.assigned if partition[0] == TOPIC}


def plan(version: str) -> Plan:
    """One broker whose target assignments follow at once, unless a group says otherwise."""
    return Plan(version, roll_bytes=ROLL_BYTES // 10)


SCENARIO = Scenario(plan, play)
AGAIN = Scenario(plan, play_again, clean=True)
