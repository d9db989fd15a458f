"""The scenario ``rebalances``: classic groups, the claims of members, and the assignments of leaders."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import rebalance_cases
import rebalance_java_cases
import unreadable_cases
from brokers import NOISE, Plan
from cases import OTHER_TOPIC, TOPIC
from lab_client import LabClient
from partition_requests import produce
from rebalance_cases import Case
from rebalance_groups import RebalanceGroup
from scenario import Scenario, Stage, prepare

_PARTITIONS = 6
_WRITE_S = 0.4
_TIMEZONES = {"4.3.1": "Pacific/Auckland", "3.9.2": "America/St_Johns"}


def play(stage: Stage) -> None:
    """Hand-made groups one after the other, with groups of real consumers at the same time."""
    prepare(stage, {TOPIC: _PARTITIONS, OTHER_TOPIC: 1})
    zones = {"java-rolling-m1": "Asia/Kathmandu", "java-led-leader": "America/Caracas"}
    stage.clients.zones.update(zones)
    for index in range(_PARTITIONS):
        stage.cluster.leader(TOPIC, index)
    over = threading.Event()
    with ThreadPoolExecutor(2) as pool:
        written = pool.submit(_write, stage, over)
        try:
            real = pool.submit(_play, stage, rebalance_java_cases.CASES)
            _play(stage, {**rebalance_cases.CASES, **unreadable_cases.CASES})
            real.result()
        finally:
            over.set()
        written.result()


def _write(stage: Stage, over: threading.Event) -> None:
    """Records for the real consumers, so that no two of their commits are the same."""
    writer = LabClient(stage.cluster, stage.truth, "writer", "rebalances")
    while not over.wait(_WRITE_S):
        for index in range(_PARTITIONS):
            ask = produce((TOPIC, index), writer.values(1), -1)
            writer.collect(writer.post(1, ask), unless="NONE")
    writer.close()


def _play(stage: Stage, cases: Mapping[str, Case]) -> None:
    for group_id, case in cases.items():
        stage.say(group_id)
        group = RebalanceGroup(stage, group_id)
        try:
            case(group)
        finally:
            group.close()


def plan(version: str) -> Plan:
    """One broker that accepts short sessions; consumers' lookups are not in its request log."""
    return Plan(
        version,
        timezone=_TIMEZONES.get(version, "UTC"),
        roll_bytes=80_000,
        unlogged=(*NOISE, "METADATA", "API_VERSIONS", "LIST_OFFSETS", "FIND_COORDINATOR", "PRODUCE"),
        settings={"group.min.session.timeout.ms": 1000},
    )


SCENARIO = Scenario(plan, play)
