"""Hand-made cases of producer epochs: what bumps them, and what happens to fenced producers.

Every case has a topic of its name, and transactional ids that begin with its name.
"""

from __future__ import annotations

from collections.abc import Callable

import tools
from commits import release
from coordinators import await_state
from idempotent import Idempotent
from producer_requests import Client, Request, Workbench, note
from producers import Producer
from record_batch import Batch
from truth import Partition

Case = Callable[[Workbench], None]

GROUP = "settlements"
"""The group whose offsets are committed in transactions. It has no members: only producers are fenced."""

TIMEOUT_MS = 1500
"""The timeout of transactions that the coordinator is to abort."""


def _after_the_fence(a: Producer, place: Partition, other: Partition) -> None:
    """Everything that a fenced producer may still try."""
    a.produce(place, identity=a.identity)
    if a.spoken.adds_partitions:
        a.add_partitions(other)
        a.add_offsets(GROUP)
    a.commit_offsets(GROUP, place, identity=a.identity)
    a.end(True, identity=a.identity)
    a.end(False, identity=a.identity)
    a.init(presented=a.identity)


def two_instances(bench: Workbench) -> None:
    """A second instance of a transactional id, while the first has a transaction, and while it has none."""
    case = two_instances.__name__
    for name, p, busy in (("busy", 0, True), ("idle", 2, False)):
        place, other = (case, p), (case, p + 1)
        a, b = (Producer(bench, case, f"{case}-{name}", instance) for instance in "AB")
        a.init()
        a.transaction(place)
        if busy:
            a.must(a.produce(place))
            a.must(a.produce(other, records=2))
        stale = a.identity
        b.init()
        _after_the_fence(a, place, other)
        a.init(presented=(stale[0], max(0, stale[1] - 1)))
        b.must(b.produce(place))
        a.produce(place, identity=stale)
        a.end(identity=stale)
        b.must(b.end())
        b.transaction(other)
        # who was fenced may start over: as a new instance
        a.init()
        a.transaction(place)
        for client in (a, b):
            client.close()


def timeout(bench: Workbench) -> None:
    """A transaction that is left open is aborted by the coordinator; its producer returns."""
    case = timeout.__name__
    a = Producer(bench, case, f"{case}-tx", timeout_ms=TIMEOUT_MS)
    slow = Producer(bench, case, f"{case}-before-first-write", timeout_ms=TIMEOUT_MS)
    a.init()
    a.transaction((case, 0))
    a.must(a.produce((case, 0), records=4))
    slow.init()
    if slow.spoken.adds_partitions:
        slow.add_partitions((case, 1))  # aborted with a partition to which nothing was written
    else:
        slow.must(slow.produce((case, 1), records=1))
    for producer in (a, slow):
        producer.await_timeout()
        _after_the_fence(producer, (case, 0), (case, 1))
        producer.init()
        producer.transaction((case, 0), (case, 1))
        producer.close()


def client_bump(bench: Workbench) -> None:
    """A client requests its next epoch (KIP-360): with a safe retry, too late, and with a wrong id."""
    case = client_bump.__name__
    place = (case, 0)
    a = Producer(bench, case, f"{case}-tx")
    a.init()
    a.transaction(place)
    a.must(a.produce(place))
    a.must(a.end(committed=False))  # an abortable error
    before = a.identity
    a.must(a.init(presented=before))
    a.must(a.init(presented=before, step="init_retry"))  # the answer was lost: the same epoch again
    a.must(a.init(presented=before, step="init_retry"))
    a.transaction(place, records=1)
    latest = a.identity
    stale = Producer(bench, case, a.name, "stale")
    a.must(a.init(presented=latest))
    stale.init(presented=before)
    stale.init(presented=(before[0] + 1_000_000, before[1]))
    stale.init(presented=(a.identity[0], a.identity[1] + 5))
    a.transaction(place, records=1)
    # a real client whose epoch is no longer the last one repeats its request too late
    stale.init(presented=latest)
    for client in (a, stale):
        client.close()


def stale_init(bench: Workbench) -> None:
    """A stale instance sends its old epoch with InitProducerId while the current one has a transaction."""
    case = stale_init.__name__
    for p, back in enumerate((1, 2)):
        place = (case, p)
        a, b = (Producer(bench, case, f"{case}-{back}", instance) for instance in "AB")
        a.init()
        old = a.identity
        for _ in range(back):
            b.init()
        b.must(b.produce(place))
        a.init(presented=old, again=False)
        # Shipped brokers abort the transaction of the current instance, and only then look at the epoch.
        await_state(bench, a.name, "CompleteAbort", "Ongoing")
        b.learn("client_bump")
        a.init(presented=old)
        b.produce(place, identity=b.identity)
        b.end(identity=b.identity)
        b.init()
        b.transaction(place)
        for client in (a, b):
            client.close()


def operator(bench: Workbench) -> None:
    """An operator fences a producer (Admin.fenceProducers), and aborts an open transaction by a marker."""
    case = operator.__name__
    for name, p, busy in (("busy", 0, True), ("idle", 1, False)):
        place = (case, p)
        a = Producer(bench, case, f"{case}-{name}")
        a.init()
        a.transaction(place)
        if busy:
            a.must(a.produce(place, records=5))
        # KIP-939: the tool calls fenceProducers
        if busy and release(bench.cluster.plan.version) >= (4, 1):
            tools.transactions(bench.cluster, "forceTerminateTransaction", "--transactionalId", a.name)
            row = {"step": "init", "transactional_id": a.name, "instance": "operator"}
            note(bench, case, "InitProducerId", row, a.learn("operator"))
        else:
            admin = Producer(bench, case, a.name, "operator", timeout_ms=60_000)
            # Java's default name of an Admin, which alone distinguishes it from a new instance
            admin.client_id = f"adminclient-{p + 1}"
            admin.init(cause="operator")
            admin.close()
        _after_the_fence(a, place, place)
        a.init()
        a.transaction(place)
        a.close()


def write_marker(
    bench: Workbench,
    case: str,
    producer: Producer,
    place: Partition,
    identity: tuple[int, int],
    *,
    committed: bool = False,
    coordinator_epoch: int = -1,
) -> str:
    """What ``kafka-transactions.sh abort`` does: the partition's leader writes an operator's marker.

    The leader refuses a coordinator epoch that is less than that of the producer's last marker there.
    """
    topic, partition = place
    marker = {
        "ProducerId": identity[0],
        "ProducerEpoch": identity[1],
        "TransactionResult": committed,
        "CoordinatorEpoch": coordinator_epoch,
        "Topics": [{"Name": topic, "PartitionIndexes": [partition]}],
    }
    operator = Client(bench, case, f"{producer.name}-operator")
    row = {"transactional_id": producer.name, "instance": "operator", "topic": topic, "partition": partition}
    request = Request(
        "write_markers",
        "WriteTxnMarkers",
        1,
        {"Markers": [marker]},
        lambda: bench.leader(topic, partition),
        [{**row, "committed": committed}],
        lambda answer: [answer["Markers"][0]["Topics"][0]["Partitions"][0]["ErrorCode"]],
    )
    (error,) = operator.send(request, producer.key, identity)
    operator.close()
    return error


def idempotent(bench: Workbench) -> None:
    """Producers without transactional id: epochs that they bump themselves, and their sequences."""
    case = idempotent.__name__
    bumping = Idempotent(bench, case, f"{case}-bumping")
    bumping.init()
    first = bumping.identity
    for _ in range(2):
        bumping.produce((case, 0))
    bumping.bump_locally()
    bumping.produce((case, 0))
    bumping.produce((case, 0), identity=first, sequence=6)
    bumping.bump_locally()
    bumping.produce((case, 0), sequence=4)  # a new epoch has to start at 0
    bumping.produce((case, 0))
    bumping.close()
    wrapping = Idempotent(bench, case, f"{case}-wrapping")
    wrapping.init()
    wrapping.produce((case, 1), records=3, sequence=2**31 - 5)
    wrapping.produce((case, 1), records=4)  # 2147483646, 2147483647, 0, 1
    wrapping.produce((case, 1), records=2)
    exact = Idempotent(bench, case, f"{case}-wrapping-exactly")
    exact.init()
    exact.produce((case, 1), records=2, sequence=2**31 - 2)
    exact.produce((case, 1), records=2)
    repeating = Idempotent(bench, case, f"{case}-repeating")
    repeating.init()
    for _ in range(3):
        repeating.produce((case, 2))
    for sequence in (3, 6):  # acknowledged, not appended
        repeating.produce((case, 2), sequence=sequence, step="duplicate")
    repeating.produce((case, 2), sequence=12)  # a batch is missing
    for _ in range(6):
        repeating.produce((case, 2))
    repeating.produce((case, 2), sequence=3, step="duplicate")  # too long ago for the broker to know
    repeating.produce(
        (case, 3), sequence=40
    )  # the partition has no state of the producer: any sequence is accepted
    repeating.produce((case, 3))
    for client in (wrapping, exact, repeating):
        client.close()


def offsets(bench: Workbench) -> None:
    """Transactions that consume and produce: offsets of a group, committed, aborted, of a fenced producer."""
    case = offsets.__name__
    a, b = (Producer(bench, case, f"{case}-tx", instance) for instance in "AB")
    a.init()
    for committed in (True, False, True):
        a.must(a.produce((case, 0)))
        a.must(a.commit_offsets(GROUP, (case, 0)))
        a.must(a.commit_offsets(GROUP, (case, 0)))
        a.must(a.end(committed))
    a.must(a.commit_offsets(GROUP, (case, 0)))  # nothing but offsets
    a.must(a.end())
    a.must(a.commit_offsets(GROUP, (case, 0)))
    b.init()
    a.commit_offsets(GROUP, (case, 0), identity=a.identity)
    b.must(b.commit_offsets(GROUP, (case, 0)))
    b.must(b.end())
    for client in (a, b):
        client.close()


def healthy(bench: Workbench, instance: str = "A") -> None:
    """Forty ordinary transactions of four transactional ids, and plain records between them."""
    case = healthy.__name__
    plain = Idempotent(bench, case, f"{case}-plain", instance)
    clients = [Producer(bench, case, f"{case}-{n}", instance) for n in range(4)]
    for client in clients:
        client.init()
    for turn in range(40):
        client = clients[turn % 4]
        places = [(case, (turn + n) % 3) for n in range(1 + turn % 3)]
        client.transaction(*places, records=1 + turn % 4, committed=turn % 7 != 5)
        if turn % 4 == 0:
            batch = Batch(bench.values(2))
            plain.write("produce", (case, turn % 3), batch, bench.dialect.plain)
    for client in clients:
        client.close()
    plain.close()


CASES: dict[str, tuple[Case, int]] = {
    "offsets": (offsets, 1),
    "idempotent": (idempotent, 4),
    "two_instances": (two_instances, 4),
    "client_bump": (client_bump, 1),
    "stale_init": (stale_init, 2),
    "operator": (operator, 2),
    "healthy": (healthy, 3),
    "timeout": (timeout, 2),
}
"""Name -> the case, and how many partitions its topic has."""
