"""Logs of classic groups written by hand, with bytes as real members send them: ``cases/README.md``."""

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
from fencepost.replay.group_coordinator.records import EPOCH_TYPES, GroupRecord
from fencepost.replay.group_coordinator.requests import (
    HEARTBEAT,
    JOIN_GROUP,
    LEAVE_GROUP,
    SYNC_GROUP,
)
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
_GENERATION_COLUMNS = {
    "ownership_claims": (
        "generation", "claimed_generation", "greatest_claim_of_others", "greatest_claimed_generation",
        "previous_generation",
    ),
    "classic_assignments": ("generation", "own_claim", "greatest_claim_of_others"),
}  # fmt: skip
"""The columns that are generations, in the tables whose rows may hold for several records."""
_RUN_COLUMNS = frozenset(
    {"claim_id", "assignment_id", "record_offset", "records", "last_generation", "last_record_offset",
     "from_position", "to_position", "from_time", "to_time"}
)  # fmt: skip
_APIS = {"join": JOIN_GROUP, "heartbeat": HEARTBEAT, "sync": SYNC_GROUP, "leave": LEAVE_GROUP}
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


def subscription(member: Mapping[str, Any]) -> bytes:
    """The subscription that a member of a case sends. Its version decides which fields it has; ``raw`` are
    the bytes themselves.
    """
    if "raw" in member:
        return bytes.fromhex(member["raw"])
    version, memory = member.get("version", 3), member.get("memory")
    user_data = None if "user_data" not in member else struct.pack(">i", member["user_data"])
    if memory is not None:
        user_data = partitions(memory) + (b"" if user_data is None else user_data)
    topics = member.get("topics", ["t"])
    message = struct.pack(">hi", version, len(topics)) + b"".join(map(text, topics)) + data(user_data)
    if version >= 1:
        message += partitions(member.get("owned", {}))
    if version >= 2:
        message += struct.pack(">i", member.get("generation", -1))
    if version >= 3:
        message += struct.pack(">h", -1)
    return message


def assignment(assigned: Mapping[str, Sequence[int]] | None) -> bytes:
    return b"\0\3\0\0" if assigned is None else b"\0\3" + partitions(assigned) + data(None)


def case_of(name: str) -> Case:
    case: Case = json.loads((CASES / f"{name}.json").read_text(encoding="utf-8"))
    return case


def _records(case: Case) -> list[GroupRecord]:
    records: list[GroupRecord] = []
    for offset, batch in enumerate(case["log"]):
        if batch.get("lost") or batch.get("unreadable"):
            continue
        place: dict[str, Any] = {"offset": offset, "base_offset": offset, "last_offset": offset}
        place |= {"leader_epoch": batch.get("leader_epoch", 0), "timestamp_ms": batch["ms"], "type": 2}
        if "kind" in batch:
            kind = next(type_ for type_, name in EPOCH_TYPES.items() if name == batch["kind"])
            tombstone = batch.get("tombstone", False)
            records.append(
                GroupRecord(
                    **{**place, "type": kind}, group_id=GROUP, epoch=batch.get("epoch"), tombstone=tombstone
                )
            )
            continue
        members = batch.get("members", {})
        protocol = batch.get("protocol", "cooperative-sticky" if members else None)
        protocol_type = batch.get("protocol_type", "consumer")
        messages = [subscription(member) for member in members.values()]
        subscriptions = read_subscriptions([protocol] * len(messages), messages)
        assignments = read_assignments(
            [assignment(member.get("assigned", {})) for member in members.values()]
        )
        is_consumer = protocol_type == "consumer"
        records.append(
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
                        sent.subscription if is_consumer else None,
                        assigned if is_consumer else frozenset(),
                        _behind(batch, sent) if is_consumer else None,
                    )
                    for (member_id, member), sent, assigned in zip(
                        members.items(), subscriptions, assignments, strict=True
                    )
                ],
                file="log",
                position=offset * 100,
            )
        )
    return records


def _behind(batch: Mapping[str, Any], sent: SentSubscription) -> int | None:
    return None if sent.generation < 0 else batch["generation"] - sent.generation


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
    for number, call in enumerate(case.get("requests", ())):
        (api,) = _APIS.keys() & call.keys()
        sent = {"groupId": GROUP, "memberId": call[api], "groupInstanceId": call.get("instance")}
        answer: dict[str, Any] = {"errorCode": _ERRORS[call.get("error", "NONE")]}
        if api == "join":
            bytes_ = b64encode(subscription(call.get("says", {}))).decode()
            names = call.get("protocols", ["cooperative-sticky"])
            sent |= {"protocolType": call.get("type", "consumer"), "reason": call.get("reason")}
            sent |= {"sessionTimeoutMs": call.get("session_ms", 10_000)}
            sent |= {"protocols": [{"name": name, "metadata": bytes_} for name in names]}
            answer |= {"generationId": call.get("generation", -1), "leader": call.get("leader", "")}
            answer |= {"memberId": call.get("as", call[api])}
        elif api != "leave":
            sent["generationId"] = call["generation"]
        arrived, answered = call["ms"]
        rows.append(
            {"cluster": "c", "broker_id": call.get("broker", 1), "line_digest": f"line {number}",
             "logged_at_ms": answered, "total_time_ms": float(answered - arrived), "api_key": _APIS[api],
             "api_version": call.get("version", 9 if api == "join" else 4), "correlation_id": number,
             "client_id": f"client-{call[api]}", "connection": "x", "request": json.dumps(sent),
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
    """The rows of a case, by table without its schema."""
    coordinator_lines = [
        CoordinatorLine(broker, event, GROUP, member, generation, reason, ms)
        for broker, event, member, generation, reason, ms in case.get("told", ())
    ]
    lines = read_lines(_requests(case))
    unread = {"request.log": case.get("unread_lines", [])}
    evidence = ShardEvidence("c", 0, _log(case), _records(case), lines, coordinator_lines, unread)
    tables = replay_shard(evidence, _metadata(case), TOLERANCE_MS)
    return {name.removeprefix("silver."): table.to_pylist() for name, table in tables.items()}


def values_of_record(table: str, row: Row, generation: int) -> dict[str, Any]:
    """The values of a row for the record of one of the generations for which it holds."""
    values = {name: value for name, value in row.items() if name not in _RUN_COLUMNS}
    for name in _GENERATION_COLUMNS[table]:
        if values[name] is not None and values[name] >= 0:
            values[name] += generation - row["generation"]
    return values


def of_each_record(silver: Mapping[str, Sequence[Row]]) -> Rows:
    """The same rows, but those of claims and of assignments once for each record."""
    records: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for record in silver["group_generations"]:
        records[record["cluster"], record["group_id"], record["life"]].append(record)
    rows_of_records: Rows = {table: [dict(row) for row in rows] for table, rows in silver.items()}
    for table in _GENERATION_COLUMNS:
        rows_of_records[table] = []
        for row in silver[table]:
            first, last = row["record_offset"], row["last_record_offset"]
            same_life = records[row["cluster"], row["group_id"], row["life"]]
            of_row = [each for each in same_life if first <= each["record_offset"] <= last]
            assert len(of_row) == row["records"], row
            for record in of_row:
                values = values_of_record(table, row, record["generation"])
                rows_of_records[table].append({**values, "record_offset": record["record_offset"]})
    return rows_of_records


@pytest.fixture(scope="session")
def each_record() -> Callable[[Mapping[str, Sequence[Row]]], Rows]:
    """Repeats rows of claims and of assignments for each of their records."""
    return of_each_record


@pytest.fixture(scope="session")
def values_at() -> Callable[[str, Row, int], dict[str, Any]]:
    """The values of a row of a table for the record of a generation."""
    return values_of_record


@pytest.fixture(scope="session")
def replay_of() -> Callable[[Case], Rows]:
    """Replays a case, and returns the rows of silver."""
    return replayed
