"""What lines say of partitions, by the JSON that brokers write."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from fencepost.protocols.leader_epoch.client_requests import client_requests, each_request, of_clients
from fencepost.protocols.leader_epoch.lines import (
    CLIENT_APIS,
    FETCH,
    LIST_OFFSETS,
    METADATA,
    OFFSET_COMMIT,
    OFFSET_FETCH,
    OFFSET_FOR_LEADER_EPOCH,
    NamedPartition,
    PartitionLine,
)
from fencepost.replay.keys import ZERO_ID
from fencepost.tables import REQUESTS

ID = "x" * 22


def rows(*lines: tuple[int, Any, Any]) -> pa.Table:
    """Rows of bronze.requests: API, request and answer, in their order."""
    return pa.Table.from_pylist(
        [
            {
                "cluster": "c", "broker_id": 1, "api_key": api_key, "api_version": 1, "correlation_id": at,
                "client_id": "consumer", "connection": "h:1-h:2-0", "logged_at_ms": at, "total_time_ms": 0.5,
                "request": sent if isinstance(sent, str) else json.dumps(sent),
                "response": None if answer is None else json.dumps(answer),
                "line_digest": str(at), "file": "f", "position": at,
            }
            for at, (api_key, sent, answer) in enumerate(lines)
        ],
        schema=REQUESTS.arrow_schema,
    )  # fmt: skip


def read(*lines: tuple[int, Any, Any]) -> list[list[PartitionLine]]:
    """What each line says of partitions."""
    return [list(each.partitions) for each in each_request(client_requests(rows(*lines)), CLIENT_APIS)]


def said(asked: NamedPartition, **values: Any) -> PartitionLine:
    """A partition of which nothing else is said."""
    nothing = dict.fromkeys(PartitionLine._fields[1:], -1) | dict.fromkeys(
        ("error", "leader_told", "group_id")
    )
    return PartitionLine(asked, **(nothing | values))


def partitions(topic: dict[str, Any], *of: dict[str, Any]) -> list[dict[str, Any]]:
    """A list of one topic."""
    return [{**topic, "partitions": list(of)}]


def test_a_fetch() -> None:
    of, other = NamedPartition(None, ID, 0), NamedPartition(None, ID, 1)
    asked = partitions({"topicId": ID}, {"partition": 0, "currentLeaderEpoch": 3, "fetchOffset": 7})
    told = partitions(
        {"topicId": ID},
        {"partitionIndex": 0, "errorCode": 0, "highWatermark": 9, "logStartOffset": 2,
         "divergingEpoch": {"epoch": 2, "endOffset": 5}, "currentLeader": {"leaderId": 4, "leaderEpoch": 6}},
        {"partitionIndex": 1, "errorCode": 74},
        {"partitionIndex": 2, "errorCode": 0},
    )  # fmt: skip
    full = {"answered": 5, "answered_epoch": 2, "log_start_offset": 2, "high_watermark": 9, "leader_told": 6}
    request = said(of, offset=7, leader_epoch=3)
    assert read(
        (FETCH, {"topics": asked}, {"responses": told}),
        (FETCH, {"topics": asked}, {"responses": []}),
        (FETCH, {"topics": asked}, {"errorCode": 71, "responses": []}),
        (FETCH, {"topics": asked}, None),
        (FETCH, {"topics": []}, {"responses": told}),
    ) == [
        [request._replace(error=0, **full), said(other, error=74)],
        [request._replace(error=0)],
        [request._replace(error=71)],
        [request],
        # in a fetch session: what an earlier request listed
        [said(of, error=0, **full), said(other, error=74)],
    ]


def test_commits_and_what_groups_are_told() -> None:
    named, by_id = NamedPartition("t", None, 0), NamedPartition(None, ID, 0)
    commit = {"partitionIndex": 0, "committedOffset": 5, "committedLeaderEpoch": 2}
    one = {"partitionIndex": 0, "committedOffset": 5, "committedLeaderEpoch": 2, "errorCode": 0}
    told = {"answered": 5, "answered_epoch": 2, "error": 0}
    assert read(
        (
            OFFSET_COMMIT,
            {"groupId": "g", "topics": [*partitions({"name": "t", "topicId": ZERO_ID}, commit),
                                        *partitions({"topicId": ID}, commit)]},
            {"topics": partitions({"name": "t"}, {"partitionIndex": 0, "errorCode": 25})},
        ),
        (OFFSET_FETCH, {"groupId": "g"}, {"topics": partitions({"name": "t"}, one)}),
        (OFFSET_FETCH, {}, {"groups": [{"groupId": "h", "topics": partitions({"name": "t"}, one)}]}),
        (OFFSET_FETCH, {"groupId": "g"}, None),
    ) == [
        [said(named, offset=5, offset_epoch=2, error=25, group_id="g"),
         said(by_id, offset=5, offset_epoch=2, group_id="g")],
        [said(named, group_id="g", **told)],
        [said(named, group_id="h", **told)],
        [],
    ]  # fmt: skip


def test_offsets_that_leaders_tell() -> None:
    place = NamedPartition("t", None, 3)
    assert read(
        (
            LIST_OFFSETS,
            {"topics": partitions({"name": "t"}, {"partitionIndex": 3, "currentLeaderEpoch": 1})},
            {"topics": partitions({"name": "t"}, {"partitionIndex": 3, "offset": 8, "leaderEpoch": 1})},
        ),
        (
            OFFSET_FOR_LEADER_EPOCH,
            {"topics": partitions({"topic": "t"}, {"partition": 3, "leaderEpoch": 4})},
            {"topics": partitions({"topic": "t"}, {"partition": 3, "endOffset": 6, "errorCode": 0})},
        ),
    ) == [
        [said(place, leader_epoch=1, error=0, answered=8, answered_epoch=1)],
        [said(place, offset_epoch=4, error=0, answered=6)],
    ]


def test_what_no_broker_writes_says_nothing_and_only_itself() -> None:
    commit = {"groupId": "g", "topics": partitions({"name": "t"}, {"partitionIndex": 0})}
    fine = said(NamedPartition("t", None, 0), group_id="g")
    broken = {"groupId": 5, "topics": "x"}
    # a line that is no object is left out
    lines = [(OFFSET_COMMIT, each, None) for each in (commit, broken, "[]", commit)]
    assert read(*lines) == [[fine], [], [fine]]
    assert read((OFFSET_COMMIT, commit, {"topics": 7}), (OFFSET_COMMIT, commit, {})) == [[], [fine]]


def test_replicas_and_requests_for_all_topics() -> None:
    found = rows(
        (FETCH, {"replicaId": 2}, None),
        (FETCH, {"replicaState": {"replicaId": 3}, "replicaId": -1}, None),
        (FETCH, {"replicaId": -1}, None),
        (METADATA, {"topics": None}, {"topics": "f" * 64}),
        (METADATA, {"topics": []}, {"topics": []}),
    )
    asked = list(each_request(client_requests(found), CLIENT_APIS))
    assert [each.replica_id for each in asked] == [2, 3, -1, -1, -1]
    assert [each.asks_all for each in asked] == [False, False, False, True, False]
    assert [each.topics_digest for each in asked] == [None, None, None, "f" * 64, None]
    assert [each.position for each in each_request(of_clients(found), CLIENT_APIS)] == [2, 3, 4]
