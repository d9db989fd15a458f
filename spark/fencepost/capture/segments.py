"""Log segments as rows: headers of batches, and records with their types."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.capture.digests import head_digest, headers_digest
from fencepost.capture.files import opened_exactly
from fencepost.capture.headers import header_pieces
from fencepost.capture.kinds import Kind
from fencepost.capture.pieces import Piece
from fencepost.capture.plan import SEGMENT, Fault, Source
from fencepost.capture.rows import OUTCOME, Rows, arrow_rows, fault_of, outcome
from fencepost.capture.secrets import METADATA, without_secrets
from fencepost.capture.whole import windows
from fencepost.formats import faults as formats
from fencepost.formats.batches import Records, Walk
from fencepost.formats.classify import classify
from fencepost.formats.large_values import compressed
from fencepost.tables import BATCHES, RECORDS

_FRAMED = ("end", "torn_tail", "limit")
_OF_GROUPS = "__consumer_offsets"
"""The only topic whose records may contain whole groups."""


def rows(source: Source) -> Rows:
    """The rows of ``bronze.batches`` and ``bronze.records``, and the source's outcome."""
    progress = _Progress(source)
    for piece in _pieces(source):
        read = piece.records()
        yield BATCHES, _batches(source, piece)
        if read.records.num_rows:
            yield RECORDS, _records(source, piece, read)
        progress.add(piece, read)
    yield OUTCOME, progress.outcome()


def _pieces(source: Source) -> Iterator[Piece]:
    return header_pieces(source) if source.is_headers_only else windows(source)


def _batches(source: Source, piece: Piece) -> pa.RecordBatch:
    walked = piece.walk.batches
    columns = {name: walked[name] for name in walked.schema.names if name in BATCHES.columns}
    position = pc.add(walked["position"], piece.position)
    return arrow_rows(BATCHES, walked.num_rows, {**columns, **_origin(source), "position": position})


def _records(source: Source, piece: Piece, read: Records) -> pa.RecordBatch:
    walked = piece.walk.batches
    records = read.records
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
    if source.topic == METADATA:
        columns["value"] = without_secrets(columns["record_name"], columns["value"])
    if source.topic == _OF_GROUPS:
        columns["value"], columns["value_size"] = compressed(columns["value"])
    position = pc.add(walked["position"].take(index), piece.position)
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


class _Progress:
    """How far a source has been read, and its faults."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._faults: list[Fault] = []
        self._consumed_to, self._last_header, self._preallocated = source.start, source.last_header, False
        self._entries = self._records = 0
        self._next_offset: int | None = None

    def add(self, piece: Piece, read: Records) -> None:
        """Count one more piece."""
        self._faults += _faults(self._source, piece, (*piece.walk.faults, *read.faults))
        batches = piece.walk.batches
        self._entries += batches.num_rows
        self._records += read.records.num_rows
        self._consumed_to = piece.position + _read_on_from(piece.walk)
        if batches.num_rows:
            self._last_header = piece.position + batches["position"][-1].as_py()
            self._next_offset = batches["last_offset"][-1].as_py() + 1
        self._preallocated = piece.walk.stop == "end" and self._consumed_to < self._source.end

    def outcome(self) -> pa.RecordBatch:
        """The source's rows of OUTCOME, after its last piece was added."""
        progress = {
            "head_digest": _digest(self._source, self._consumed_to, self._last_header),
            # the size of a preallocated file does not change: do not note it, so that every run looks again
            "size": self._consumed_to if self._preallocated else self._source.end,
            "consumed_to": self._consumed_to,
            "entries": self._entries,
            "records": self._records,
            "skipped": 0,
            "next_offset": self._next_offset,
        }
        return outcome(self._source, self._faults, progress)


def _digest(source: Source, consumed_to: int, last_header: int) -> str:
    with opened_exactly(source.file) as file:
        if source.is_headers_only:
            return headers_digest(file, consumed_to, last_header)
        return head_digest(file, consumed_to)


def _faults(source: Source, piece: Piece, faults: tuple[formats.Fault, ...]) -> Iterator[Fault]:
    walk = piece.walk
    for fault in faults:
        if fault.reason == "torn_tail" and not piece.final:
            continue
        # if framing is lost, nothing more of the file is read: the fault covers all of the rest
        lost = walk.stop not in _FRAMED and fault.position == _read_on_from(walk)
        length = source.end - piece.position - fault.position if lost else fault.length
        whole = replace(fault, length=length)
        yield fault_of(source, whole, piece.sample(whole), piece.position)


def _read_on_from(walk: Walk) -> int:
    """Where reading continues if the file changes: where framing was lost, or else after the last batch."""
    return walk.consumed_to if walk.stop in _FRAMED else max(fault.position for fault in walk.faults)


SEGMENTS = Kind(
    SEGMENT,
    rows,
    (BATCHES, RECORDS),
    file=re.compile(r"\d{20}\.log(\.deleted)?"),
    grows_by={BATCHES.name: "base_offset", RECORDS.name: "record_offset"},
)
