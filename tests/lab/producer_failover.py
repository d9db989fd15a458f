"""The scenario ``producers-failover``: transaction coordinators that move while producers are running.

Every case is a generator: at each ``yield`` the coordinator is stopped, or moves back. Producers keep their
state, and repeat requests that were not answered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from brokers import Plan
from coordinators import await_state
from producer_cases import GROUP, TIMEOUT_MS
from producer_requests import Workbench
from producer_scenario import workbench
from producers import Producer
from scenario import Scenario, Stage

TOPIC = "failover"
_PARTITIONS = 8
_SEGMENT_MS = "5000"

Make = Callable[..., Producer]
"""Makes a producer by the rest of its name, and of its instance."""

Case = Callable[[Make], Iterator[None]]


def init_retry(make: Make) -> Iterator[None]:
    """InitProducerId is served by one coordinator and, its answer lost, repeated to the next (KIP-360)."""
    place = (TOPIC, 0)
    for turn in range(2):
        a = make(f"init-retry-{turn}")
        a.init()
        a.transaction(place)
        before = a.identity
        a.must(a.init(presented=before))
        a.must(a.init(presented=before, step="init_retry"))
        yield
        # The last epoch is not in the log (KAFKA-20357): what was safe before is refused now.
        a.init(presented=before, step="init_retry")
        a.init(presented=a.identity)
        a.transaction(place)
        again = make(f"init-retry-{turn}", "B")
        again.init()
        again.transaction(place)


def spanning(make: Make) -> Iterator[None]:
    """Transactions that begin under one coordinator and end under the next."""
    first, second = (TOPIC, 1), (TOPIC, 2)
    a, b = make("spanning-commit"), make("spanning-abort")
    for producer in (a, b):
        producer.init()
        producer.transaction(first)
    for _ in range(2):
        for producer in (a, b):
            producer.must(producer.produce(first))
        yield
        for producer, committed in ((a, True), (b, False)):
            producer.must(producer.produce(first, records=2))
            producer.must(producer.produce(second))
            producer.must(producer.commit_offsets(GROUP, first))
            producer.must(producer.end(committed))
    for producer in (a, b):
        producer.transaction(second)


def end_retry(make: Make) -> Iterator[None]:
    """EndTxn is served by one coordinator and repeated to the next, with the same and with the other
    outcome.
    """
    place = (TOPIC, 3)
    for turn in range(2):
        ended = []
        for committed in (True, False):
            a = make(f"end-retry-{turn}-{'commit' if committed else 'abort'}")
            a.init()
            a.must(a.produce(place))
            before = a.identity
            a.must(a.end(committed))
            a.must(a.end(committed, identity=before, step="end_retry"))
            ended.append((a, before, committed))
        yield
        for a, before, committed in ended:
            a.end(committed, identity=before, step="end_retry")
            a.end(not committed, identity=before, step="end_retry")
            a.transaction(place)


def two_instances(make: Make) -> Iterator[None]:
    """Fences survive a failover; a transaction from before is aborted by the next coordinator's fence."""
    place = (TOPIC, 4)
    fenced_before, fenced_after = make("fenced-before"), make("fenced-after")
    for producer in (fenced_before, fenced_after):
        producer.init()
        producer.must(producer.produce(place))
    make("fenced-before", "B").init()
    yield
    make("fenced-after", "B").init()
    for producer in (fenced_before, fenced_after):
        producer.produce(place, identity=producer.identity)
        producer.end(identity=producer.identity)
        producer.init(presented=producer.identity)
    yield
    for producer in (fenced_before, fenced_after):
        producer.produce(place, identity=producer.identity)
        producer.end(identity=producer.identity)
        producer.init()
        producer.transaction(place)


def timeout(make: Make) -> Iterator[None]:
    """The age of a transaction counts on under the next coordinator, which aborts it."""
    place = (TOPIC, 5)
    a = make("timeout", timeout_ms=10 * TIMEOUT_MS)
    a.init()
    a.must(a.produce(place))
    yield
    await_state(a.bench, a.name, "CompleteAbort")
    a.learn("timeout")
    a.produce(place, identity=a.identity)
    a.end(identity=a.identity)
    a.init()
    a.transaction(place)
    yield
    a.transaction(place)


def healthy(make: Make) -> Iterator[None]:
    """Ordinary transactions before, between and after."""
    a = make("healthy")
    a.init()
    for turn in range(3):
        for n in range(4):
            a.transaction((TOPIC, 6), (TOPIC, 7), records=1 + n, committed=n != 2)
        if turn < 2:
            yield


CASES: tuple[Case, ...] = (init_retry, spanning, end_retry, two_instances, timeout, healthy)


def play(stage: Stage) -> None:
    """Run every case up to a move, move the coordinator, and continue."""
    cluster = stage.cluster
    cluster.create_topic(TOPIC, _PARTITIONS, replicas=3)
    cluster.coordinator("any")
    home = cluster.coordinator("any", transaction=True)
    for topic in (TOPIC, "__transaction_state", "__consumer_offsets"):
        cluster.set_topic_config(topic, "segment.ms", _SEGMENT_MS)
    bench = workbench(stage)
    producers: list[Producer] = []
    plays = [(case.__name__, case(_maker(bench, case.__name__, producers))) for case in CASES]

    def phase(title: str) -> None:
        stage.say(title)
        bench.homes.clear()
        for producer in producers:
            producer.close()
        for name, steps in plays:
            stage.say(name)
            next(steps, None)

    phase("before")
    stage.say(f"stop broker {home}")
    cluster.stop_broker(home)
    phase("under the next coordinator")
    stage.say(f"start broker {home}")
    cluster.start_broker(home)
    cluster.elect_preferred("__transaction_state", 0)
    phase("moved back")
    for producer in producers:
        producer.close()
    bench.epochs.end_of_recording()


def _maker(bench: Workbench, case: str, made: list[Producer]) -> Make:
    def make(name: str, instance: str = "A", timeout_ms: int = 600_000) -> Producer:
        made.append(Producer(bench, case, f"failover-{name}", instance, timeout_ms=timeout_ms))
        return made[-1]

    return make


def plan(version: str) -> Plan:
    """Three brokers, one partition of the transaction log, on all of them."""
    settings: dict[str, object] = {
        "transaction.state.log.replication.factor": 3,
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": 1000,
    }
    return Plan(version, brokers=3, roll_bytes=60_000, settings=settings)


SCENARIO = Scenario(plan, play)
