"""Requests by which members leave: what counts, in every version, and lines that no broker writes."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from fencepost.protocols.offset_commit.departures import departures
from fencepost.tables import REQUESTS

LEAVE_GROUP, HEARTBEAT, SHARE, STREAMS = 13, 68, 76, 88
HOSTILE = 'g"\n,"memberEpoch":-1,"x":"'
FINE = {"errorCode": 0}


def _left(api_key: int, sent: Any, answer: Any) -> list[tuple[Any, ...]]:
    request = sent if isinstance(sent, str) else json.dumps(sent, separators=(",", ":"))
    line = {
        "cluster": "c", "broker_id": 1, "line_digest": "d", "logged_at_ms": 1000, "total_time_ms": 1.0,
        "api_key": api_key, "api_version": 1, "correlation_id": 1, "client_id": "x",
        "connection": "10.0.0.1:9092-10.0.0.7:5555-0", "request": request,
        "response": None if answer is None else json.dumps(answer), "file": "f", "position": 0,
    }  # fmt: skip
    rows = departures(pa.Table.from_pylist([line], schema=REQUESTS.arrow_schema)).to_pylist()
    assert all((row["client_id"], row["client_host"]) == ("x", "10.0.0.7") for row in rows)
    return [tuple(row[name] for name in ("kind", "group_id", "member_id", "instance_id")) for row in rows]


def _members(*members: tuple[str, str | None, int]) -> tuple[Any, Any]:
    asked = [{"memberId": name, "groupInstanceId": instance} for name, instance, _ in members]
    told = [{"memberId": name, "groupInstanceId": i, "errorCode": error} for name, i, error in members]
    return {"groupId": "g", "members": asked}, {"errorCode": 0, "members": told}


@pytest.mark.parametrize("api_key", [HEARTBEAT, SHARE, STREAMS])
def test_a_heartbeat_with_a_negative_epoch_leaves(api_key: int) -> None:
    sent = {"groupId": "g", "memberId": "m", "memberEpoch": -1}
    assert _left(api_key, sent, FINE) == [("left", "g", "m", None)]
    away = {**sent, "memberEpoch": -2, "instanceId": "i"}
    assert _left(api_key, away, FINE) == [("away", "g", "m", "i")]
    assert _left(api_key, sent, {"errorCode": 25}) == []
    assert _left(api_key, sent, None) == []
    assert _left(api_key, {**sent, "memberEpoch": 7}, FINE) == []
    assert _left(api_key, {**sent, "memberEpoch": 7, "groupId": HOSTILE}, FINE) == []


def test_each_member_of_a_leave_group_that_was_removed() -> None:
    members = _members(("m", None, 0), ("", "i", 0), ("gone", None, 25))
    assert _left(LEAVE_GROUP, *members) == [("leave_group", "g", "m", None), ("leave_group", "g", None, "i")]
    assert _left(LEAVE_GROUP, members[0], {**members[1], "errorCode": 16}) == []
    # before version 3
    assert _left(LEAVE_GROUP, {"groupId": "g", "memberId": "m"}, FINE) == [("leave_group", "g", "m", None)]


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        ({"groupId": "g", "members": 1}, FINE),
        ({"groupId": "g", "members": ["m"]}, {"errorCode": 0, "members": ["m"]}),
        ({"groupId": 7, "memberId": "m"}, FINE),
        ({"groupId": "g", "memberId": ["m"], "memberEpoch": [-1]}, FINE),
        ({"groupId": "g", "memberId": "m"}, {}),
        ("{", FINE),
    ],
)
@pytest.mark.parametrize("api_key", [LEAVE_GROUP, HEARTBEAT])
def test_a_line_that_no_broker_writes_is_left_out(api_key: int, sent: Any, answer: Any) -> None:
    assert _left(api_key, sent, answer) == []
