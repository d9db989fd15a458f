"""The text files of a partition's folder: what real brokers wrote agrees with their batches."""

from __future__ import annotations

from bisect import bisect_right
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.formats.batches import walk
from fencepost.formats.partition_files import read_leader_epochs, topic_id_in


def test_every_checkpoint_of_every_capture_agrees_with_the_batches_beside_it(captures: Path) -> None:
    """Each batch has the epoch of the last entry that does not begin behind it.

    A leader makes its entry when it is elected, before it writes: a log may end with an entry.
    """
    files = sorted(captures.glob("*/broker-*/log_dir/*/leader-epoch-checkpoint"))
    seen, exact, ends, nothing = 0, 0, 0, 0
    for file in files:
        entries = read_leader_epochs(file.read_bytes())
        assert (entries.faults, entries.consumed_to) == ((), file.stat().st_size)
        rows = [(row["start_offset"], row["leader_epoch"]) for row in entries.rows.to_pylist()]
        nothing += not file.stat().st_size
        if not rows and (file.parent.name.endswith("-delete") or not file.stat().st_size):
            continue  # a broker empties it before it removes the folder, and makes it before it writes to it
        assert rows == sorted(rows)
        starts = [start for start, _ in rows]
        end = 0
        # a log whose records were deleted begins behind them, and may be empty
        for segment in sorted(file.parent.glob("*.log")):
            end = max(end, int(segment.stem))
            for batch in walk(segment.read_bytes()).batches.to_pylist():
                offset, epoch = batch["base_offset"], batch["leader_epoch"]
                assert rows[bisect_right(starts, offset) - 1][1] == epoch, file
                seen, exact, end = seen + 1, exact + (offset in starts), batch["last_offset"] + 1
        ends += bool(rows) and rows[-1][0] == end
        assert not rows or rows[-1][0] <= end
    assert len(files) > 300
    assert min(seen // 100, exact, ends) > 50
    assert nothing


def test_every_partition_metadata_of_every_capture_names_an_id(captures: Path) -> None:
    files = sorted(captures.glob("*/broker-*/log_dir/*/partition.metadata"))
    found = {topic_id_in(file.read_bytes()) for file in files}
    assert None not in found
    assert "AAAAAAAAAAAAAAAAAAAAAQ" in found
    assert len(found) > 50


def test_positions_count_from_the_beginning_of_the_file() -> None:
    rows = read_leader_epochs(b"0\n2\n0 0\n12 345\n").rows.to_pylist()
    assert rows == [
        {"position": 4, "leader_epoch": 0, "start_offset": 0},
        {"position": 8, "leader_epoch": 12, "start_offset": 345},
    ]


@pytest.mark.parametrize(
    ("data", "reason", "position"),
    [
        (b"\n", "truncated", 0),
        (b"0", "truncated", 0),
        (b"0\n", "truncated", 0),
        (b"0\n1\n", "truncated", 0),
        (b"0\nmany\n0 0\n", "truncated", 0),
        (b"0\n-1\n", "truncated", 0),
        (b"2\n1\n0 0\n", "unreadable", 0),
        (b"\xff\xfe\n1\n0 0\n", "unreadable", 0),
        (b"0\n1\n0 0\n1 5\n", "bad_record", 8),
        (b"0\n2\n0 0\n1\n", "bad_record", 8),
        (b"0\n1\n-1 0\n", "bad_record", 4),
        (b"0\n1\n0  0\n", "bad_record", 4),
        (b"0\n1\n2147483648 0\n", "bad_record", 4),
        (b"0\n1\n0 9223372036854775808\n", "bad_record", 4),
    ],
)
def test_a_damaged_checkpoint_tells_nothing(data: bytes, reason: str, position: int) -> None:
    entries = read_leader_epochs(data)
    assert (entries.rows.num_rows, entries.consumed_to) == (0, 0)
    (fault,) = entries.faults
    assert (fault.reason, fault.position, fault.length) == (reason, position, len(data) - position)
    assert len(fault.detail.split()) > 5


def test_a_checkpoint_without_a_byte_is_no_damage() -> None:
    entries = read_leader_epochs(b"")
    assert (entries.rows.num_rows, entries.faults, entries.consumed_to) == (0, (), 0)


@given(st.binary(max_size=60) | st.text("0129 \n-").map(str.encode))
def test_no_bytes_crash_the_readers(data: bytes) -> None:
    entries = read_leader_epochs(data)
    assert bool(entries.faults) == (entries.consumed_to < len(data))
    assert topic_id_in(data) is None
