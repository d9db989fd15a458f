"""Logs of classic groups written by hand, as bytes that members really send: ``cases/README.md``."""

from __future__ import annotations

import json
import struct
from base64 import b64encode
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from fencepost.protocols.ownership_claim.joins import read_lines
from fencepost.protocols.ownership_claim.members import MemberOfGeneration
from fencepost.protocols.ownership_claim.rebalance import CoordinatorLine
from fencepost.protocols.ownership_claim.records import GenerationRecord
from fencepost.protocols.ownership_claim.shard import ShardEvidence, replay_shard
from fencepost.protocols.ownership_claim.subscriptions import (
    SentSubscription,
    read_assignments,
    read_subscriptions,
)
from fencepost.replay.group_coordinator.requests import HEARTBEAT, JOIN_GROUP, SYNC_GROUP
from fencepost.replay.keys import OFFSETS_TOPIC
from fencepost.replay.logs import BATCH_COLUMNS, Batches, Log
from fencepost.replay.metadata import ClusterMetadata
from fencepost.replay.metadata_log import MetadataLog
from fencepost.replay.metadata_records import PARTITION, PARTITION_CHANGE, TOPIC, MetadataRecord
from fencepost.tables import REQUESTS

CASES = Path(__file__).with_name("cases")
TOLERANCE_MS = 5
GROUP = "g"

Case = dict[str, Any]
Row = Mapping[str, Any]
Rows = dict[str, list[dict[str, Any]]]
_GENERATIONS = {
    "ownership_claims": (
        "generation", "claimed_generation", "greatest_claim_of_others", "greatest_claimed_generation",
        "previous_generation",
    ),
    "classic_assignments": ("generation", "own_claim", "greatest_claim_of_others"),
}  # fmt: skip
"""The columns that are generations, of the tables whose rows go on."""
_OF_RUN = frozenset(
    {"claim_id", "assignment_id", "record_offset", "records", "last_generation", "last_record_offset",
     "from_position", "to_position", "from_time", "to_time"}
)  # fmt: skip
_APIS = {"join": JOIN_GROUP, "heartbeat": HEARTBEAT, "sync": SYNC_GROUP}
_ERRORS = {
    "NONE": 0, "NOT_COORDINATOR": 16, "INCONSISTENT_GROUP_PROTOCOL": 23, "UNKNOWN_MEMBER_ID": 25,
    "REBALANCE_IN_PROGRESS": 27, "MEMBER_ID_REQUIRED": 79, "FENCED_INSTANCE_ID": 82,
}  # fmt: skip


def text(value: str) -> bytes:
    raw = value.encode()
    return struct.pack(">h", len(raw)) + raw


def partitions(topics: Mapping[str, Sequence[int]]) -> bytes:
    listed = [
        text(topic) + struct.pack(f">i{len(each)}i", len(each), *each) for topic, each in topics.items()
    ]
    return struct.pack(">i", len(listed)) + b"".join(listed)


def data(value: bytes | None) -> bytes:
    return struct.pack(">i", -1) if value is None else struct.pack(">i", len(value)) + value


def subscription(said: Mapping[str, Any]) -> bytes:
    """What a member of a case sends: its version decides which fields it has; ``raw`` stands for itself."""
    if "raw" in said:
        return bytes.fromhex(said["raw"])
    version, memory = said.get("version", 3), said.get("memory")
    user_data = None if "user_data" not in said else struct.pack(">i", said["user_data"])
    if memory is not None:
        user_data = partitions(memory) + (b"" if user_data is None else user_data)
    topics = said.get("topics", ["t"])
    found = struct.pack(">hi", version, len(topics)) + b"".join(map(text, topics)) + data(user_data)
    if version >= 1:
        found += partitions(said.get("owned", {}))
    if version >= 2:
        found += struct.pack(">i", said.get("generation", -1))
    if version >= 3:
        found += struct.pack(">h", -1)
    return found


def assignment(given: Mapping[str, Sequence[int]] | None) -> bytes:
    return b"\0\3\0\0" if given is None else b"\0\3" + partitions(given) + data(None)


def case_of(name: str) -> Case:
    found: Case = json.loads((CASES / f"{name}.json").read_text(encoding="utf-8"))
    return found


def _records(case: Case) -> list[GenerationRecord]:
    found = []
    for offset, batch in enumerate(case["log"]):
        if batch.get("lost") or batch.get("unreadable"):
            continue
        place = {"offset": offset, "base_offset": offset, "last_offset": offset}
        place |= {"leader_epoch": batch.get("leader_epoch", 0), "timestamp_ms": batch["ms"], "type": 2}
        members = batch.get("members", {})
        protocol = batch.get("protocol", "cooperative-sticky" if members else None)
        protocol_type = batch.get("protocol_type", "consumer")
        said = [subscription(member) for member in members.values()]
        read = read_subscriptions([protocol] * len(said), said)
        given = read_assignments([assignment(member.get("assigned", {})) for member in members.values()])
        is_consumers = protocol_type == "consumer"
        found.append(
            GenerationRecord(
                **place,
                group_id=GROUP,
                tombstone=batch.get("tombstone", False),
                epoch=batch.get("generation"),
                classic_members=() if "generation" in batch else None,
                protocol_type=protocol_type,
                protocol=protocol,
                leader=next(iter(members), None),
                members=[
                    MemberOfGeneration(
                        member_id,
                        member.get("instance"),
                        f"client-{member_id}",
                        its.subscription if is_consumers else None,
                        assigned if is_consumers else frozenset(),
                        _behind(batch, its) if is_consumers else None,
                    )
                    for (member_id, member), its, assigned in zip(members.items(), read, given, strict=True)
                ],
                file="log",
                position=offset * 100,
            )
        )
    return found


def _behind(batch: Mapping[str, Any], said: SentSubscription) -> int | None:
    return None if said.generation < 0 else batch["generation"] - said.generation


def _log(case: Case) -> Log:
    rows = [
        {"base_offset": offset, "last_offset": offset, "leader_epoch": batch.get("leader_epoch", 0),
         "record_count": 1, "max_timestamp_ms": batch["ms"], "file": "log", "position": offset * 100}
        for offset, batch in enumerate(case["log"]) if not batch.get("lost")
    ]  # fmt: skip
    damaged = [
        (offset, batch.get("leader_epoch", 0))
        for offset, batch in enumerate(case["log"])
        if batch.get("unreadable")
    ]
    columns = {name: pa.array([row[name] for row in rows]) for name in BATCH_COLUMNS}
    cleaned_to = [case["cleaned_to"]] if "cleaned_to" in case else []
    return Log(Batches.of(pa.table(columns)), damaged=damaged, cleaned_to=cleaned_to)


def _requests(case: Case) -> pa.Table:
    rows = []
    for number, asked in enumerate(case.get("requests", ())):
        (api,) = _APIS.keys() & asked.keys()
        sent = {"groupId": GROUP, "memberId": asked[api], "groupInstanceId": asked.get("instance")}
        answer: dict[str, Any] = {"errorCode": _ERRORS[asked.get("error", "NONE")]}
        if api == "join":
            bytes_ = b64encode(subscription(asked.get("says", {}))).decode()
            names = asked.get("protocols", ["cooperative-sticky"])
            sent |= {"protocolType": "consumer", "reason": asked.get("reason")}
            sent |= {"protocols": [{"name": name, "metadata": bytes_} for name in names]}
            answer |= {"generationId": asked.get("generation", -1), "leader": asked.get("leader", "")}
            answer |= {"memberId": asked.get("as", asked[api])}
        else:
            sent["generationId"] = asked["generation"]
        arrived, answered = asked["ms"]
        rows.append(
            {"cluster": "c", "broker_id": asked.get("broker", 1), "line_digest": f"line {number}",
             "logged_at_ms": answered, "total_time_ms": float(answered - arrived), "api_key": _APIS[api],
             "api_version": asked.get("version", 9 if api == "join" else 4), "correlation_id": number,
             "client_id": f"client-{asked[api]}", "connection": "x", "request": json.dumps(sent),
             "response": json.dumps(answer), "file": "request.log", "position": number}
        )  # fmt: skip
    return pa.Table.from_pylist(rows, schema=REQUESTS.arrow_schema)


def _metadata(case: Case) -> ClusterMetadata:
    records = [
        MetadataRecord(0, 0, TOPIC, {"name": name, "topic_id": name * 22 if name == "t" else "C" * 22})
        for name in ("t", OFFSETS_TOPIC)
    ]
    leaders = case.get("leaders", [1])
    fields = {"topic_id": "C" * 22, "partition_id": 0, "leader": leaders[0], "leader_epoch": 0}
    records.append(MetadataRecord(0, 0, PARTITION, fields))
    records += [
        MetadataRecord(0, 0, PARTITION_CHANGE, {"topic_id": "C" * 22, "partition_id": 0, "leader": leader})
        for leader in leaders[1:]
    ]
    return ClusterMetadata.of(MetadataLog.of_records(records))


def replayed(case: Case) -> Rows:
    """What the replay of a case gives, by table without its schema."""
    told = [
        CoordinatorLine(broker, event, GROUP, member, generation, reason, ms)
        for broker, event, member, generation, reason, ms in case.get("told", ())
    ]
    lines = read_lines(_requests(case))
    unread = {"request.log": case.get("unread_lines", [])}
    evidence = ShardEvidence("c", 0, _log(case), _records(case), lines, told, unread)
    tables = replay_shard(evidence, _metadata(case), TOLERANCE_MS)
    return {name.removeprefix("silver."): table.to_pylist() for name, table in tables.items()}


def said_at(table: str, row: Row, generation: int) -> dict[str, Any]:
    """What a row says of the record of a generation of which it is true, and not of its other records."""
    said = {name: value for name, value in row.items() if name not in _OF_RUN}
    for name in _GENERATIONS[table]:
        if said[name] is not None and said[name] >= 0:
            said[name] += generation - row["generation"]
    return said


def of_each_record(silver: Mapping[str, Sequence[Row]]) -> Rows:
    """The same rows, those of claims and of assignments once for each record."""
    records: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for record in silver["group_generations"]:
        records[record["cluster"], record["group_id"], record["life"]].append(record)
    found: Rows = {table: [dict(row) for row in rows] for table, rows in silver.items()}
    for table in _GENERATIONS:
        found[table] = []
        for row in silver[table]:
            first, last = row["record_offset"], row["last_record_offset"]
            same_life = records[row["cluster"], row["group_id"], row["life"]]
            of = [each for each in same_life if first <= each["record_offset"] <= last]
            assert len(of) == row["records"], row
            for record in of:
                said = said_at(table, row, record["generation"])
                found[table].append({**said, "record_offset": record["record_offset"]})
    return found


@pytest.fixture(scope="session")
def each_record() -> Callable[[Mapping[str, Sequence[Row]]], Rows]:
    """Call it with rows of silver for those of claims and of assignments once for each record."""
    return of_each_record


@pytest.fixture(scope="session")
def said() -> Callable[[str, Row, int], dict[str, Any]]:
    """Call it with a table, a row and a generation for what the row says of its record."""
    return said_at


@pytest.fixture(scope="session")
def replay_of() -> Callable[[Case], Rows]:
    """Call it with a case for the rows of silver."""
    return replayed
