"""A large value is kept compressed, and read as it was written, not too many at a time."""

from __future__ import annotations

from random import Random

import pyarrow as pa

from fencepost.formats.large_values import as_written, compressed

WRITTEN = [None, b"", b"a" * 16_384, b"b" * 16_385, bytes(range(256)) * 20_000, Random(1).randbytes(30_000)]


def _rows(values: list[bytes | None]) -> pa.Table:
    kept, sizes = compressed(pa.array(values, pa.binary()))
    return pa.table({"number": range(len(values)), "value": kept, "value_size": sizes})


def test_what_is_kept_is_read_as_it_was_written() -> None:
    rows = _rows(WRITTEN)
    assert rows["value_size"].to_pylist() == [None, None, None, 16_385, 5_120_000, 30_000]
    assert rows["value"].to_pylist()[:3] == WRITTEN[:3]
    assert len(rows["value"][4].as_py()) < 100_000
    read = pa.concat_tables(as_written(rows))
    assert read["value"].to_pylist() == WRITTEN
    assert read.schema == rows.schema


def test_few_bytes_are_read_at_a_time() -> None:
    rows = _rows([bytes([number]) * 3_000_000 for number in range(7)] + [b"\1" * 20_000_000, b"x", b"y"])
    read = list(as_written(rows))
    assert [some["number"].to_pylist() for some in read] == [[0, 1], [2, 3], [4, 5], [6], [7], [8, 9]]


def test_no_rows_are_read_once() -> None:
    (read,) = as_written(_rows([]))
    assert read.num_rows == 0


def test_what_was_captured_before_is_read_as_it_is() -> None:
    """A lake from before has values as they were written, and no sizes."""
    rows = pa.table({"value": [b"c" * 50_000], "value_size": pa.array([None], pa.int32())})
    (read,) = as_written(rows)
    assert read.equals(rows)
