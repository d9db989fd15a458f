"""The states of producers in a slice of a partition's log: ``silver.producer_states``."""

from __future__ import annotations

import numpy as np

from fencepost.protocols.producer_epoch.arrow import UNKNOWN, Flags, Longs, Piece
from fencepost.protocols.producer_epoch.expiration import DEFAULT_MS
from fencepost.protocols.producer_epoch.partition_slice import PartitionSlice
from fencepost.protocols.producer_epoch.producer_state import MARKER, NO_CAUSE, NONE


def producer_states(partition_slice: PartitionSlice) -> Piece:
    """``silver.producer_states``; ``cause`` is a place in CAUSES.

    A producer whose past is hidden has a row of nulls from the beginning of its stretch. A leader may forget
    a producer that was silent for long: its state from then to its next batch is null too.
    """
    columns, following, stretches = (
        partition_slice.columns,
        partition_slice.following,
        partition_slice.stretches,
    )
    stretch, ms = columns["stretch"], columns["timestamp_ms"]
    begins, ends = np.maximum(columns["last_offset"], stretches.begins[stretch]), stretches.ends[stretch]
    until = np.where(following == NONE, ends, columns["last_offset"][following])
    last_ms = np.where(ends == UNKNOWN, UNKNOWN, stretches.last_ms[stretch])
    until_ms = np.where(following == NONE, last_ms, ms[following])
    silent = _silent(partition_slice, ms)
    # a state holds at its own position: there is room for a forgotten one only if another position follows
    fits = (until != UNKNOWN) & (until > begins + 1)
    settled = np.flatnonzero(partition_slice.is_newest & ~partition_slice.pending)
    forgotten = np.flatnonzero(silent & fits)
    past_is_unknown = (partition_slice.states.previous == NONE) & (stretches.complete[stretch] == 0)
    hidden = np.flatnonzero(past_is_unknown & partition_slice.is_new)
    ends_of_states = np.where(silent & fits, begins + 1, until)
    unknown = np.full(len(hidden), UNKNOWN)
    at = np.concatenate([settled, forgotten, hidden])
    intervals = {
        "from_position": np.concatenate(
            [begins[settled], begins[forgotten] + 1, stretches.begins[stretch[hidden]]]
        ),
        "to_position": np.concatenate(
            [ends_of_states[settled], until[forgotten], columns["last_offset"][hidden]]
        ),
        "from_time": np.concatenate([ms[settled], ms[forgotten], unknown]),
        "to_time": np.concatenate([until_ms[settled], until_ms[forgotten], ms[hidden]]),
    }
    is_known = np.arange(len(at)) < len(settled)
    is_known[: len(settled)] &= ~silent[settled] | fits[settled]
    ends = intervals["to_position"]
    is_kept = (ends == UNKNOWN) | (intervals["from_position"] < ends)
    intervals = {name: column[is_kept] for name, column in intervals.items()}
    return _states_at(partition_slice, at[is_kept], is_known[is_kept], intervals)


def _silent(partition_slice: PartitionSlice, ms: Longs) -> Flags:
    """After which rows a leader may have forgotten the producer: after a day, or later if so configured.

    Not sooner, even if so configured: what is missing between two batches of one day counts as missing,
    whether or not the leader noticed.
    """
    following, expiration = partition_slice.following, partition_slice.log.evidence.expiration
    silent: Flags = (following != NONE) & (ms[following] - ms >= DEFAULT_MS)
    for at in np.flatnonzero(silent).tolist():
        since, until = int(ms[at]), int(ms[following[at]])
        least = expiration.least(since, until)
        silent[at] = least is None or until - since >= least
    return silent


def _silence(partition_slice: PartitionSlice) -> Longs:
    """From each row to the producer's next one, in milliseconds; UNKNOWN without one."""
    ms, following = partition_slice.columns["timestamp_ms"], partition_slice.following
    return np.where(following == NONE, UNKNOWN, ms[following] - ms)


def _states_at(partition_slice: PartitionSlice, at: Longs, is_known: Flags, intervals: Piece) -> Piece:
    def state(column: Longs) -> Longs:
        return np.where(is_known, column[at], UNKNOWN)

    columns, states = partition_slice.columns, partition_slice.states
    return {
        "producer_id": columns["producer_id"][at],
        "producer_epoch": state(columns["epoch"]),
        "first_sequence": state(states.first_sequence),
        "last_sequence": state(states.last_sequence),
        "last_offset": state(columns["newest_offset"]),
        "coordinator_epoch": state(states.coordinator_epoch),
        "current_txn_first_offset": state(states.current_txn_first_offset),
        "marker": np.where(is_known, partition_slice.kind[at] == MARKER, UNKNOWN),
        "transactional": state(columns["transactional"]),
        "silent_ms": state(_silence(partition_slice)),
        "cause": np.where(is_known, states.cause[at], NO_CAUSE),
        **intervals,
    }
