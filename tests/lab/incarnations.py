"""The scenario ``incarnations``: topics deleted and created again, leaders that change, stale answers.

With three brokers also: a broker that is paused, one that is killed, unclean elections, a controller that
goes, topics deleted while their replicas or their groups' coordinator are away.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import tools
from brokers import Plan
from impostor import refused
from incarnation_bench import Bench
from incarnation_cases import CASES
from incarnation_clients import RealClients
from incarnation_leaders import come_back, finish, leaders, restart
from lab_client import note
from operator_client import Operator
from overtaken import Overtaken
from scenario import SEGMENT_MS, Scenario, Stage
from survivors import Survivors
from truth import now_ms

_TIMEZONES = {"4.2.1": "Asia/Tokyo", "3.9.2": "America/Los_Angeles"}


def play(stage: Stage) -> None:
    """Every case that the cluster is large enough for."""
    operator = Operator(stage.cluster, stage.truth, "operator", "set-up")
    bench = Bench(stage, operator, roles(operator))
    operator.home = bench.brokers[-1]
    stage.cluster.coordinator("any")  # the first look-up creates __consumer_offsets
    stage.cluster.set_topic_config("__consumer_offsets", "segment.ms", SEGMENT_MS)
    try:
        _play(stage, bench)
    finally:
        for client in (*bench.clients, operator):
            client.close()


def _play(stage: Stage, bench: Bench) -> None:
    def case(name: str, play: Callable[[], None]) -> None:
        stage.say(name)
        bench.operator.case = name
        play()

    real = RealClients(bench)
    for name, play in CASES.items():
        case(name, partial(play, bench))
    case("payments", real.recreate)
    _leaders(bench, "created again")
    real.stop()
    if len(bench.brokers) == 1:
        case("epochs", partial(_alone, bench))
    else:
        case("epochs", partial(leaders, bench))
        _leaders(bench, "elected")
        _three(bench, case)
    _leaders(bench, "end")


def _alone(bench: Bench) -> None:
    (only,) = bench.brokers
    earlier = bench.broker_epoch(only)
    restart(bench)
    refused(bench, only, earlier)


def _three(bench: Bench, case: Callable[[str, Callable[[], None]], None]) -> None:
    killed = bench.brokers[0]
    earlier, survivors = bench.broker_epoch(killed), Survivors(bench)
    case("survivor", survivors.prepare)
    case("stale", Overtaken(bench, survivors.recreate).play)
    case("survivor", survivors.come_back)
    _leaders(bench, "elected uncleanly")
    case("killed", partial(come_back, bench, killed))
    case("controller", partial(refused, bench, killed, earlier))
    case("unclean-final", partial(finish, bench))


def roles(operator: Operator) -> list[int]:
    """The brokers, the active controller last."""
    active = operator.active_controller()
    others = [b.broker_id for b in operator.cluster.brokers if b.broker_id != active]
    return [*others, active]


def _leaders(bench: Bench, moment: str) -> None:
    """What ``kafka-topics.sh --describe`` says of every partition."""
    asked_at = now_ms()
    partitions = tools.describe_topics(bench.stage.cluster)
    note(
        bench.stage.truth,
        "leaders",
        moment=moment,
        asked_at_ms=asked_at,
        answered_at_ms=now_ms(),
        partitions=partitions,
    )


def plan(version: str) -> Plan:
    """Three brokers for the newest version, one for the others; small snapshots of the metadata log."""
    brokers = 3 if version == "4.3.1" else 1
    settings: dict[str, object] = {
        "metadata.log.max.record.bytes.between.snapshots": 4000,
        "broker.session.timeout.ms": 6000,
        "broker.heartbeat.interval.ms": 1000,
        "auto.leader.rebalance.enable": "false",
        "controlled.shutdown.enable": "true",
        "transaction.state.log.replication.factor": brokers,
    }
    timezone = _TIMEZONES.get(version, "UTC")
    return Plan(version, brokers, timezone=timezone, roll_bytes=60_000, unlogged=(), settings=settings)


SCENARIO = Scenario(plan, play)
