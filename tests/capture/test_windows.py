"""Large files are read in windows: where a window ends must not show in what is read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from fencepost.capture import headers, packed, readers, text, whole
from fencepost.capture.plan import REQUEST_LOG, SEGMENT, Source
from fencepost.capture.rows import OUTCOME
from fencepost.formats.request_ids import merged, read_ranges
from fencepost.tables import BATCHES, RECORDS, REQUEST_IDS, REQUESTS, TOPIC_ANSWERS, TOPIC_LISTS, Table

BROKER = Path("troubled-4.3.1") / "broker-1"
DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "none": lambda data: data,
    "torn": lambda data: data[:-7],
    "flipped": lambda data: data[:4140] + bytes([data[4140] ^ 1]) + data[4141:],
    # of an application's topic this is a leader epoch
    "epoch": lambda data: data[:4000] + bytes([data[4000] ^ 1]) + data[4001:],
    "zeros": lambda data: data + bytes(5000),
    "hole": lambda data: data + bytes(5000) + data,
    "garbage": lambda data: data + b"\x01\xff" * 3000,
}


def read(source: Source, *tables: Table) -> list[list[dict[str, Any]]]:
    """The rows of each table and the outcome; but for the sample of a fault, which ends with its window."""
    found: dict[str, list[dict[str, Any]]] = {table.name: [] for table in (*tables, OUTCOME)}
    for table, batch in readers.read_all([source]):
        if table.name in found:
            found[table.name] += [{**row, "sample": None} for row in batch.to_pylist()]
    return list(found.values())


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("damage", DAMAGE)
def test_windows_of_a_segment(
    captures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str, closed: bool
) -> None:
    files = (captures / BROKER / "log_dir").glob("__consumer_offsets-*/*.log")
    data = DAMAGE[damage](max(files, key=lambda each: each.stat().st_size).read_bytes())
    file = tmp_path / "00000000000000000000.log"
    file.write_bytes(data)
    source = Source("c", 1, SEGMENT, str(file), 0, len(data), "__consumer_offsets", "id", 0, closed)
    batches, records, outcome = expected = read(source, BATCHES, RECORDS)
    assert len(records) > len(batches) > 50
    assert (len(outcome) == 1) == (damage in ("none", "zeros"))
    for size in (100, 1_000, 20_000):
        monkeypatch.setattr(whole, "_WINDOW", size)
        assert read(source, BATCHES, RECORDS) == expected


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("damage", DAMAGE)
def test_windows_of_a_segment_whose_payload_is_not_read(
    captures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str, closed: bool
) -> None:
    files = (captures / "producers-4.3.1" / "broker-1" / "log_dir").glob("ledger-*/*.log")
    data = DAMAGE[damage](max(files, key=lambda each: each.stat().st_size).read_bytes())
    file = tmp_path / "00000000000000000000.log"
    file.write_bytes(data)
    source = Source("c", 1, SEGMENT, str(file), 0, len(data), "ledger", "id", 0, closed)
    batches, records, outcome = expected = read(source, BATCHES, RECORDS)
    assert len(batches) > len(records) > 5
    # what nobody looks at is not missed: a payload that changed, what lies behind zeros
    assert (len(outcome) == 1) == (damage in ("none", "zeros", "flipped", "hole"))
    assert all(row["sample"] is None for row in outcome)
    for size in (1, 3, 20):
        monkeypatch.setattr(headers, "_AT_ONCE", size)
        assert read(source, BATCHES, RECORDS) == expected


@pytest.mark.parametrize("size", [50, 3_000, 100_000])
def test_windows_of_a_request_log(
    captures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    by_zstd = tmp_path / "kafka-request.log.5.zst"
    text_of_log = (captures / BROKER / "kafka-request.log").read_bytes()
    by_zstd.write_bytes(zstandard.ZstdCompressor().compress(text_of_log))
    for file in (*(captures / BROKER).glob("kafka-request.log*"), by_zstd):
        source = Source("c", 1, REQUEST_LOG, str(file), 0, file.stat().st_size)
        expected, noted = read(source, REQUESTS, TOPIC_LISTS, TOPIC_ANSWERS), ids(source)
        with monkeypatch.context() as patch:
            patch.setattr(text, "CHUNK", size)
            patch.setattr(packed, "_PACKED", size)
            patch.setattr(packed, "_PACKED_BY_ZSTD", size)
            assert read(source, REQUESTS, TOPIC_LISTS, TOPIC_ANSWERS) == expected
            assert ids(source) == noted
        assert len(expected[0]) > 20
        assert len(noted) > 3


def ids(source: Source) -> dict[str, list[tuple[int, int]]]:
    """The correlation ids of each connection, in whatever rows they are."""
    found: dict[str, list[tuple[int, int]]] = {}
    for row in read(source, REQUEST_IDS)[0]:
        ranges = read_ranges(row["correlation_ids"])
        found[row["connection"]] = merged([*found.get(row["connection"], []), *ranges])
    return found
