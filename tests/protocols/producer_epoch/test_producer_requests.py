"""The targets of requests of producers, coordinators and brokers, each with its answer."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from fencepost.protocols.producer_epoch.producer_requests import producer_requests
from fencepost.replay.metadata import ClusterMetadata, Sighting, Topics
from fencepost.tables import REQUESTS

COLUMNS = ("transactional_id", "producer_id", "producer_epoch", "topic", "partition", "error")


def _line(api_key: int, version: int, request: Any, response: Any) -> dict[str, Any]:
    return {
        "cluster": "c",
        "logged_at_ms": 1_000,
        "total_time_ms": 2.5,
        "api_key": api_key,
        "api_name": "API",
        "api_version": version,
        "correlation_id": 1,
        "request": request if isinstance(request, str) else json.dumps(request),
        "response": None if response is None else json.dumps(response),
        "line_digest": f"{api_key} {version} {request}",
        "broker_id": 1,
        "file": "request.log",
        "position": 0,
    }


def _rows(*lines: dict[str, Any]) -> list[dict[str, Any]]:
    schema = REQUESTS.arrow_schema
    columns = [pa.array([line.get(each.name) for line in lines], each.type) for each in schema]
    topics = ClusterMetadata(Topics([Sighting("orders", "O" * 22, 0)]))
    return producer_requests(pa.Table.from_arrays(columns, schema=schema), {"c": topics}).to_pylist()


def _values(*lines: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in COLUMNS) for row in _rows(*lines)]


def test_an_old_producer_adds_partitions_itself_and_a_broker_adds_them_for_several() -> None:
    topics = [{"name": "orders", "partitions": [0, 1]}]
    answered = [
        {"partitionIndex": 1, "partitionErrorCode": 0},
        {"partitionIndex": 0, "partitionErrorCode": 47},
    ]
    old = {
        "v3AndBelowTransactionalId": "tx",
        "v3AndBelowProducerId": 7,
        "v3AndBelowProducerEpoch": 2,
        "v3AndBelowTopics": topics,
    }
    results = [{"name": "orders", "resultsByPartition": answered}]
    assert _values(_line(24, 3, old, {"resultsByTopicV3AndBelow": results})) == [
        ("tx", 7, 2, "orders", 0, "INVALID_PRODUCER_EPOCH"),
        ("tx", 7, 2, "orders", 1, "NONE"),
    ]
    several = [
        {"transactionalId": name, "producerId": at, "producerEpoch": 0, "topics": topics[:at]}
        for at, name in enumerate(("nothing", "something"))
    ]
    one = {"transactionalId": "something", "topicResults": results}
    answer = {"errorCode": 0, "resultsByTransaction": [one]}
    assert _values(_line(24, 5, {"transactions": several}, answer)) == [
        ("nothing", 0, 0, None, None, None),
        ("something", 1, 0, "orders", 0, "INVALID_PRODUCER_EPOCH"),
        ("something", 1, 0, "orders", 1, "NONE"),
    ]


def test_a_topic_that_is_named_by_its_id_has_a_name() -> None:
    data = [{"topicId": "O" * 22, "partitionData": [{"index": 3}]}]
    responses = [
        {"topicId": "O" * 22, "partitionResponses": [{"index": 3, "errorCode": 0, "baseOffset": 12}]}
    ]
    (row,) = _rows(_line(0, 13, {"transactionalId": "tx", "topicData": data}, {"responses": responses}))
    assert (row["topic"], row["partition"], row["base_offset"], row["error"]) == ("orders", 3, 12, "NONE")
    assert row["requested_at"].timestamp() * 1000 == 997


def test_the_error_of_an_offset_commit_is_its_first_error() -> None:
    sent = {"transactionalId": "tx", "producerId": 7, "producerEpoch": 0}
    codes = [{"name": "a", "partitions": [{"errorCode": 0}, {"errorCode": 90}]}]
    assert _values(_line(28, 5, sent, {"topics": codes})) == [("tx", 7, 0, None, None, "PRODUCER_FENCED")]
    assert _values(_line(28, 5, sent, None)) == [("tx", 7, 0, None, None, None)]


def test_of_offset_fetches_only_what_a_transaction_held() -> None:
    """Before version 8 an answer is of one group, from 10 on a topic has an id."""

    def asked(version: int, answer: Any, sent: Any = None) -> list[tuple[Any, ...]]:
        columns = ("group_id", "topic", "partition", "transactional_id", "error")
        rows = _rows(_line(9, version, sent or {}, answer))
        return [tuple(row[name] for name in columns) for row in rows]

    partitions = [{"partitionIndex": 0, "errorCode": 0}, {"partitionIndex": 1, "errorCode": 88}]
    held = ("g", "orders", 1, None, "UNSTABLE_OFFSET_COMMIT")
    named, by_id = ({"name": "orders"}, {"topicId": "O" * 22})
    old = {"topics": [{**named, "partitions": partitions}], "errorCode": 0}
    assert asked(7, old, {"groupId": "g"}) == [held]
    for version, topic in ((8, named), (10, by_id)):
        groups = [{"groupId": "g", "topics": [{**topic, "partitions": partitions}]}, {"groupId": "h"}]
        assert asked(version, {"groups": groups}) == [held]
    # a name that says so, and an answer that does not
    quoted = {"groupId": '"errorCode":88', "topics": [{**named, "partitions": partitions[:1]}]}
    assert asked(8, {"groups": [quoted]}) == []
    assert asked(8, None) == []


def test_which_offsets_a_transaction_stored() -> None:
    """From version 6 on (KIP-1319) a topic has an id and no name; one that nothing names is left out."""
    sent = {"transactionalId": "tx", "producerId": 7, "producerEpoch": 0, "groupId": "g"}
    answered = [{"partitionIndex": 0, "errorCode": 0}, {"partitionIndex": 1, "errorCode": 22}]
    (row,) = _rows(_line(28, 5, sent, {"topics": [{"name": "a", "partitions": answered}]}))
    assert (row["group_id"], row["committed_partitions"]) == ("g", ["a:0"])
    by_id = [{"topicId": each * 22, "partitions": answered} for each in "OX"]
    (row,) = _rows(_line(28, 6, sent, {"topics": by_id}))
    assert (row["group_id"], row["committed_partitions"], row["error"]) == (
        "g",
        ["orders:0"],
        "ILLEGAL_GENERATION",
    )


def test_a_line_that_no_broker_wrote_ends_no_run() -> None:
    good = _line(22, 5, {"transactionalId": "tx"}, {"errorCode": 0, "producerId": 7, "producerEpoch": 0})
    half = _line(22, 5, '{"transactionalId": "\\ud800x"}', None)
    bad = [_line(0, 13, {"topicData": 5}, None), _line(24, 5, {"transactions": ["?"]}, None)]
    assert _values(half, *bad, good) == [
        ("?x", -1, -1, None, None, None),
        ("tx", -1, -1, None, None, "NONE"),
    ]
