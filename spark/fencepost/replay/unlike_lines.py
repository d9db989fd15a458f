"""Finds brokers whose request logs do not belong to the records: those of another cluster or broker, or with
names or numbers that a program has replaced.

What an accepted request names, its coordinator has written. If a log that is whole lacks that of most of a
broker's accepted requests of some API, nothing that the broker's lines say is about these records.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fencepost.replay.log_ends import FOREVER, NEVER
from fencepost.replay.logs import Log, Longs
from fencepost.replay.request_clocks import Difference
from fencepost.tables.clocks import OTHER_LOG, RECORDS_LOST


def are_shown(log: Log, requested_ms: ArrayLike, responded_ms: ArrayLike) -> NDArray[np.bool_]:
    """Whether a log has what was written to it between these times: not where compaction has been, where the
    log has a hole, after its end, or where an election may have taken the end of what a leader wrote.
    """
    requested, responded = (np.asarray(each, dtype=np.int64) for each in (requested_ms, responded_ms))
    begin_ms = -1 if log.base is None else log.base.ms
    # a stretch with a number begins after a hole, which may be at the log's beginning
    if len(log.stretches) != 1 or log.stretches[0].number > 0 or begin_ms is None:
        return np.zeros(len(requested), dtype=np.bool_)
    until_ms = np.maximum.accumulate(log.max_timestamp_ms)
    # the term of the last batch before the request, and of the first one after its answer
    before = np.maximum(np.searchsorted(until_ms, requested) - 1, 0)
    after = np.searchsorted(until_ms, responded)
    is_of_term = log.leader_epoch[before] == log.leader_epoch[np.minimum(after, len(log) - 1)]
    shown: NDArray[np.bool_] = (begin_ms < requested) & (after < len(log)) & is_of_term
    return shown


def batches_after_gaps(
    log: Log, requested_ms: ArrayLike, responded_ms: ArrayLike, *, ended: bool = False
) -> Longs:
    """For each of these times that lies in a gap between two terms, the place of the batch after it; else -1.

    In a gap no broker dated a record; the newest one from before it ends a term (or there is none), and the
    oldest one after it begins the next, without a hole. What was accepted then is gone, as where a broker
    came back with an older disk. Where nothing follows because the log has ``ended``, a gap is behind it.
    """
    requested, responded = (np.asarray(each, dtype=np.int64) for each in (requested_ms, responded_ms))
    if not len(log):
        return np.full(len(requested), -1, dtype=np.int64)
    until_ms, of_any_clock = np.maximum.accumulate(log.max_timestamp_ms), np.sort(log.max_timestamp_ms)
    before = np.searchsorted(until_ms, requested) - 1
    after = np.searchsorted(until_ms, responded, side="right")
    until, since = np.searchsorted(of_any_clock, responded, "right"), np.searchsorted(of_any_clock, requested)
    is_gap = (after == before + 1) & (until == since) & (before >= log.based - 1)
    is_gap &= ended | (after < len(log))
    first, then = (np.where(is_gap & (after < len(log)), each, 0) for each in (before, after))
    is_next = (log.leader_epoch[first] != log.leader_epoch[then]) & (log.stretch[first] == log.stretch[then])
    is_first = log.stretch[0] == 0
    is_next |= after == len(log)
    return np.where(is_gap & np.where(before < 0, is_first, is_next), after, -1)


def gap_before(log: Log, at: int) -> tuple[int, int]:
    """When the last batch before one was written, or NEVER, and when it was, or FOREVER."""
    until = log.max_timestamp_ms[at] if at < len(log) else FOREVER
    return int(log.max_timestamp_ms[:at].max(initial=NEVER)), int(until)


def is_in_gap(gaps: Iterable[tuple[int, int]], requested_ms: int, responded_ms: int) -> bool:
    """Whether a request came in one of these gaps: its records may be gone, or those that it met."""
    return any(from_ms < responded_ms and requested_ms < to_ms for from_ms, to_ms in gaps)


def lost_records(requests: ArrayLike) -> list[Difference]:
    """How many accepted requests of each broker have records that are gone, and when they came.
    ``requests`` has a row for each: its broker, arrival and answer.
    """
    broker, from_ms, to_ms = np.array(requests, dtype=np.int64).reshape(-1, 3).T
    found = []
    for each in np.unique(broker).tolist():
        own = broker == each
        times = int(from_ms[own].min()), int(to_ms[own].max())
        found.append(Difference(each, None, int(own.sum()), *times, RECORDS_LOST))
    return found


def unlike_lines(
    broker_id: ArrayLike, api_key: ArrayLike, requested_ms: ArrayLike, is_recorded: ArrayLike
) -> list[Difference]:
    """The brokers of which most accepted requests of an API are not recorded, with how many these are, and
    when they came. Each has an element for each request.
    """
    broker, api, ms = (np.asarray(each, dtype=np.int64) for each in (broker_id, api_key, requested_ms))
    lacks = ~np.asarray(is_recorded, dtype=np.bool_)
    apis, number = np.unique(np.column_stack([broker, api]), axis=0, return_inverse=True)
    most = np.bincount(number.reshape(-1), np.where(lacks, 1, -1), len(apis)) > 0
    found = []
    for each in np.unique(apis[most, 0]).tolist():
        own = ms[lacks & (broker == each)]
        found.append(Difference(each, None, len(own), int(own.min()), int(own.max()), OTHER_LOG))
    return found
