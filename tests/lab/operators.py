"""The scenario ``operators``: transactions that somebody else ends than their producer.

An operator's marker ends a transaction that is not hanging at all, as its producer would or otherwise. A
coordinator skips the marker of a partition without a leader, and never writes it (KAFKA-20734). A request
that is sent again ends the next transaction. Records are deleted below an open transaction, and a partition
forgets a producer.
"""

from __future__ import annotations

import time

import tools
from brokers import LabError, Plan
from coordinators import await_state
from hanging_cases import Account, verification
from idempotent import Idempotent
from producer_cases import write_marker
from producer_requests import Workbench, note, older
from producer_scenario import workbench
from producers import Producer
from scenario import Scenario, Stage
from truth import Partition

TOPIC, LOST = "operators", "lost"
_PARTITIONS = 12
_EXPIRATION_MS = 4000
_CHECK_MS = 500
_READ_COMMITTED = 1


def play(stage: Stage) -> None:
    """Every case, beside the coordinator; the broker that is stopped has two partitions alone."""
    cluster, bench = stage.cluster, workbench(stage)
    home = cluster.coordinator("any", transaction=True)
    stopped = home % len(cluster.brokers) + 1
    cluster.create_topic(TOPIC, _PARTITIONS, brokers=[home] * _PARTITIONS)
    cluster.create_topic(LOST, 3, brokers=[stopped, home, stopped])
    for case in (_live, _live_by_the_tool, _older, _hanging, _ended_by_another, _deleted, _forgotten):
        stage.say(case.__name__.strip("_"))
        case(bench)
    stage.say("markers that are lost")
    _lost(bench, stopped)
    stage.say("find-hanging")
    stage.truth.oracles["find_hanging.json"] = [
        {"broker_id": broker.broker_id, **tools.find_hanging(cluster, broker.broker_id)}
        for broker in cluster.brokers
    ]
    stage.say("last stable offsets")
    for topic, partitions in ((TOPIC, _PARTITIONS), (LOST, 3)):
        for partition in range(partitions):
            note_offsets(bench, (topic, partition))
    bench.epochs.end_of_recording()


def _producer(bench: Workbench, name: str, *, new: bool = True) -> Producer:
    spoken = bench.dialect if new else older(bench.dialect)
    producer = Producer(bench, TOPIC, f"{TOPIC}-{name}", spoken=spoken)
    producer.init()
    return producer


def _live(bench: Workbench) -> None:
    """In transaction version 2 the marker that is due has the next epoch, and the operator's the current."""
    for partition, (name, committed) in enumerate((("aborted", True), ("committed", False))):
        a = _producer(bench, name)
        a.must(a.produce((TOPIC, partition)))
        a.must(write_marker(bench, TOPIC, a, (TOPIC, partition), a.identity, committed=not committed))
        a.must(a.end(committed))
        await_state(bench, a.name, "CompleteCommit" if committed else "CompleteAbort")
        a.transaction((TOPIC, partition), records=1)
        a.close()
    going_on = _producer(bench, "going-on")
    going_on.transaction((TOPIC, 2))
    going_on.must(going_on.produce((TOPIC, 2)))
    going_on.must(write_marker(bench, TOPIC, going_on, (TOPIC, 2), going_on.identity, coordinator_epoch=0))
    going_on.must(going_on.produce((TOPIC, 2), records=2))
    going_on.must(going_on.end())
    going_on.close()


def _live_by_the_tool(bench: Workbench) -> None:
    """The tool takes the epoch of the partition's last coordinator, or 0, so that nothing in the marker tells
    it from a coordinator's.
    """
    newer, without = _producer(bench, "tool"), _producer(bench, "older-tool", new=False)
    for partition, producer in ((3, newer), (4, without)):
        place = (TOPIC, partition)
        producer.must(producer.produce(place))
        _abort_by_tool(bench, producer, place)
        producer.must(producer.end())
        await_state(bench, producer.name, "CompleteCommit")
        producer.transaction(place, records=1)
        producer.close()


def _older(bench: Workbench) -> None:
    """Before transaction version 2 all these markers have one epoch."""
    cases = (("older-aborted", False, True), ("older-alike", False, False), ("older-committed", True, False))
    for partition, (name, by_operator, committed) in enumerate(cases, start=5):
        a = _producer(bench, name, new=False)
        place = (TOPIC, partition)
        a.must(a.produce(place))
        a.must(write_marker(bench, TOPIC, a, place, a.identity, committed=by_operator))
        a.must(a.end(committed))
        await_state(bench, a.name, "CompleteCommit" if committed else "CompleteAbort")
        if name != "older-alike":
            a.transaction(place, records=1)
        a.close()


def _hanging(bench: Workbench) -> None:
    """An operator ends a transaction that does hang, as the tool is meant to be used; its producer goes
    on.
    """
    place = (TOPIC, 8)
    a = _producer(bench, "hanging", new=False)
    a.transaction(place)
    await_state(bench, a.name, "CompleteCommit")
    with verification(bench, False):
        a.must(a.produce(place, sequence=3, identity=a.identity, step="late_produce"))
    a.must(write_marker(bench, TOPIC, a, place, a.identity, coordinator_epoch=0))
    time.sleep(0.2)
    a.sequences[place] = 6
    a.transaction(place, records=1)
    a.close()


def _ended_by_another(bench: Workbench) -> None:
    """A recovered job commits its predecessor's transaction once more, and so the one that is open now."""
    place = (TOPIC, 9)
    a = _producer(bench, "writer", new=False)
    a.transaction(place)
    await_state(bench, a.name, "CompleteCommit")
    a.must(a.produce(place, records=2))
    recovered = Producer(bench, TOPIC, a.name, "recovery", spoken=a.spoken)
    recovered.must(recovered.end(identity=a.identity))
    await_state(bench, a.name, "CompleteCommit")
    for client in (a, recovered):
        client.close()


def _deleted(bench: Workbench) -> None:
    """Records are deleted up to the middle of an open transaction."""
    place = (TOPIC, 10)
    a = _producer(bench, "deleted")
    a.must(a.produce(place, records=4))
    partition = {"PartitionIndex": place[1], "Offset": 4}
    message = {"Topics": [{"Name": place[0], "Partitions": [partition]}], "TimeoutMs": 15_000}
    connection = bench.cluster.connect("lab-admin", bench.leader(*place))
    try:
        answer = connection.call("DeleteRecords", 2, message)["Topics"][0]["Partitions"][0]
    finally:
        connection.close()
    if answer["ErrorCode"]:
        raise LabError(f"cannot delete records of {place}: {answer}")
    a.must(a.produce(place, records=2))
    a.close()


def _forgotten(bench: Workbench) -> None:
    """A producer is silent for longer than producer.id.expiration.ms, and goes on at any sequence."""
    a = Idempotent(bench, TOPIC, f"{TOPIC}-forgotten")
    a.init()
    a.produce((TOPIC, 11))
    time.sleep((_EXPIRATION_MS + 3 * _CHECK_MS) / 1000)
    a.produce((TOPIC, 11), sequence=9)
    a.close()


def _lost(bench: Workbench, stopped: int) -> None:
    """The only broker of a partition is down while its transaction ends: no marker is written, then or
    later.
    """
    cluster, account = bench.cluster, Account(bench, LOST)
    a, b = (Producer(bench, LOST, f"{LOST}-{name}") for name in ("committed", "aborted"))
    for producer, places in ((a, ((LOST, 0), (LOST, 1))), (b, ((LOST, 2),))):
        producer.init()
        for place in places:
            producer.must(producer.produce(place))
            if place != (LOST, 1):
                account.opened(producer, place, producer.identity, "hanging")
    for producer in (a, b):
        producer.leave(stopped)
    cluster.stop_broker(stopped)
    bench.homes.clear()
    for producer, committed in ((a, True), (b, False)):
        producer.must(producer.end(committed))
        await_state(bench, producer.name, "CompleteCommit" if committed else "CompleteAbort")
        producer.close()
    cluster.start_broker(stopped)
    cluster.leader(LOST, 0)
    account.write()


def _abort_by_tool(bench: Workbench, producer: Producer, place: Partition) -> None:
    base = next(r["base_offset"] for r in reversed(bench.truth.rows) if r.get("base_offset") is not None)
    arguments = ["--topic", place[0], "--partition", str(place[1]), "--start-offset", str(base)]
    tools.transactions(bench.cluster, "abort", *arguments)
    told = {"step": "write_markers", "transactional_id": producer.name, "instance": "operator"}
    told |= {"topic": place[0], "partition": place[1], "committed": False}
    told |= dict(zip(("producer_id", "producer_epoch"), producer.identity, strict=True))
    note(bench, TOPIC, "WriteTxnMarkers", told)


def note_offsets(bench: Workbench, place: Partition) -> None:
    """What a consumer that reads committed records is told: the end of what it gets, and the begin."""
    connection = bench.cluster.connect("lab-reader", bench.leader(*place))
    told = {}
    try:
        for name, timestamp in (("last_stable_offset", -1), ("log_start_offset", -2)):
            partition = {"PartitionIndex": place[1], "CurrentLeaderEpoch": -1, "Timestamp": timestamp}
            message = {"ReplicaId": -1, "IsolationLevel": _READ_COMMITTED}
            message["Topics"] = [{"Name": place[0], "Partitions": [partition]}]
            (answer,) = connection.call("ListOffsets", 7, message)["Topics"][0]["Partitions"]
            told[name] = answer["Offset"]
    finally:
        connection.close()
    bench.truth.add({"kind": "read_committed", "topic": place[0], "partition": place[1], **told})


def _plan(version: str) -> Plan:
    settings: dict[str, object] = {
        "transaction.state.log.replication.factor": 1,
        "producer.id.expiration.ms": _EXPIRATION_MS,
        "producer.id.expiration.check.interval.ms": _CHECK_MS,
    }
    return Plan(version, brokers=3, roll_bytes=300_000, settings=settings)


SCENARIO = Scenario(_plan, play)
