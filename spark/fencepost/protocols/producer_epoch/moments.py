"""Whether what a partition holds lies within what a coordinator's log tells: behind its compacted beginning,
and before its end.

A log that was ended for good has no end to be asked for (replay.log_ends). Else it goes on past a batch if it
completed a transaction whose marker lies behind the batch; or if the broker that led the log has dated a
record of it after it had answered for the batch: a line is written after its request, never before. What
clients date, and what another broker dates, tells nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from fencepost.protocols.producer_epoch.arrow import UNKNOWN, Flags, Key, Longs, longs
from fencepost.protocols.producer_epoch.facts import FOREVER, NOTHING, CoordinatorCoverage, Facts


class Moments:
    """The transactions that partitions hold, each beside what is known of its coordinator's log.

    ``begins_since``: it began where nothing was compacted. ``ends_since``: so did its end, or it has none.
    ``known_past``: the log is whole, and goes on past its first batch. ``began_ms``: when that was answered
    for, or else its own timestamp, which is the client's; ``ended_ms``.
    """

    def __init__(
        self,
        held: pa.Table,
        producers: Mapping[tuple[str, int], CoordinatorCoverage],
        known: Facts,
        newest: pa.Table,
        tolerance_ms: int,
    ) -> None:
        """``held``: rows of account.HELD with a column ``name``; ``newest``: markers_due.NEWEST."""
        clusters = held["cluster"].to_pylist()
        keys = zip(clusters, held["producer_id"].to_pylist(), strict=True)
        told = [producers.get(key) or known.others.get(key[0], NOTHING) for key in keys]
        whole_ms, whole_by, known_ms, known_by, compacted = (
            np.array([getattr(each, name) for each in told], dtype=np.int64)
            for name in ("whole_ms", "whole_by", "known_ms", "known_by", "compacted_epoch")
        )
        first_ms, answered_ms, written_by_ms, answered_by, self.ended_ms = (
            longs(held[name])
            for name in ("first_ms", "answered_ms", "written_by_ms", "answered_by", "ended_ms")
        )
        self.transactional_id = pa.array([each.transactional_id for each in told], pa.string())
        self.began_ms = np.where(answered_ms == UNKNOWN, first_ms, answered_ms)
        topics = zip(clusters, held["topic"].to_pylist(), strict=True)
        # answers and transactions name a topic: another one of that name may be meant
        alone = np.fromiter((topic in known.made_once for topic in topics), np.bool_, held.num_rows)
        answers = alone & (answered_by != UNKNOWN)
        all_there = (whole_ms == UNKNOWN) | (longs(held["producer_epoch"]) > compacted)
        after = answers & (answered_ms != UNKNOWN) & (answered_by == whole_by)
        self.begins_since: Flags = all_there | (after & (answered_ms - tolerance_ms > whole_ms))
        self.ends_since: Flags = all_there | (self.ended_ms == UNKNOWN) | (self.ended_ms > whole_ms)
        dated = answers & (answered_by == known_by) & (known_ms > written_by_ms)
        marked = alone & (_newest_markers(held, told, newest) > longs(held["first_offset"]))
        whole = np.array([each.whole for each in told], dtype=np.bool_)
        self.known_past: Flags = whole & self.begins_since & ((known_ms == FOREVER) | dated | marked)


def _newest_markers(held: pa.Table, told: list[CoordinatorCoverage], newest: pa.Table) -> Longs:
    """The newest marker in each row's partition of a transaction that its coordinator completed."""
    place = ("cluster", "partition_key", "name", "marker_position")
    markers: dict[Key, int] = {
        tuple(key): position
        for *key, position in zip(*(newest[name].to_pylist() for name in place), strict=True)
        if position is not None
    }
    places = zip(
        held["cluster"].to_pylist(), (each.log for each in told), held["name"].to_pylist(), strict=True
    )
    return np.fromiter((markers.get(place, UNKNOWN) for place in places), np.int64, held.num_rows)
