"""The scenario ``upgraded``: three brokers of an older release become brokers of a newer one under traffic.

One broker after the other is replaced, so that for a while the cluster has both. Then two of them are paused
while a producer ends its transactions: what its coordinator writes is not replicated in time, so it answers
COORDINATOR_NOT_AVAILABLE, and forgets what the log keeps. At last the features of the cluster are raised, and
members of KIP-848 join a classic group. Nothing is made by hand: the audit must report no violation.
"""

from __future__ import annotations

import time
from dataclasses import replace

import tools
from brokers import Plan
from producer_requests import PAYLOAD
from scenario import ROLL_BYTES, Scenario, Stage, start_classic_group

_NEWER = "4.3.1"
_ORDERS, _SOLO = "orders", "solo"
"""A topic on all brokers, and one that only one of them has."""
_METADATA_VERSION = 30
"""4.3-IV0"""
_TIMEOUT_S = 5
"""Of a transaction. A coordinator waits as long for its records to be replicated."""


def play(stage: Stage) -> None:
    """Replace every broker, then pause two, then raise the features."""
    cluster, clients = stage.cluster, stage.clients
    cluster.create_topic(_ORDERS, 3, 3)
    cluster.create_topic(_SOLO, 1)
    first, _ = start_classic_group(stage, "upgraded", _ORDERS)
    for broker in cluster.brokers:
        stage.say(f"upgrade broker {broker.broker_id}")
        cluster.upgrade_broker(broker.broker_id, _NEWER)
        time.sleep(3)
    _pause_replicas(stage)
    stage.say("features")
    cluster.update_feature("metadata.version", _METADATA_VERSION)
    for name, level in (("group.version", 1), ("transaction.version", 2)):
        cluster.update_feature(name, level)
    time.sleep(1)
    first.ask_to_stop()
    clients.consumer("upgraded-3", "upgraded", _ORDERS).await_event("offsets_committed", 3)
    producer = _producer(stage, "upgraded-v2", "upgraded-v2")
    producer.start(_SOLO, 90)
    producer.wait()


def _pause_replicas(stage: Stage) -> None:
    """Pause the replicas of a transaction coordinator while a producer that it coordinates goes on."""
    cluster = stage.cluster
    leader = cluster.leader(_SOLO, 0)
    names = (f"upgraded-{number}" for number in range(100))
    transactional_id = next(name for name in names if cluster.coordinator(name, transaction=True) == leader)
    producer = _producer(stage, "upgraded-v0", transactional_id)
    producer.start(_SOLO, 400, [f"transaction.timeout.ms={_TIMEOUT_S * 1000}"])
    time.sleep(5)
    others = [broker.broker_id for broker in cluster.brokers if broker.broker_id != leader]
    stage.say(f"pause brokers {others}")
    for broker_id in others:
        cluster.pause_broker(broker_id)
    time.sleep(_TIMEOUT_S + 2)
    for broker_id in others:
        cluster.resume_broker(broker_id)
    producer.wait()


def _producer(stage: Stage, name: str, transactional_id: str) -> tools.JavaProducer:
    values = [f"{PAYLOAD}-{name}-{number}".encode() for number in range(40)]
    return tools.JavaProducer(stage.cluster, stage.clients.folder / f"{name}.log", transactional_id, values)


def plan(version: str) -> Plan:
    """Three brokers, which need two replicas for what coordinators write."""
    settings = {
        "transaction.state.log.replication.factor": 3,
        "transaction.state.log.num.partitions": 3,
        "transaction.state.log.min.isr": 2,
        "min.insync.replicas": 2,
        "group.consumer.migration.policy": "bidirectional",
    }
    return replace(Plan(version, brokers=3), roll_bytes=ROLL_BYTES, settings=settings)


SCENARIO = Scenario(plan, play)
