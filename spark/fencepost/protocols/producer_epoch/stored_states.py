"""The states of producers where a stretch of a log begins: those of the ``.snapshot`` that was
taken there.
"""

from __future__ import annotations

import numpy as np

from fencepost.protocols.producer_epoch.arrow import UNKNOWN, Longs, Piece
from fencepost.protocols.producer_epoch.producer_state import NONE, SNAPSHOT
from fencepost.protocols.producer_epoch.stretches import Stretches

ENTRY = (
    "snapshot_offset", "producer_id", "producer_epoch", "last_sequence", "last_offset", "offset_delta",
    "timestamp_ms", "coordinator_epoch", "current_txn_first_offset",
)  # fmt: skip
"""The columns of an entry of a snapshot."""

STORED = (*ENTRY, "broker_id", "file")
"""What is read of ``bronze.producer_snapshots``; ``file`` is a place among the names of files."""


def stored_states(snapshots: Piece, stretches: Stretches, *, numbered: bool) -> dict[str, Longs]:
    """The entries of the snapshots (STORED) at which stretches begin, as rows that are appended; these
    stretches are marked as complete. ``numbered``: whether the log's producers number their batches.
    """
    stored = _equal_entries(snapshots)
    offsets = stored["snapshot_offset"]
    is_at_begin = np.zeros(len(offsets), dtype=np.bool_)
    stretch_of = np.zeros(len(offsets), dtype=np.int64)
    if len(stretches.begins):
        stretch_of = np.minimum(np.searchsorted(stretches.begins, offsets), len(stretches.begins) - 1)
        is_at_begin = (stretches.begins[stretch_of] == offsets) & (stretches.complete[stretch_of] == 0)
        stretches.complete[stretch_of[is_at_begin]] = 1
    is_at_begin &= stored["producer_id"] != UNKNOWN
    stored = {name: column[is_at_begin] for name, column in stored.items()}
    stretch = stretch_of[is_at_begin]
    before = stretches.begins[stretch] - 1
    opened = stored["current_txn_first_offset"]
    none = np.full_like(stretch, NONE)
    unknown = np.full_like(stretch, UNKNOWN)
    rows = {
        "producer_id": stored["producer_id"],
        "stretch": stretch,
        "kind": np.full_like(stretch, SNAPSHOT),
        "transactional": (opened >= 0).astype(np.int64),
        "epoch": stored["producer_epoch"],
        "first_sequence": stored["last_sequence"] - stored["offset_delta"],
        "last_sequence": stored["last_sequence"] if numbered else none,
        "base_offset": before,
        # what it has written of an open transaction; other producers' records may follow
        "last_offset": np.where(stored["last_offset"] >= opened, stored["last_offset"], before),
        "opens": opened,
        "coordinator_epoch": stored["coordinator_epoch"],
        "records": unknown,
        "timestamp_ms": stored["timestamp_ms"],
        "newest_offset": stored["last_offset"],
        "marker_type": unknown,
        "row": none,
    }
    order = np.argsort(stretch, kind="stable")
    return {name: column[order] for name, column in rows.items()}


def _equal_entries(stored: Piece) -> Piece:
    """The entries (ENTRY) of those snapshots that are equal in all replicas which have a snapshot there."""
    by_offset_and_broker: dict[int, dict[int, set[tuple[int, ...]]]] = {}
    columns = (stored[name].tolist() for name in (*ENTRY, "broker_id"))
    for *entry, broker_id in zip(*columns, strict=True):
        by_offset_and_broker.setdefault(entry[0], {}).setdefault(broker_id, set()).add(tuple(entry))
    alike = [
        entry
        for replicas in by_offset_and_broker.values()
        for entry in sorted(next(iter(replicas.values())))
        if len({frozenset(entries) for entries in replicas.values()}) == 1
    ]
    rows = np.array(alike, dtype=np.int64).reshape(-1, len(ENTRY))
    return {name: rows[:, stretch_of] for stretch_of, name in enumerate(ENTRY)}
