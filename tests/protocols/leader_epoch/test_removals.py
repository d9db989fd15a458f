"""Requests of administrators that remove offsets, groups and records, and lines that no broker writes."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from fencepost.protocols.leader_epoch.removals import removal_requests
from fencepost.tables import REQUESTS

DELETE_RECORDS, DELETE_GROUPS, OFFSET_DELETE = 21, 42, 47
_TOLD = ("group_id", "topic", "partition", "low_watermark")


def _removed(api_key: int, sent: Any, answer: Any) -> list[tuple[Any, ...]]:
    line = {
        "cluster": "c", "broker_id": 1, "line_digest": "d", "logged_at_ms": 1000, "total_time_ms": 1.0,
        "api_key": api_key, "api_version": 1, "correlation_id": 1, "client_id": "x", "principal": "User:ops",
        "connection": "10.0.0.1:9092-10.0.0.7:5555-0", "request": json.dumps(sent),
        "response": json.dumps(answer), "file": "f", "position": 0,
    }  # fmt: skip
    rows = removal_requests(pa.Table.from_pylist([line], schema=REQUESTS.arrow_schema)).to_pylist()
    assert all((row["principal"], row["client_host"]) == ("User:ops", "10.0.0.7") for row in rows)
    return [tuple(row[name] for name in _TOLD) for row in rows]


def _topics(*partitions: tuple[int, int, int | None]) -> dict[str, Any]:
    told = [{"partitionIndex": n, "errorCode": error, "lowWatermark": low} for n, error, low in partitions]
    return {"topics": [{"name": "t", "partitions": told}]}


def test_only_what_the_answer_says_was_removed() -> None:
    refused = {"errorCode": 68, **_topics((0, 0, None))}
    asked = {"groupId": "g"}
    assert _removed(OFFSET_DELETE, asked, {"errorCode": 0, **_topics((0, 0, None), (1, 86, None))}) == [
        ("g", "t", 0, None)
    ]
    assert _removed(OFFSET_DELETE, asked, refused) == []
    results = [{"groupId": "g", "errorCode": 0}, {"groupId": "h", "errorCode": 68}]
    assert _removed(DELETE_GROUPS, {}, {"results": results}) == [("g", None, None, None)]
    assert _removed(DELETE_RECORDS, {}, _topics((0, 0, 1 << 40), (1, 1, -1))) == [(None, "t", 0, 1 << 40)]


@pytest.mark.parametrize("answer", [None, [], {"results": 1}, {"results": ["g"]}, {"topics": "t"}])
@pytest.mark.parametrize("api_key", [DELETE_RECORDS, DELETE_GROUPS, OFFSET_DELETE])
def test_a_line_that_no_broker_writes_is_left_out(api_key: int, answer: Any) -> None:
    assert _removed(api_key, {"groupId": "g"}, answer) == []
    assert _removed(api_key, {"groupId": 1}, {"results": [{"groupId": 1, "errorCode": 0}]}) == []
