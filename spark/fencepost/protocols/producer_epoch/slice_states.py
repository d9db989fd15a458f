"""What a piece of a partition's log tells of producers: ``silver.producer_states``."""

from __future__ import annotations

import numpy as np

from fencepost.protocols.producer_epoch.arrow import UNKNOWN, Flags, Longs, Piece
from fencepost.protocols.producer_epoch.expiration import DEFAULT_MS
from fencepost.protocols.producer_epoch.partition_slice import PartitionSlice
from fencepost.protocols.producer_epoch.producer_state import MARKER, NO_CAUSE, NONE


def producer_states(of: PartitionSlice) -> Piece:
    """``silver.producer_states``; ``cause`` is a place in CAUSES.

    A producer whose past is hidden has a row of nulls from where its stretch begins. A leader may have
    forgotten one that was silent for long: what it knew before its next batch is null too.
    """
    columns, following, stretches = of.columns, of.following, of.stretches
    stretch, ms = columns["stretch"], columns["timestamp_ms"]
    begins, ends = np.maximum(columns["last_offset"], stretches.begins[stretch]), stretches.ends[stretch]
    until = np.where(following == NONE, ends, columns["last_offset"][following])
    last_ms = np.where(ends == UNKNOWN, UNKNOWN, stretches.last_ms[stretch])
    until_ms = np.where(following == NONE, last_ms, ms[following])
    silent = _silent(of, ms)
    # the state is true for its own position; it needs a second one to be forgotten in
    fits = (until != UNKNOWN) & (until > begins + 1)
    settled = np.flatnonzero(of.is_newest & ~of.pending)
    forgotten = np.flatnonzero(silent & fits)
    unseen = (of.states.previous == NONE) & (stretches.complete[stretch] == 0)
    hidden = np.flatnonzero(unseen & of.is_new)
    told = np.where(silent & fits, begins + 1, until)
    unknown = np.full(len(hidden), UNKNOWN)
    at = np.concatenate([settled, forgotten, hidden])
    intervals = {
        "from_position": np.concatenate(
            [begins[settled], begins[forgotten] + 1, stretches.begins[stretch[hidden]]]
        ),
        "to_position": np.concatenate([told[settled], until[forgotten], columns["last_offset"][hidden]]),
        "from_time": np.concatenate([ms[settled], ms[forgotten], unknown]),
        "to_time": np.concatenate([until_ms[settled], until_ms[forgotten], ms[hidden]]),
    }
    known = np.arange(len(at)) < len(settled)
    known[: len(settled)] &= ~silent[settled] | fits[settled]
    ends = intervals["to_position"]
    kept = (ends == UNKNOWN) | (intervals["from_position"] < ends)
    intervals = {name: column[kept] for name, column in intervals.items()}
    return _states_at(of, at[kept], known[kept], intervals)


def _silent(of: PartitionSlice, ms: Longs) -> Flags:
    """After which rows a leader may have forgotten the producer: after a day, or later if it was told so.

    Not sooner: what is missing between two batches of one day is missing, whoever noticed it.
    """
    following, expiration = of.following, of.log.evidence.expiration
    silent: Flags = (following != NONE) & (ms[following] - ms >= DEFAULT_MS)
    for at in np.flatnonzero(silent).tolist():
        since, until = int(ms[at]), int(ms[following[at]])
        least = expiration.least(since, until)
        silent[at] = least is None or until - since >= least
    return silent


def _states_at(of: PartitionSlice, at: Longs, known: Flags, intervals: Piece) -> Piece:
    def state(column: Longs) -> Longs:
        return np.where(known, column[at], UNKNOWN)

    columns, states = of.columns, of.states
    return {
        "producer_id": columns["producer_id"][at],
        "producer_epoch": state(columns["epoch"]),
        "first_sequence": state(states.first_sequence),
        "last_sequence": state(states.last_sequence),
        "last_offset": state(columns["newest_offset"]),
        "coordinator_epoch": state(states.coordinator_epoch),
        "current_txn_first_offset": state(states.current_txn_first_offset),
        "marker": np.where(known, of.kind[at] == MARKER, UNKNOWN),
        "transactional": state(columns["transactional"]),
        "cause": np.where(known, states.cause[at], NO_CAUSE),
        **intervals,
    }
