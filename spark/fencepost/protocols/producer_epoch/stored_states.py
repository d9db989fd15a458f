"""What a leader knew of producers where a stretch of a log begins: the ``.snapshot`` that was taken there."""

from __future__ import annotations

import numpy as np

from fencepost.protocols.producer_epoch.arrow import UNKNOWN, Longs, Piece
from fencepost.protocols.producer_epoch.partition_slice import Stretches
from fencepost.protocols.producer_epoch.producer_state import NONE, SNAPSHOT

ENTRY = (
    "snapshot_offset", "producer_id", "producer_epoch", "last_sequence", "last_offset", "offset_delta",
    "timestamp_ms", "coordinator_epoch", "current_txn_first_offset",
)  # fmt: skip
"""What an entry of a snapshot says, and where."""

STORED = (*ENTRY, "broker_id", "file")
"""What is read of ``bronze.producer_snapshots``; ``file`` is a place among the names of files."""


def stored_states(snapshots: Piece, stretches: Stretches, *, numbered: bool) -> dict[str, Longs]:
    """The entries of the snapshots (STORED) that stretches begin with, as rows to append; those stretches are
    complete. ``numbered``: the log's producers number their batches.
    """
    stored = _agreed(snapshots)
    offsets = stored["snapshot_offset"]
    begins = np.zeros(len(offsets), dtype=np.bool_)
    at = np.zeros(len(offsets), dtype=np.int64)
    if len(stretches.begins):
        at = np.minimum(np.searchsorted(stretches.begins, offsets), len(stretches.begins) - 1)
        begins = (stretches.begins[at] == offsets) & (stretches.complete[at] == 0)
        stretches.complete[at[begins]] = 1
    begins &= stored["producer_id"] != UNKNOWN
    stored = {name: column[begins] for name, column in stored.items()}
    stretch = at[begins]
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
        "last_offset": before,
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


def _agreed(stored: Piece) -> Piece:
    """The entries (ENTRY) of the snapshots that are alike in every replica that has one there."""
    found: dict[int, dict[int, set[tuple[int, ...]]]] = {}
    columns = (stored[name].tolist() for name in (*ENTRY, "broker_id"))
    for *entry, broker_id in zip(*columns, strict=True):
        found.setdefault(entry[0], {}).setdefault(broker_id, set()).add(tuple(entry))
    alike = [
        entry
        for replicas in found.values()
        for entry in sorted(next(iter(replicas.values())))
        if len({frozenset(entries) for entries in replicas.values()}) == 1
    ]
    rows = np.array(alike, dtype=np.int64).reshape(-1, len(ENTRY))
    return {name: rows[:, at] for at, name in enumerate(ENTRY)}
