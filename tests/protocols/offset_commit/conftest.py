"""Logs written by hand: a case is a list of batches and requests, and is replayed as a log of its own.

Their format: ``cases/README.md``.
"""

from __future__ import annotations

import copy
import json
import random
import struct
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from fencepost.capture.plan import REQUEST_LOG, SEGMENT, Source
from fencepost.capture.readers import read_all
from fencepost.protocols.offset_commit.commit_lines import commit_lines
from fencepost.protocols.offset_commit.member_lines import HEARTBEAT_APIS, heartbeat_answer, member_lines
from fencepost.protocols.offset_commit.replay import replay
from fencepost.protocols.offset_commit.request_columns import Requests
from fencepost.protocols.offset_commit.requests import COMMIT_APIS
from fencepost.protocols.offset_commit.shard import ShardEvidence
from fencepost.replay.coordinator_logs import Incarnation
from fencepost.replay.entities import tuples
from fencepost.replay.group_coordinator import shards
from fencepost.replay.group_coordinator.decoding import sightings
from fencepost.replay.group_coordinator.evidence import ShardRows
from fencepost.replay.group_coordinator.records import (
    COMMIT_RECORDS,
    ClassicMember,
    GroupRecord,
    Marker,
    Owned,
    Subtopology,
    owned_partitions,
    owned_tasks,
)
from fencepost.replay.group_coordinator.requests import CLASSIC_APIS
from fencepost.replay.keys import OFFSETS_TOPIC, digest_of
from fencepost.replay.log_ends import LogEnd
from fencepost.replay.logs import BATCH_COLUMNS, Batches, Log
from fencepost.replay.metadata import ClusterMetadata, Moment, Sighting
from fencepost.replay.metadata_log import MetadataLog, metadata_log
from fencepost.replay.metadata_records import PARTITION, REGISTER_BROKER, TOPIC, MetadataRecord
from fencepost.replay.placement import Placement
from fencepost.replay.requests import RequestLine
from fencepost.settings import load
from fencepost.tables import BATCHES, CLEANED, QUARANTINE, RECORDS, REQUESTS

CASES = Path(__file__).with_name("cases")
_COMPLETE = (
    "partition_moves", "release_without_rise", "lives", "rejoin", "window", "same_commits", "classic",
    "streams", "conversion", "left_before_conversion", "two_clocks", "rebalance",
)  # fmt: skip
_ANSWERED = ("classic", "rebalance")
_FATES = ("lost", "thinned", "unreadable")
_COMBINATIONS_PER_CASE = 20

Case = dict[str, Any]
Tables = dict[str, dict[str, list[SimpleNamespace]]]
TOLERANCE_MS = 5
_ERRORS = {
    "NONE": 0, "UNKNOWN_TOPIC_OR_PARTITION": 3, "COORDINATOR_LOAD_IN_PROGRESS": 14,
    "COORDINATOR_NOT_AVAILABLE": 15, "NOT_COORDINATOR": 16, "ILLEGAL_GENERATION": 22, "UNKNOWN_MEMBER_ID": 25,
    "REBALANCE_IN_PROGRESS": 27, "UNSUPPORTED_VERSION": 35, "GROUP_ID_NOT_FOUND": 69,
    "MEMBER_ID_REQUIRED": 79, "FENCED_INSTANCE_ID": 82,
    "STALE_MEMBER_EPOCH": 113,
}  # fmt: skip
_LISTED = {"orders": "O" * 22, "audit": "U" * 22}
"""The topics that the metadata log has."""
_TOPIC_IDS = {**_LISTED, "unlisted": "V" * 22}


@pytest.fixture(scope="session")
def cases() -> dict[str, Case]:
    """Every case as it is written: {its name: case}."""
    return {path.stem: _case(path.stem) for path in CASES.glob("*.json")}


@pytest.fixture(scope="session")
def thinned() -> dict[str, tuple[str, Case]]:
    """Cases with evidence taken away: {cluster: (name of the case, case)}. Of cases that lack none."""
    found = {}
    for name in _COMPLETE:
        for number, case in enumerate(_thinned(name, _case(name))):
            found[f"{name} {number}"] = (name, case)
    return found


@pytest.fixture(scope="session")
def unanswered() -> dict[str, tuple[str, Case]]:
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
def replayed(
    cases: dict[str, Case], thinned: dict[str, tuple[str, Case]], unanswered: dict[str, tuple[str, Case]]
) -> Tables:
    """What the replay makes of every case and of what is left of it: {cluster: {table: rows}}."""
    given = cases | {cluster: case for cluster, (_, case) in (thinned | unanswered).items()}
    return {cluster: _tables(cluster, case) for cluster, case in given.items()}


def _case(name: str) -> Case:
    case: Case = json.loads((CASES / f"{name}.json").read_text(encoding="utf-8"))
    return case


def _thinned(name: str, case: Mapping[str, Any]) -> Iterator[Case]:
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


def _without(case: Mapping[str, Any], fates: list[tuple[int, str, int]]) -> Case:
    thinned: Case = copy.deepcopy(dict(case))
    for at, fate, record in fates:
        batch = thinned["batches"][at]
        if fate == "lost":
            batch["lost"] = True
        else:
            records = batch["records"]
            records[record % len(records)]["lost" if fate == "thinned" else "unreadable"] = True
    return thinned


@pytest.fixture(scope="session")
def bronze_of() -> Callable[[Path], dict[str, pa.Table]]:
    """Reads bronze of a folder with a cluster's logs and its ``fencepost.toml``: {table: rows}, every
    replica's.
    """
    return _bronze


def _bronze(folder: Path) -> dict[str, pa.Table]:
    (cluster,) = load(folder / "fencepost.toml").clusters
    found: dict[str, list[pa.RecordBatch]] = {}
    for broker in cluster.brokers:
        root, at = folder / f"broker-{broker.id}", (cluster.name, broker.id)
        sources = []
        for file in sorted((root / "log_dir").glob("__c*/*.log")):
            topic, _, partition = file.parent.name.rpartition("-")
            place = {"topic": topic, "topic_id": None, "partition": int(partition)}
            sources.append(Source(*at, SEGMENT, str(file), end=file.stat().st_size, **place))
        for file in sorted(root.glob("kafka-request.log*")):
            end = file.stat().st_size
            sources.append(Source(*at, REQUEST_LOG, str(file), end=end, timezone=broker.timezone))
        for table, rows in read_all(sources):
            found.setdefault(table.name, []).append(rows)
    tables = (BATCHES, RECORDS, REQUESTS)
    none = {name: pa.array([], pa.string()) for name in ("cluster", "topic", "kind", "file")}
    none |= {name: pa.array([], pa.int64()) for name in ("position", "cleaned_to")}
    empty = pa.table({**none, "partition": pa.array([], pa.int32())})
    read = {table.name: pa.Table.from_batches(found[table.name]) for table in tables}
    return {**read, CLEANED.name: empty, QUARANTINE.name: empty}


Shards = Callable[[dict[str, pa.Table]], tuple[list[ShardRows], ClusterMetadata]]


@pytest.fixture(scope="session")
def shards_of() -> Shards:
    """Splits bronze of one cluster: the rows of each coordinator's log, and its metadata."""
    return _shards


def _shards(bronze: dict[str, pa.Table]) -> tuple[list[ShardRows], ClusterMetadata]:
    (cluster,) = set(bronze[RECORDS.name]["cluster"].to_pylist())
    log = metadata_log(bronze[BATCHES.name], bronze[RECORDS.name], bronze[QUARANTINE.name])
    metadata = {cluster: ClusterMetadata.of(log)}
    placement = Placement.of(OFFSETS_TOPIC, metadata, [shards.seen_places(bronze[RECORDS.name])])
    of: dict[str, Callable[[pa.Table], pa.Array]] = {
        BATCHES.name: shards.shards_of_log,
        RECORDS.name: shards.shards_of_log,
        REQUESTS.name: lambda rows: shards.shards_of_requests(rows, placement),
        QUARANTINE.name: shards.shards_of_quarantine,
        CLEANED.name: shards.shards_of_log,
    }
    names = {name: of[name](rows).to_pylist() for name, rows in bronze.items()}
    parts = []
    for shard in sorted({shard for each in names.values() for shard in each if shard is not None}):
        tables = [
            bronze[name].filter(pa.array([each == shard for each in names[name]], pa.bool_())) for name in of
        ]
        parts.append(ShardRows(cluster, int(shard.rpartition("/")[2]), *tables))
    seen = [Sighting(*row) for row in tuples(sightings(bronze[RECORDS.name]).drop_columns("cluster"))]
    return parts, ClusterMetadata.of(log, seen)


Decode = Callable[..., tuple[ShardEvidence, ClusterMetadata]]


@pytest.fixture(scope="session")
def decode() -> Decode:
    """A case as the evidence of partition 0 of ``__consumer_offsets``, and what its metadata log says.

    With ``chance`` (random.Random) the evidence is in any order.
    """
    return _decoded


def _decoded(
    cluster: str, case: Case, chance: random.Random | None = None
) -> tuple[ShardEvidence, ClusterMetadata]:
    metadata = _metadata(case)
    lines = [_line(cluster, number, request) for number, request in enumerate(case["requests"])]
    records = list(_records(case))
    batches = _rows_of_batches(case)
    if chance is not None:
        for each in (lines, records, batches):
            chance.shuffle(each)
    commits = commit_lines(_rows_of_lines(cluster, lines), metadata.topics)
    cleaned = "cleaned_to" in case
    members = [member_lines(line, with_assignments=cleaned) for line in lines if line.api_key in CLASSIC_APIS]
    heartbeats = [heartbeat_answer(line) for line in lines if line.api_key in HEARTBEAT_APIS]
    log = _log(case, batches)
    evidence = ShardEvidence(
        cluster,
        0,
        log,
        [record for record in records if isinstance(record, GroupRecord)],
        pa.Table.from_pylist([each for each in records if isinstance(each, dict)], COMMIT_RECORDS),
        [record for record in records if isinstance(record, Marker)],
        Requests(commits),
        [line for each in members for line in each],
        [answer for answer in heartbeats if answer is not None],
        {"request.log": case.get("unread_lines", [])},
        incarnation=Incarnation(created=Moment(0, None)),
        end=LogEnd(case.get("ended_at", int(log.last_offset.max()) + 1 if len(log) else 0)),
    )
    return evidence, metadata


def _metadata(case: Case) -> ClusterMetadata:
    """What a case's metadata log says: its brokers' starts and its topics."""
    records: list[MetadataRecord] = []
    version = case.get("metadata_version", 30)
    if version is not None:
        features = [{"name": "metadata.version", "max_supported_version": version}]
        for broker in case.get("brokers", [1]):
            fields = {"broker_id": broker, "features": features}
            records.append(MetadataRecord(0, 0, REGISTER_BROKER, fields))
    for name, topic_id in {**_LISTED, OFFSETS_TOPIC: "C" * 22}.items():
        records.append(MetadataRecord(0, 0, TOPIC, {"name": name, "topic_id": topic_id}))
    records.append(MetadataRecord(0, 0, PARTITION, {"topic_id": "C" * 22, "partition_id": 0}))
    for at, (name, ms) in enumerate(case.get("created_again", {}).items(), 1):
        records.append(MetadataRecord(at, ms, TOPIC, {"name": name, "topic_id": "N" * 22}))
    return ClusterMetadata.of(MetadataLog.of_records(records))


def _tables(cluster: str, case: Case) -> dict[str, list[SimpleNamespace]]:
    """The rows that the replay of a case gives, by table."""
    tables = replay(*_decoded(cluster, case), TOLERANCE_MS)
    return {name: [SimpleNamespace(**row) for row in table.to_pylist()] for name, table in tables.items()}


def _batches(case: Mapping[str, Any]) -> Iterator[tuple[dict[str, int], Mapping[str, Any]]]:
    """Every batch that is there, with the place that its records share."""
    offset = case.get("log_start", 0)
    for batch in case["batches"]:
        offset = batch.get("base_offset", offset)
        place = {
            "base_offset": offset,
            "last_offset": offset + len(batch["records"]) - 1,
            "leader_epoch": batch.get("leader_epoch", 0),
        }
        if not batch.get("lost"):
            yield place, batch
        offset += len(batch["records"])


def _rows_of_batches(case: Case) -> list[dict[str, Any]]:
    rows = []
    for place, batch in _batches(case):
        kept = [record for record in batch["records"] if not record.get("lost")]
        rows.append(
            {**place, "record_count": len(kept), "max_timestamp_ms": batch["ms"], "file": "log",
             "position": place["base_offset"]}
        )  # fmt: skip
    return rows


def _log(case: Case, rows: list[dict[str, Any]]) -> Log:
    damaged = {
        (place["base_offset"], place["leader_epoch"])
        for place, batch in _batches(case)
        if any(record.get("unreadable") and not record.get("lost") for record in batch["records"])
    }
    columns = {name: pa.array([row[name] for row in rows]) for name in BATCH_COLUMNS}
    cleaned_to = [case["cleaned_to"]] if "cleaned_to" in case else []
    return Log(Batches.of(pa.table(columns)), damaged=damaged, cleaned_to=cleaned_to)


def _records(case: Mapping[str, Any]) -> Iterator[GroupRecord | dict[str, Any] | Marker]:
    """The records of a case; a commit is a row of COMMIT_RECORDS."""
    for place, batch in _batches(case):
        for at, record in enumerate(batch["records"]):
            if not record.get("lost") and not record.get("unreadable"):
                where = {**place, "offset": place["base_offset"] + at, "timestamp_ms": batch["ms"]}
                yield _record(where, record, batch.get("producer"))


def _record(
    where: dict[str, int], record: Mapping[str, Any], producer: int | None
) -> GroupRecord | dict[str, Any] | Marker:
    if "marker" in record:
        return Marker(**where, producer_id=-1 if producer is None else producer, outcome=record["marker"])
    if "commit" not in record:
        return _group_record(where, record)
    topic, partition, committed = record["commit"]
    return {
        **where,
        "group_id": record["group"],
        "topic": topic,
        "partition": partition,
        "topic_id": _TOPIC_IDS[topic],
        "committed_offset": committed,
        "committed_leader_epoch": -1,
        "producer_id": -1 if producer is None else producer,
        "producer_epoch": -1 if producer is None else 0,
        "is_transactional": producer is not None,
        "tombstone": record.get("tombstone", False),
    }


def _group_record(where: dict[str, int], record: Mapping[str, Any]) -> GroupRecord:
    of_member = record["type"] in (8, 14, 22)
    members, topology = record.get("members"), record.get("topology")
    return GroupRecord(
        **where,
        type=record["type"],
        group_id=record["group"],
        member_id=record.get("member"),
        tombstone=record.get("tombstone", False),
        epoch=None if of_member else record.get("epoch"),
        classic_members=None if members is None else [
            ClassicMember(member, record.get("instances", {}).get(member), f"client-{member}", topics)
            for member, topics in members.items()
        ],
        topology=None if topology is None else [
            Subtopology(name, frozenset(topics)) for name, topics in topology.items()
        ],
        client_id=record.get("client_id"),
        instance_id=record.get("instance_id"),
        speaks_classic=bool(record.get("speaks_classic")),
        member_epoch=record.get("epoch") if of_member else None,
        previous_member_epoch=record.get("previous"),
        state=record.get("state", 0) if of_member else None,
        owned=_owned(record),
    )  # fmt: skip


def _owned(record: Mapping[str, Any]) -> Sequence[Owned]:
    if record.get("epoch") is None:
        return ()
    if record["type"] == 22:
        return owned_tasks(record.get("active") or (), record.get("active_pending") or (), record["epoch"])
    assigned, pending = (
        [(_TOPIC_IDS[name], partitions, epochs) for name, partitions, epochs in record.get(field) or ()]
        for field in ("assigned", "pending")
    )
    return owned_partitions(assigned, pending, record["epoch"]) if record["type"] == 8 else ()


_APIS = {"join": 11, "heartbeat": 12, "leave": 13, "sync": 14, "commit": 8, "txn_commit": 28, "member": 68}


def _line(cluster: str, number: int, request: Mapping[str, Any]) -> RequestLine:
    start, end = request["ms"]
    number = request.get("number", number)
    api, broker = request.get("api", "commit"), request.get("broker", 1)
    body, answer = _commit(request) if api.endswith("commit") else _of_member(api, request)
    return RequestLine(
        request_id=digest_of(cluster, broker, f"line {number}"),
        broker_id=broker,
        api_key=_APIS[api],
        api_version=request.get("version", 5 if api == "txn_commit" else 9 if request.get("by_name") else 10),
        correlation_id=number,
        client_id="client",
        connection=request.get("connection"),
        requested_ms=start,
        responded_ms=end,
        sent=body,
        answer=answer,
        file=request.get("file", "request.log"),
        position=number,
    )


def _rows_of_lines(cluster: str, lines: Sequence[RequestLine]) -> pa.Table:
    """Rows of ``bronze.requests`` of lines with commits."""
    rows = [
        {
            **{name: getattr(line, name) for name in REQUESTS.columns if hasattr(line, name)},
            "cluster": cluster,
            "line_digest": f"line {line.position}",
            "logged_at_ms": line.responded_ms,
            "total_time_ms": line.responded_ms - line.requested_ms,
            "request": json.dumps(line.sent),
            "response": None if line.answer is None else json.dumps(line.answer),
        }
        for line in lines
        if line.api_key in COMMIT_APIS
    ]
    return pa.Table.from_pylist(rows, schema=REQUESTS.arrow_schema)


def _of_member(api: str, request: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a member was answered: JoinGroup, SyncGroup, Heartbeat or LeaveGroup of a classic
    one, ConsumerGroupHeartbeat of another.
    """
    if api == "member":
        presented = 0 if request.get("joins") else request.get("presented", request["epoch"])
        body = {"groupId": request["group"], "memberId": request["member"], "memberEpoch": presented}
        answer = {"errorCode": 0, "memberId": request["member"], "memberEpoch": request["epoch"]}
        if "assigned" in request:
            listed = [{"topicId": _TOPIC_IDS[name], "partitions": ps} for name, ps in request["assigned"]]
            answer["assignment"] = {"topicPartitions": listed}
        return body, answer
    member, generation = request["member"], request.get("generation", -1)
    body: dict[str, Any] = {"groupId": request["group"], "memberId": member, "generationId": generation}
    body["groupInstanceId"] = request.get("instance")
    answer: dict[str, Any] = {"errorCode": _ERRORS[request.get("error", "NONE")]}
    if api == "join":
        answer |= {"generationId": generation, "memberId": member}
        body["memberId"] = "" if request.get("new") else member
        body |= {"sessionTimeoutMs": request.get("session"), "rebalanceTimeoutMs": request.get("rebalance")}
    if api == "sync" and "assigned" in request:
        assignment = _consumer_assignment(request["assigned"])
        answer |= {"protocolType": "consumer", "assignment": b64encode(assignment).decode()}
    if api == "sync":
        body["assignments"] = [
            {"memberId": each, "assignment": b64encode(_consumer_assignment(assigned)).decode()}
            for each, assigned in request.get("assigns", {}).items()
        ]
    if api == "leave":
        body = {"groupId": request["group"], "members": [{"memberId": member}]}
        answer |= {"members": [{"memberId": member, "errorCode": 0}]}
    return body, answer


def _consumer_assignment(assigned: Sequence[tuple[str, Sequence[int]]]) -> bytes:
    """ConsumerProtocolAssignment v0 with its version in front: topics with partitions, no user data."""
    topics = b"".join(
        struct.pack(
            f">h{len(name)}si{len(partitions)}i", len(name), name.encode(), len(partitions), *partitions
        )
        for name, partitions in assigned
    )
    return struct.pack(">hi", 0, len(assigned)) + topics + struct.pack(">i", -1)


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
