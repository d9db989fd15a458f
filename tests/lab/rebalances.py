"""The scenario ``rebalances``: classic groups, what members claim to own, and what leaders make of it."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import rebalance_cases
import rebalance_java_cases
from brokers import NOISE, Plan
from cases import OTHER_TOPIC, TOPIC
from rebalance_cases import Case
from rebalance_groups import RebalanceGroup
from scenario import Scenario, Stage, prepare

_PARTITIONS = 6
_TIMEZONES = {"4.3.1": "Pacific/Auckland", "3.9.2": "America/St_Johns"}


def play(stage: Stage) -> None:
    """Groups that are made by hand one after the other, those of real consumers beside them."""
    prepare(stage, {TOPIC: _PARTITIONS, OTHER_TOPIC: 1})
    zones = {"java-rolling-m1": "Asia/Kathmandu", "java-led-leader": "America/Caracas"}
    stage.clients.zones.update(zones)
    with ThreadPoolExecutor(1) as pool:
        real = pool.submit(_play, stage, rebalance_java_cases.CASES)
        _play(stage, rebalance_cases.CASES)
        real.result()


def _play(stage: Stage, cases: Mapping[str, Case]) -> None:
    for group_id, case in cases.items():
        stage.say(group_id)
        group = RebalanceGroup(stage, group_id)
        try:
            case(group)
        finally:
            group.close()


def plan(version: str) -> Plan:
    """One broker that takes short sessions; what consumers only look up is left out of its request log."""
    return Plan(
        version,
        timezone=_TIMEZONES.get(version, "UTC"),
        roll_bytes=80_000,
        unlogged=(*NOISE, "METADATA", "API_VERSIONS", "LIST_OFFSETS", "FIND_COORDINATOR"),
        settings={"group.min.session.timeout.ms": 1000},
    )


SCENARIO = Scenario(plan, play)
