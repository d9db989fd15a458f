"""The scenario ``tiered``: consumers of topics whose older records are in tiered storage (KIP-405), and what
takes these away. Each has a group and a topic of its own name.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from brokers import LabError, Plan, jars
from cases import TOPIC
from incarnation_bench import Bench
from java_programs import compile_program
from lab_client import LabClient
from log4j import UNLOGGED_CLIENT
from messages import Message
from operator_client import Operator
from partition_requests import Ask, list_offsets, row
from scenario import Scenario, Stage, prepare

_RECORDS, _HALF = 30, 10
_EARLIEST_LOCAL = -4
_PATIENCE_S = 60.0
_APART_S = 0.3
"""More than a line of the request log is late."""
_FOLDERS: list[tempfile.TemporaryDirectory[str]] = []
"""They go when the recording ends."""
_TIERED = {"remote.storage.enable": "true", "local.retention.ms": "1000", "segment.ms": "1000"}


def play(stage: Stage) -> None:
    """One case after the other."""
    prepare(stage, {TOPIC: 1})
    bench = Bench(stage, Operator(stage.cluster, stage.truth, "operator", "set-up"), [1])
    for name, of_case in _CASES.items():
        stage.say(name)
        reader = _with_remote_records(bench, name)
        of_case(bench, name)
        time.sleep(_APART_S)
        bench.come_back(reader, name, (name, 0))
    for client in (*bench.clients, bench.operator):
        client.close()


def _with_remote_records(bench: Bench, case: str) -> LabClient:
    """A consumer that has committed an offset below the first one that its broker still has itself."""
    place, reader, writer = (case, 0), bench.client(case, "reader"), bench.client(case, "writer")
    bench.operator.case = case
    bench.operator.create(case, bench.replicas(), _TIERED)
    bench.write(writer, place, _RECORDS)
    bench.read(reader, place, 0)
    bench.commit(reader, case, place, _HALF, leader_epoch=0)
    _await(bench, place, lambda: _first_local(bench, case) > _HALF)
    return reader


def _first_local(bench: Bench, case: str) -> int:
    connection = bench.stage.cluster.connect(UNLOGGED_CLIENT, 1)
    ask = list_offsets((case, 0), _EARLIEST_LOCAL)
    (told,) = ask.read(connection.call(ask.api, 9, ask.message))
    connection.close()
    return int(told["told"]["offset"])


def _await(bench: Bench, place: tuple[str, int], done: Callable[[], bool]) -> None:
    """Write a record now and then, so that segments are rolled, until something is so."""
    writer, deadline = bench.client(place[0], "late-writer"), time.monotonic() + _PATIENCE_S
    while not done():
        if time.monotonic() > deadline:
            raise LabError(f"nothing happens to the records of {place}")
        bench.write(writer, place, 1)
        time.sleep(0.7)


def _is_gone(bench: Bench, case: str) -> Callable[[], bool]:
    return lambda: bench.bounds((case, 0))[0] > _HALF


def _kept(_: Bench, case: str) -> None:
    """Nothing: the consumer reads on from the remote tier."""


def _too_old(bench: Bench, case: str) -> None:
    """The remote records become too old."""
    bench.stage.cluster.set_topic_config(case, "retention.ms", "2000")
    _await(bench, (case, 0), _is_gone(bench, case))


def _records_deleted(bench: Bench, case: str) -> None:
    """An administrator deletes the records that the group would read next."""
    partition = {"PartitionIndex": 0, "Offset": 2 * _HALF}
    asked = {"Topics": [{"Name": case, "Partitions": [partition]}], "TimeoutMs": 15_000}

    def read(answer: Message) -> list[dict[str, object]]:
        (told,) = answer["Topics"][0]["Partitions"]
        return [row((case, 0), None, told["ErrorCode"], asked, {})]

    bench.client(case, "admin").must(1, Ask("DeleteRecords", 2, asked, read))


def _disabled(bench: Bench, case: str) -> None:
    """An administrator disables the topic's tiered storage, and has its remote records deleted."""
    cluster = bench.stage.cluster
    cluster.set_topic_config(case, "remote.log.delete.on.disable", "true")
    cluster.set_topic_config(case, "remote.storage.enable", "false")
    _await(bench, (case, 0), _is_gone(bench, case))


_CASES: dict[str, Callable[[Bench, str], None]] = {
    "kept": _kept,
    "too-old": _too_old,
    "records-deleted": _records_deleted,
    "disabled": _disabled,
}


def plan(version: str) -> Plan:
    """One broker whose tiered storage is a folder."""
    _FOLDERS.append(tempfile.TemporaryDirectory(prefix="fencepost-tiered-"))
    folder = Path(_FOLDERS[-1].name)
    compile_program("FolderStorage", f"{jars(version)}/*", folder)
    settings: dict[str, object] = {
        "remote.log.storage.system.enable": "true",
        "remote.log.storage.manager.class.name": "FolderStorage",
        "remote.log.storage.manager.class.path": folder,
        "rsm.config.folder": folder / "tier",
        "remote.log.metadata.manager.listener.name": "PLAINTEXT",
        "rlmm.config.remote.log.metadata.topic.replication.factor": 1,
        "rlmm.config.remote.log.metadata.topic.num.partitions": 1,
        "remote.log.manager.task.interval.ms": 500,
        "log.retention.check.interval.ms": 500,
        "log.initial.task.delay.ms": 500,
        "log.segment.delete.delay.ms": 500,
    }
    return Plan(version, unlogged=("BROKER_HEARTBEAT", "FETCH_SNAPSHOT"), settings=settings)


SCENARIO = Scenario(plan, play)
