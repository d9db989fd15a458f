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
from hypothesis import given, settings
from hypothesis import strategies as st

from fencepost.formats.classify import classify, key_types
from fencepost.formats.decode import arrow_type, decode
from fencepost.formats.schemas import RecordType, record_types, types_of

GOLDEN = Path(__file__).parent / "golden"
# No broker's: tests/protocols/lag_report reads what the classes of Kafka Streams wrote.
CLIENTS = {"SubscriptionInfoData", "AssignmentInfo"}
# Not in the reference release: written by older or newer brokers only.
ELSEWHERE = {"ShareGroupPartitionMetadata"}


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
        if message is not None and record.name not in ELSEWHERE | CLIENTS
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


PARTS = sorted({(case["record"], case["part"]) for case in cases("generated.jsonl")})
MESSAGES = {
    pair: [
        framed(record_types()[pair[0]], pair[1], case["version"], bytes.fromhex(case["hex"]))
        for case in cases("generated.jsonl")
        if (case["record"], case["part"]) == pair
    ]
    for pair in PARTS
}


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(PARTS), st.data())
def test_no_bytes_crash_the_decoder(pair: tuple[str, str], data: st.DataObject) -> None:
    cells: list[bytes | None] = [data.draw(st.binary(max_size=60)), None]
    for message in MESSAGES[pair]:
        mutated = bytearray(message)
        for _ in range(data.draw(st.integers(0, 3))):
            mutated[data.draw(st.integers(0, len(mutated) - 1))] = data.draw(st.integers(0, 255))
        cells.append(bytes(mutated))
    column = pa.array([*cells, *MESSAGES[pair]], pa.binary())
    decoded = decode(*pair, column)
    decoded.values.validate(full=True)
    assert decoded.values.type == arrow_type(*pair)
    # What surrounds a good message does not change it.
    alone = decode(*pair, pa.array(MESSAGES[pair], pa.binary())).values
    assert decoded.values.slice(len(cells)).to_pylist() == alone.to_pylist()
    if record_types()[pair[0]].topic is not None:
        topic = str(record_types()[pair[0]].topic)
        keys = column if pair[1] == "key" else pa.nulls(len(column), pa.binary())
        kinds = classify(topic, keys, column, pa.array([False] * len(column)))
        assert kinds.num_rows == len(column)


def test_a_column_is_read_wherever_it_lies() -> None:
    """Slices, chunks and 64-bit offsets give the same rows."""
    cells = [*MESSAGES["OffsetCommit", "value"], None]
    whole = decode("OffsetCommit", "value", pa.array(cells)).values.to_pylist()
    for column in (
        pa.array(cells, pa.large_binary()),
        pa.chunked_array([pa.array(cells[:4]), pa.array(cells[4:])]),
        pa.array([b"junk", *cells])[1:],
    ):
        assert decode("OffsetCommit", "value", column).values.to_pylist() == whole
    assert decode("OffsetCommit", "value", pa.array([], pa.binary())).values.to_pylist() == []
    with pytest.raises(TypeError, match="holds no record bytes"):
        decode("OffsetCommit", "value", pa.array([1]))


def test_classify_names_every_kind_of_record() -> None:
    commit = MESSAGES["OffsetCommit", "key"][0], MESSAGES["OffsetCommit", "value"][-1]
    rows: list[tuple[bytes | None, bytes | None, bool]] = [
        (*commit, False),
        (commit[0], None, False),
        (bytes.fromhex("00000001"), bytes(6), True),
        (bytes.fromhex("00000000"), bytes(6), True),
        (bytes.fromhex("0063"), b"\0\0", False),
        (commit[0], b"\0\x63", False),
        (commit[0][:-1], commit[1], False),
        (commit[0], commit[1][:-1], False),
        (None, commit[1], False),
        (b"\0", commit[1], False),
    ]
    keys, values, control = (list(column) for column in zip(*rows, strict=True))
    kinds = classify("__consumer_offsets", pa.array(keys), pa.array(values), pa.array(control)).to_pylist()
    assert [tuple(kind.values()) for kind in kinds] == [
        (1, "OffsetCommit", 4, "known"),
        (1, "OffsetCommit", None, "known"),
        (1, "COMMIT", 0, "control"),
        (0, "ABORT", 0, "control"),
        (99, None, 0, "unknown_type"),
        (1, "OffsetCommit", 99, "unknown_version"),
        (1, "OffsetCommit", 4, "malformed"),
        (1, "OffsetCommit", 4, "malformed"),
        (None, None, 4, "malformed"),
        (None, None, 4, "malformed"),
    ]
    assert key_types(pa.array(keys)).tolist() == [1, 1, 0, 0, 99, 1, 1, 1, -1, -1]
    assert sorted(types_of("__consumer_offsets")) == [*range(18), *range(19, 24)]
    other = classify("orders", pa.array(keys), pa.array(values), pa.array(control)).to_pylist()
    assert {kind["decode_status"] for kind in other} == {"unknown_type", "control"}
