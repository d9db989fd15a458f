"""Finds brokers whose request logs do not belong to the records: those of another cluster or broker, or with
names or numbers that a program has replaced.

What an accepted request names, its coordinator has written. If a log that is whole lacks that of most of a
broker's accepted requests of some API, nothing that the broker's lines say is about these records.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fencepost.replay.logs import Log
from fencepost.replay.request_clocks import Difference


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
        found.append(Difference(each, None, len(own), int(own.min()), int(own.max())))
    return found
