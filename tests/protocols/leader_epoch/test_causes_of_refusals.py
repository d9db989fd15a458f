"""A cause precedes its effect: refused requests and the metadata log around them, written by hand."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from fencepost.protocols.leader_epoch.answers import Answers
from fencepost.protocols.leader_epoch.apis import QUORUM_APIS
from fencepost.protocols.leader_epoch.clocks import AppliedPosition, Clocks, Moments, Order
from fencepost.protocols.leader_epoch.cluster_evidence import ClusterEvidence
from fencepost.protocols.leader_epoch.cluster_replay import replay
from fencepost.protocols.leader_epoch.fencings import refused_requests
from fencepost.protocols.leader_epoch.lines import ALTER_PARTITION, FETCH
from fencepost.replay.metadata_log import ControllerTerm, MetadataLog
from fencepost.replay.metadata_records import (
    PARTITION,
    PARTITION_CHANGE,
    REMOVE_TOPIC,
    TOPIC,
    MetadataRecord,
)
from fencepost.tables import REQUESTS, TOPIC_ANSWERS, TOPIC_LISTS

VOTE, BEGIN, END = QUORUM_APIS
ID, SHORT = "T" * 22, "S" * 22
_PLACE = {"topic_id": ID, "partition_id": 0}
RECORDS = (
    (1_000, TOPIC, {"name": "t", "topic_id": ID}),
    (1_000, PARTITION, {**_PLACE, "leader": 1, "leader_epoch": 0, "partition_epoch": 0, "isr": [1, 2]}),
    (5_000, PARTITION_CHANGE, {**_PLACE, "isr": [1]}),
    (9_000, PARTITION_CHANGE, {**_PLACE, "leader": 2}),
    (20_000, REMOVE_TOPIC, {"topic_id": ID}),
    (30_000, TOPIC, {"name": "short", "topic_id": SHORT}),
    (30_000, PARTITION, {"topic_id": SHORT, "partition_id": 0, "leader": 1, "leader_epoch": 0}),
    (30_040, REMOVE_TOPIC, {"topic_id": SHORT}),
)
Told = tuple[str | None, int | None, bool]
"""The cause of a refusal, the offset of its record, and whether its time is told."""


def told(api: int, ms: int, sent: dict[str, Any], answer: dict[str, Any], by: int = 1) -> Told:
    """What is told of a request that a broker refused at a time. Broker 1 is the controller; by a record that
    it wrote, and answers, the clock of broker 2 is within 100 ms of its clock.
    """
    records = [MetadataRecord(at, *record) for at, record in enumerate(RECORDS)]
    log = MetadataLog.of_records(records)
    history = replay(MetadataLog(log.pieces, (ControllerTerm(0, 1_000, 30_040, 7, 1),), 8, 30_040, True))
    clocks = Clocks.of([Order(1, 50, 2, 150), Order(2, 50, 1, 150)])
    moments = Moments(history, clocks, 25, [AppliedPosition(2, 2, 3_000, 1)])
    line = {
        "cluster": "c", "broker_id": by, "logged_at_ms": ms, "total_time_ms": 1.0, "api_key": api,
        "api_name": "", "api_version": 13, "correlation_id": 1, "client_id": "x", "connection": "x",
        "request": json.dumps(sent), "response": json.dumps(answer),
        "line_digest": "d", "file": "f", "position": 0,
    }  # fmt: skip
    schema = REQUESTS.arrow_schema
    rows = pa.Table.from_pylist([line], schema)
    (row,) = refused_requests(
        rows,
        {
            "c": ClusterEvidence(
                history, moments, Answers(TOPIC_LISTS.rows([]), TOPIC_ANSWERS.rows([]), history)
            )
        },
    ).to_pylist()
    return row["cause"], row["caused_position"], row["caused_at"] is not None


def alter_partition(version: int, error: int) -> tuple[dict[str, Any], dict[str, Any]]:
    partition = {"partitionIndex": 0, "leaderEpoch": 0, "partitionEpoch": version}
    refused = {"partitionIndex": 0, "errorCode": error}
    sent, answer = ({"topics": [{"topicId": ID, "partitions": [one]}]} for one in (partition, refused))
    return {**sent, "brokerId": 1}, {"errorCode": 0, **answer}


@pytest.mark.parametrize(
    ("ms", "version", "error", "expected"),
    [
        # an older version of the partition, of the same leader epoch: what changed is not its leader
        (5_100, 0, 95, ("partition_change", 2, True)),
        # the change after the presented version was there, whatever the clocks say
        (4_990, 0, 95, ("partition_change", 2, False)),
        (9_100, 0, 74, ("leader_change", 3, True)),
    ],
)
def test_a_refused_alter_partition(ms: int, version: int, error: int, expected: Told) -> None:
    assert told(ALTER_PARTITION, ms, *alter_partition(version, error)) == expected


@pytest.mark.parametrize(
    ("api", "ms", "expected"),
    [
        # nodes vote, and are told the epoch, before its first record is written
        (VOTE, 3_000, ("controller_change", None, False)),
        (BEGIN, 980, ("controller_change", None, False)),
        (END, 3_000, ("controller_change", 0, True)),
    ],
)
def test_a_node_of_an_epoch_of_before(api: int, ms: int, expected: Told) -> None:
    def of(**partition: Any) -> dict[str, Any]:
        topic = {"topicName": "__cluster_metadata", "partitions": [{"partitionIndex": 0, **partition}]}
        return {"topics": [topic]}

    sent = of(candidateEpoch=6, candidateId=2, leaderEpoch=6, leaderId=2)
    answer = {"errorCode": 0, **of(errorCode=74, leaderEpoch=7, leaderId=1)}
    assert told(api, ms, sent, answer) == expected


@pytest.mark.parametrize(
    ("ms", "topic_id", "expected"),
    [
        # the broker did not know the topic yet
        (3_500, ID, ("stale_metadata", None, False)),
        # it had known it: the topic was deleted by then, though another clock dated the deletion
        (19_950, ID, ("topic_deleted", 4, False)),
        (20_200, ID, ("topic_deleted", 4, True)),
        # either of them
        (30_060, SHORT, (None, None, False)),
    ],
)
def test_a_refused_topic_id(ms: int, topic_id: str, expected: Told) -> None:
    sent = {"topics": [{"topicId": topic_id, "partitions": [{"partition": 0, "fetchOffset": 0}]}]}
    answer = {"responses": [{"topicId": topic_id, "partitions": [{"partitionIndex": 0, "errorCode": 100}]}]}
    assert told(FETCH, ms, sent, answer, by=2) == expected
