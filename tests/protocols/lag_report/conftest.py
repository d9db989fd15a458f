"""Lines and records of Kafka Streams' members, written as bronze holds them."""

from __future__ import annotations

import json
import struct
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pytest

from fencepost.tables import RECORDS, REQUESTS

GROUP = "orders"
Said = Mapping[str, Any]


def _text(value: str | None) -> bytes:
    return b"\xff\xff" if value is None else struct.pack(">h", len(value.encode())) + value.encode()


def _data(value: bytes) -> bytes:
    return struct.pack(">i", len(value)) + value


def _array(values: Sequence[bytes]) -> bytes:
    return struct.pack(">i", len(values)) + b"".join(values)


def _task(task: str) -> bytes:
    return struct.pack(">ii", *map(int, task.split("_")))


def _report(report: Said | str) -> bytes:
    """SubscriptionInfo, version 11 or one before 7."""
    if isinstance(report, str):
        return bytes.fromhex(report)
    version, process = report.get("version", 11), report["process"].encode() * 16
    head = struct.pack(">ii", version, 11) + process
    if version < 7:
        active = [_task(task) for task, taken in report["tasks"].items() if taken == -2]
        standby = [_task(task) for task, taken in report["tasks"].items() if taken != -2]
        return head + _array(active) + _array(standby) + _data(b"")
    sums = [_task(task) + struct.pack(">q", taken) + _text(None) for task, taken in report["tasks"].items()]
    return head + _data(b"") + _array(sums) + struct.pack(">bi", 0, 0) + _array([])


def _subscription(report: Said | str) -> bytes:
    """ConsumerProtocolSubscription, version 3."""
    owned, generation = _array([]), struct.pack(">i", -1)
    return b"\x00\x03" + _array([_text("t")]) + _data(_report(report)) + owned + generation + _text(None)


def _assignment(tasks: Said) -> bytes:
    """ConsumerProtocolAssignment, version 0, with AssignmentInfo, version 11."""
    active = [_task(task) + _array([]) for task in tasks.get("active", ())]
    standby = [_task(task) + _array([]) + _array([]) for task in tasks.get("standby", ())]
    info = struct.pack(">ii", 11, 11) + _array(active) + _array(standby) + _array([]) * 3
    return b"\x00\x00" + _array([]) + _data(info + struct.pack(">iq", 0, 2**63 - 1))


def _json(data: bytes) -> str:
    return b64encode(data).decode()


def _join(said: Said) -> tuple[int, Any, Any]:
    name, _ = said["member"].split("@")
    offered = [{"name": "stream", "metadata": _json(_subscription(said["report"]))}]
    request = {
        "groupId": GROUP,
        "memberId": name,
        "groupInstanceId": said.get("instance"),
        "protocols": offered,
    }
    told = [
        {
            "memberId": member,
            "groupInstanceId": said.get("instance"),
            "metadata": _json(_subscription(report)),
        }
        for member, report in said.get("told", {}).items()
    ]
    answer = {
        "errorCode": said.get("error", 0), "generationId": said.get("generation", -1), "memberId": name,
        "protocolName": "stream", "members": told,
    }  # fmt: skip
    return 11, request, answer


def _sync(said: Said) -> tuple[int, Any, Any]:
    given = [
        {"memberId": member, "assignment": _json(_assignment(tasks))}
        for member, tasks in said.get("given", {}).items()
    ]
    request = {
        "groupId": GROUP, "memberId": said["member"].split("@")[0], "generationId": said["generation"],
        "protocolName": "stream", "assignments": given,
    }  # fmt: skip
    answer = {
        "errorCode": 0,
        "protocolName": "stream",
        "assignment": _json(_assignment(said["assigned"])),
    }
    return 14, request, answer


def _line(said: Said) -> dict[str, Any]:
    kind = "join" if "join" in said else "sync"
    told = said[kind]
    key, request, answer = (_join if kind == "join" else _sync)(told)
    row = {
        "cluster": "c",
        "broker_id": 1,
        "line_digest": json.dumps(said),
        "logged_at_ms": said["at"] + told.get("took", 5),
        "total_time_ms": float(told.get("took", 5)),
        "api_key": key,
        "api_version": 9,
        "correlation_id": 1,
        "client_id": told["member"].split("@")[1],
        "connection": "127.0.0.1:9092-10.0.0.1:50000-1",
        "request": json.dumps(request),
        "response": json.dumps(answer),
        "file": "request.log",
        "position": said["at"],
    }
    return {**dict.fromkeys(REQUESTS.columns), **row}


def _record(offset: int, said: Said) -> dict[str, Any]:
    told = said["record"]
    members = [
        _text(member.split("@")[0]) + _text(None) + _text(member.split("@")[1]) + _text("/10.0.0.1")
        + struct.pack(">ii", 1, 1) + _data(_subscription(report)) + _data(_assignment(tasks))
        for member, (report, tasks) in told["members"].items()
    ]  # fmt: skip
    value = b"\x00\x03" + _text("consumer") + struct.pack(">i", told["generation"]) + _text("stream")
    value += _text(None) + struct.pack(">q", -1) + _array(members)
    row = {
        "cluster": "c",
        "topic": "__consumer_offsets",
        "record_type": 2,
        "decode_status": "known",
        "is_control": False,
        "record_offset": offset,
        "timestamp_ms": said["at"],
        "key": b"\x00\x02" + _text(GROUP),
        "value": value,
        "file": "0.log",
        "position": offset,
    }
    return {**dict.fromkeys(RECORDS.columns), **row}


@pytest.fixture(scope="session")
def bronze() -> Callable[[Sequence[Said]], tuple[pa.Table, pa.Table]]:
    """Rows of ``bronze.records`` and of ``bronze.requests``."""

    def rows(said: Sequence[Said]) -> tuple[pa.Table, pa.Table]:
        records = [_record(each["at"], each) for each in said if "record" in each]
        lines = [_line(each) for each in said if "record" not in each]
        return (
            pa.Table.from_pylist(records, schema=RECORDS.arrow_schema),
            pa.Table.from_pylist(lines, schema=REQUESTS.arrow_schema),
        )

    return rows
