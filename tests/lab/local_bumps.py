"""The scenario ``idempotent``: producers without a transactional id, which bump their epochs themselves.

Hand-made producers bump as in KIP-360, send written batches again, renumber within an epoch, use up their
epochs, and write to a partition that has lost their state. A real Java producer bumps its epoch when its
broker is paused for longer than its timeout.
"""

from __future__ import annotations

import time

from brokers import Plan
from idempotent import Idempotent
from producer_requests import Workbench
from producer_scenario import workbench
from scenario import Scenario, Stage, prepare

TOPIC = "idempotent"
JAVA = "idempotent-java"

_EXPIRATION_MS = 2000
_CHECK_MS = 500
_DAY_MS = 86_400_000
_LAST_EPOCH = 32767
_WAITS_MS = {"request.timeout.ms": 800, "delivery.timeout.ms": 2000, "linger.ms": 0}
_CLIENT_LOGGER = "org.apache.kafka.clients.producer.internals.TransactionManager"


def _started(bench: Workbench, name: str) -> Idempotent:
    producer = Idempotent(bench, TOPIC, f"{TOPIC}-{name}")
    producer.init()
    return producer


def bumps(bench: Workbench) -> None:
    """Correct local bumps: later batches are new, and the previous epoch is refused."""
    producer = _started(bench, "bumping")
    place = (TOPIC, 0)
    for _ in range(2):
        first = producer.identity
        producer.produce(place)
        producer.produce(place)
        producer.bump_locally()
        time.sleep(0.05)  # batches written from now on are newer
        producer.produce(place)
        producer.produce(place, identity=first, sequence=6)
    producer.close()


def sends_again(bench: Workbench) -> None:
    """A batch is written, its answer counts as lost, and it is sent again with the next epoch."""
    failed, other = (TOPIC, 1), (TOPIC, 2)
    producer = _started(bench, "again")
    producer.produce(failed)
    producer.produce(failed, records=1, sequence=9)  # a batch between was lost
    producer.produce(other)
    producer.bump_locally()
    producer.produce(other, again=True)
    producer.produce(failed)
    producer.close()


def numbers_anew(bench: Workbench) -> None:
    """Sequence 0 again within an epoch whose state the partition has: acknowledged but not written, or
    refused.
    """
    producer = _started(bench, "anew")
    place = (TOPIC, 3)
    producer.produce(place)
    producer.produce(place, sequence=0, step="duplicate")
    producer.produce(place, sequence=0, records=2)
    producer.close()


def uses_up_its_epochs(bench: Workbench) -> None:
    """The last two epochs of a producer id, and then another producer id."""
    producer = _started(bench, "exhausted")
    place = (TOPIC, 4)
    producer.adopt((producer.identity[0], _LAST_EPOCH - 1))
    producer.produce(place)
    time.sleep(0.05)
    producer.bump_locally()
    producer.produce(place)
    producer.init()
    producer.produce(place)
    producer.close()


def is_forgotten(bench: Workbench) -> None:
    """A producer that is silent for producer.id.expiration.ms expires: any sequence and any epoch is
    accepted.
    """
    kept, skipping, resetting, stale = (
        _started(bench, name) for name in ("kept", "skipping", "resetting", "stale")
    )
    places = [(TOPIC, partition) for partition in range(5, 9)]
    first = stale.identity
    for producer, place in zip((kept, skipping, resetting, stale), places, strict=True):
        if producer is stale:
            stale.produce(place)
            stale.bump_locally()
        producer.produce(place)
    bench.cluster.set_broker_config("producer.id.expiration.ms", str(_EXPIRATION_MS))
    time.sleep((_EXPIRATION_MS + 3 * _CHECK_MS) / 1000)
    bench.cluster.set_broker_config("producer.id.expiration.ms", str(_DAY_MS))
    kept.produce(places[0])
    skipping.produce(places[1], sequence=8)
    resetting.produce(places[2], sequence=0)
    stale.produce(places[3], identity=first, sequence=3)
    for producer in (kept, skipping, resetting, stale):
        producer.close()


def play(stage: Stage) -> None:
    """Every case, and a real producer."""
    prepare(stage, {TOPIC: 9, JAVA: 2})
    bench = workbench(stage)
    is_forgotten(bench)
    for case in (bumps, sends_again, numbers_anew, uses_up_its_epochs):
        stage.say(case.__name__)
        case(bench)
    stage.say("java")
    config = {"client.id": "java", "enable.idempotence": "true", "retries": str(2**31 - 1)}
    config |= {name: str(ms) for name, ms in _WAITS_MS.items()}
    client = stage.clients.producer("java", JAVA, 20, config, _CLIENT_LOGGER)
    client.await_event("producer_send_success", 20)
    for _ in range(2):
        stage.cluster.pause_broker(1)
        time.sleep(4)
        stage.cluster.resume_broker(1)
        client.await_event("producer_send_success", client.events("producer_send_success") + 20)
    bench.epochs.end_of_recording()


def _plan(version: str) -> Plan:
    return Plan(version, settings={"producer.id.expiration.check.interval.ms": _CHECK_MS})


# a clean shutdown would leave snapshots without the expired producers
SCENARIO = Scenario(_plan, play, live_copy=lambda version: True)
