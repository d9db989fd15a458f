"""Walking record batches: what is framed and right is read, what is not is set aside with its position."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fencepost.formats.batches import Walk, records, walk
from fencepost.formats.crc32c import TABLES, crc32c, followed_by_zeros

Encode = Callable[..., bytes]
PAIRS = [(b"k1", b"v1"), (None, b"v2"), (b"k3", None), (b"", b"")]


def segment(batch: Encode, count: int = 5) -> bytes:
    return b"".join(batch(PAIRS, base_offset=10 * i) for i in range(count))


def offsets(walked: Walk) -> list[int]:
    return list(walked.batches["base_offset"].to_pylist())


def said(walked: Walk) -> list[tuple[int, int, str]]:
    return [(fault.position, fault.length, fault.reason) for fault in walked.faults]


@pytest.mark.parametrize(("data", "crc"), [(b"123456789", 0xE3069283), (bytes(32), 0x8A9136AA), (b"", 0)])
def test_crc32c_of_the_published_vectors(data: bytes, crc: int) -> None:
    buffer = np.frombuffer(b"x" + data + b"y", dtype=np.uint8)
    assert crc32c(buffer, 1, 1 + len(data)) == crc


@pytest.mark.parametrize("zeros", [0, 1, 7, 4096])
def test_what_two_buffers_differ_in_is_what_their_checksums_differ_in(zeros: int) -> None:
    tail = bytes(range(256)) * 16
    one, other = (np.frombuffer(bytes([first]) + tail[:zeros], dtype=np.uint8) for first in (0x35, 0xC9))
    difference = followed_by_zeros(TABLES[0, [0x35 ^ 0xC9]], zeros)
    assert crc32c(one, 0, one.size) ^ crc32c(other, 0, other.size) == difference[0]


def test_headers_and_records_are_read(batch: Encode) -> None:
    data = segment(batch, 2)
    walked = walk(data)
    assert (walked.stop, walked.consumed_to, walked.faults) == ("end", len(data), ())
    header = walked.batches.to_pylist()[1]
    assert header["position"] == header["size"] == len(data) // 2
    names = ("base_offset", "last_offset", "leader_epoch", "producer_id", "producer_epoch", "record_count")
    assert [header[name] for name in names] == [10, 13, 5, 7, 3, 4]
    rows = records(data, walked).records.to_pylist()
    assert [(row["key"], row["value"]) for row in rows] == PAIRS * 2
    assert [row["record_offset"] for row in rows] == [0, 1, 2, 3, 10, 11, 12, 13]
    assert [row["timestamp_ms"] - 1_700_000_000_000 for row in rows[:4]] == [0, 1, 2, 3]


def test_a_batch_stamped_by_the_log_gives_every_record_its_append_time(batch: Encode) -> None:
    data = batch(PAIRS, attributes=8)
    assert set(records(data, walk(data)).records["timestamp_ms"].to_pylist()) == {1_700_000_009_000}


def test_control_batches_are_marked(batch: Encode) -> None:
    data = batch([(b"\0\0\0\1", b"\0\0\0\0\0\0")], attributes=0x30)
    walked = walk(data)
    assert walked.batches.select(["is_transactional", "is_control"]).to_pylist() == [
        {"is_transactional": True, "is_control": True}
    ]
    assert records(data, walked).records["is_control"].to_pylist() == [True]


def test_a_batch_that_compaction_emptied_is_a_header_without_records(batch: Encode) -> None:
    data = batch([]) + batch(PAIRS, base_offset=5)
    walked = walk(data)
    assert walked.batches["record_count"].to_pylist() == [0, 4]
    assert records(data, walked).records["batch_index"].to_pylist() == [1] * 4


def test_preallocated_zeros_are_a_clean_end(batch: Encode) -> None:
    data = segment(batch)
    for tail in (1, 16, 61, 5000):
        walked = walk(data + bytes(tail))
        assert (walked.stop, walked.consumed_to, walked.faults) == ("end", len(data), ())


def test_a_torn_tail_is_left_for_the_next_walk(batch: Encode) -> None:
    data = segment(batch)
    last = len(data) - len(data) // 5
    # The first bytes of an offset are zeros, like preallocated space: nothing is there yet.
    for end in range(last + 8, len(data)):
        walked = walk(data[:end])
        assert (walked.stop, walked.consumed_to, offsets(walked)) == ("torn_tail", last, [0, 10, 20, 30])
        assert said(walked) == [(last, end - last, "torn_tail")]
        closed = walk(data[:end], closed=True)
        assert (closed.stop, closed.consumed_to) == ("truncated", end)
        assert said(closed) == [(last, end - last, "truncated")]
    assert offsets(walk(data, start=last)) == [40]


def test_a_corrupt_batch_is_set_aside_and_the_rest_is_read(batch: Encode) -> None:
    data = bytearray(segment(batch))
    size = len(data) // 5
    data[size + 70] ^= 1
    data[2 * size + 70] ^= 1
    walked = walk(data)
    assert (walked.stop, offsets(walked)) == ("end", [0, 30, 40])
    assert said(walked) == [(size, size, "bad_crc"), (2 * size, size, "bad_crc")]
    assert "another replica" in walked.faults[0].detail
    assert records(data, walked).records.num_rows == 12


@pytest.mark.parametrize(
    ("at", "new", "left"),
    [
        (6, b"\1", [0, 10, 30, 40]),  # offset 276
        (0, b"\x80", [0, 10, 30, 40]),  # a negative offset
        (7, b"\4", [0, 30, 40]),  # offset 4, or the batch before has a wrong one
        (12, b"\1", [0, 10, 30, 40]),  # a leader epoch that nobody had
        (15, b"\4", [0, 10, 30, 40]),  # an older one
    ],
)
def test_an_offset_or_epoch_out_of_order_is_no_checksums_affair(
    batch: Encode, at: int, new: bytes, left: list[int]
) -> None:
    data = bytearray(segment(batch))
    size = len(data) // 5
    data[2 * size + at : 2 * size + at + 1] = new
    walked = walk(data)
    assert (walked.stop, walked.consumed_to, offsets(walked)) == ("end", len(data), left)
    assert {fault.reason for fault in walked.faults} == {"out_of_order"}
    assert sum(length for _, length, _ in said(walked)) == (5 - len(left)) * size
    assert records(data, walked).records.num_rows == 4 * len(left)


def test_leader_epochs_may_rise(batch: Encode) -> None:
    data = bytearray(segment(batch))
    for number in range(5):
        at = number * len(data) // 5 + 12
        data[at : at + 4] = struct.pack(">i", number // 2)
    assert (offsets(walk(data)), walk(data).faults) == ([0, 10, 20, 30, 40], ())


def test_a_corrupt_last_batch_may_still_be_in_flight(batch: Encode) -> None:
    data = bytearray(segment(batch))
    data[-1] ^= 1
    last = len(data) - len(data) // 5
    assert (walk(data).stop, walk(data).consumed_to) == ("torn_tail", last)
    assert said(walk(data, closed=True)) == [(last, len(data) - last, "bad_crc")]
    assert offsets(walk(bytes(data) + batch(PAIRS, base_offset=50))) == [0, 10, 20, 30, 50]


@pytest.mark.parametrize(
    ("at", "new", "reason"),
    [
        (16, b"\1", "bad_magic"),
        (8, struct.pack(">i", 20), "unreadable"),
        (8, b"\xff\xff\xff\xff", "unreadable"),
    ],
)
def test_lost_framing_ends_the_walk_with_a_fault(batch: Encode, at: int, new: bytes, reason: str) -> None:
    data = bytearray(segment(batch))
    size = len(data) // 5
    data[2 * size + at : 2 * size + at + len(new)] = new
    walked = walk(data)
    assert (walked.stop, offsets(walked)) == (reason, [0, 10])
    assert said(walked) == [(2 * size, len(data) - 2 * size, reason)]


def test_a_length_that_leads_nowhere_is_not_believed(batch: Encode) -> None:
    data = bytearray(segment(batch))
    size = len(data) // 5
    data[size + 8 : size + 12] = struct.pack(">i", size + 20)
    walked = walk(data, closed=True)
    assert (walked.stop, offsets(walked)) == ("bad_crc", [0])
    assert said(walked) == [(size, len(data) - size, "bad_crc")]


def test_a_limit_cuts_between_batches(batch: Encode) -> None:
    data = segment(batch)
    seen: list[int] = []
    start = 0
    while (walked := walk(data, start, limit=150)).stop == "limit":
        assert walked.batches.num_rows >= 1
        seen += offsets(walked)
        start = walked.consumed_to
    assert seen + offsets(walked) == [0, 10, 20, 30, 40]


def test_a_start_outside_the_file_is_an_error_of_the_caller(batch: Encode) -> None:
    with pytest.raises(ValueError, match="read the file anew from 0"):
        walk(segment(batch), start=10_000)


@pytest.mark.parametrize(
    ("body", "count"),
    [
        (b"\x0c\0\0\0\x01\x01\0" + b"\x0c\0\0\0\x01\x01\0", 2),  # the same offset twice
        (b"\x0c\0\0\0\x01\x01\0", 2),  # fewer records than claimed
        (b"\x0c\0\0\0\x01\x01\0\0", 1),  # bytes left over
        (b"\x0c\0\0\0\x20\x01\0", 1),  # the key runs past the record
        (b"\x0c\0\0\0\x01\x01\x02", 1),  # a header that is not there
        (b"", 2**31 - 1),
        (b"", -1),
    ],
)
def test_malformed_records_set_the_whole_batch_aside(batch: Encode, body: bytes, count: int) -> None:
    bad = batch([], base_offset=10, body=body, count=count)
    data = batch(PAIRS) + bad + batch(PAIRS, base_offset=2**32)
    walked = walk(data)
    read = records(data, walked)
    assert walked.faults == ()
    assert [(fault.position, fault.length, fault.reason) for fault in read.faults] == [
        (len(batch(PAIRS)), len(bad), "bad_record")
    ]
    assert read.records["batch_index"].to_pylist() == [0] * 4 + [2] * 4


def compressed(codec: int, raw: bytes) -> bytes:
    if codec == 1:
        return gzip.compress(raw)
    name = {2: "snappy", 3: "lz4", 4: "zstd"}[codec]
    if codec != 2:
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, name) as out:
            out.write(raw)
        return bytes(sink.getvalue())
    return bytes(pa.Codec(name).compress(raw, asbytes=True))


def xerial(raw: bytes) -> bytes:
    blocks = [compressed(2, raw[i : i + 50]) for i in range(0, len(raw), 50)]
    return b"\x82SNAPPY\0\0\0\0\1\0\0\0\1" + b"".join(struct.pack(">i", len(b)) + b for b in blocks)


@pytest.mark.parametrize(("codec", "pack"), [(1, None), (2, None), (2, xerial), (3, None), (4, None)])
def test_compressed_batches_read_like_plain_ones(batch: Encode, codec: int, pack: Any) -> None:
    pairs = [(f"key-{i}".encode(), b"value" * i) for i in range(40)]
    plain = batch(pairs)
    body = pack(plain[61:]) if pack else compressed(codec, plain[61:])
    packed = batch([], base_offset=10, attributes=codec, body=body, count=40)
    data = batch(PAIRS) + packed + batch(PAIRS, base_offset=50)
    read = records(data, walk(data))
    assert read.faults == ()
    rows = read.records.to_pylist()
    assert [(row["key"], row["value"]) for row in rows] == PAIRS + pairs + PAIRS
    assert [row["batch_index"] for row in rows] == [0] * 4 + [1] * 40 + [2] * 4


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_a_bomb_is_refused_and_the_rest_is_read(batch: Encode, codec: int) -> None:
    bomb = batch([], attributes=codec, body=compressed(codec, bytes(8 << 20)), count=1)
    data = bomb + batch(PAIRS, base_offset=1)
    read = records(data, walk(data), max_batch_bytes=1 << 20)
    assert read.records.num_rows == 4
    assert [(fault.position, fault.reason) for fault in read.faults] == [(0, "bad_record")]
    assert "more than 1048576 bytes" in read.faults[0].detail


@pytest.mark.parametrize("codec", [1, 2, 3, 4, 5, 7])
def test_garbage_that_claims_to_be_compressed_is_set_aside(batch: Encode, codec: int) -> None:
    data = batch([], attributes=codec, body=b"\x82SNAPPY\0garbage garbage garbage", count=3)
    read = records(data, walk(data))
    assert (read.records.num_rows, [fault.reason for fault in read.faults]) == (0, ["bad_record"])


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_no_bytes_crash_the_walk_or_bring_in_foreign_records(batch: Encode, data: st.DataObject) -> None:
    whole = segment(batch)
    mutated = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(mutated) - 1))
        action = data.draw(st.sampled_from(["flip", "cut", "insert", "drop", "repeat"]))
        if action == "flip":
            mutated[at] = data.draw(st.integers(0, 255))
        elif action == "cut":
            del mutated[max(at, 1) :]
        elif action == "insert":
            mutated[at:at] = data.draw(st.binary(min_size=1, max_size=20))
        elif action == "drop":
            del mutated[at : at + data.draw(st.integers(1, 8))]
            mutated = mutated or bytearray(1)
        else:
            mutated[at:at] = mutated[at : at + 40]
    start = data.draw(st.integers(0, len(mutated)))
    for begin in (0, start):
        walked = walk(mutated, begin, closed=data.draw(st.booleans()))
        read = records(mutated, walked)
        read.records.validate(full=True)
        assert begin <= walked.consumed_to <= len(mutated)
        for row in walked.batches.to_pylist():
            piece = bytes(mutated[row["position"] : row["position"] + row["size"]])
            buffer = np.frombuffer(piece, dtype=np.uint8)
            assert crc32c(buffer, 21, len(piece)) == row["crc"]
        # Everything under the checksum is as encoded, so every record is one of those that were written.
        assert {(row["key"], row["value"]) for row in read.records.to_pylist()} <= set(PAIRS)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=120), st.integers(0, 50), st.sampled_from([0, 0, 1, 2, 3, 4]))
def test_any_body_under_a_right_checksum_is_read_or_set_aside(
    batch: Encode, body: bytes, count: int, codec: int
) -> None:
    data = batch([], attributes=codec, body=body, count=count)
    walked = walk(data)
    read = records(data, walked)
    read.records.validate(full=True)
    assert walked.batches.num_rows == 1
    assert read.records.num_rows == (0 if read.faults else count)
