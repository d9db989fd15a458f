"""The scenarios ``producers`` and ``producers-tv1``: producer epochs and transactions on one broker."""

from __future__ import annotations

import time
from dataclasses import replace

import tools
from brokers import LabError, Plan
from epochs import Epochs
from hanging_cases import CASE as HANGING
from hanging_cases import PARTITIONS, Hanging
from producer_cases import CASES, TIMEOUT_MS, healthy
from producer_requests import Workbench, dialect
from producers import Producer
from scenario import Scenario, Stage, prepare

_JAVA = "ledger"
"""The topic, and the transactional id, of the real Java producer."""

_SEGMENT_MS = "4000"
_ABORT_CHECK_MS = 12_000
_TIMEZONES = {"3.9.2": "Europe/London"}


def workbench(stage: Stage) -> Workbench:
    """What the hand-made producers of a recording share."""
    epochs = Epochs(stage.truth)
    return Workbench(stage.cluster, stage.truth, epochs, dialect(stage.cluster.plan))


def play(stage: Stage) -> None:
    """Every case, hanging transactions, and then more ordinary ones through the same coordinator."""
    topics = {name: partitions for name, (_, partitions) in CASES.items()}
    prepare(stage, {**topics, HANGING: PARTITIONS, _JAVA: 2, "clock": 1}, _SEGMENT_MS)
    stage.cluster.coordinator("any", transaction=True)  # the first look-up creates __transaction_state
    for topic in (*topics, HANGING, _JAVA, "__transaction_state"):
        # Small closed segments, with their producer snapshots and indexes of aborted transactions.
        stage.cluster.set_topic_config(topic, "segment.ms", _SEGMENT_MS)
    bench = workbench(stage)
    for name, (case, _) in CASES.items():
        stage.say(name)
        case(bench)
    stage.say("java")
    _java(stage, bench)
    stage.say(HANGING)
    hanging = Hanging(bench)
    hanging.make()
    stage.say("healthy again")
    healthy(bench, "B")
    _await_abort_check(bench)
    hanging.leave_open()
    stage.say("find-hanging")
    hanging.ask()
    hanging.close()
    if not hanging.still_listed():
        raise LabError("the late transaction was aborted before the tool had answered")
    bench.epochs.end_of_recording()


def _java(stage: Stage, bench: Workbench) -> None:
    """A real Java producer is fenced, while it writes, by a second one with its transactional id."""
    first, second = (
        tools.JavaProducer(stage.cluster, stage.clients.folder / f"{_JAVA}-{n}.log", _JAVA, bench.values(40))
        for n in (1, 2)
    )
    first.start(_JAVA, records=400)
    first.await_line("ProducerId set to")
    time.sleep(2)
    second.start(_JAVA, records=60)
    second.wait()
    first.wait(fenced=True)


def _await_abort_check(bench: Workbench) -> None:
    """Wait until the coordinator has just checked for transactions past their timeout."""
    clock = Producer(bench, "clock", "clock", timeout_ms=TIMEOUT_MS)
    clock.init()
    clock.must(clock.produce(("clock", 0), records=1))
    clock.await_timeout()
    clock.close()
    time.sleep(0.1)


def plan(version: str) -> Plan:
    """One broker whose coordinator checks every twelve seconds for transactions past their timeout."""
    settings: dict[str, object] = {
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": _ABORT_CHECK_MS
    }
    timezone = _TIMEZONES.get(version, "UTC")
    return Plan(version, timezone=timezone, roll_bytes=300_000, settings=settings)


def older_plan(version: str) -> Plan:
    """The same with transaction version 1: clients add partitions, and no EndTxn bumps an epoch."""
    return replace(plan(version), features=("transaction.version=1",), timezone="America/Sao_Paulo")


SCENARIO = Scenario(plan, play)
OLDER = Scenario(older_plan, play)
