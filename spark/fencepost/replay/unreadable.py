"""The parts of a log that could not be read: pieces of its segments, and batches with a damaged record."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

_SEGMENT = re.compile(r"([^/]+)-(\d+)(?:\.[0-9a-f]{32}-\w+)?/(\d{20})\.log[^/]*$")

_BEHIND = 2**62
"""Behind every offset of a log."""


@dataclass(frozen=True, slots=True)
class UnreadPiece:
    """A piece of a segment that could not be read: its place, and the offset with which its file begins."""

    topic: str
    partition: int
    segment_from: int
    file: str
    position: int


def unread_pieces(quarantine: pa.Table) -> list[UnreadPiece]:
    """The pieces of segments of all logs among rows of ``bronze.quarantine``."""
    places = zip(quarantine["file"].to_pylist(), quarantine["position"].to_pylist(), strict=True)
    return [
        UnreadPiece(*log, file, position)
        for log, (file, position) in zip(segment_logs(quarantine), places, strict=True)
        if log is not None
    ]


def unread_by_log(quarantine: pa.Table) -> dict[tuple[str, str, int], list[UnreadPiece]]:
    """The same by cluster, topic and partition."""
    pieces: dict[tuple[str, str, int], list[UnreadPiece]] = {}
    for cluster in pc.unique(quarantine["cluster"]).to_pylist():
        for piece in unread_pieces(quarantine.filter(pc.equal(quarantine["cluster"], cluster))):
            pieces.setdefault((cluster, piece.topic, piece.partition), []).append(piece)
    return pieces


def missing_end(topic: str, partition: int) -> UnreadPiece:
    """Stands for the end of a log that was deleted before its end was captured."""
    return UnreadPiece(topic, partition, _BEHIND, "", 0)


def segment_logs(quarantine: pa.Table) -> list[tuple[str, int, int] | None]:
    """For each row of ``bronze.quarantine`` the topic, partition and first offset of its segment; None for
    other files.
    """
    found: list[tuple[str, int, int] | None] = []
    for kind, file in zip(quarantine["kind"].to_pylist(), quarantine["file"].to_pylist(), strict=True):
        name = _SEGMENT.search(file or "") if kind == "segment" else None
        found.append((name[1], int(name[2]), int(name[3])) if name else None)
    return found


def damaged_batches(records: pa.Table, types: Collection[int] | None = None) -> set[tuple[int, int]]:
    """(base offset, leader epoch) of the batches with a record that could not be read.

    ``records``: rows of ``bronze.records`` of one log. A record of a type that this release does not know is
    not damaged: it cannot hide a record that is replayed. With ``types`` only records of these types count,
    and those whose type could not be read.
    """
    bad = pc.is_in(records["decode_status"], pa.array(["malformed", "unknown_version"]))
    if types is not None:
        relevant = pc.is_in(records["record_type"], pa.array(sorted(types), pa.int32()))
        bad = pc.and_(bad, pc.or_(relevant, pc.is_null(records["record_type"])))
    rows = records.select(["base_offset", "leader_epoch"]).filter(bad)
    return set(zip(rows["base_offset"].to_pylist(), rows["leader_epoch"].to_pylist(), strict=True))
