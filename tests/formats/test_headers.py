"""Headers of data topics: the same as a reader of everything finds, without a byte of a payload."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fencepost.formats.batches import BATCH_SCHEMA, Walk, records, walk
from fencepost.formats.crc32c import crc32c
from fencepost.formats.headers import Headers, read_headers

MARKER = 78


def read(file: Path, data: bytes, **options: Any) -> Headers:
    file.write_bytes(data)
    with file.open("rb", buffering=0) as opened:
        return read_headers(opened.fileno(), 0, len(data), **options)


def marker(base_offset: int, *, commit: bool = True, attributes: int = 0x30) -> bytes:
    """A control batch as a coordinator has it written."""
    inside = struct.pack(">bbbb", 0, 0, 0, 8) + struct.pack(">hh", 0, commit)
    inside += struct.pack(">b", 12) + struct.pack(">hi", 0, 5) + b"\0"
    covered = struct.pack(">hiqqqhii", attributes, 0, 1_700_000_000_000, 1_700_000_000_000, 7, 4, -1, 1)
    covered += struct.pack(">b", len(inside) * 2) + inside
    checked = np.frombuffer(covered, dtype=np.uint8)
    checked.flags.writeable = False
    crc = crc32c(checked, 0, checked.size)
    return struct.pack(">qiibI", base_offset, len(covered) + 9, 5, 2, crc) + covered


def data_segments(captures: Path) -> list[Path]:
    """The largest segments of data topics that have markers."""
    files = [
        file
        for file in captures.glob("*/broker-1/log_dir/*-*/*.log")
        if not file.parent.name.startswith("__") and file.stat().st_size
    ]
    marked = [file for file in files if any(walk(file.read_bytes()).batches["is_control"].to_pylist())]
    return sorted(marked, key=lambda file: file.stat().st_size)[-4:]


def facts(headers: Headers) -> tuple[list[Any], list[Any], list[Any], str, int]:
    found = headers.walk
    faults = [*found.faults, *headers.records.faults]
    told = headers.records.records.to_pylist()
    return found.batches.to_pylist(), told, faults, found.stop, found.consumed_to


def payload_spans(found: Walk) -> list[tuple[int, int]]:
    return [
        (row["position"] + 61, row["position"] + row["size"])
        for row in found.batches.to_pylist()
        if not row["is_control"]
    ]


@pytest.fixture
def segments(captures: Path) -> list[Path]:
    found = data_segments(captures)
    assert len(found) == 4
    return found


def test_headers_are_those_of_a_reader_of_everything(segments: list[Path], tmp_path: Path) -> None:
    for file in segments:
        data = file.read_bytes()
        whole = walk(data)
        headers = read(tmp_path / "copy", data)
        assert headers.walk.batches == whole.batches
        told = records(data, whole).records.to_pylist()
        assert headers.records.records.to_pylist() == [row for row in told if row["is_control"]]
        assert (headers.walk.stop, headers.walk.consumed_to) == ("end", len(data))


def test_no_payload_byte_changes_anything(segments: list[Path], tmp_path: Path) -> None:
    for file in segments:
        data = file.read_bytes()
        expected = facts(read(tmp_path / "copy", data))
        for noise in (0xFF, 0x55):
            altered = bytearray(data)
            for first, last in payload_spans(walk(data)):
                altered[first:last] = bytes(byte ^ noise for byte in altered[first:last])
            assert altered != data
            assert facts(read(tmp_path / "copy", bytes(altered))) == expected


def test_a_header_is_checked_with_its_payload(segments: list[Path], tmp_path: Path) -> None:
    """Where checksums are checked, a flipped bit of any field that they cover leaves out its batch."""
    for file in segments:
        data = file.read_bytes()
        assert facts(read(tmp_path / "copy", data, checksums=True)) == facts(read(tmp_path / "copy", data))
        rows = [row for row in walk(data).batches.to_pylist() if not row["is_control"]]
        for row, at in zip(rows, (21, 27, 43, 50, 51, 53, 57, 61, 70), strict=False):
            altered = bytearray(data)
            altered[row["position"] + at] ^= 1
            found = read(tmp_path / "copy", bytes(altered), checksums=True, closed=True).walk
            assert [(f.position, f.reason) for f in found.faults] == [(row["position"], "bad_crc")]
            assert found.batches.num_rows == walk(data).batches.num_rows - 1


def test_a_payload_is_checked_in_pieces(
    tmp_path: Path, batch: Callable[..., bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fencepost.formats.headers._PAYLOAD_AT_ONCE", 7)
    data = batch([(b"k", b"v" * 100)]) + batch([(b"k", b"w" * 7)], 1)
    assert read(tmp_path / "file", data, checksums=True).walk.batches.num_rows == 2
    altered = data[:-1] + b"\xff"
    assert read(tmp_path / "file", altered, checksums=True, closed=True).walk.batches.num_rows == 1


def bytes_read_by_this_process() -> int:
    return int(Path("/proc/self/io").read_text().split()[1])


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="needs the kernel's account of reads")
def test_the_kernel_counts_no_other_byte(segments: list[Path]) -> None:
    """Every header and marker is in what comes out: were one more byte read, the count would show it."""
    for file in segments:
        with file.open("rb", buffering=0) as opened:
            fd, size = opened.fileno(), file.stat().st_size
            found = read_headers(fd, 0, size).walk.batches.to_pylist()
            idle = bytes_read_by_this_process()
            own = bytes_read_by_this_process() - idle
            before = bytes_read_by_this_process()
            read_headers(fd, 0, size)
            used = bytes_read_by_this_process() - before - own
        wanted = sum(row["size"] if row["is_control"] else 61 for row in found)
        # the account's own length may change by a digit
        assert abs(used - wanted) <= 4


def test_a_hole_of_terabytes_is_not_read(tmp_path: Path, batch: Callable[..., bytes]) -> None:
    """Two thousand batches of two gigabytes: only who reads nothing of them comes to an end."""
    step, count = 2**31 - 4096, 2000
    header = bytearray(batch([(b"k", b"v")])[:61])
    struct.pack_into(">i", header, 8, step - 12)
    path = tmp_path / "00000000000000000000.log"
    with path.open("wb", buffering=0) as file:
        try:
            file.truncate(step * count)
        except OSError:
            pytest.skip("no file can be that large here")
        for i in range(count):
            struct.pack_into(">q", header, 0, i)
            file.seek(i * step)
            file.write(header)
    with path.open("rb", buffering=0) as file:
        found = read_headers(file.fileno(), 0, step * count)
    assert found.walk.stop == "end"
    assert found.walk.batches["base_offset"].to_pylist() == list(range(count))


@pytest.mark.parametrize("closed", [False, True])
def test_how_a_file_ends(tmp_path: Path, batch: Callable[..., bytes], closed: bool) -> None:
    first, second = batch([(b"k", b"v")], 0), batch([(b"k", b"v")] * 3, 1)
    last = marker(4)
    good = first + second + last
    bad_marker = bytearray(last)
    bad_marker[70] ^= 1
    unfinished = "truncated" if closed else "torn_tail"
    ends: dict[str, tuple[bytes, str, list[tuple[int, str]]]] = {
        "clean": (good, "end", []),
        "empty": (b"", "end", []),
        "zeros": (good + bytes(5000), "end", []),
        "few zeros": (good + bytes(5), "end", []),
        "inside a header": (good + first[:30], unfinished, [(len(good), unfinished)]),
        "inside a payload": (good + batch([(b"k", b"v")], 5)[:-1], unfinished, [(len(good), unfinished)]),
        "inside a marker": (good + marker(5)[:-1], unfinished, [(len(good), unfinished)]),
        "old message set": (
            good + struct.pack(">qiib", 5, 40, 0, 1) + bytes(60),
            "bad_magic",
            [(len(good), "bad_magic")],
        ),
        "too short": (
            good + struct.pack(">qiib", 5, 48, 0, 2) + bytes(60),
            "unreadable",
            [(len(good), "unreadable")],
        ),
        "offsets go back": (good + first, "unreadable", [(len(good), "unreadable")]),
        "bad marker within": (
            first + second + bytes(bad_marker) + batch([(b"k", b"v")], 9),
            "end",
            [(len(first + second), "bad_crc")],
        ),
    }
    for name, (data, stop, faults) in ends.items():
        found = read(tmp_path / "file", data, closed=closed)
        assert (found.walk.stop, [(f.position, f.reason) for f in found.walk.faults]) == (stop, faults), name
        assert found.records.faults == ()
        assert all(len(fault.detail.split()) > 5 for fault in found.walk.faults)
        if name not in ("empty", "bad marker within"):
            assert found.walk.batches["base_offset"].to_pylist() == [0, 1, 4]
            assert found.records.records["batch_index"].to_pylist() == [2]


def test_a_bad_marker_at_the_end_of_a_growing_file_waits(tmp_path: Path, batch: Callable[..., bytes]) -> None:
    data = batch([(b"k", b"v")])
    bad = marker(1)[:-1] + b"\xff"
    waiting, closed = (read(tmp_path / "file", data + bad, closed=each).walk for each in (False, True))
    assert (waiting.stop, waiting.consumed_to, waiting.batches.num_rows) == ("torn_tail", len(data), 1)
    assert (closed.stop, [fault.reason for fault in closed.faults]) == ("end", ["bad_crc"])


def test_a_control_batch_that_is_no_marker_is_not_read(tmp_path: Path, batch: Callable[..., bytes]) -> None:
    large = batch([(b"key", b"secret" * 300)], 0, attributes=0x30)
    packed = batch([(b"key", b"secret")], 1, attributes=0x31)
    found = read(tmp_path / "file", large + packed + marker(2))
    assert found.walk.batches["is_control"].to_pylist() == [True] * 3
    assert [(f.position, f.reason) for f in found.records.faults] == [
        (0, "bad_record"),
        (len(large), "bad_record"),
    ]
    assert found.records.records["record_offset"].to_pylist() == [2]


def test_pieces_join_to_the_whole(segments: list[Path]) -> None:
    for file in segments:
        size = file.stat().st_size
        with file.open("rb", buffering=0) as opened:
            whole = facts(read_headers(opened.fileno(), 0, size))
            for limit in (1, 7):
                batches: list[Any] = []
                told: list[Any] = []
                position, stop = 0, "limit"
                while stop == "limit":
                    piece = read_headers(opened.fileno(), position, size, limit=limit)
                    moved = [
                        {**row, "batch_index": row["batch_index"] + len(batches)}
                        for row in piece.records.records.to_pylist()
                    ]
                    told += moved
                    batches += piece.walk.batches.to_pylist()
                    position, stop = piece.walk.consumed_to, piece.walk.stop
                assert (batches, told, [], stop, position) == whole


def test_a_file_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(200))
    with (tmp_path / "file").open("ab", buffering=0) as opened, pytest.raises(OSError):
        read_headers(opened.fileno(), 0, 200)


def test_the_columns_are_those_of_a_walk(tmp_path: Path) -> None:
    assert read(tmp_path / "file", marker(0)).walk.batches.schema.names[:-2] == BATCH_SCHEMA.names
