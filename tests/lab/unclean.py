"""The scenario ``unclean``: an unclean election loses the marker of a committed transaction.

A leader that is alone in the ISR writes the marker, so the coordinator's transaction is complete. A replica
without it is elected, and nobody writes the marker again: the transaction hangs in one partition, and is
committed in another one (KAFKA-20716).
"""

from __future__ import annotations

import tools
from broker_events import UNCLEAN
from brokers import Plan
from coordinators import await_state
from hanging_cases import Account
from operator_client import Operator
from operators import note_offsets
from producer_scenario import workbench
from producers import Producer
from scenario import Scenario, Stage

TOPIC, KEPT = "unclean", "kept"


def play(stage: Stage) -> None:
    """The coordinator's broker goes on; of the other two one is paused, and the other one is killed."""
    cluster, bench = stage.cluster, workbench(stage)
    operator = Operator(cluster, stage.truth, "operator", "set-up")
    operator.home = home = cluster.coordinator("any", transaction=True)
    killed, paused = (each.broker_id for each in cluster.brokers if each.broker_id != home)
    cluster.create_topic(KEPT, 1, brokers=[home])
    cluster.create_topic(TOPIC, 1, brokers=[[killed, paused]])
    for name, value in UNCLEAN.items():
        cluster.set_topic_config(TOPIC, name, value)
    places = ((TOPIC, 0), (KEPT, 0))
    producer, account = Producer(bench, TOPIC, f"{TOPIC}-writer"), Account(bench, TOPIC)
    producer.init()
    producer.transaction(*places)
    await_state(bench, producer.name, "CompleteCommit")
    for place in places:
        producer.must(producer.produce(place))
        if place[0] == TOPIC:
            account.opened(producer, place, producer.identity, "hanging")
    stage.say("a marker that one replica has")
    cluster.pause_broker(paused)
    operator.await_partition((TOPIC, 0), lambda told: told["IsrNodes"] == [killed])
    producer.must(producer.end())
    await_state(bench, producer.name, "CompleteCommit")
    for client in (producer, operator):
        client.leave(killed)
    cluster.kill_broker(killed)
    cluster.resume_broker(paused)
    stage.say("an unclean election")
    operator.await_partition((TOPIC, 0), lambda told: told["LeaderId"] == paused)
    cluster.start_broker(killed)
    operator.await_partition((TOPIC, 0), lambda told: killed in told["IsrNodes"])
    bench.homes.clear()
    account.write()
    for place in places:
        note_offsets(bench, place)
    stage.truth.oracles["find_hanging.json"] = [
        {"broker_id": each.broker_id, **tools.find_hanging(cluster, each.broker_id)}
        for each in cluster.brokers
    ]
    for client in (producer, operator):
        client.close()
    bench.epochs.end_of_recording()


def _plan(version: str) -> Plan:
    settings: dict[str, object] = {
        "transaction.state.log.replication.factor": 1,
        "broker.session.timeout.ms": 6000,
        "broker.heartbeat.interval.ms": 1000,
        "auto.leader.rebalance.enable": "false",
        "replica.lag.time.max.ms": 3000,
    }
    return Plan(version, brokers=3, roll_bytes=300_000, settings=settings)


SCENARIO = Scenario(_plan, play)
