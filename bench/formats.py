"""Decoding `__consumer_offsets` to Arrow against kafka-dump-log, in CPU seconds on the same segments.

    python bench/formats.py [records]

Both read framing, checksum, keys and values of every record. Fencepost decodes them to Arrow,
``kafka-dump-log --offsets-decoder`` prints them to /dev/null. CPU is user plus system time. The start of the
JVM is included, since users wait for it, too; numba's one-time compilation (cached on disk) is excluded by a
warm-up. The segments have encoded OffsetCommit records of many groups, which are repeated with higher
offsets.
"""

from __future__ import annotations

import os
import resource
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.formats.batches import records, walk
from fencepost.formats.classify import key_types
from fencepost.formats.decode import decode
from fencepost.formats.schemas import types_of

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "support"))
from record_batches import encode_batch

TOPIC = "__consumer_offsets"
DISTINCT = 20_000
PIECE = 16 << 20
GOAL = 20


@dataclass(frozen=True)
class Measured:
    """The result of one reader on one segment."""

    segment: str
    reader: str
    cpu_seconds: float
    records: int
    size: int

    @property
    def records_per_cpu_second(self) -> float:
        return self.records / self.cpu_seconds


def offset_commit(i: int) -> tuple[bytes, bytes]:
    """Key and value (version 4, with topic id) of one commit, as a 4.3 coordinator writes them."""
    group = f"checkout-service-{i % 97}".encode()
    topic = f"orders.region-{i % 13}.v1".encode()
    key = struct.pack(">hh", 1, len(group)) + group + struct.pack(">h", len(topic)) + topic
    value = struct.pack(">hqi", 4, 1_000_000 + i, i % 7) + b"\x01" + struct.pack(">q", 1_795_212_159_944 + i)
    return key + struct.pack(">i", i % 24), value + b"\x01\x00\x10" + bytes([i % 13 + 1]) * 16


def write_segment(path: Path, wanted: int, per_batch: int) -> int:
    """Write about ``wanted`` records in batches of ``per_batch``; returns their number."""
    batches = [
        encode_batch(map(offset_commit, range(first, first + per_batch)))
        for first in range(0, DISTINCT, per_batch)
    ]
    block = np.frombuffer(b"".join(batches), dtype=np.uint8)
    starts = np.cumsum([0, *[len(data) for data in batches[:-1]]])
    blocks = max(1, wanted // (per_batch * len(batches)))
    with path.open("wb") as file:
        for i in range(blocks):
            moved = block.copy()
            # The base offset is outside the checksum, so that a broker can set it.
            offsets = (np.arange(len(batches)) + i * len(batches)) * per_batch
            moved[starts[:, None] + np.arange(8)] = offsets.astype(">i8").view(np.uint8).reshape(-1, 8)
            file.write(moved.tobytes())
    return blocks * len(batches) * per_batch


def decoded(path: Path) -> Iterator[tuple[str, pa.StructArray, pa.StructArray]]:
    """Every record of the segment as (record name, keys, values), piece by piece."""
    data = np.memmap(path, dtype=np.uint8, mode="r")
    names = {number: record.name for number, record in types_of(TOPIC).items()}
    start, stop = 0, "limit"
    while stop == "limit":
        walked = walk(data, start, limit=PIECE)
        rows = records(data, walked).records
        types = key_types(rows["key"])
        for number in np.unique(types):
            part = rows if (types == number).all() else rows.filter(pc.equal(pa.array(types), int(number)))
            name = names[int(number)]
            yield name, decode(name, "key", part["key"]).values, decode(name, "value", part["value"]).values
        start, stop = walked.consumed_to, walked.stop
    assert stop == "end", stop


def cpu_of(work: Callable[[], int], repeats: int = 3) -> tuple[float, int]:
    """The least CPU seconds of running ``work`` in this process, and its result."""
    best, result = float("inf"), 0
    for _ in range(repeats):
        begin = time.process_time()
        result = work()
        best = min(best, time.process_time() - begin)
    return best, result


def decode_all(path: Path) -> int:
    """Decode the segment; returns the number of records whose key and value could be decoded."""
    return sum(len(keys) - max(keys.null_count, values.null_count) for _, keys, values in decoded(path))


def dump_log(path: Path, jars: Path) -> float:
    """CPU seconds of kafka-dump-log on the segment."""
    command = ["java", "-Xmx512m", "-cp", f"{jars}/kafka-4.3.1/*", "org.apache.kafka.tools.DumpLogSegments"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [*command, "--offsets-decoder", "--files", str(path)],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(wanted: int, jars: Path, folder: Path) -> list[Measured]:
    """Both segments, three readers each."""
    results = []
    for segment, per_batch in (("large batches (70 records)", 70), ("small batches (1 record)", 1)):
        path = folder / str(per_batch) / "00000000000000000000.log"
        path.parent.mkdir()
        count = write_segment(path, wanted, per_batch)
        size = path.stat().st_size
        decode_all(path)  # compiles the kernels if they are not cached, and warms the page cache
        read, _ = cpu_of(lambda path=path: np.fromfile(path, dtype=np.uint8).size)  # type: ignore[misc]
        ours, done = cpu_of(lambda path=path: decode_all(path))  # type: ignore[misc]
        assert done == count, (done, count)
        dumped = dump_log(path, jars)
        for reader, cpu in (("reading the file", read), ("fencepost", ours), ("kafka-dump-log", dumped)):
            results.append(Measured(segment, reader, cpu, count, size))
    return results


def main() -> int:
    """Print the table; returns 1 if the goal was missed."""
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000
    root = Path(__file__).resolve().parents[1]
    jars = Path(os.environ.get("FENCEPOST_JARS", root / ".jars"))
    with tempfile.TemporaryDirectory() as folder:
        results = measure(wanted, jars, Path(folder))
    print(f"{'segment':28}{'reader':18}{'CPU s':>9}{'records/CPU s':>16}{'MB/CPU s':>10}")
    for row in results:
        rate = row.size / row.cpu_seconds / 1e6
        print(
            f"{row.segment:28}{row.reader:18}{row.cpu_seconds:9.3f}{row.records_per_cpu_second:16,.0f}{rate:10.0f}"
        )
    missed = False
    for read, ours, dumped in zip(results[::3], results[1::3], results[2::3], strict=True):
        factor = dumped.cpu_seconds / ours.cpu_seconds
        missed |= factor < GOAL
        print(
            f"{ours.segment}: {factor:.1f} times the CPU efficiency of kafka-dump-log (goal {GOAL}), "
            f"{ours.cpu_seconds / read.cpu_seconds:.1f} times the CPU of reading the file"
        )
    print("numba's one-time compilation is not counted; JVM start is")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
