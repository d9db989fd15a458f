"""The scenario ``ends``: how transactions end in transaction version 2, and how requests with an old epoch
are answered then.

Every end of a transaction bumps the epoch and stores the previous one, whoever ends it. At the last epoch
the end chooses another producer id, and a repeated InitProducerId fails. A transaction that never began may
be ended, too.
"""

from __future__ import annotations

from dataclasses import replace

from brokers import Plan
from coordinators import await_state
from exhausted import CLOCK, LAST_EPOCH, drive, note_driven
from exhausted import plan as exhausted_plan
from producer_cases import TIMEOUT_MS
from producer_requests import Workbench, older
from producer_scenario import workbench
from producers import Producer
from scenario import Scenario, Stage, prepare

TOPIC = "ends"


def play(stage: Stage) -> None:
    """Bump the epochs of two transactional ids until they are exhausted; then every case."""
    prepare(stage, {TOPIC: CLOCK + 1})
    bench = workbench(stage)
    repeated = Producer(bench, TOPIC, f"{TOPIC}-repeated")
    rotated = Producer(bench, TOPIC, f"{TOPIC}-rotated", timeout_ms=TIMEOUT_MS)
    reached = drive(stage, bench, [repeated, rotated], LAST_EPOCH - 1)
    for producer, identity in zip((repeated, rotated), reached, strict=True):
        stage.say(producer.name)
        note_driven(bench, producer, identity)
        producer.must(producer.init(presented=identity))
    _repeated_at_the_last_epoch(repeated, reached[0])
    _rotated_by_the_coordinator(rotated)
    stage.say("timeout")
    _timed_out(bench)
    stage.say("superseded")
    _superseded(bench)
    stage.say("empty")
    _ends_without_partitions(bench)
    bench.epochs.end_of_recording()


def _repeated_at_the_last_epoch(a: Producer, before: tuple[int, int]) -> None:
    """A repeated InitProducerId: the coordinator sees that its last epoch is exhausted, and checks nothing
    else.
    """
    a.init(presented=before, step="init_retry")
    a.init(presented=(before[0], before[1] - 1))
    last = a.identity
    a.must(a.init(presented=last))
    a.must(a.init(presented=last, step="init_retry"))
    a.init(presented=last, step="init_retry")  # the record of the last answer has no earlier producer id
    a.transaction((TOPIC, 0))
    a.close()


def _rotated_by_the_coordinator(a: Producer) -> None:
    """The coordinator aborts the transaction of the last epoch; its producer sends this epoch and
    continues.
    """
    last = a.identity
    a.must(a.produce((TOPIC, 1)))
    a.await_timeout()
    if a.init(presented=last) != "NONE":
        a.must(a.init())
    a.init(presented=last, step="init_retry")
    a.init(presented=(last[0], last[1] - 1))
    a.transaction((TOPIC, 1))
    a.close()


def _timed_out(bench: Workbench) -> None:
    """A producer that was timed out sends its old epoch repeatedly; clients of two versions."""
    for name, spoken in (("newer", bench.dialect), ("older", older(bench.dialect))):
        a = Producer(bench, TOPIC, f"{TOPIC}-timeout-{name}", spoken=spoken, timeout_ms=TIMEOUT_MS)
        a.init()
        a.transaction((TOPIC, 2))
        old = a.identity
        a.must(a.produce((TOPIC, 2)))
        a.await_timeout()
        a.must(a.init(presented=old))
        a.must(a.init(presented=old, step="init_retry"))
        a.must(a.init(presented=old, step="init_retry"))
        a.transaction((TOPIC, 2))
        a.close()
    b = Producer(bench, TOPIC, f"{TOPIC}-timeout-aborting", timeout_ms=TIMEOUT_MS)
    b.init()
    old = b.identity
    b.must(b.produce((TOPIC, 2)))
    b.await_timeout()
    b.must(b.end(False, identity=old, step="end_retry"))
    b.transaction((TOPIC, 2))
    b.close()


def _superseded(bench: Workbench) -> None:
    """A new instance has ended the transaction of the previous one, whose request comes first."""
    a, b = (Producer(bench, TOPIC, f"{TOPIC}-superseded", instance) for instance in "AB")
    a.init()
    old = a.identity
    a.must(a.produce((TOPIC, 3)))
    b.init(again=False)
    await_state(bench, a.name, "CompleteAbort")
    a.learn("new_instance")
    a.must(a.init(presented=old))
    a.must(a.produce((TOPIC, 3), records=2))
    b.init()
    a.produce((TOPIC, 3), identity=a.identity)
    a.init(presented=old)
    b.transaction((TOPIC, 3))
    for client in (a, b):
        client.close()


def _ends_without_partitions(bench: Workbench) -> None:
    """EndTxn(ABORT) with nothing open: from Empty, CompleteCommit and CompleteAbort; and the same again."""
    a = Producer(bench, TOPIC, f"{TOPIC}-empty")
    a.init()
    a.must(a.end(False))
    a.must(a.end(False))
    a.transaction((TOPIC, 4))
    old = a.identity
    a.must(a.end(False))
    a.must(a.end(False, identity=old, step="end_retry"))
    a.transaction((TOPIC, 4), records=2)
    a.transaction((TOPIC, 4), committed=False)
    a.must(a.end(False))
    a.transaction((TOPIC, 4))
    a.close()


def plan(version: str) -> Plan:
    """As in ``exhausted``, without expiration."""
    told = exhausted_plan(version)
    kept = {name: value for name, value in told.settings.items() if "expiration" not in name}
    return replace(told, settings=kept)


SCENARIO = Scenario(plan, play)
