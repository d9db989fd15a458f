"""The scenario ``markers``: a marker is written a second time while its producer's next transaction is open.

In transaction version 2 it has the epoch of that transaction. Partitions refuse it from 4.2 (KAFKA-19446);
before, it ends the open transaction with the outcome of the previous one.
"""

from __future__ import annotations

from brokers import Plan
from commits import release
from coordinators import await_state
from producer_requests import Client, Request, Workbench
from producer_scenario import workbench
from producers import Producer
from scenario import Scenario, Stage, prepare
from truth import Partition

TOPIC = "markers"


def play(stage: Stage) -> None:
    """A copy that comes while the next transaction is open, and one that comes while none is."""
    prepare(stage, {TOPIC: 2})
    bench = workbench(stage)
    for partition, (name, committed) in enumerate((("busy", False), ("idle", True))):
        stage.say(name)
        place = (TOPIC, partition)
        a = Producer(bench, TOPIC, f"{TOPIC}-{name}")
        a.init()
        a.transaction(place)
        await_state(bench, a.name, "CompleteCommit")
        if name == "busy":
            a.must(a.produce(place))
        _copy(bench, a, place)
        a.must(a.produce(place, records=2))
        a.must(a.end(committed))
        await_state(bench, a.name, "CompleteCommit" if committed else "CompleteAbort")
        a.transaction(place)
        a.close()
    bench.epochs.end_of_recording()


def _copy(bench: Workbench, producer: Producer, place: Partition) -> None:
    """Send the marker of the producer's last transaction again, as its coordinator sent it."""
    topic, partition = place
    strict = release(bench.cluster.plan.version) >= (4, 2)
    marker = {
        "ProducerId": producer.identity[0],
        "ProducerEpoch": producer.identity[1],
        "TransactionResult": True,
        "CoordinatorEpoch": 0,
        "Topics": [{"Name": topic, "PartitionIndexes": [partition]}],
        **({"TransactionVersion": 2} if strict else {}),
    }
    coordinator = Client(bench, TOPIC, f"{producer.name}-copy")
    row = {"transactional_id": producer.name, "instance": "copy", "topic": topic, "partition": partition}
    request = Request(
        "write_markers",
        "WriteTxnMarkers",
        2 if strict else 1,
        {"Markers": [marker]},
        lambda: bench.leader(topic, partition),
        [{**row, "committed": True}],
        lambda answer: [answer["Markers"][0]["Topics"][0]["Partitions"][0]["ErrorCode"]],
    )
    coordinator.send(request, producer.key, producer.identity)
    coordinator.close()


SCENARIO = Scenario(Plan, play)
