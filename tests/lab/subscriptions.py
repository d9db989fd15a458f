"""The scenario ``subscriptions``: a member gives up what it does not subscribe to any more (KAFKA-19431)."""

from __future__ import annotations

import time

from brokers import Plan
from cases import OTHER_TOPIC, TOPIC
from members import Group, Member
from scenario import ROLL_BYTES, Scenario, Stage, prepare
from truth import Partition

_INTERVAL_MS = "5000"
"""How long a target assignment waits: one second by default, which is short for a play by hand."""


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


def _shared(member: Member) -> set[Partition]:
    return {partition for partition in member.assigned if partition[0] == TOPIC}


def plan(version: str) -> Plan:
    """One broker whose target assignments follow at once, unless a group says otherwise."""
    return Plan(version, roll_bytes=ROLL_BYTES // 10)


SCENARIO = Scenario(plan, play)
