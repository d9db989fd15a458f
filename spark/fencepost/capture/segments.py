"""Log segments as Spark rows: headers of batches, and records with what type they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.capture.digests import head_digest, headers_digest
from fencepost.capture.headers import header_pieces
from fencepost.capture.pieces import Piece
from fencepost.capture.plan import Fault, Source
from fencepost.capture.rows import OUTCOME, arrow_rows, fault_of, outcome
from fencepost.capture.whole import windows
from fencepost.formats import faults as formats
from fencepost.formats.batches import Walk
from fencepost.formats.classify import classify
from fencepost.tables import BATCHES, RECORDS, Table

_FRAMED = ("end", "torn_tail", "limit")


def rows(source: Source, table: Table) -> Iterator[pa.RecordBatch]:
    """The rows of ``bronze.batches``, of ``bronze.records``, or what became of the source."""
    if table is OUTCOME:
        yield _outcome(source)
        return
    give = _batches if table is BATCHES else _records
    for piece in _pieces(source):
        yield give(source, piece)


def _pieces(source: Source) -> Iterator[Piece]:
    return header_pieces(source) if source.is_headers_only else windows(source)


def _batches(source: Source, piece: Piece) -> pa.RecordBatch:
    walked = piece.walk.batches
    columns = {name: walked[name] for name in walked.schema.names if name in BATCHES.columns}
    position = pc.add(walked["position"], piece.position)
    return arrow_rows(BATCHES, walked.num_rows, {**columns, **_origin(source), "position": position})


def _records(source: Source, piece: Piece) -> pa.RecordBatch:
    walked = piece.walk.batches
    records = piece.records().records
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


def _outcome(source: Source) -> pa.RecordBatch:
    faults: list[Fault] = []
    consumed_to, last_header, preallocated = source.start, source.last_header, False
    entries = records = 0
    for piece in _pieces(source):
        read = piece.records()
        faults += _faults(source, piece, (*piece.walk.faults, *read.faults))
        batches = piece.walk.batches
        entries += batches.num_rows
        records += read.records.num_rows
        consumed_to = piece.position + _known_to(piece.walk)
        if batches.num_rows:
            last_header = piece.position + batches["position"][-1].as_py()
        preallocated = piece.walk.stop == "end" and consumed_to < source.end
    progress = {
        "head_digest": _digest(source, consumed_to, last_header),
        # the size of a preallocated file stays the same: never note it, so that it is always looked at
        "size": consumed_to if preallocated else source.end,
        "consumed_to": consumed_to,
        "entries": entries,
        "records": records,
        "skipped": 0,
    }
    return outcome(source, faults, progress)


def _digest(source: Source, consumed_to: int, last_header: int) -> str:
    with Path(source.file).open("rb", buffering=0) as file:
        if source.is_headers_only:
            return headers_digest(file.fileno(), consumed_to, last_header)
        return head_digest(file, consumed_to)


def _faults(source: Source, piece: Piece, faults: tuple[formats.Fault, ...]) -> Iterator[Fault]:
    walk = piece.walk
    for fault in faults:
        if fault.reason == "torn_tail" and not piece.final:
            continue
        # where the framing is lost nothing more is read, however much follows this window
        lost = walk.stop not in _FRAMED and fault.position == _known_to(walk)
        length = source.end - piece.position - fault.position if lost else fault.length
        whole = replace(fault, length=length)
        yield fault_of(source, whole, piece.sample(whole), piece.position)


def _known_to(walk: Walk) -> int:
    """Where to read on, should the file change: where the framing was lost, else after the last batch."""
    return walk.consumed_to if walk.stop in _FRAMED else max(fault.position for fault in walk.faults)
