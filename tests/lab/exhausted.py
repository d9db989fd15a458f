"""The scenario ``exhausted``: transactional ids at the last epoch of their producer id, and beyond.

An epoch has 16 bits. When they are used up (32766 is the last one), the transactional id gets another
producer id. The driver gets there with new instances; the log cleaner removes most of their records, as in
production.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import tools
from brokers import LabError, Plan
from compacted import first_dirty_offset, records_before
from coordinators import await_state, describe
from epochs import Identity
from hanging_cases import Account, verification
from log4j import UNLOGGED_CLIENT
from producer_cases import TIMEOUT_MS
from producer_requests import Workbench, note, older
from producer_scenario import workbench
from producers import NOBODY, Producer
from scenario import ROLL_BYTES, Scenario, Stage, prepare

LAST_EPOCH = 32766
"""The last epoch that a producer of a transactional id gets."""

TOPIC = "exhausted"
CLOCK = 5
"""The partition that is written while the cleaner works."""

_STATE = "__transaction_state"
_WAYS = ("client", "instance", "end", "timeout", "fence")
"""The transactional ids, by the cause of their next producer id."""

_COORDINATOR_LOGGER = "kafka.coordinator.transaction.TransactionCoordinator"
_COMPACTING = {
    "segment.ms": "1000",
    "min.cleanable.dirty.ratio": "0.01",
    "min.compaction.lag.ms": "0",
    "delete.retention.ms": "0",
}
_EXPIRATION_MS = 45_000
_WINDOW = 64
_PATIENCE_S = 90.0


def play(stage: Stage) -> None:
    """Bump the transactional ids to their last epoch, let the cleaner run, and continue from there."""
    cluster = stage.cluster
    prepare(stage, {TOPIC: len(_WAYS) + 3})
    bench = workbench(stage)
    names = {way: f"{TOPIC}-{way}" for way in _WAYS}
    producers = [Producer(bench, TOPIC, names[way], timeout_ms=_timeout_ms(way)) for way in _WAYS]
    reached = dict(zip(_WAYS, drive(stage, bench, producers), strict=True))
    for partition, (way, producer) in enumerate(zip(_WAYS, producers, strict=True)):
        stage.say(way)
        note_driven(bench, producer, reached[way])
        _CASES[way](producer, partition)
        producer.close()
    stage.say("expiration")
    expiring = Producer(bench, TOPIC, f"{TOPIC}-expired", spoken=older(bench.dialect))
    expiring.init()
    expiring.transaction((TOPIC, 5))
    _await_expiration(bench, expiring)
    stage.say("hanging")
    account = Account(bench, TOPIC)
    rotated = Producer(bench, TOPIC, names["client"], "late", spoken=older(bench.dialect))
    with verification(bench, False):
        for client, partition, identity in (
            (rotated, 6, reached["client"]),
            (expiring, 7, expiring.identity),
        ):
            client.must(
                client.produce((TOPIC, partition), identity=identity, sequence=0, step="late_produce")
            )
            account.opened(client, (TOPIC, partition), identity, "hanging")
    _after_expiration(bench, expiring)
    bench.truth.oracles["find_hanging.json"] = [{"broker_id": 1, **tools.find_hanging(cluster, 1)}]
    account.write()
    bench.epochs.end_of_recording()


def _timeout_ms(way: str) -> int:
    return TIMEOUT_MS if way == "timeout" else 600_000


def drive(
    stage: Stage, bench: Workbench, producers: Sequence[Producer], to_epoch: int = LAST_EPOCH
) -> list[Identity]:
    """Start new instances until every producer is at the epoch; the cleaner removes their records."""
    cluster = stage.cluster
    cluster.coordinator("any", transaction=True)
    for name, value in _COMPACTING.items():
        cluster.set_topic_config(_STATE, name, value)
    clock = Producer(bench, producers[0].case, "clock", "ticking")
    clock.init()  # until there is a coordinator
    stage.say("drive")
    cluster.set_logger_level(_COORDINATOR_LOGGER, "WARN")  # a line for each epoch
    with ThreadPoolExecutor(len(producers)) as pool:
        reached = list(pool.map(lambda producer: _drive(producer, to_epoch), producers))
    cluster.set_logger_level(_COORDINATOR_LOGGER, "INFO")
    stage.say("compaction")
    _await_compaction(clock, len(producers) * to_epoch)
    cluster.set_topic_config(_STATE, "min.compaction.lag.ms", "86400000")
    cluster.set_topic_config(_STATE, "segment.ms", "5000")
    return reached


def _drive(producer: Producer, to_epoch: int) -> Identity:
    """New instances until this epoch; several requests are in flight at a time."""
    connection = producer.bench.cluster.connect(UNLOGGED_CLIENT)
    message = {"TransactionalId": producer.name, "TransactionTimeoutMs": producer.timeout_ms}
    identity, under_way = NOBODY, 0
    try:
        while identity[1] < to_epoch:
            while under_way < min(_WINDOW, to_epoch - identity[1]):
                connection.send("InitProducerId", 5, message)
                under_way += 1
            answer = connection.receive()
            under_way -= 1
            if answer["ErrorCode"] == 0:
                identity = (answer["ProducerId"], answer["ProducerEpoch"])
    finally:
        connection.close()
    return identity


def note_driven(bench: Workbench, producer: Producer, reached: Identity) -> None:
    """One row for all those instances; the last one is the producer's."""
    for identity in ((reached[0], reached[1] - 1), reached):
        bench.epochs.moved(producer.name, identity, "new_instance")
    row = {"step": "drive", "transactional_id": producer.name, "instance": "driver"}
    note(bench, producer.case, "InitProducerId", row, reached)
    producer.adopt(reached)


def _by_client(a: Producer, partition: int) -> None:
    """The client requests its next epoch twice, because the first answer was lost."""
    place, last = (TOPIC, partition), a.identity
    a.must(a.init(presented=last))
    a.must(a.init(presented=last, step="init_retry"))
    _left_behind(a, place, last)
    a.init(presented=(last[0], last[1] - 1))
    a.transaction(place)
    a.init(presented=last, step="init_retry")  # too late: its successor has bumped the epoch
    a.transaction(place)


def _by_instance(a: Producer, partition: int) -> None:
    """A new instance comes; the previous one sends the last epoch of the previous producer id."""
    place, last = (TOPIC, partition), a.identity
    b = Producer(a.bench, TOPIC, a.name, "B")
    b.init()
    _left_behind(a, place, last)
    a.init(presented=last)
    b.transaction(place)
    b.close()


def _by_end(a: Producer, partition: int) -> None:
    """The end of a transaction (KIP-890) chooses the next producer id."""
    place, last = (TOPIC, partition), a.identity
    a.must(a.produce(place))
    a.must(a.end())
    a.end(identity=last, step="end_retry")
    _left_behind(a, place, last)
    a.transaction(place)


def _by_timeout(a: Producer, partition: int) -> None:
    """The coordinator aborts the transaction of the last epoch."""
    place, last = (TOPIC, partition), a.identity
    a.must(a.produce(place))
    a.await_timeout()
    _left_behind(a, place, last)
    a.init()
    a.transaction(place)


def _by_fence(a: Producer, partition: int) -> None:
    """A new instance comes while the last epoch has a transaction open."""
    place, last = (TOPIC, partition), a.identity
    a.must(a.produce(place))
    b = Producer(a.bench, TOPIC, a.name, "B")
    b.init()
    _left_behind(a, place, last)
    b.transaction(place)
    b.close()


_CASES = {
    "client": _by_client,
    "instance": _by_instance,
    "end": _by_end,
    "timeout": _by_timeout,
    "fence": _by_fence,
}


def _left_behind(a: Producer, place: tuple[str, int], last: Identity) -> None:
    a.produce(place, identity=last, sequence=3)
    a.end(identity=last)


def _await_compaction(clock: Producer, driven: int) -> None:
    """Wait until most of the records of all those instances are gone."""
    log_dir = clock.bench.cluster.brokers[0].log_dir
    clock.init()  # it may have expired
    deadline = time.monotonic() + _PATIENCE_S
    while (dirty := first_dirty_offset(log_dir, _STATE)) < driven or records_before(
        log_dir / f"{_STATE}-0", dirty
    ) > 100:
        if time.monotonic() > deadline:
            raise LabError(f"the cleaner is at {dirty}; see {log_dir}")
        time.sleep(1)
        clock.transaction((clock.case, CLOCK), records=1)
    clock.close()


def _await_expiration(bench: Workbench, producer: Producer) -> None:
    """Wait until the transactional id has expired."""
    await_state(bench, producer.name, "CompleteCommit")
    deadline = time.monotonic() + 2 * _EXPIRATION_MS / 1000
    while describe(bench, producer.name)["ErrorCode"] == 0:
        if time.monotonic() > deadline:
            raise LabError(f"{producer.name!r} does not expire")
        time.sleep(1)


def _after_expiration(bench: Workbench, producer: Producer) -> None:
    """The expired transactional id is used again; its old producer is unknown to the coordinator."""
    old = producer.identity
    b = Producer(bench, TOPIC, producer.name, "B")
    b.init()
    b.transaction((TOPIC, 5))
    producer.init(presented=old)
    b.transaction((TOPIC, 5))
    b.close()
    producer.close()


def plan(version: str) -> Plan:
    """One broker with a busy log cleaner, on which idle transactional ids expire soon."""
    settings: dict[str, object] = {
        "log.cleaner.enable": "true",
        "log.cleaner.backoff.ms": 200,
        "log.cleaner.dedupe.buffer.size": 4_194_304,
        "log.segment.delete.delay.ms": 200,
        "transactional.id.expiration.ms": _EXPIRATION_MS,
        "transaction.remove.expired.transaction.cleanup.interval.ms": 1000,
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": 1000,
    }
    return Plan(version, roll_bytes=ROLL_BYTES, settings=settings)


SCENARIO = Scenario(plan, play)
