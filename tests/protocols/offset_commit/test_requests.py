"""Lines of the request log that no broker writes: they name nothing, and end no replay."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from fencepost.protocols.offset_commit.replay import replay
from fencepost.protocols.offset_commit.shard import decode_shard
from fencepost.replay.group_coordinator.evidence import ShardRows
from fencepost.replay.metadata import ClusterMetadata
from fencepost.tables import BATCHES, CLEANED, QUARANTINE, RECORDS, REQUESTS

GOOD: dict[str, Any] = {
    "groupId": "g",
    "memberId": "m",
    "generationIdOrMemberEpoch": 3,
    "topics": [{"name": "t", "partitions": [{"partitionIndex": 0, "committedOffset": 5}]}],
}
ANSWER = {"topics": [{"name": "t", "partitions": [{"partitionIndex": 0, "errorCode": 25}]}]}


def _commits(request: str, response: str | None, api_key: int = 8) -> list[dict[str, Any]]:
    line = {
        "cluster": "c", "broker_id": 1, "line_digest": "d", "logged_at_ms": 1000, "total_time_ms": 1.0,
        "api_key": api_key, "api_version": 9, "correlation_id": 1, "client_id": "x", "connection": "y",
        "request": request, "response": response, "file": "f", "position": 0,
    }  # fmt: skip
    empty = [table.arrow_schema.empty_table() for table in (BATCHES, RECORDS, QUARANTINE, CLEANED)]
    rows = pa.Table.from_pylist([line], schema=REQUESTS.arrow_schema)
    shard = ShardRows("c", 0, empty[0], empty[1], rows, empty[2], empty[3])
    metadata = ClusterMetadata()
    found = replay(decode_shard(shard, metadata.topics), metadata, 25)
    commits: list[dict[str, Any]] = found["silver.offset_commits"].to_pylist()
    return commits


def test_a_line_of_a_group_that_no_log_has_is_told_without_a_state() -> None:
    (commit,) = _commits(json.dumps(GOOD), json.dumps(ANSWER))
    assert (commit["broker_error"], commit["candidates"], commit["client_epoch"]) == (
        "UNKNOWN_MEMBER_ID",
        0,
        3,
    )
    (commit,) = _commits(json.dumps(GOOD), None)
    assert (commit["unknown_reason"], commit["unknown_detail"]) == (
        "no_answer",
        "the request log has no answer for this partition",
    )


def test_a_partition_is_there_once_as_it_was_mentioned_last() -> None:
    asked = [("t", [(1, 5), (0, 6)]), ("t", [(1, 7), (2, 8)]), ("u", [(1, 9)])]
    told = [("u", [(1, 0)]), ("t", [(1, 25), (0, 0), (1, 22)])]
    topics = [
        {"name": name, "partitions": [{"partitionIndex": at, "committedOffset": offset} for at, offset in of]}
        for name, of in asked
    ]
    answers = [
        {"name": name, "partitions": [{"partitionIndex": at, "errorCode": code} for at, code in of]}
        for name, of in told
    ]
    found = _commits(json.dumps({**GOOD, "topics": topics}), json.dumps({"topics": answers}))
    names = ("topic", "partition", "committed_offset", "broker_error")
    assert [tuple(row[name] for name in names) for row in found] == [
        ("t", 1, 7, "ILLEGAL_GENERATION"),
        ("t", 0, 6, "NONE"),
        ("t", 2, 8, None),
        ("u", 1, 9, "NONE"),
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"groupId": 7},
        {"memberId": ["m"]},
        {"generationIdOrMemberEpoch": "3"},
        {"generationIdOrMemberEpoch": 2**31},
        {"topics": "t"},
        {"topics": [{"name": "t", "partitions": [7]}]},
        {"topics": [{"name": {}, "partitions": [{"partitionIndex": 0, "committedOffset": 5}]}]},
        {"topics": [{"name": "t", "partitions": [{"partitionIndex": "0", "committedOffset": 5}]}]},
        {"topics": [{"name": "t", "partitions": [{"partitionIndex": 0, "committedOffset": 2**63}]}]},
        {"topics": [{"name": "t", "partitions": [{"committedOffset": 5}]}]},
        {"topics": []},
        {"groupId": None},
    ],
)
def test_json_that_no_broker_writes_names_nothing(change: dict[str, Any]) -> None:
    assert _commits(json.dumps({**GOOD, **change}), json.dumps(ANSWER)) == []


@pytest.mark.parametrize("text", ["[]", "7", '"x"', "{", ""])
def test_what_is_no_object_names_nothing(text: str) -> None:
    assert _commits(text, "{}") == []
    assert [row["broker_error"] for row in _commits(json.dumps(GOOD), text)] == [None]


def test_half_a_surrogate_pair_is_a_question_mark() -> None:
    (commit,) = _commits(json.dumps({**GOOD, "memberId": "\ud800"}), json.dumps(ANSWER))
    assert commit["member_id"] == "?"


@pytest.mark.parametrize("api_key", [11, 12, 13, 14])
def test_members_lines_that_no_broker_writes_end_nothing(api_key: int) -> None:
    for request in ({"groupId": 7, "memberId": "m"}, {"groupId": "g", "memberId": {}, "generationId": "x"}):
        for answer in ({"errorCode": 0}, {"errorCode": "0", "members": [7]}, {"members": {"a": 1}}):
            assert _commits(json.dumps(request), json.dumps(answer), api_key) == []
