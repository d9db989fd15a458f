"""Log segments as Spark rows: headers of batches, and records with what type they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from io import FileIO
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.capture.plan import Fault, Source, head_digest
from fencepost.capture.reader import OUTCOME, PlannedSource, arrow_rows, fault_of, outcome
from fencepost.formats import batches as formats
from fencepost.formats.classify import classify
from fencepost.tables import BATCHES, RECORDS, Table

_WINDOW = 8 << 20
_SAMPLE = 256
_FRAMED = ("end", "torn_tail")


class SegmentSource(PlannedSource):
    """Rows of ``bronze.batches``, of ``bronze.records``, or what became of every file."""

    tables = (BATCHES, RECORDS, OUTCOME)

    @classmethod
    def name(cls) -> str:
        """The format's name for ``spark.read.format``."""
        return "kafka_segments"

    def rows(self, source: Source, table: Table) -> Iterator[pa.RecordBatch]:
        """The rows of ``table`` in the source's range."""
        if table is OUTCOME:
            yield _outcome(source)
            return
        give = _batches if table is BATCHES else _records
        for window in _windows(source):
            yield give(source, window)


@dataclass(frozen=True)
class _Window:
    """A piece of a segment that starts at a batch: its bytes, where they lie in the file, its batches."""

    data: np.ndarray[tuple[int], np.dtype[np.uint8]]
    position: int
    walk: formats.Walk
    final: bool


def _windows(source: Source) -> Iterator[_Window]:
    """The source's range, window by window.

    Reads instead of mapping: a follower that truncates a mapped file would kill the process.
    """
    position, size = source.start, _WINDOW
    with Path(source.file).open("rb", buffering=0) as file:
        while True:
            file.seek(position)
            want = min(size, source.end - position)
            data = np.frombuffer(_read(file, want), dtype=np.uint8)
            final = position + data.size >= source.end or data.size < want
            walk = formats.walk(data, closed=final and source.closed)
            if walk.stop == "end" and walk.consumed_to < data.size and not final:
                final = _only_zeros(file, position + walk.consumed_to, source.end)
            if not final and walk.consumed_to == 0:
                # one batch is larger than the window
                size *= 2
                continue
            yield _Window(data, position, walk, final)
            if final or walk.stop not in _FRAMED:
                return
            position, size = position + walk.consumed_to, _WINDOW


def _read(file: FileIO, size: int) -> bytearray:
    data = bytearray(size)
    view, filled = memoryview(data), 0
    while filled < size and (got := file.readinto(view[filled:])):
        filled += got
    return data[:filled]


def _only_zeros(file: FileIO, position: int, end: int) -> bool:
    """Whether a preallocated file holds nothing more."""
    file.seek(position)
    while position < end and (data := _read(file, min(_WINDOW, end - position))):
        if any(data):
            return False
        position += len(data)
    return True


def _batches(source: Source, window: _Window) -> pa.RecordBatch:
    walked = window.walk.batches
    columns = {name: walked[name] for name in walked.schema.names if name in BATCHES.columns}
    position = pc.add(walked["position"], window.position)
    return arrow_rows(BATCHES, walked.num_rows, {**columns, **_origin(source), "position": position})


def _records(source: Source, window: _Window) -> pa.RecordBatch:
    walked = window.walk.batches
    records = formats.records(window.data, window.walk).records
    index = records["batch_index"]
    inherited = (
        "leader_epoch",
        "base_offset",
        "last_offset",
        "producer_id",
        "producer_epoch",
        "is_transactional",
    )
    columns = {name: walked[name].take(index) for name in inherited}
    columns |= {
        name: records[name] for name in ("record_offset", "timestamp_ms", "is_control", "key", "value")
    }
    kinds = classify(source.topic or "", records["key"], records["value"], records["is_control"])
    columns |= {name: kinds[name] for name in kinds.schema.names}
    position = pc.add(walked["position"].take(index), window.position)
    return arrow_rows(RECORDS, records.num_rows, {**columns, **_origin(source), "position": position})


def _origin(source: Source) -> dict[str, object]:
    return {
        "cluster": source.cluster,
        "broker_id": source.broker_id,
        "file": source.file,
        "topic": source.topic,
        "topic_id": source.topic_id,
        "partition": source.partition,
    }


def _outcome(source: Source) -> pa.RecordBatch:
    faults: list[Fault] = []
    consumed_to, entries, preallocated = source.start, 0, False
    for window in _windows(source):
        faults += _faults(source, window)
        entries += window.walk.batches.num_rows
        consumed_to = window.position + _known_to(window.walk)
        preallocated = window.walk.stop == "end" and consumed_to < source.end
    with Path(source.file).open("rb") as file:
        progress = {
            "head_digest": head_digest(file, consumed_to),
            # the size of a preallocated file stays the same: never note it, so that it is always looked at
            "size": consumed_to if preallocated else source.end,
            "consumed_to": consumed_to,
            "entries": entries,
            "skipped": 0,
        }
    return outcome(source, faults, progress)


def _faults(source: Source, window: _Window) -> Iterator[Fault]:
    walk = window.walk
    for fault in (*walk.faults, *formats.records(window.data, walk).faults):
        if fault.reason == "torn_tail" and not window.final:
            continue
        # where the framing is lost nothing more is read, however much follows this window
        lost = walk.stop not in _FRAMED and fault.position == _known_to(walk)
        length = source.end - window.position - fault.position if lost else fault.length
        sample = window.data[fault.position : fault.position + min(length, _SAMPLE)].tobytes()
        yield fault_of(source, replace(fault, length=length), sample, window.position)


def _known_to(walk: formats.Walk) -> int:
    """Where to read on, should the file change: where the framing was lost, else after the last batch."""
    return walk.consumed_to if walk.stop in _FRAMED else max(fault.position for fault in walk.faults)
