"""Explains a verdict about two batches of a producer, one after the other: which they are, what differs."""

from __future__ import annotations

import json
from collections.abc import Sequence

from fencepost.protocols.base import Explanation, Verdict
from fencepost.protocols.producer_epoch.ended_by import Row
from fencepost.reading import Reader, rows
from fencepost.words import counted, printable, time_of

_STATES = "silver.producer_states"
_GAP, _FENCED = "no_sequence_gap", "no_write_after_fence"
_INVARIANTS = (_GAP, _FENCED, "no_sequence_reset", "new_epoch_starts_at_sequence_zero")
_SEQUENCES = 1 << 31
"""2147483647 is followed by 0."""


def explain(reader: Reader, verdicts: Sequence[Verdict]) -> dict[str, Explanation]:
    """Explanations by verdict id, of the verdicts whose two rows are there; ``verdicts`` are violated."""
    witnesses = {
        row["verdict_id"]: (row, json.loads(row["witness"] or "{}"))
        for row in verdicts
        if row["invariant"] in _INVARIANTS
    }
    if not witnesses or not reader.has(_STATES):
        return {}
    where = {
        "partition_key": sorted({witness["p"] for _, witness in witnesses.values()}),
        "producer_id": sorted({witness["k"] for _, witness in witnesses.values()}),
    }
    begins, ends = {}, {}
    for row in rows(reader.scan(_STATES, where=where)):
        of = (row["cluster"], row["partition_key"], row["producer_id"])
        begins[*of, row["from_position"]] = ends[*of, row["to_position"]] = row
    explanations = {}
    for verdict_id, (verdict, witness) in witnesses.items():
        at = (verdict["cluster"], witness["p"], witness["k"], verdict["from_position"])
        if at in begins and at in ends:
            explanations[verdict_id] = Explanation(_sentence(verdict["invariant"], ends[at], begins[at]))
    return explanations


def _sentence(invariant: str, before: Row, after: Row) -> str:
    place = f"{printable(after['topic'])}-{after['partition']}"
    said = (
        f"{time_of(after['from_time'])}  producer {after['producer_id']} has {_written(after)} in {place}. "
        f"Before it had {_written(before)} there."
    )
    if before["silent_ms"] is not None:
        said += f" In between it wrote nothing there for {before['silent_ms']} ms."
    if invariant == _GAP:
        missing = (after["first_sequence"] - before["last_sequence"] - 1) % _SEQUENCES
        said += (
            f"\nThere, {counted(missing, 'sequence number is', 'sequence numbers are')} missing in between."
        )
    if invariant == _FENCED:
        said += f"\nEpoch {before['producer_epoch']} had fenced epoch {after['producer_epoch']} there."
    return said


def _written(row: Row) -> str:
    if row["marker"]:
        return f"a marker of epoch {row['producer_epoch']} at offset {row['last_offset']}"
    return (
        f"a batch of epoch {row['producer_epoch']} at offset {row['last_offset']}, with the sequence numbers "
        f"{row['first_sequence']} to {row['last_sequence']},"
    )
