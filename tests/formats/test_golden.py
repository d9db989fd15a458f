"""Decoding equals what Kafka's own classes wrote, for every record type and version."""

from __future__ import annotations

import json
import struct
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from fencepost.formats.decode import decode
from fencepost.formats.schemas import RecordType, record_types

GOLDEN = Path(__file__).parent / "golden"
# Not in the reference release: written by older or newer brokers only.
ELSEWHERE = {"ShareGroupPartitionMetadata", "UnregisterControllerRecord"}


def cases(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (GOLDEN / name).read_text(encoding="utf-8").splitlines()]


def framed(record: RecordType, part: str, version: int, body: bytes) -> bytes:
    if record.framing == "metadata":
        return bytes([1, record.type or 0, version]) + body
    if part == "key":
        return struct.pack(">h", record.type) + body
    return body if record.framing == "raft_control" else struct.pack(">h", version) + body


def test_every_record_type_and_version_reads_as_kafka_wrote_it(as_kafka_json: Callable[..., Any]) -> None:
    columns = defaultdict(list)
    for case in cases("generated.jsonl"):
        columns[case["record"], case["part"]].append(case)
    for (name, part), column in columns.items():
        record = record_types()[name]
        if record.framing == "raft_control":
            # Here the version is a field, so a random one may contradict the version it was written in.
            read = [case for case in column if case["fields"]["version"] == case["version"]]
        else:
            read = column
        cells = [framed(record, part, case["version"], bytes.fromhex(case["hex"])) for case in read]
        decoded = decode(name, part, pa.array(cells, pa.binary()))
        decoded.values.validate(full=True)
        assert decoded.status.to_pylist() == ["known"] * len(read), (name, part)
        for case, row in zip(read, decoded.values.to_pylist(), strict=True):
            assert as_kafka_json(name, part, case["version"], row, case["fields"]) == case["fields"], case


def test_the_generated_messages_cover_the_table() -> None:
    seen = {(case["record"], case["part"], case["version"]) for case in cases("generated.jsonl")}
    table = {
        (record.name, part, version)
        for record in record_types().values()
        for part, message in (("key", record.key), ("value", record.value))
        if message is not None and record.name not in ELSEWHERE
        for version in range(message.versions.first, message.versions.last + 1)
    }
    assert seen == table


@pytest.mark.parametrize("case", cases("broker.jsonl"), ids=lambda case: case["what"])
def test_bytes_that_real_brokers_wrote(case: dict[str, Any]) -> None:
    decoded = decode(case["record"], case["part"], pa.array([bytes.fromhex(case["hex"])]))
    assert decoded.status.to_pylist() == [case.get("status", "known")]
    row = decoded.values.to_pylist()[0]
    if "fields" in case:
        assert {name: row[name] for name in case["fields"]} == case["fields"]
    else:
        assert row is None


def test_cut_anywhere_a_message_is_malformed() -> None:
    for case in cases("generated.jsonl"):
        record = record_types()[case["record"]]
        whole = framed(record, case["part"], case["version"], bytes.fromhex(case["hex"]))
        body = len(whole) - len(case["hex"]) // 2
        if record.framing == "raft_control" or not case["hex"]:
            continue
        cuts = pa.array([whole[:end] for end in range(body, len(whole))] + [whole + b"\0"], pa.binary())
        decoded = decode(case["record"], case["part"], cuts)
        assert set(decoded.status.to_pylist()) == {"malformed"}, case
        assert decoded.values.null_count == len(cuts)


def test_null_and_good_rows_survive_malformed_neighbours() -> None:
    good = bytes.fromhex("000400000000000000010000000" + "0026d000001a1fafbabc800")
    decoded = decode("OffsetCommit", "value", pa.array([good, None, good[:-3], b"\x00\x09", good]))
    assert decoded.status.to_pylist() == ["known", "known", "malformed", "unknown_version", "known"]
    assert [row and row["metadata"] for row in decoded.values.to_pylist()] == ["m", None, None, None, "m"]


def test_text_that_is_not_utf8_is_replaced_as_java_does() -> None:
    value = struct.pack(">hqi", 3, 1, 0) + b"\x00\x03a\xff\xc3" + struct.pack(">q", 5)
    row = decode("OffsetCommit", "value", pa.array([value])).values.to_pylist()[0]
    assert row["metadata"] == "a\ufffd\ufffd"


def test_a_tag_written_twice_is_malformed_and_an_unknown_one_is_skipped() -> None:
    head = "0000 00000005 "
    tags = {
        "02 00 08 0000000000000001 07 01 ff": "known",
        "02 00 08 0000000000000001 00 08 0000000000000001": "malformed",
        "01 00 07 00000000000001": "malformed",
        "01 00 09 000000000000000100": "malformed",
    }
    cells = pa.array([bytes.fromhex(head + tail) for tail in tags])
    assert decode("ConsumerGroupMetadata", "value", cells).status.to_pylist() == list(tags.values())


def test_the_newest_releases_tags_are_read() -> None:
    tail = "02 02 04 00000007 03 04 fffffffe"
    value = bytes.fromhex("0000 00000003 0000000000000009" + tail)
    row = decode("StreamsGroupMetadata", "value", pa.array([value])).values.to_pylist()[0]
    assert (row["stored_description_topology_epoch"], row["failed_description_topology_epoch"]) == (7, -2)
    assert row["last_assignment_configs"] == []
