"""The scenario ``zookeeper``: two brokers that keep their metadata in ZooKeeper, so there is no metadata log.

Ordinary consumers of a classic group, a transactional producer, a broker that is stopped and comes back, and
a topic that is deleted and created again. Nothing is made by hand: the audit must report no violation.
"""

from __future__ import annotations

import time
from dataclasses import replace

import tools
from brokers import Plan
from producer_requests import PAYLOAD
from scenario import Scenario, Stage, start_classic_group

_ORDERS, _AUDIT = "orders", "audit"


def play(stage: Stage) -> None:
    """Two consumers and a producer; then their coordinator is restarted, and a topic made anew."""
    cluster, clients = stage.cluster, stage.clients
    cluster.create_topic(_ORDERS, 3, 2)
    cluster.create_topic(_AUDIT, 1, 2)
    first, second = start_classic_group(stage, "zookeeper", _ORDERS)
    values = [f"{PAYLOAD}-{number}".encode() for number in range(40)]
    log = clients.folder / "zookeeper-moves.log"
    producer = tools.JavaProducer(cluster, log, "zookeeper-moves", values)
    producer.start(_AUDIT, 200)
    coordinator = cluster.coordinator("zookeeper-moves", transaction=True)
    stage.say(f"restart broker {coordinator}")
    cluster.stop_broker(coordinator)
    time.sleep(1)
    cluster.start_broker(coordinator)
    producer.wait()
    stage.say("another topic of the same name")
    cluster.delete_topic(_AUDIT)
    time.sleep(2)
    cluster.create_topic(_AUDIT, 1, 2)
    second.ask_to_stop()
    first.await_event("offsets_committed", 3)


def plan(version: str) -> Plan:
    """Two brokers, which have both replicas of everything."""
    settings = {"transaction.state.log.replication.factor": 2}
    return replace(Plan(version, brokers=2, zookeeper=True), settings=settings)


SCENARIO = Scenario(plan, play)
