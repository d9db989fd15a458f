"""Logs of producers written by hand: a case becomes rows of bronze, and a cluster of its own.

Their format: ``cases/README.md``.
"""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from fencepost.formats.crc32c import crc32c
from fencepost.formats.errors import error_names
from fencepost.formats.request_ids import text_of
from fencepost.protocols.producer_epoch import account
from fencepost.protocols.producer_epoch.client_events import client_events
from fencepost.protocols.producer_epoch.comparison import compare_logs, newest_markers
from fencepost.protocols.producer_epoch.coordinators import Coordinators, replay_coordinators
from fencepost.protocols.producer_epoch.expiration import expirations
from fencepost.protocols.producer_epoch.facts import collect_facts, topics_created_once
from fencepost.protocols.producer_epoch.homes import homes, placement_of, with_homes
from fencepost.protocols.producer_epoch.marker_senders import writing_markers
from fencepost.protocols.producer_epoch.missing_lines import clients_of, numbers_of
from fencepost.protocols.producer_epoch.partitions import Partitions, replay_partitions
from fencepost.protocols.producer_epoch.producer_requests import producer_requests
from fencepost.protocols.producer_epoch.refusals import connections_refused_produce
from fencepost.protocols.producer_epoch.request_rows import concerns_coordinators
from fencepost.protocols.producer_epoch.tables import CLIENT_EVENTS, COUNTS, PRODUCER_REQUESTS
from fencepost.protocols.producer_epoch.tasks import operated
from fencepost.protocols.producer_epoch.transaction_log import STATUSES
from fencepost.protocols.producer_epoch.verifications import BEGAN, committed, verified
from fencepost.replay.entities import tuples
from fencepost.replay.incarnations import logs_of, terms_of, with_ends
from fencepost.replay.keys import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from fencepost.replay.log_ends import log_ends
from fencepost.replay.metadata import ClusterMetadata
from fencepost.replay.metadata_log import ControllerTerm, MetadataLog
from fencepost.replay.metadata_records import (
    CONFIG,
    PARTITION,
    PARTITION_CHANGE,
    REGISTER_BROKER,
    REMOVE_TOPIC,
    TOPIC,
    MetadataRecord,
)
from fencepost.tables import (
    ABORTED_TRANSACTIONS,
    BATCHES,
    CLEANED,
    CLIENT_LINES,
    FILES,
    HIGH_WATERMARKS,
    LOG_ENDS,
    LOG_STARTS,
    PRODUCER_SNAPSHOT_ENTRIES,
    QUARANTINE,
    RECORDS,
    REQUEST_IDS,
    REQUESTS,
    Table,
)

CASES = Path(__file__).with_name("cases")
COORDINATOR = "__transaction_state-0"
AGAIN = f"{COORDINATOR} again"
"""The coordinator's log after it was deleted and created again."""
FIRST = " first"
"""The end of the name of a log of a topic before that was deleted and made again."""
TOLERANCE_MS = 5
BROKER_EPOCH = 3
_BRONZE = (
    ABORTED_TRANSACTIONS, BATCHES, CLEANED, CLIENT_LINES, FILES, HIGH_WATERMARKS, LOG_ENDS, LOG_STARTS,
    PRODUCER_SNAPSHOT_ENTRIES, QUARANTINE, RECORDS, REQUEST_IDS, REQUESTS,
)  # fmt: skip
_CODES = {name: code for code, name in error_names().items()}
_STATUS = {name: number for number, name in STATUSES.items()}
_APIS = {"produce": 0, "init": 22, "add": 24, "add_offsets": 25, "end": 26, "markers": 27, "txn_commit": 28}
_API_NAMES = {
    0: "PRODUCE", 22: "INIT_PRODUCER_ID", 24: "ADD_PARTITIONS_TO_TXN",
    25: "ADD_OFFSETS_TO_TXN", 26: "END_TXN", 27: "WRITE_TXN_MARKERS", 28: "TXN_OFFSET_COMMIT",
}  # fmt: skip

Case = dict[str, Any]
Bronze = dict[str, list[dict[str, Any]]]
Rows = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="session")
def cases() -> dict[str, Case]:
    """Every case as it is written, by its name."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(CASES.glob("*.json"))}


@pytest.fixture(scope="session")
def replayed() -> Callable[..., dict[str, Rows]]:
    """Call it with cases by name for their rows of silver: {name: {table: rows}}.

    With ``order``, rows of bronze come in a random order that the number tells.
    """
    return replay_cases


def replay_cases(cases: Mapping[str, Case], order: int | None = None) -> dict[str, Rows]:
    """One replay of all cases, each a cluster of its own."""
    bronze: Bronze = {table.name: [] for table in _BRONZE}
    for cluster, case in cases.items():
        for table, rows in bronze_of(case).items():
            bronze[table] += [{**row, "cluster": cluster} for row in rows]
    if order is not None:
        chance = random.Random(order)
        bronze = {table: chance.sample(rows, k=len(rows)) for table, rows in bronze.items()}
    tables = {table.name: _arrow(table, bronze[table.name]) for table in _BRONZE}
    rows_by_cluster: dict[str, Rows] = {cluster: {} for cluster in cases}
    alive = {name: case["alive"] for name, case in cases.items() if "alive" in case}
    metadata = {name: _metadata(case) for name, case in cases.items()}
    for name, rows in _replay(tables, metadata, alive):
        for cluster in cases:
            rows_by_cluster[cluster].setdefault(name.removeprefix("silver."), [])
        for row in rows.to_pylist():
            rows_by_cluster[row["cluster"]][name.removeprefix("silver.")].append(row)
    return rows_by_cluster


def _replay(
    bronze: Mapping[str, pa.Table], metadata: Mapping[str, ClusterMetadata], alive: Mapping[str, int]
) -> Iterator[tuple[str, pa.Table]]:
    """The steps of the rebuild, all in this process and of all evidence at once."""
    batches, records, quarantine = (bronze[each.name] for each in (BATCHES, RECORDS, QUARANTINE))
    requests = producer_requests(bronze[REQUESTS.name], metadata)
    yield PRODUCER_REQUESTS.name, requests
    yield CLIENT_EVENTS.name, client_events(bronze[CLIENT_LINES.name])
    partitions = Partitions(
        batches,
        records,
        bronze[PRODUCER_SNAPSHOT_ENTRIES.name],
        bronze[ABORTED_TRANSACTIONS.name],
        quarantine,
        requests.filter(pc.greater_equal(requests["base_offset"], 0)),
        writing_markers(requests),
        TOLERANCE_MS,
        alive,
        verified(requests),
        expirations(metadata),
        created_once=topics_created_once(metadata),
        gone={name: each.gone for name, each in metadata.items()},
        cleaned=bronze[CLEANED.name],
        starts=bronze[LOG_STARTS.name],
    )
    of_partitions = list(replay_partitions(partitions, connections_refused_produce(requests)))
    accounts = account.concatenate(each.account for each in of_partitions)
    began = [each.tables[BEGAN.name] for each in of_partitions]
    commits = committed(requests, verified(requests))
    decided = requests.filter(concerns_coordinators(requests))
    coordinator_requests = pa.concat_tables([decided, commits, *began])
    incarnations = with_ends(
        logs_of(terms_of(batches), metadata, TOLERANCE_MS), bronze[FILES.name], bronze[REQUESTS.name]
    )
    logs = {name: each for (name, topic), each in incarnations.items() if topic == TRANSACTIONS_TOPIC}
    placement = placement_of(homes(records), metadata, logs)
    connection_epochs = account.rows_of(accounts, account.CONNECTION_EPOCH)
    coordinators = Coordinators(
        batches,
        records,
        quarantine,
        bronze[CLEANED.name],
        with_homes(placement, coordinator_requests),
        with_homes(placement, connection_epochs),
        log_ends(bronze[LOG_ENDS.name], bronze[HIGH_WATERMARKS.name], metadata, TRANSACTIONS_TOPIC),
        logs=logs,
        request_ids=numbers_of(bronze[REQUEST_IDS.name], clients_of(requests)),
        operated=list(tuples(operated(account.pack(accounts, 1)))),
    )
    of_coordinators = replay_coordinators(coordinators, metadata, TOLERANCE_MS)
    accounts = account.concatenate([accounts, of_coordinators.account])
    facts = collect_facts(accounts, bronze[FILES.name], metadata, bronze[LOG_ENDS.name])
    counts = COUNTS.arrow_schema.empty_table()
    newest = newest_markers(accounts, counts, facts, TOLERANCE_MS)
    comparison = compare_logs(accounts, counts, facts, newest, TOLERANCE_MS)
    for step in (*of_partitions, of_coordinators, comparison):
        yield from step.tables.items()


def _arrow(table: Table, rows: list[dict[str, Any]]) -> pa.Table:
    schema = table.arrow_schema
    columns = [pa.array([row.get(field.name) for row in rows], field.type) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def _metadata(case: Case) -> ClusterMetadata:
    """One coordinator, which broker 1 leads in epoch 0; answers tell who leads in others. With ZooKeeper
    there is no metadata log.
    """
    if case.get("zookeeper"):
        return ClusterMetadata()
    names = {COORDINATOR: None, **case.get("logs", {})}
    places = [_place(name) for name in names if name != AGAIN and not name.endswith(FIRST)]
    topic_ids = {f"{topic} ": _first_id(topic) for topic in case.get("made_again", [])}
    topic_ids |= {place["topic"]: place["topic_id"] for place in places}
    partition = {"topic_id": "S" * 22, "partition_id": 0, "leader_epoch": 0, "leader": 1}
    partition["replicas"] = partition["isr"] = case.get("replicas", [1])
    deleted = case.get("deleted", {})
    records = [
        (TOPIC, {"name": topic.strip(), "topic_id": topic_id})
        for topic, topic_id in topic_ids.items()
        if f"{topic}{FIRST}" not in deleted
    ]
    records += [(PARTITION, partition), (REGISTER_BROKER, {"broker_id": 1, "broker_epoch": BROKER_EPOCH})]
    if OFFSETS_TOPIC in topic_ids:
        records.append((PARTITION, {**partition, "topic_id": topic_ids[OFFSETS_TOPIC]}))
    place = {"topic_id": partition["topic_id"], "partition_id": 0}
    for leader, in_sync in case.get("in_sync", []):
        elected = {} if leader is None else {"leader": leader}
        records.append((PARTITION_CHANGE, {**place, **elected, "isr": in_sync}))
    log = [MetadataRecord(at, 0, kind, fields) for at, (kind, fields) in enumerate(records)]
    if "recreated" in case:
        removed_ms, created_ms = case["recreated"]
        anew = {"name": TRANSACTIONS_TOPIC, "topic_id": _place(AGAIN)["topic_id"]}
        for ms, kind, fields in (
            (removed_ms, REMOVE_TOPIC, {"topic_id": partition["topic_id"]}),
            (created_ms, TOPIC, anew),
            (created_ms, PARTITION, {**partition, **anew}),
        ):
            log.append(MetadataRecord(len(log), ms, kind, fields))
    for name, ms in deleted.items():
        topic = name.removesuffix(FIRST)
        topic_id = topic_ids[topic if topic == name else f"{topic} "]
        log.append(MetadataRecord(len(log), ms, REMOVE_TOPIC, {"topic_id": topic_id}))
        if topic != name:
            anew = {"name": topic, "topic_id": topic_ids[topic]}
            log.append(MetadataRecord(len(log), ms, TOPIC, anew))
    for ms, broker, value in case.get("expirations", []):
        config = {
            "resource_type": 4,
            "resource_name": broker,
            "name": "producer.id.expiration.ms",
            "value": value,
        }
        log.append(MetadataRecord(len(log), ms, CONFIG, config))
    terms = (ControllerTerm(0, 0, 0, 1, 1),)
    metadata = replace(MetadataLog.of_records(log), known_ms=case.get("alive", 0), terms=terms)
    return ClusterMetadata.of(metadata)


def bronze_of(case: Case) -> Bronze:
    """The rows of bronze that a case stands for."""
    bronze: Bronze = {table.name: [] for table in _BRONZE}
    for name, batches in case.get("logs", {}).items():
        _write_log(bronze, name, batches)
    for name, entries in case.get("snapshots", {}).items():
        for entry in entries:
            _write_snapshot(bronze, name, entry)
    for name, index in case.get("aborted", {}).items():
        _write_index(bronze, name, index)
    for index in case.get("indexes", []):
        _write_index_of_replica(bronze, **index)
    _write_checkpoints(bronze, case)
    for number, request in enumerate(case.get("requests", [])):
        if not request.get("lost"):
            bronze[REQUESTS.name].append(_request(number, request))
    _number(bronze, case.get("requests", []))
    file = {"broker_id": 1, "kind": "segment", "file": _file(COORDINATOR)}
    bronze[FILES.name].append({**file, "topic_id": _place(COORDINATOR)["topic_id"]})
    if "recreated" in case:
        _delete_coordinators_log(bronze, case, file)
    return bronze


def _write_checkpoints(bronze: Bronze, case: Case) -> None:
    if "cleaned_to" in case:
        at = {**_place(COORDINATOR), "cleaned_to": case["cleaned_to"], "file": "cleaner-offset-checkpoint"}
        bronze[CLEANED.name].append({**at, "broker_id": 1})
    ends = {**({COORDINATOR: case["ended_at"]} if "ended_at" in case else {}), **case.get("ends", {})}
    for name, end in ends.items():
        closed = {"broker_id": 1, "broker_epoch": case.get("closed_by", BROKER_EPOCH)}
        bronze[LOG_ENDS.name].append({**_place(name), **closed, "log_end_offset": end})
    for broker_id, offset, *ms in case.get("noted", []):
        times = [datetime.fromtimestamp(each / 1000, UTC) for each in ms]
        noted = dict(zip(("written_at", "segment_written_at"), times, strict=True))
        row = {**_place(COORDINATOR), "broker_id": broker_id, "high_watermark": offset, **noted}
        bronze[HIGH_WATERMARKS.name].append(row)
    for name, start in case.get("starts", {}).items():
        bronze[LOG_STARTS.name].append({**_place(name), "broker_id": 1, "log_start_offset": start})


def _delete_coordinators_log(bronze: Bronze, case: Case, file: Mapping[str, Any]) -> None:
    """The client ``ops`` deletes the log; its folder was captured afterwards unless ``end_lost``."""
    topic_id = _place(COORDINATOR)["topic_id"]
    bronze[FILES.name].append({**file, "topic_id": _place(AGAIN)["topic_id"]})
    if not case.get("end_lost"):
        deleted = _file(f"{COORDINATOR}.{0:032x}-delete")
        bronze[FILES.name].append({**file, "file": deleted, "topic_id": topic_id})
    line = _request(len(case["requests"]), {"ms": [case["recreated"][0]] * 2, "api": "init", "client": "ops"})
    answer = json.dumps({"responses": [{"topicId": topic_id, "errorCode": 0}]})
    bronze[REQUESTS.name].append({**line, "api_key": 20, "api_name": "DELETE_TOPICS", "response": answer})


def _place(name_of_log: str) -> dict[str, Any]:
    name, _, again = name_of_log.partition(" ")
    topic, _, partition = name.rpartition("-")
    letter = topic.lstrip("_")[0].upper()
    topic_id = (("N" if again else "S") if topic == TRANSACTIONS_TOPIC else letter) * 22
    if name_of_log.endswith(FIRST):
        topic_id = _first_id(topic)
    return {"topic": topic, "topic_id": topic_id, "partition": int(partition)}


def _first_id(topic: str) -> str:
    return f"{topic}'s first id"


def _file(name: str) -> str:
    return f"/logs/{name}/{0:020d}.log"


def _write_log(bronze: Bronze, name: str, batches: list[dict[str, Any]]) -> None:
    offset = 0
    for batch in batches:
        offset = batch.get("base_offset", offset)
        coordinated = name in (COORDINATOR, AGAIN)
        marker = batch.get("marker")
        count = 1 if coordinated or marker else batch.get("records", 1)
        row = {
            **_place(name),
            "leader_epoch": batch.get("leader_epoch", 0),
            "base_offset": offset,
            "last_offset": offset + count - 1,
            "record_count": count,
            "producer_id": -1 if coordinated else batch.get("producer", -1),
            "producer_epoch": -1 if coordinated else batch.get("epoch", -1),
            "base_sequence": batch.get("sequence", -1),
            "base_timestamp_ms": batch.get("base_ms", batch["ms"]),
            "max_timestamp_ms": batch["ms"],
            "is_transactional": not coordinated and batch.get("transactional", "producer" in batch),
            "is_control": marker is not None,
            "attributes": batch.get("attributes", 0),
            "broker_id": 1,
            "file": _file(name),
            "position": offset * 100,
        }
        offset += count
        if batch.get("lost"):
            continue
        if not batch.get("unchecked"):
            row |= _checked(row, batch.get("content", f"{row['base_offset']}"))
        bronze[BATCHES.name].append(row)
        record = {**row, "record_offset": row["base_offset"], "timestamp_ms": batch["ms"]}
        if marker:
            value = struct.pack(">hi", 0, batch.get("coordinator_epoch", 0))
            kind = {"record_type": ["ABORT", "COMMIT"].index(marker), "decode_status": "control"}
            bronze[RECORDS.name].append({**record, **kind, "value": value})
        if coordinated:
            status = "malformed" if batch.get("unreadable") else "known"
            kind = {"record_type": 0, "record_name": "TransactionLog", "decode_status": status}
            cells = {"key": _key(batch["id"]), "value": None if batch.get("tombstone") else _value(batch)}
            bronze[RECORDS.name].append({**record, **kind, **cells})


def _checked(row: Mapping[str, Any], content: str) -> dict[str, int]:
    """Size and checksum of a batch with this content, all of one length."""
    header = struct.pack(
        ">hiqqqhii",
        row["attributes"],
        row["last_offset"] - row["base_offset"],
        row["base_timestamp_ms"],
        row["max_timestamp_ms"],
        row["producer_id"],
        row["producer_epoch"],
        row["base_sequence"],
        row["record_count"],
    )
    checked = np.frombuffer(header + content.encode().rjust(40), dtype=np.uint8)
    return {"size": 21 + len(checked), "crc": crc32c(checked, 0, len(checked))}


def _key(transactional_id: str) -> bytes:
    """TransactionLogKey, version 0."""
    return struct.pack(">hh", 0, len(transactional_id)) + transactional_id.encode()


def _value(record: Mapping[str, Any]) -> bytes:
    """TransactionLogValue, version 1."""
    topics: dict[str, list[int]] = {}
    for name in record.get("partitions", []):
        topic, _, partition = name.rpartition(":")
        topics.setdefault(topic, []).append(int(partition))
    listed = bytes([len(topics) + 1])
    for topic, partitions in topics.items():
        numbers = b"".join(struct.pack(">i", number) for number in partitions)
        listed += bytes([len(topic) + 1]) + topic.encode() + bytes([len(partitions) + 1]) + numbers + b"\0"
    fixed = (record["producer"], record["epoch"], record.get("timeout", 60_000), _STATUS[record["status"]])
    tags = []
    for tag, name in ((0, "previous"), (1, "next")):
        if name in record:
            tags.append(bytes([tag, 8]) + struct.pack(">q", record[name]))
    tags.append(bytes([2, 2]) + struct.pack(">h", record.get("version", 2)))
    times = struct.pack(">qq", record["ms"], record.get("started", -1))
    return struct.pack(">hqhib", 1, *fixed) + listed + times + bytes([len(tags)]) + b"".join(tags)


def _write_snapshot(bronze: Bronze, name: str, entry: Mapping[str, Any]) -> None:
    producer = {
        "producer_id": entry["producer"],
        "producer_epoch": entry["epoch"],
        "last_sequence": entry.get("last_sequence", -1),
        "last_offset": entry.get("last_offset", -1),
        "offset_delta": entry.get("offset_delta", 0),
        "timestamp_ms": entry["ms"],
        "coordinator_epoch": entry.get("coordinator_epoch", -1),
        "current_txn_first_offset": entry.get("opened", -1),
    }
    broker = entry.get("broker", 1)
    file = f"/logs-{broker}/{name}/{entry['at']:020d}.snapshot"
    own = producer if entry.get("producer") is not None else {}
    row = {
        **_place(name),
        "broker_id": broker,
        "file": file,
        "position": 0,
        "snapshot_offset": entry["at"],
        **own,
    }
    bronze[PRODUCER_SNAPSHOT_ENTRIES.name].append(row)


def _write_index(bronze: Bronze, name: str, index: list[list[int]]) -> None:
    row = {**_place(name), "broker_id": 1, "segment_offset": 0, "file": f"/logs/{name}/{0:020d}.txnindex"}
    for at, (producer, first_offset) in enumerate(index):
        entry = {"producer_id": producer, "first_offset": first_offset, "position": at}
        bronze[ABORTED_TRANSACTIONS.name].append({**row, **entry})
    if not index:
        bronze[ABORTED_TRANSACTIONS.name].append({**row, "position": 0})


def _write_index_of_replica(
    bronze: Bronze,
    log: str,
    broker: int,
    entries: list[list[int]],
    segment: int = 0,
    *,
    cleaned: bool = False,
    damaged: bool = False,
) -> None:
    """Entries have the producer id, the first offset and the marker's."""
    file = {"broker_id": broker, "file": f"/broker-{broker}/{log}/{segment:020d}.txnindex"}
    names = ("producer_id", "first_offset", "last_offset")
    for at, entry in enumerate(entries):
        row = {**_place(log), **file, "segment_offset": segment, "position": at}
        bronze[ABORTED_TRANSACTIONS.name].append({**row, **dict(zip(names, entry, strict=True))})
    if cleaned:
        bronze[CLEANED.name].append({**_place(log), **file, "cleaned_to": 1})
    if damaged:
        bronze[QUARANTINE.name].append({**file, "kind": "aborted_index", "position": 9})


def _request(number: int, request: Mapping[str, Any]) -> dict[str, Any]:
    start, end = request["ms"]
    api = _APIS[request["api"]]
    sent, answer = _BODIES[request["api"]](request, _CODES[request.get("error", "NONE")])
    return {
        "broker_id": request.get("broker", 1),
        "logged_at_ms": end,
        "total_time_ms": float(end - start),
        "api_key": api,
        "api_name": _API_NAMES[api],
        "api_version": request.get("version", 5),
        "correlation_id": number,
        "client_id": request.get("client", "client"),
        "connection": request.get("connection", request.get("client", "client")),
        "request": json.dumps(sent),
        "response": None if request.get("unanswered") else json.dumps(answer),
        "line_digest": f"line {number}",
        "file": "request.log",
        "position": number,
    }


Body = tuple[dict[str, Any], dict[str, Any]]


def _number(bronze: Bronze, requests: list[dict[str, Any]]) -> None:
    """Every client has lines with all numbers, as if other APIs had the others', but not with those of its
    lost lines.
    """
    lines = [_request(number, request) for number, request in enumerate(requests)]
    for client, connection in sorted({(line["client_id"], line["connection"]) for line in lines}):
        lost = {
            number
            for number, request in enumerate(requests)
            if request.get("lost") and lines[number]["client_id"] == client
        }
        ids = text_of([number for number in range(len(requests)) if number not in lost])
        times = {"first_logged_at_ms": 0, "last_logged_at_ms": 0}
        row = {"broker_id": 1, "client_id": client, "connection": connection, "correlation_ids": ids, **times}
        bronze[REQUEST_IDS.name] += [{**row, "ids_digest": f"{client} {connection}"}] if ids else []


def _producer(request: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "transactionalId": request.get("id"),
        "producerId": request.get("producer", -1),
        "producerEpoch": request.get("epoch", -1),
    }


def _init(request: Mapping[str, Any], code: int) -> Body:
    producer_id, epoch = request.get("returned", [-1, -1])
    sent = {**_producer(request), "transactionTimeoutMs": request.get("timeout", 60_000)}
    return sent, {"errorCode": code, "producerId": producer_id, "producerEpoch": epoch}


def _end(request: Mapping[str, Any], code: int) -> Body:
    return {**_producer(request), "committed": request["commit"]}, _init(request, code)[1]


def _partitions(request: Mapping[str, Any]) -> list[tuple[str, int]]:
    names = (name.rpartition(":") for name in request["partitions"])
    return [(topic, int(partition)) for topic, _, partition in names]


def _add(request: Mapping[str, Any], code: int) -> Body:
    partitions = _partitions(request)
    topics = [{"name": topic, "partitions": [partition]} for topic, partition in partitions]
    if request.get("version", 4) <= 3:  # of one producer, as brokers before 3.5 name the fields
        answered = [
            {"name": topic, "results": [{"partitionIndex": partition, "errorCode": code}]}
            for topic, partition in partitions
        ]
        return {**_producer(request), "topics": topics}, {"results": answered}
    results = [
        {
            "name": topic,
            "resultsByPartition": [{"partitionIndex": partition, "partitionErrorCode": code}],
        }
        for topic, partition in partitions
    ]
    one = {"transactionalId": request["id"], "topicResults": results}
    sent = {**_producer(request), "verifyOnly": request.get("verify", False), "topics": topics}
    return {"transactions": [sent]}, {"errorCode": 0, "resultsByTransaction": [one]}


def _add_offsets(request: Mapping[str, Any], code: int) -> Body:
    return {**_producer(request), "groupId": request.get("group", "g")}, {"errorCode": code}


def _produce(request: Mapping[str, Any], code: int) -> Body:
    ((topic, partition),) = _partitions(request)
    sent = {"name": topic, "partitionData": [{"index": partition}]}
    partition_response = {"index": partition, "errorCode": code, "baseOffset": request.get("base_offset", -1)}
    partition_response["logStartOffset"] = request.get("log_start", -1)
    answer = {"responses": [{"name": topic, "partitionResponses": [partition_response]}]}
    return {"transactionalId": request.get("id"), "topicData": [sent]}, answer


def _markers(request: Mapping[str, Any], code: int) -> Body:
    partitions = _partitions(request)
    marker = {
        "producerId": request["producer"],
        "producerEpoch": request["epoch"],
        "transactionResult": request["commit"],
        "topics": [{"name": topic, "partitionIndexes": [partition]} for topic, partition in partitions],
        "coordinatorEpoch": request.get("coordinator_epoch", 0),
    }
    topics = [
        {"name": topic, "partitions": [{"partitionIndex": partition, "errorCode": code}]}
        for topic, partition in partitions
    ]
    return {"markers": [marker]}, {"markers": [{"producerId": request["producer"], "topics": topics}]}


def _txn_commit(request: Mapping[str, Any], code: int) -> Body:
    partitions = [{"partitionIndex": 0, "errorCode": code}]
    sent = {**_producer(request), "groupId": request.get("group", "g"), "topics": []}
    return sent, {"topics": [{"name": "t", "partitions": partitions}]}


_BODIES: dict[str, Callable[[Mapping[str, Any], int], Body]] = {
    "init": _init, "end": _end, "add": _add, "add_offsets": _add_offsets, "produce": _produce,
    "markers": _markers, "txn_commit": _txn_commit,
}  # fmt: skip
