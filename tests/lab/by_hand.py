"""The scenario ``by-hand``: offsets that applications commit and seek to as they like.

Also the positions of clients that nothing tells apart, and a partition whose last leader leads it again.
"""

from __future__ import annotations

import re
from typing import Any

import incarnations
from broker_events import kill_broker, pause_broker, resume_broker, start_broker
from brokers import LabError, Plan
from clients import Client
from incarnation_bench import Bench
from java_programs import properties_file, start_program
from lab_client import LabClient, note
from operator_client import Operator
from partition_requests import Row, fetch
from scenario import Scenario, Stage
from truth import Partition

MOVED, ONCE, OWNED, LAST = "moved", "once", "owned", "last-leader"
_PROGRAM = "CommitsAnything"


def play(stage: Stage) -> None:
    """Every case; each commit and fetch is noted with the incarnation that its offset is of."""
    operator = Operator(stage.cluster, stage.truth, "operator", "set-up")
    bench = Bench(stage, operator, incarnations.roles(operator))
    # the first look-up creates __consumer_offsets; what its broker forwards bounds that broker's clock
    operator.home = stage.cluster.coordinator("any")
    try:
        for case in (_moved, _once, _owned, _last_leader):
            stage.say(case.__name__.strip("_"))
            operator.case = case.__name__.strip("_")
            case(bench)
    finally:
        for client in (*bench.clients, operator):
            client.close()


def _moved(bench: Bench) -> None:
    """Clients read a topic that was created again; they commit, and seek to, offsets of other places."""
    place = (MOVED, 0)
    both, new, seeker = (bench.client(MOVED, name) for name in ("both", "new", "seeker"))
    writer = bench.client(MOVED, "writer")
    gone = bench.operator.create(MOVED, [[bench.operator.home]])
    bench.write(writer, place, 60)
    for offset in (0, 60):
        _fetch(bench, both, place, gone, offset)
    live = bench.operator.recreate(MOVED, [[bench.operator.home]])
    bench.write(writer, place, 10)
    for client in (both, new, seeker):
        for offset in (0, 10):
            _fetch(bench, client, place, live, offset)
    _note(bench, bench.commit(both, "both-read", place, 10, leader_epoch=0), live)
    _note(bench, bench.commit(both, "both-behind", place, 4, leader_epoch=0), live)
    _note(bench, bench.commit(both, "both-before", place, 60, leader_epoch=0), gone)
    _note(bench, bench.commit(new, "new-past", place, 60, leader_epoch=0), None)
    bench.write(writer, place, 90)
    # it has not been told of these records: only an application knows the offset
    _fetch(bench, seeker, place, live, 60)
    _note(bench, bench.commit(seeker, "seeker", place, 60, leader_epoch=0), None)
    _note(bench, bench.commit(seeker, "seeker-on", place, 70, leader_epoch=0), live)


def _once(bench: Bench) -> None:
    """A topic that is created once. Two clients of one id, which have no fetch sessions, wait at its end."""
    place = (ONCE, 0)
    bench.operator.create(ONCE, [[bench.operator.home]])
    bench.write(bench.client(ONCE, "writer"), place, 10)
    readers = [LabClient(bench.stage.cluster, bench.stage.truth, "once-reader", ONCE) for _ in range(2)]
    leader, _ = bench.leader(place)
    for offset in (5, 10, 10, 10, 10, 7, 10, 10):
        for reader in readers:
            reader.ask(leader, fetch(place, offset))
    for reader in readers:
        reader.close()


def _owned(bench: Bench) -> None:
    """Real Java consumers commit for a partition of another member, in groups of both protocols."""
    stage = bench.stage
    bench.operator.create(OWNED, [[bench.operator.home]])
    bench.write(bench.client(OWNED, "writer"), (OWNED, 0), 50)
    for protocol in ("classic", "consumer"):
        group_id = f"{OWNED}-{protocol}"
        owner = stage.clients.consumer(f"{group_id}-owner", group_id, OWNED, protocol=protocol.upper())
        owner.await_event("offsets_committed")
        visitor = _start(stage, f"{group_id}-visitor", group_id, protocol)
        visitor.await_event("committed_anything")
        said = re.search(r'"owned":(\d+),"result":"(\w+)"', visitor.log.read_text())
        if said is None or said.groups() != ("0", "NONE"):
            raise LabError(f"{group_id}: the member without a partition says {said}")
        for client in (visitor, owner):
            client.ask_to_stop()
            client.wait()


def _start(stage: Stage, name: str, group_id: str, protocol: str) -> Client:
    config = {
        "bootstrap.servers": stage.cluster.bootstrap,
        "group.id": group_id,
        "client.id": name,
        "group.protocol": protocol,
        "auto.offset.reset": "earliest",
    }
    version, properties = stage.cluster.plan.version, properties_file(stage.clients, name, config)
    return start_program(stage.clients, version, name, _PROGRAM, properties, OWNED, "0", "20")


def _last_leader(bench: Bench) -> None:
    """A leader that is alone in the ISR is killed, and leads again when it is back: nothing is lost."""
    killed, paused, active = bench.brokers
    place, operator = (LAST, 0), bench.operator
    operator.home = active
    operator.create(LAST, [[killed, paused]])
    writer = bench.client(LAST, "writer")
    bench.write(writer, place, 10)
    pause_broker(bench, paused)
    operator.await_partition(place, lambda told: told["IsrNodes"] == [killed])
    bench.write(writer, place, 7)
    kill_broker(bench, killed)
    resume_broker(bench, paused)  # without it there is no majority for a controller
    operator.await_partition(place, lambda told: told["LeaderId"] < 0)
    start_broker(bench, killed)
    operator.await_partition(place, lambda told: told["LeaderId"] == killed)
    bench.write(writer, place, 3)


def _fetch(bench: Bench, client: LabClient, place: Partition, topic_id: str, offset: int) -> None:
    leader, epoch = bench.leader(place)
    client.must(leader, fetch(place, offset, topic_id=topic_id, leader_epoch=epoch))


def _note(bench: Bench, row: Row, topic_id: str | None) -> None:
    """Note of which topic a committed offset is; None where only the application knows."""
    told: dict[str, Any] = {"group_id": row["asked"]["group_id"], "topic_id": topic_id}
    note(bench.stage.truth, "by_hand", case=MOVED, offset=row["asked"]["offset"], **told)


def plan(version: str) -> Plan:
    """Three brokers whose sessions are short; every request is logged."""
    settings: dict[str, object] = {
        "broker.session.timeout.ms": 6000,
        "broker.heartbeat.interval.ms": 1000,
        "auto.leader.rebalance.enable": "false",
    }
    return Plan(version, 3, roll_bytes=60_000, unlogged=(), settings=settings)


SCENARIO = Scenario(plan, play)
