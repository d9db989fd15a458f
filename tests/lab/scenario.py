"""The parts of a scenario, and the steps that all scenarios share."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from brokers import Plan
from cases import Case
from clients import Client, Clients
from cluster import Cluster
from members import Group
from truth import GroundTruth

SEGMENT_MS = "12000"
"""Small closed segments beside the active one, as a long-lived cluster has them."""

ROLL_BYTES = 300_000
"""The size at which the request log rolls, if it does."""


@dataclass
class Stage:
    """Everything that a scenario needs."""

    cluster: Cluster
    clients: Clients
    truth: GroundTruth
    say: Callable[[str], None]


@dataclass(frozen=True)
class Scenario:
    """``plan`` by version, the function that runs it, and whether every commit must be accepted."""

    plan: Callable[[str], Plan]
    run: Callable[[Stage], None]
    clean: bool = False
    live_copy: Callable[[str], bool] = lambda version: False


def prepare(stage: Stage, topics: dict[str, int], segment_ms: str = SEGMENT_MS) -> None:
    """Create the topics, and ``__consumer_offsets`` with segments of this age."""
    for name, partitions in topics.items():
        stage.cluster.create_topic(name, partitions)
    stage.cluster.coordinator("any")  # the first look-up creates __consumer_offsets
    stage.cluster.set_topic_config("__consumer_offsets", "segment.ms", segment_ms)


def start_classic_group(stage: Stage, group_id: str, topic: str) -> tuple[Client, Client]:
    """A producer of a topic, and two consumers of a classic group that have committed twice."""
    cluster, clients = stage.cluster, stage.clients
    cluster.coordinator("any")
    cluster.coordinator("any", transaction=True)
    cluster.set_topic_config("__consumer_offsets", "segment.ms", SEGMENT_MS)
    clients.producer(f"{group_id}-producer", topic, 4)
    first, second = (
        clients.consumer(f"{group_id}-{number}", group_id, topic, protocol="CLASSIC") for number in (1, 2)
    )
    for client in (first, second):
        client.await_event("offsets_committed", 2)
    return first, second


def make_another(stage: Stage, topic: str, partitions: int) -> None:
    """Delete a topic, and create another of the same name under its consumers."""
    stage.say("another topic of the same name")
    stage.cluster.delete_topic(topic)
    time.sleep(2)
    stage.cluster.create_topic(topic, partitions)


def restart(stage: Stage) -> None:
    """Restart the only broker."""
    stage.say("restart")
    stage.cluster.stop_broker(1)
    stage.cluster.start_broker(1)


def play_cases(
    stage: Stage, cases: Mapping[str, Case], protocol: str = "consumer", pause_s: float = 0.35
) -> None:
    """Run cases one after the other, each in the group of its name."""
    for group_id, case in cases.items():
        stage.say(group_id)
        group = Group(stage.cluster, stage.truth, group_id, pause_s, protocol)
        try:
            case(group)
        finally:
            group.close()
