"""Logs written by hand: a case is a list of batches and requests; every case becomes a cluster of its own.

So one run of the rebuild settles any number of cases. Their format: ``cases/README.md``.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from fencepost import lake
from fencepost.rebuild import stretches, topics, transactions
from fencepost.rebuild.frames import OFFSETS_TOPIC
from fencepost.rebuild.records import COMMIT_RECORD, GROUP_FIELDS, PLACE, group_columns
from fencepost.rebuild.run import Evidence, histories

CASES = Path(__file__).with_name("cases")
_COMPLETE = (
    "partition_moves", "release_without_rise", "lives", "rejoin", "window", "same_commits", "classic",
    "streams", "conversion", "two_clocks",
)  # fmt: skip
_ANSWERED = ("classic",)
_FATES = ("lost", "thinned", "unreadable")
_COMBINATIONS_PER_CASE = 20

Tables = dict[str, dict[str, list[Row]]]
TOLERANCE_MS = 5
_BATCH_KEY = "cluster string, coordinator_partition int, base_offset bigint, leader_epoch int"
_ERRORS = {
    "NONE": 0, "UNKNOWN_TOPIC_OR_PARTITION": 3, "COORDINATOR_LOAD_IN_PROGRESS": 14, "ILLEGAL_GENERATION": 22,
    "UNKNOWN_MEMBER_ID": 25, "REBALANCE_IN_PROGRESS": 27, "STALE_MEMBER_EPOCH": 113,
}  # fmt: skip
_TOPIC_IDS = {"orders": "O" * 22, "audit": "U" * 22}


@dataclass
class _Bronze:
    """Rows for the rebuild's inputs, by column name."""

    batches: list[dict[str, Any]] = field(default_factory=list)
    groups: list[dict[str, Any]] = field(default_factory=list)
    commits: list[dict[str, Any]] = field(default_factory=list)
    undecodable: list[dict[str, Any]] = field(default_factory=list)
    markers: list[dict[str, Any]] = field(default_factory=list)
    cleaned: list[dict[str, Any]] = field(default_factory=list)
    metadata: list[dict[str, Any]] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)


@pytest.fixture(scope="session")
def thinned() -> dict[str, tuple[str, dict[str, Any]]]:
    """Cases with evidence taken away: {cluster: (name of the case, case)}. Of cases that lack none."""
    found = {}
    for name in _COMPLETE:
        for number, case in enumerate(_thinned(name, _case(name))):
            found[f"{name} {number}"] = (name, case)
    return found


@pytest.fixture(scope="session")
def unanswered() -> dict[str, tuple[str, dict[str, Any]]]:
    """Cases without some of the answers to members: {cluster: (name of the case, case)}."""
    found = {}
    for name in _ANSWERED:
        case, chance = _case(name), random.Random(name)
        lines = [at for at, request in enumerate(case["requests"]) if "api" in request]
        subsets = [[at] for at in lines] + [chance.sample(lines, k=len(lines) // 2) for _ in range(10)]
        for number, lost in enumerate([*subsets, lines]):
            kept = [request for at, request in enumerate(case["requests"]) if at not in lost]
            found[f"{name} unanswered {number}"] = (name, {**case, "requests": kept})
    return found


@pytest.fixture(scope="session")
def rebuilt(
    spark: SparkSession,
    thinned: dict[str, tuple[str, dict[str, Any]]],
    unanswered: dict[str, tuple[str, dict[str, Any]]],
) -> Tables:
    """What one rebuild makes of every case and what is left of it: {cluster: {table: rows}}."""
    cases = {path.stem: _case(path.stem) for path in CASES.glob("*.json")}
    cases |= {cluster: case for cluster, (_, case) in (thinned | unanswered).items()}
    bronze = _Bronze()
    for cluster, case in cases.items():
        _write_log(bronze, cluster, case)
        _write_metadata(bronze, cluster, case)
        for number, request in enumerate(case["requests"]):
            bronze.requests.append(_request(cluster, number, request))
    tables: Tables = {cluster: {} for cluster in cases}
    for table, rows in histories(_evidence(spark, bronze), TOLERANCE_MS):
        for cluster in tables:
            tables[cluster][table.name] = []
        for row in lake.align(rows, table).collect():
            tables[row["cluster"]][table.name].append(row)
    return tables


def _case(name: str) -> dict[str, Any]:
    case: dict[str, Any] = json.loads((CASES / f"{name}.json").read_text(encoding="utf-8"))
    return case


def _thinned(name: str, case: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The case without each of its batches, and without random combinations of batches and records.

    The newest batch always stays, or nobody could tell that one is missing.
    """
    last = len(case["batches"]) - 1
    for at in range(last):
        yield _without(case, [(at, "lost", 0)])
    chance = random.Random(name)
    for _ in range(_COMBINATIONS_PER_CASE):
        chosen = chance.sample(range(last), k=chance.randint(1, max(1, last // 2)))
        fates = [(at, chance.choice(_FATES), chance.randrange(99)) for at in chosen]
        yield _without(case, fates)


def _without(case: Mapping[str, Any], fates: list[tuple[int, str, int]]) -> dict[str, Any]:
    thinned: dict[str, Any] = copy.deepcopy(dict(case))
    for at, fate, record in fates:
        batch = thinned["batches"][at]
        if fate == "lost":
            batch["lost"] = True
        else:
            records = batch["records"]
            records[record % len(records)]["lost" if fate == "thinned" else "unreadable"] = True
    return thinned


def _evidence(spark: SparkSession, bronze: _Bronze) -> Evidence:
    of_groups = partial(stretches.of_coordinators, topic=OFFSETS_TOPIC)
    batches = of_groups(_frame(spark, bronze.batches, lake.BATCHES.ddl))
    whole = stretches.whole_batches(batches, _frame(spark, bronze.undecodable, _BATCH_KEY))
    cleaned = of_groups(_frame(spark, bronze.cleaned, lake.CLEANED.ddl))
    known = stretches.batches_in_stretches(whole, cleaned).localCheckpoint()
    place = _ddl(PLACE)
    fields = _ddl({f"v_{name}": kind for name, kind in GROUP_FIELDS.items()})
    commit_ddl = ", ".join(f"{name} {kind}" for name, kind in COMMIT_RECORD.items())
    meta = _ddl({f"v_{name}": kind for name, kind in topics.FIELDS.items()})
    return Evidence(
        known,
        stretches.stretches(
            known, of_groups(stretches.unread_pieces(_frame(spark, [], lake.QUARANTINE.ddl)))
        ).localCheckpoint(),
        group_columns(_frame(spark, bronze.groups, f"{place}, tombstone boolean, {fields}")),
        _frame(spark, bronze.commits, commit_ddl),
        transactions.markers(_frame(spark, bronze.markers, lake.RECORDS.ddl), known),
        _frame(spark, bronze.metadata, f"{place}, tombstone boolean, {meta}"),
        _frame(spark, [], topics.RELEASES),
        _frame(spark, bronze.requests, lake.REQUESTS.ddl),
    )


def _ddl(columns: Mapping[str, Any]) -> str:
    schema = from_arrow_schema(pa.schema(list(columns.items())))
    return ", ".join(f"{column.name} {column.dataType.simpleString()}" for column in schema)


def _frame(spark: SparkSession, rows: Iterable[dict[str, Any]], ddl: str) -> DataFrame:
    empty = spark.createDataFrame([], ddl)
    names = empty.columns
    values = [tuple(row.get(name) for name in names) for row in rows]
    return spark.createDataFrame(values, empty.schema).coalesce(1) if values else empty


def _write_log(bronze: _Bronze, cluster: str, case: Mapping[str, Any]) -> None:
    offset = case.get("log_start", 0)
    if "cleaned_to" in case:
        place = {"cluster": cluster, "topic": "__consumer_offsets", "partition": 0}
        bronze.cleaned.append({**place, "broker_id": 1, "cleaned_to": case["cleaned_to"]})
    for batch in case["batches"]:
        records = batch["records"]
        offset = batch.get("base_offset", offset)
        place = {
            "cluster": cluster,
            "partition": 0,
            "coordinator_partition": 0,
            "leader_epoch": batch.get("leader_epoch", 0),
            "base_offset": offset,
            "last_offset": offset + len(records) - 1,
            "producer_id": batch.get("producer", -1),
            "producer_epoch": 0 if "producer" in batch else -1,
            "is_transactional": "producer" in batch,
        }
        if not batch.get("lost"):
            ms = batch["ms"]
            kept = [at for at, record in enumerate(records) if not record.get("lost")]
            bronze.batches.append(
                {**place, "topic": "__consumer_offsets", "record_count": len(kept), "max_timestamp_ms": ms,
                 "file": "log", "position": offset}
            )  # fmt: skip
            if any(record.get("unreadable") for record in records):
                bronze.undecodable.append(place)
            for at in kept:
                _write_record(
                    bronze, {**place, "record_offset": offset + at, "timestamp_ms": ms}, records[at]
                )
        offset += len(records)


def _write_record(bronze: _Bronze, place: dict[str, Any], record: Mapping[str, Any]) -> None:
    if record.get("unreadable"):
        return
    if "marker" in record:
        bronze.markers.append(
            {**place, "topic": "__consumer_offsets", "is_control": True,
             "record_type": {"aborted": 0, "committed": 1}[record["marker"]]}
        )  # fmt: skip
        return
    if "commit" in record:
        topic, partition, committed = record["commit"]
        bronze.commits.append(
            {**place, "group_id": record["group"], "topic": topic, "topic_id": _TOPIC_IDS[topic],
             "partition": partition, "committed_offset": committed, "committed_leader_epoch": -1,
             "tombstone": record.get("tombstone", False)}
        )  # fmt: skip
        return
    epoch = {2: "v_generation", 3: "v_epoch", 6: "v_assignment_epoch", 11: "v_epoch", 17: "v_epoch"}
    epoch |= {20: "v_assignment_epoch"}
    member = record["type"] in (8, 14, 22)
    bronze.groups.append(
        {
            **place,
            "record_type": record["type"],
            "tombstone": record.get("tombstone", False),
            "v_group_id": record["group"],
            "v_member_id": record.get("member"),
            "v_client_id": record.get("client_id"),
            "v_instance_id": record.get("instance_id"),
            "v_member_epoch": record.get("epoch") if member else None,
            "v_previous_member_epoch": record.get("previous"),
            "v_state": record.get("state", 0) if member else None,
            "v_members": _classic_members(record.get("members")),
            "v_classic_member_metadata": (10_000, []) if record.get("speaks_classic") else None,
            "v_subtopologies": _topology(record.get("topology")),
            "v_active_tasks": _tasks(record.get("active")),
            "v_active_tasks_pending_revocation": _tasks(record.get("active_pending", [] if member else None)),
            "v_assigned_partitions": _assigned(record.get("assigned")),
            "v_partitions_pending_revocation": _assigned(record.get("pending", [] if member else None)),
            **({epoch[record["type"]]: record.get("epoch")} if record["type"] in epoch else {}),
        }
    )


def _assigned(topics: list[Any] | None) -> list[Any] | None:
    """[[topic, [partitions], [epochs] or null], ...] as the record's structs."""
    if topics is None:
        return None
    return [(_TOPIC_IDS[name], partitions, epochs) for name, partitions, epochs in topics]


def _tasks(tasks: list[Any] | None) -> list[Any] | None:
    """[[subtopology, [partitions], [epochs] or null], ...] as the record's structs."""
    return None if tasks is None else [tuple(task) for task in tasks]


def _topology(topology: dict[str, list[str]] | None) -> list[Any] | None:
    """{subtopology: [source topics]} as the record's structs."""
    if topology is None:
        return None
    return [
        {"subtopology_id": name, "source_topics": topics, "repartition_source_topics": []}
        for name, topics in topology.items()
    ]


def _classic_members(members: dict[str, list[Any]] | None) -> list[Any] | None:
    """{member: [[topic, [partitions]], ...]} as the record's structs."""
    if members is None:
        return None
    return [
        (member, None, f"client-{member}", [tuple(t) for t in topics]) for member, topics in members.items()
    ]


def _write_metadata(bronze: _Bronze, cluster: str, case: Mapping[str, Any]) -> None:
    place = {"cluster": cluster, "partition": 0, "record_offset": 0, "timestamp_ms": 0, "tombstone": False}
    version = case.get("metadata_version", 30)
    if version is not None:
        features = [("metadata.version", 7, version)]
        for broker in case.get("brokers", [1]):
            bronze.metadata.append({**place, "record_type": 0, "v_broker_id": broker, "v_features": features})
    for name, topic_id in {**_TOPIC_IDS, "__consumer_offsets": "C" * 22}.items():
        bronze.metadata.append({**place, "record_type": 2, "v_name": name, "v_topic_id": topic_id})
    bronze.metadata.append({**place, "record_type": 3, "v_topic_id": "C" * 22, "v_partition_id": 0})


_APIS = {"join": 11, "heartbeat": 12, "leave": 13, "sync": 14, "commit": 8, "txn_commit": 28}


def _request(cluster: str, number: int, request: Mapping[str, Any]) -> dict[str, Any]:
    start, end = request["ms"]
    api = request.get("api", "commit")
    body, answer = _commit(request) if api.endswith("commit") else _of_member(api, request)
    return {
        "cluster": cluster,
        "broker_id": request.get("broker", 1),
        "logged_at_ms": end,
        "total_time_ms": float(end - start),
        "api_key": _APIS[api],
        "api_version": 9 if request.get("by_name") else 10,
        "correlation_id": number,
        "client_id": "client",
        "request": json.dumps(body),
        "response": json.dumps(answer),
        "line_digest": f"line {number}",
        "file": "request.log",
        "position": number,
    }


def _of_member(api: str, request: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """JoinGroup, SyncGroup, Heartbeat or LeaveGroup of a classic member, answered without error."""
    member, generation = request["member"], request.get("generation", -1)
    body: dict[str, Any] = {"groupId": request["group"], "memberId": member, "generationId": generation}
    answer: dict[str, Any] = {"errorCode": 0}
    if api == "join":
        answer |= {"generationId": generation, "memberId": member}
    if api == "leave":
        body = {"groupId": request["group"], "members": [{"memberId": member}]}
        answer |= {"members": [{"memberId": member, "errorCode": 0}]}
    return body, answer


def _commit(request: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    asked, answered = [], []
    for topic, partition, committed, error in request["commits"]:
        name = {"name": topic} if topic in _TOPIC_IDS and request.get("by_name") else {}
        name = name or {"topicId": _TOPIC_IDS.get(topic, "X" * 22)}
        asked.append(
            {**name, "partitions": [
                {"partitionIndex": partition, "committedOffset": committed, "committedLeaderEpoch": -1}]}
        )  # fmt: skip
        answered.append({**name, "partitions": [{"partitionIndex": partition, "errorCode": _ERRORS[error]}]})
    body = {"groupId": request["group"], "memberId": request.get("member", ""), "topics": asked}
    body["groupInstanceId"] = request.get("instance")
    if request.get("api") == "txn_commit":
        body |= {"generationId": request.get("epoch", -1), "transactionalId": "tx", "producerEpoch": 0}
        body["producerId"] = request["producer"]
    else:
        body["generationIdOrMemberEpoch"] = request.get("epoch", -1)
    return body, {"topics": answered}
