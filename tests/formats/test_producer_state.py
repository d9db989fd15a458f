"""Producer snapshots and indexes of aborted transactions: what is read, and what is refused."""

from __future__ import annotations

import struct

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fencepost.formats.crc32c import crc32c
from fencepost.formats.producer_state import read_aborted_index, read_snapshot

ENTRY = ">qhiqiqiq"
LONG, INT, SHORT = (st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (64, 32, 16))
PRODUCERS = st.lists(st.tuples(LONG, SHORT, INT, LONG, INT, LONG, INT, LONG), max_size=20)
ABORTED = st.lists(st.tuples(LONG, LONG, LONG, LONG), max_size=20)


def snapshot(producers: list[tuple[int, ...]], version: int = 1) -> bytes:
    body = struct.pack(">i", len(producers)) + b"".join(struct.pack(ENTRY, *each) for each in producers)
    checked = np.frombuffer(body, dtype=np.uint8)
    checked.flags.writeable = False
    return struct.pack(">hI", version, crc32c(checked, 0, checked.size)) + body


def index(entries: list[tuple[int, ...]], version: int = 0) -> bytes:
    return b"".join(struct.pack(">hqqqq", version, *each) for each in entries)


@given(PRODUCERS)
def test_a_snapshot_has_every_producer(producers: list[tuple[int, ...]]) -> None:
    read = read_snapshot(snapshot(producers))
    rows = [tuple(row.values()) for row in read.rows.to_pylist()]
    assert rows == [(10 + i * 46, *each) for i, each in enumerate(producers)]
    assert (read.faults, read.consumed_to) == ((), 10 + 46 * len(producers))


@given(PRODUCERS, st.data())
def test_a_damaged_snapshot_is_refused_whole(producers: list[tuple[int, ...]], data: st.DataObject) -> None:
    whole = snapshot(producers)
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    flipped = bytearray(whole)
    flipped[data.draw(st.integers(0, len(whole) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    for bad in (cut, bytes(flipped), whole + b"\0", b""):
        read = read_snapshot(bad)
        assert (read.rows.num_rows, read.consumed_to, len(read.faults)) == (0, 0, 1)
        assert (read.faults[0].position, read.faults[0].length) == (0, len(bad))


def test_what_a_snapshot_is_refused_for() -> None:
    whole = snapshot([(1,) * 8])
    miscounted = bytearray(snapshot([(1,) * 8, (2,) * 8]))
    assert read_snapshot(whole[:4]).faults[0].reason == "truncated"
    assert read_snapshot(snapshot([], version=2)).faults[0].reason == "unreadable"
    assert read_snapshot(bytes(miscounted[:-1])).faults[0].reason == "bad_crc"


def test_bytes_that_a_real_broker_wrote() -> None:
    data = bytes.fromhex(
        "0001eab35da8000000010000000000000008"
        "0015ffffffffffffffffffffffff00000000000001a1fafed5da00000000ffffffffffffffff"
    )
    (row,) = read_snapshot(data).rows.to_pylist()
    assert row == {
        "position": 10,
        "producer_id": 8,
        "producer_epoch": 21,
        "last_sequence": -1,
        "last_offset": -1,
        "offset_delta": 0,
        "timestamp_ms": 0x01A1FAFED5DA,
        "coordinator_epoch": 0,
        "current_txn_first_offset": -1,
    }


@given(ABORTED, st.data())
def test_an_index_is_read_as_far_as_it_is_written(
    entries: list[tuple[int, ...]], data: st.DataObject
) -> None:
    whole = index(entries)
    read = read_aborted_index(whole, 68)
    rows = [tuple(row.values()) for row in read.rows.to_pylist()]
    assert rows == [(68 + i * 34, *each) for i, each in enumerate(entries)]
    assert (read.faults, read.consumed_to) == ((), 68 + len(whole))
    end = data.draw(st.integers(0, len(whole)))
    for closed, reason in ((True, "truncated"), (False, "torn_tail")):
        cut = read_aborted_index(whole[:end], closed=closed)
        assert cut.rows.num_rows == end // 34
        assert cut.consumed_to == end // 34 * 34
        assert [fault.reason for fault in cut.faults] == ([reason] if end % 34 else [])


def test_an_unknown_version_ends_an_index() -> None:
    read = read_aborted_index(index([(1, 2, 3, 4)]) + index([(5, 6, 7, 8)] * 2, version=1))
    assert read.rows["producer_id"].to_pylist() == [1]
    assert [(fault.position, fault.length, fault.reason) for fault in read.faults] == [(34, 68, "unreadable")]
