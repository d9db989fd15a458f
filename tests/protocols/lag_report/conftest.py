"""Lines and records of members of Kafka Streams, as they are in bronze."""

from __future__ import annotations

import dataclasses
import json
import struct
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

from fencepost import lake
from fencepost.capture.run import capture
from fencepost.definitions import queries
from fencepost.engines.tasks import TaskEngine
from fencepost.formats.clock import LogClock
from fencepost.formats.log_entries import entries
from fencepost.judge.engine import Engine
from fencepost.opening import ensure
from fencepost.protocols.lag_report import changelog_ends, streams_groups
from fencepost.protocols.lag_report.application import replay_application
from fencepost.protocols.lag_report.bronze import STREAMS_LINES
from fencepost.protocols.lag_report.logs import STREAMS_MESSAGES
from fencepost.protocols.lag_report.messages import of_lines, of_records
from fencepost.protocols.lag_report.tables import STREAMS_GROUP_TASKS, TABLES
from fencepost.settings import Lake as Place
from fencepost.settings import load
from fencepost.tables import RECORDS, REQUESTS

GROUP = "orders"
Message = Mapping[str, Any]


def _text(value: str | None) -> bytes:
    return b"\xff\xff" if value is None else struct.pack(">h", len(value.encode())) + value.encode()


def _data(value: bytes) -> bytes:
    return struct.pack(">i", len(value)) + value


def _array(values: Sequence[bytes]) -> bytes:
    return struct.pack(">i", len(values)) + b"".join(values)


def _task(task: str) -> bytes:
    return struct.pack(">ii", *map(int, task.split("_")))


def _report(report: Message | str) -> bytes:
    """SubscriptionInfo, version 11 or one before 7."""
    if isinstance(report, str):
        return bytes.fromhex(report)
    version, process = report.get("version", 11), report["process"].encode() * 16
    head = struct.pack(">ii", version, 11) + process
    if version < 7:
        active = [_task(task) for task, offset_sum in report["tasks"].items() if offset_sum == -2]
        standby = [_task(task) for task, offset_sum in report["tasks"].items() if offset_sum != -2]
        return head + _array(active) + _array(standby) + _data(b"")
    sums = [
        _task(task) + struct.pack(">q", offset_sum) + _text(None)
        for task, offset_sum in report["tasks"].items()
    ]
    return head + _data(b"") + _array(sums) + struct.pack(">bi", 0, 0) + _array([])


def _subscription(report: Message | str) -> bytes:
    """ConsumerProtocolSubscription, version 3."""
    owned, generation = _array([]), struct.pack(">i", -1)
    return b"\x00\x03" + _array([_text("t")]) + _data(_report(report)) + owned + generation + _text(None)


def _assignment(tasks: Message) -> bytes:
    """ConsumerProtocolAssignment, version 0, with AssignmentInfo, version 11."""
    active = [_task(task) + _array([]) for task in tasks.get("active", ())]
    standby = [_task(task) + _array([]) + _array([]) for task in tasks.get("standby", ())]
    info = struct.pack(">ii", 11, 11) + _array(active) + _array(standby) + _array([]) * 3
    return b"\x00\x00" + _array([]) + _data(info + struct.pack(">iq", 0, 2**63 - 1))


def _json(data: bytes) -> str:
    return b64encode(data).decode()


def _join(join: Message) -> tuple[int, Any, Any]:
    name, _ = join["member"].split("@")
    offered = [{"name": "stream", "metadata": _json(_subscription(join["report"]))}]
    request = {
        "groupId": GROUP,
        "memberId": name,
        "groupInstanceId": join.get("instance"),
        "protocols": offered,
    }
    members = [
        {
            "memberId": member,
            "groupInstanceId": join.get("instance"),
            "metadata": _json(_subscription(report)),
        }
        for member, report in join.get("told", {}).items()
    ]
    answer = {
        "errorCode": join.get("error", 0), "generationId": join.get("generation", -1), "memberId": name,
        "protocolName": "stream", "members": members,
    }  # fmt: skip
    return 11, request, answer


def _sync(sync: Message) -> tuple[int, Any, Any]:
    assignments = [
        {"memberId": member, "assignment": _json(_assignment(tasks))}
        for member, tasks in sync.get("given", {}).items()
    ]
    request = {
        "groupId": GROUP, "memberId": sync["member"].split("@")[0], "generationId": sync["generation"],
        "protocolName": "stream", "assignments": assignments,
    }  # fmt: skip
    answer = {
        "errorCode": 0,
        "protocolName": "stream",
        "assignment": _json(_assignment(sync["assigned"])),
    }
    return 14, request, answer


def _line(message: Message) -> dict[str, Any]:
    kind = "join" if "join" in message else "sync"
    call = message[kind]
    key, request, answer = (_join if kind == "join" else _sync)(call)
    row = {
        "cluster": "c",
        "broker_id": 1,
        "line_digest": json.dumps(message),
        "logged_at_ms": message["at"] + call.get("took", 5),
        "total_time_ms": float(call.get("took", 5)),
        "api_key": key,
        "api_version": 9,
        "correlation_id": 1,
        "client_id": call["member"].split("@")[1],
        "connection": "127.0.0.1:9092-10.0.0.1:50000-1",
        "request": json.dumps(request),
        "response": json.dumps(answer),
        "file": "request.log",
        "position": message["at"],
    }
    return {**dict.fromkeys(REQUESTS.columns), **row}


def _record(offset: int, message: Message) -> dict[str, Any]:
    group = message["record"]
    members = [
        _text(member.split("@")[0]) + _text(None) + _text(member.split("@")[1]) + _text("/10.0.0.1")
        + struct.pack(">ii", 1, 1) + _data(_subscription(report)) + _data(_assignment(tasks))
        for member, (report, tasks) in group["members"].items()
    ]  # fmt: skip
    value = b"\x00\x03" + _text("consumer") + struct.pack(">i", group["generation"]) + _text("stream")
    value += _text(None) + struct.pack(">q", -1) + _array(members)
    row = {
        "cluster": "c",
        "topic": "__consumer_offsets",
        "record_type": 2,
        "decode_status": "known",
        "is_control": False,
        "record_offset": offset,
        "timestamp_ms": message["at"],
        "key": b"\x00\x02" + _text(GROUP),
        "value": value,
        "file": "0.log",
        "position": offset,
    }
    return {**dict.fromkeys(RECORDS.columns), **row}


@pytest.fixture(scope="session")
def bronze() -> Callable[[Sequence[Message]], tuple[pa.Table, pa.Table]]:
    """Rows of ``bronze.records`` and of ``bronze.requests``."""

    def rows(messages: Sequence[Message]) -> tuple[pa.Table, pa.Table]:
        records = [_record(each["at"], each) for each in messages if "record" in each]
        lines = [_line(each) for each in messages if "record" not in each]
        return (
            pa.Table.from_pylist(records, schema=RECORDS.arrow_schema),
            pa.Table.from_pylist(lines, schema=REQUESTS.arrow_schema),
        )

    return rows


TOLERANCE_MS = 25
CLUSTERS = ("streams-4.4.0", "streams-4.3.1", "streams-3.9.2", "lags-4.3.1", "lags-3.9.2")
Lake = Mapping[str, pa.Table]
"""Tables by name."""


Finding = tuple[str, str, str]
"""Cluster, definition and witness."""


class Judged(NamedTuple):
    """The findings that are violated and unknown; the definitions that were exercised (cluster, definition);
    and the decisions, None for unknown, by definition and witness.
    """

    violated: frozenset[Finding]
    unknown: frozenset[Finding]
    exercised: frozenset[tuple[str, str]]
    decided: Mapping[tuple[str, str], Any]


@pytest.fixture(scope="session")
def streams_bronze(captures: Path, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Bronze of the captures."""
    home = tmp_path_factory.mktemp("streams")
    settings = dataclasses.replace(
        load(captures / CLUSTERS[0] / "fencepost.toml"),
        lake=Place(str(home / "warehouse"), f"sqlite:///{home / 'catalog.db'}"),
        clusters=tuple(load(captures / name / "fencepost.toml").clusters[0] for name in CLUSTERS),
    )
    catalog = ensure(settings.lake)
    capture(settings, catalog, lambda size, what: TaskEngine(catalog), "test")
    return {table.name: lake.scan(catalog, table) for table in (RECORDS, REQUESTS, STREAMS_LINES)}


def _entries(cluster: str, log: str) -> pa.Table:
    """Rows of bronze for the text of a log in Kafka's layout, in UTC."""
    rows = []
    for entry in entries(log.encode(), 0, LogClock("UTC", None)):
        row = STREAMS_MESSAGES.take(entry)
        if row is not None:
            origin = {"cluster": cluster, "client": "app", "file": "app.log", "position": entry.position}
            rows.append({**row, **origin})
    return pa.Table.from_pylist(rows, schema=STREAMS_LINES.arrow_schema)


def _rebuilt(bronze: Lake) -> Lake:
    """The tables of silver, by name."""
    messages = pa.concat_tables([of_records(bronze[RECORDS.name]), of_lines(bronze[REQUESTS.name])])
    groups: dict[str, set[str]] = {}
    for row in messages.select(["cluster", "group_id"]).to_pylist():
        groups.setdefault(row["cluster"], set()).add(row["group_id"])
    ends = changelog_ends.of_lines(groups, bronze[REQUESTS.name])
    tables = replay_application(messages, ends, bronze[STREAMS_LINES.name], {}, TOLERANCE_MS)
    tasks = streams_groups.with_members(streams_groups.of_records((), bronze[RECORDS.name]))
    return {**{table.name: rows for table, rows in tables}, STREAMS_GROUP_TASKS.name: tasks}


def _judged(silver: Lake, scratch: Path) -> Judged:
    """Judge tables of silver."""
    names = {table.name for table in TABLES}
    compiled = [query for query in queries() if query.tables <= names]
    engine = Engine(
        lambda table, columns, _: silver[table.name].select(list(columns)).to_reader(),
        _nowhere,
        scratch,
        compiled,
    )
    findings: dict[Any, set[Finding]] = {False: set(), None: set(), True: set()}
    exercised, decided = set(), {}
    for query in compiled:
        engine.keep("judged", query.sql)
        if query.decides:
            for row in engine.rows("SELECT definition, subject, outcome FROM judged"):
                decided[row["definition"], row["subject"]] = row["outcome"]
            continue
        for row in engine.rows("SELECT cluster, definition, witness, verdict, exercised FROM judged"):
            findings[row["verdict"]].add((row["cluster"], row["definition"], row["witness"] or ""))
            if row["exercised"]:
                exercised.add((row["cluster"], row["definition"]))
    return Judged(frozenset(findings[False]), frozenset(findings[None]), frozenset(exercised), decided)


def _nowhere(*_: Any) -> None:
    """Nothing is kept."""


@pytest.fixture(scope="session")
def rebuild_streams() -> Callable[[Lake], Lake]:
    """Rebuilds the tables of silver, by name, from tables of bronze."""
    return _rebuilt


@pytest.fixture(scope="session")
def judge_streams(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Lake], Judged]:
    """Judges tables of silver by the definitions."""
    scratch = tmp_path_factory.mktemp("judged")
    return lambda silver: _judged(silver, scratch)


@pytest.fixture(scope="session")
def entries_of() -> Callable[[str, str], pa.Table]:
    """Rows of bronze for the log of an application: its cluster, its text."""
    return _entries


@pytest.fixture(scope="session")
def rebuilt(streams_bronze: Lake) -> Lake:
    """The tables of silver of the captures, by name."""
    return _rebuilt(streams_bronze)


@pytest.fixture(scope="session")
def silver(rebuilt: Lake) -> Mapping[str, list[dict[str, Any]]]:
    """Their rows, by name without schema."""
    return {name.removeprefix("silver."): rows.to_pylist() for name, rows in rebuilt.items()}


@pytest.fixture(scope="session")
def verdicts(rebuilt: Lake, judge_streams: Callable[[Lake], Judged]) -> Judged:
    """The verdicts about the captures."""
    return judge_streams(rebuilt)


@pytest.fixture(scope="session")
def lags(verdicts: Judged) -> Mapping[str, tuple[int | None, int | None]]:
    """The total lag of each report, as KIP-441 proposed it and as shipped."""
    return {
        report: (verdicts.decided["proposed_total_lag", report], shipped)
        for (definition, report), shipped in verdicts.decided.items()
        if definition == "shipped_total_lag"
    }
