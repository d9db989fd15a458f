"""kafka-dump-log as the oracle: every record of every stored capture decodes to the same fields."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from fencepost.formats.batches import records, walk
from fencepost.formats.classify import classify
from fencepost.formats.decode import decode
from fencepost.formats.headers import read_headers
from fencepost.formats.producer_state import read_aborted_index, read_snapshot
from fencepost.formats.schemas import record_types

BATCH = re.compile(
    r"baseOffset: (\d+) lastOffset: (\d+) count: (\d+) baseSequence: (-?\d+) .*?producerId: (-?\d+) "
    r"producerEpoch: (-?\d+) partitionLeaderEpoch: (-?\d+) isTransactional: (\w+) isControl: (\w+) .*?"
    r"position: (\d+) \w+: (-?\d+) size: (\d+) magic: 2 compresscodec: \w+ crc: (\d+) isvalid: true"
)
RECORD = re.compile(
    r"\| offset: (\d+) (?:CreateTime|LogAppendTime): (-?\d+) keySize: (-?\d+) valueSize: (-?\d+) .*?"
    r"headerKeys: \[\] ?(.*)"
)
SNAPSHOT = re.compile(
    r"producerId: (\d+) producerEpoch: (\d+) coordinatorEpoch: (-?\d+) "
    r"currentTxnFirstOffset: OptionalLong(?:\[(\d+)\]|\.empty) lastTimestamp: (-?\d+)"
    r"(?: firstSequence: \d+ lastSequence: (\d+) lastOffset: (\d+) offsetDelta: (\d+) .*)?"
)
ABORTED = re.compile(
    r"version: 0 producerId: (\d+) firstOffset: (\d+) lastOffset: (\d+) lastStableOffset: (\d+)"
)
BATCH_COLUMNS = (
    "base_offset",
    "last_offset",
    "record_count",
    "base_sequence",
    "producer_id",
    "producer_epoch",
    "leader_epoch",
    "is_transactional",
    "is_control",
    "position",
    "max_timestamp_ms",
    "size",
    "crc",
)
KINDS = {
    "--offsets-decoder": "__consumer_offsets",
    "--transaction-log-decoder": "__transaction_state",
    "--share-group-state-decoder": "__share_group_state",
    "--cluster-metadata-decoder": "__cluster_metadata",
}


FILES_AT_ONCE = 700


def dump(jars: Path, option: str | None, files: list[Path]) -> dict[str, list[str]]:
    """The lines kafka-dump-log prints for each file; one argument cannot name all of them."""
    found: dict[str, list[str]] = {}
    for start in range(0, len(files), FILES_AT_ONCE):
        found |= _dump(jars, option, files[start : start + FILES_AT_ONCE])
    return found


def _dump(jars: Path, option: str | None, files: list[Path]) -> dict[str, list[str]]:
    command = [
        "java",
        "-Xmx512m",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-cp",
        f"{jars}/kafka-4.3.1/*",
    ]
    command += ["org.apache.kafka.tools.DumpLogSegments", *([option] if option else [])]
    command += ["--files", ",".join(str(file) for file in files)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout
    found: dict[str, list[str]] = {}
    for line in printed.splitlines():
        if line.startswith("Dumping "):
            lines = found.setdefault(line.removeprefix("Dumping "), [])
        else:
            lines.append(line)
    return found


def text_rows(columns: list[list[Any]]) -> list[tuple[str, ...]]:
    """Rows as kafka-dump-log spells them."""
    return [tuple(str(cell).lower() for cell in row) for row in zip(*columns, strict=True)]


def expected_records(lines: list[str]) -> Iterator[tuple[tuple[str, ...], str]]:
    for line in lines:
        match = RECORD.match(line)
        if match is not None:
            yield match.groups()[:4], match[5]


def printed_parts(rest: str) -> tuple[Any, Any]:
    """Key and value as printed: parsed JSON, None for no key or a tombstone."""
    key, _, value = rest.removeprefix("key: ").partition(" payload: ") if "key: " in rest else ("", "", "")
    if not key:
        value = rest.removeprefix("payload: ")
    return (json.loads(key) if key else None), (None if value == "<DELETE>" else json.loads(value))


def compare(file: Path, topic: str, lines: list[str], as_kafka_json: Callable[..., Any]) -> int:
    """Compare one segment; give the number of records whose fields were compared."""
    data = file.read_bytes()
    walked = walk(data, closed=True)
    assert (walked.stop, walked.faults) == ("end", ())
    assert text_rows([walked.batches[name].to_pylist() for name in BATCH_COLUMNS]) == [
        match.groups() for line in lines if (match := BATCH.match(line))
    ]
    read = records(data, walked)
    assert read.faults == ()
    rows = read.records.to_pylist()
    printed = list(expected_records(lines))
    sizes = [
        (
            row["record_offset"],
            row["timestamp_ms"],
            *(-1 if row[c] is None else len(row[c]) for c in ("key", "value")),
        )
        for row in rows
    ]
    assert [tuple(map(str, size)) for size in sizes] == [heads for heads, _ in printed]
    kinds = classify(
        topic, read.records["key"], read.records["value"], read.records["is_control"]
    ).to_pylist()
    for kind, row, (_, rest) in zip(kinds, decoded(rows, kinds), printed, strict=True):
        compare_record(row, kind, rest, as_kafka_json)
    return len(rows)


def decoded(rows: list[dict[str, Any]], kinds: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows, decoded where their type is known: of one type all at once, since each call is dear."""
    found = [dict(row) for row in rows]
    names = [kind["record_name"] for kind in kinds]
    for name in set(names) - {None}:
        places = [place for place, each in enumerate(names) if each == name]
        for part in ("key", "value") if record_types()[name].key else ("value",):
            there = [place for place in places if rows[place][part] is not None]
            values = decode(name, part, pa.array([rows[place][part] for place in there], pa.binary())).values
            for place, value in zip(there, values.to_pylist(), strict=True):
                found[place][part] = value
    return found


def compare_record(
    row: dict[str, Any], kind: dict[str, Any], rest: str, as_kafka_json: Callable[..., Any]
) -> None:
    """Compare a decoded record with what is printed of it."""
    if row["is_control"]:
        assert kind["decode_status"] == "control"
        compare_control(row["value"], kind["record_name"], rest)
        return
    assert kind["decode_status"] == "known", rest
    key, value = printed_parts(rest)
    name = kind["record_name"]
    if key is not None:
        assert kind["record_type"] == int(key.get("type", 0))
        assert as_kafka_json(name, "key", 0, row["key"], key["data"]) == key["data"]
    if value is None:
        assert row["value"] is None
        return
    version = int(value["version"])
    assert kind["value_version"] == version
    mine = row["value"]
    if name == "GroupMetadata":
        mine, value = readable_members(mine, value)
    assert as_kafka_json(name, "value", version, mine, value["data"]) == value["data"]


def compare_control(mine: dict[str, Any], name: str, rest: str) -> None:
    if name in ("ABORT", "COMMIT"):
        assert rest == f"endTxnMarker: {name} coordinatorEpoch: {mine['coordinator_epoch']}"
    elif name == "LEADER_CHANGE":
        said = json.loads(rest.removeprefix("LeaderChange: "))
        assert (mine["leader_id"], len(mine["voters"])) == (said["leaderId"], len(said["voters"]))
    else:
        assert name.rsplit("_", maxsplit=1)[-1].lower() in rest.lower()


def readable_members(mine: dict[str, Any], value: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """kafka-dump-log prints subscriptions decoded: compare those here and take them out."""
    for member, printed in zip(mine["members"], value["data"]["members"], strict=True):
        for field, record in (("subscription", "Subscription"), ("assignment", "Assignment")):
            if isinstance(printed[field], dict):
                inside = decode(f"ConsumerProtocol{record}", "value", pa.array([member[field]])).values
                topics = inside.to_pylist()[0]
                assert topics is not None
                assert topics.get("topics", 0) == printed[field].get("topics", 0)
                member[field], printed[field] = b"", ""
    return mine, value


@pytest.mark.parametrize("option", KINDS)
def test_every_record_of_every_capture(
    option: str, jars: Path, captures: Path, as_kafka_json: Callable[..., Any]
) -> None:
    topic = KINDS[option]
    files = sorted(captures.glob(f"*/*/log_dir*/{topic}-*/*.log"))
    if topic == "__cluster_metadata":
        files += sorted(captures.glob("*/*/log_dir*/**/*.checkpoint"))
    assert files, f"no {topic} in {captures}"
    printed = dump(jars, option, files)
    compared = sum(compare(file, topic, printed[str(file)], as_kafka_json) for file in files)
    said = sum(line.startswith("| offset: ") for lines in printed.values() for line in lines)
    assert compared == said > 0


def compare_headers(file: Path, lines: list[str]) -> int:
    """Compare the headers of a segment whose payload is not read; give their number."""
    with file.open("rb") as opened:
        read = read_headers(opened.fileno(), 0, file.stat().st_size, closed=True)
    assert (read.walk.stop, read.walk.faults, read.records.faults) == ("end", (), ())
    printed = [match.groups() for line in lines if (match := BATCH.match(line))]
    assert text_rows([read.walk.batches[name].to_pylist() for name in BATCH_COLUMNS]) == printed
    # a marker is one record
    assert read.records.records.num_rows == sum(row[8] == "true" for row in printed)
    return len(printed)


def compare_snapshot(file: Path, lines: list[str]) -> int:
    """Compare the producers of a snapshot; give their number."""
    entries = read_snapshot(file.read_bytes())
    assert entries.faults == ()
    printed = [match.groups(default="-1") for line in lines if (match := SNAPSHOT.fullmatch(line))]
    columns = (
        "producer_id",
        "producer_epoch",
        "coordinator_epoch",
        "current_txn_first_offset",
        "timestamp_ms",
    )
    assert text_rows([entries.rows[name].to_pylist() for name in columns]) == [row[:5] for row in printed]
    # of a producer without a batch kafka-dump-log prints none
    for row, said in zip(entries.rows.to_pylist(), printed, strict=True):
        batch = tuple(str(row[name]) for name in ("last_sequence", "last_offset", "offset_delta"))
        assert batch == said[5:] or (row["last_sequence"] == -1 and said[5:] == ("-1",) * 3)
    return len(printed)


def compare_aborted(file: Path, lines: list[str]) -> int:
    """Compare the aborted transactions of an index; give their number."""
    entries = read_aborted_index(file.read_bytes(), closed=True)
    assert entries.faults == ()
    printed = [match.groups() for line in lines if (match := ABORTED.fullmatch(line))]
    assert text_rows([entries.rows[name].to_pylist() for name in entries.rows.schema.names[1:]]) == printed
    return len(printed)


def test_every_header_and_every_state_file_of_every_capture(jars: Path, captures: Path) -> None:
    kinds = {".log": compare_headers, ".snapshot": compare_snapshot, ".txnindex": compare_aborted}
    found = sorted(captures.glob("*/*/log_dir*/*-*/*"))
    files = [
        file
        for file in found
        if file.suffix in kinds
        and file.stem.isdecimal()  # not the cache of a remote index
        and not (file.suffix == ".log" and file.parent.name.rpartition("-")[0] in KINDS.values())
    ]
    printed = dump(jars, None, files)
    compared = dict.fromkeys(kinds, 0)
    for file in files:
        compared[file.suffix] += kinds[file.suffix](file, printed[str(file)])
    said = [line for lines in printed.values() for line in lines]
    assert compared == {
        ".log": sum(line.startswith("baseOffset: ") for line in said),
        ".snapshot": sum(line.startswith("producerId: ") for line in said),
        ".txnindex": sum(line.startswith("version: ") for line in said),
    }
    assert min(compared.values()) > 50
