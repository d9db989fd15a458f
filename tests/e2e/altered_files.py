"""Files of brokers, to be altered: segments whose CRCs stay right, and lines of request logs."""

from __future__ import annotations

import gzip
import json
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fencepost.formats.batches import walk
from fencepost.formats.crc32c import crc32c

_CRC, _CHECKED = 17, 21
Batch = dict[str, Any]


@dataclass(frozen=True)
class Fault:
    """One edit of one file; ``also``: what it breaks beside the definition that it is planted for."""

    plant: Callable[[Path], None]
    also: frozenset[str] = frozenset()


@dataclass
class Segment:
    """One segment file: its bytes, and its batches in order."""

    file: Path
    data: bytearray
    batches: list[Batch]

    def put(self, batch: Batch, offset: int, layout: str, value: int | bytes) -> None:
        """Write a value into a batch, and its CRC anew."""
        start = batch["position"]
        struct.pack_into(layout, self.data, start + offset, value)
        end = start + batch["size"]
        checked = crc32c(np.frombuffer(bytes(self.data), dtype=np.uint8), start + _CHECKED, end)
        struct.pack_into(">I", self.data, start + _CRC, int(checked))
        self.file.write_bytes(self.data)

    def following(self, **wanted: Any) -> Iterator[tuple[Batch, Batch]]:
        """Data batches of producers, each with the one of its producer before it, that have these fields."""
        last: dict[int, Batch] = {}
        for batch in self.batches:
            before = last.get(batch["producer_id"])
            if batch["producer_id"] >= 0:
                last[batch["producer_id"]] = batch
            if before and not batch["is_control"] and all(before[k] == v for k, v in wanted.items()):
                yield before, batch

    def markers(self) -> list[Batch]:
        return [batch for batch in self.batches if batch["is_control"]]


def segments(folder: Path, partition: str) -> list[Segment]:
    """The segments of a partition on broker 1, the oldest first."""
    files = sorted((folder / "broker-1" / "log_dir" / partition).glob("*.log"))
    read = ((file, file.read_bytes()) for file in files)
    return [Segment(file, bytearray(data), walk(data).batches.to_pylist()) for file, data in read]


def change_first(folder: Path, api: str, change: Callable[[dict[str, Any]], bool]) -> None:
    """Change the first line of an API in broker 1's request logs that ``change`` says it has changed."""
    for log in sorted((folder / "broker-1").glob("kafka-request.log*")):
        packed = log.suffix == ".gz"
        text = gzip.decompress(log.read_bytes()) if packed else log.read_bytes()
        lines = text.decode().splitlines(keepends=True)
        for at, line in enumerate(lines):
            if f'"{api}"' not in line:
                continue
            first, last = line.index("{"), line.rindex("}") + 1
            told = json.loads(line[first:last])
            if change(told):
                lines[at] = line[:first] + json.dumps(told, separators=(",", ":")) + line[last:]
                changed = "".join(lines).encode()
                log.write_bytes(gzip.compress(changed) if packed else changed)
                return
    raise AssertionError(f"no such {api}")
