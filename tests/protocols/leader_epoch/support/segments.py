"""Segments of real logs: read, cut and written on, with right checksums."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from record_batch import Batch

from fencepost.formats.batches import records, walk
from fencepost.formats.classify import classify
from fencepost.formats.decode import decode
from fencepost.replay.keys import METADATA_TOPIC


def encoded(values: Sequence[bytes], offset: int, leader_epoch: int, ms: int) -> bytes:
    """A batch of these records as a leader appends it."""
    data = Batch(values, timestamp_ms=ms).encode()
    # offset and leader epoch are not under the checksum
    return struct.pack(">q", offset) + data[8:12] + struct.pack(">i", leader_epoch) + data[16:]


def batches_of(segment: Path) -> list[dict[str, Any]]:
    """The headers of its batches."""
    return walk(segment.read_bytes(), closed=True).batches.to_pylist()


def append(segment: Path, *batches: Sequence[bytes]) -> None:
    """Write batches behind the last one, in its leader epoch and as if at its time."""
    for values in batches:
        last = batches_of(segment)[-1]
        place = (last["last_offset"] + 1, last["leader_epoch"], last["max_timestamp_ms"])
        segment.write_bytes(segment.read_bytes() + encoded(values, *place))


def metadata_values(segment: Path, record_name: str, **fields: Any) -> list[bytes]:
    """The records of one type of a metadata log that have these fields, as they were written."""
    data = segment.read_bytes()
    rows = records(data, walk(data, closed=True)).records
    named = classify(METADATA_TOPIC, rows["key"], rows["value"], rows["is_control"])["record_name"]
    found = []
    for value, each in zip(rows["value"].to_pylist(), named.to_pylist(), strict=True):
        if each == record_name:
            (told,) = decode(each, "value", pa.array([value])).values.to_pylist()
            found += [value] if fields.items() <= told.items() else []
    return found
