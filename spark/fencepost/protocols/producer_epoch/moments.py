"""Whether a transaction in a partition lies within the known part of its coordinator's log: behind the
compacted beginning, and before the end.

A log that will never be written again covers every later time (replay.log_ends). Any other log is known past
a batch if the coordinator completed a transaction whose marker lies behind the batch; or if the broker that
led the log dated a record of it, or noted its end, after it had answered the Produce of the batch: a broker
logs a request after it has handled it, never before. Times of clients, and times of other brokers, prove
nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from fencepost.protocols.producer_epoch.arrow import UNKNOWN, Flags, Key, Longs, longs
from fencepost.protocols.producer_epoch.facts import NO_COVERAGE, CoordinatorCoverage, Facts
from fencepost.replay.log_ends import FOREVER


class Moments:
    """The transactions that partitions hold, each beside the coverage of its coordinator's log.

    ``begins_since``: whether it began after the compacted part of that log. ``ends_since``: whether it ended
    after that, or has not ended. ``whole``: whether the log has no hole, and lost nothing in an election
    (``cut``: it may have); ``reached``: whether it is also known past its first batch, though perhaps not
    what was there; ``known_past``: that, too. ``compacted_ms``: the newest time in its compacted part;
    ``handed_down``: whether a replay of that part has handed down its states.
    ``began_ms``: when the Produce of the first batch was answered, else the batch's own timestamp, which is
    the client's; ``ended_ms``: the time of its marker, or when its topic was deleted. ``created_once``:
    whether its topic was created only once.
    """

    def __init__(
        self,
        transactions: pa.Table,
        producers: Mapping[tuple[str, int], CoordinatorCoverage],
        facts: Facts,
        newest: pa.Table,
        tolerance_ms: int,
    ) -> None:
        """``transactions``: rows of account.PARTITION_TRANSACTION with a column ``name``; ``newest``:
        markers_due.NEWEST.
        """
        clusters = transactions["cluster"].to_pylist()
        keys = zip(clusters, transactions["producer_id"].to_pylist(), strict=True)
        coverages = [producers.get(key) or facts.unnamed.get(key[0], NO_COVERAGE) for key in keys]
        whole_ms, whole_by, known_ms, known_by, compacted = (
            np.array([getattr(each, name) for each in coverages], dtype=np.int64)
            for name in ("whole_ms", "whole_by", "known_ms", "known_by", "compacted_epoch")
        )
        first_ms, answered_ms, written_by_ms, answered_by, self.ended_ms = (
            longs(transactions[name])
            for name in ("first_ms", "answered_ms", "written_by_ms", "answered_by", "ended_ms")
        )
        self.transactional_id = pa.array([each.transactional_id for each in coverages], pa.string())
        self.began_ms = np.where(answered_ms == UNKNOWN, first_ms, answered_ms)
        topics = zip(clusters, transactions["topic"].to_pylist(), strict=True)
        # answers and transactions name a topic by its name, which several incarnations may have had
        self.created_once: Flags = np.fromiter(
            (topic in facts.created_once for topic in topics), np.bool_, transactions.num_rows
        )
        answers = self.created_once & (answered_by != UNKNOWN)
        nothing_compacted = (whole_ms == UNKNOWN) | (longs(transactions["producer_epoch"]) > compacted)
        after = answers & (answered_ms != UNKNOWN) & (answered_by == whole_by)
        self.begins_since: Flags = nothing_compacted | (after & (answered_ms - tolerance_ms > whole_ms))
        self.ends_since: Flags = nothing_compacted | (self.ended_ms == UNKNOWN) | (self.ended_ms > whole_ms)
        dated = answers & (answered_by == known_by) & (known_ms > written_by_ms)
        marked = self.created_once & (
            _newest_markers(transactions, coverages, newest) > longs(transactions["first_offset"])
        )
        self.whole: Flags = np.array([each.whole for each in coverages], dtype=np.bool_)
        self.cut: Flags = np.array([each.cut for each in coverages], dtype=np.bool_)
        self.reached: Flags = self.whole & ((known_ms == FOREVER) | dated | marked)
        self.known_past: Flags = self.reached & self.begins_since
        self.compacted_ms: Longs = whole_ms
        self.handed_down: Flags = np.array([each.handed_down for each in coverages], dtype=np.bool_)


def _newest_markers(transactions: pa.Table, coverages: list[CoordinatorCoverage], newest: pa.Table) -> Longs:
    """For each row, the newest marker in its partition of a transaction that its coordinator completed."""
    place = ("cluster", "partition_key", "name", "marker_position")
    markers: dict[Key, int] = {
        tuple(key): position
        for *key, position in zip(*(newest[name].to_pylist() for name in place), strict=True)
        if position is not None
    }
    places = zip(
        transactions["cluster"].to_pylist(),
        (each.log for each in coverages),
        transactions["name"].to_pylist(),
        strict=True,
    )
    return np.fromiter((markers.get(place, UNKNOWN) for place in places), np.int64, transactions.num_rows)
