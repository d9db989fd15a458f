"""Which transactions of a coordinator may end what is open in a partition since an earlier epoch.

A partition has one open transaction of a producer, from its first batch on: the next marker ends all of it
(ProducerAppendInfo). So batches that no coordinator's transaction had are ended with the next transaction
of their producer that adds the partition, whatever its epoch is; a marker of an older epoch than the newest
batch is refused.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fencepost.protocols.producer_epoch.arrow import UNKNOWN, Flags, Longs, longs
from fencepost.protocols.producer_epoch.compared_rows import Comparison
from fencepost.protocols.producer_epoch.counts import sums_at
from fencepost.protocols.producer_epoch.facts import Facts

_NONE_OPEN = np.iinfo(np.int64).max


@dataclass(frozen=True)
class LaterTransactions:
    """For each transaction of a partition: ``will`` end it, because the coordinator has a transaction of a
    later epoch with the partition that it has not completed; ``may`` end it, as far as is known; ``outcome``:
    how those were completed whose markers are lost, null without one.
    """

    will: Flags
    may: Flags
    outcome: pa.Array


def later_transactions(comparison: Comparison, facts: Facts) -> LaterTransactions:
    """Of the open transactions among ``comparison.transactions``; no others have any."""
    rows = comparison.transactions
    will, may = (np.zeros(rows.num_rows, dtype=np.bool_) for _ in range(2))
    lost: defaultdict[int, set[str | None]] = defaultdict(set)
    epoch, newest = longs(rows["producer_epoch"]), longs(rows["newest_epoch"])
    for at, each in _pairs(comparison, np.flatnonzero(longs(rows["open"]) == 1), epoch):
        if each.is_open:
            will[at] |= each.epoch >= newest[at]
            # its end may move the epoch by one
            may[at] |= each.epoch + 1 == newest[at]
        elif facts.is_known_past(each.place, each.completed_ms):
            lost[at].add(each.due_type)
        else:
            may[at] = True
    outcome = np.full(rows.num_rows, None, dtype=object)
    for at, types in lost.items():
        # what came before them was committed by none
        outcome[at] = "aborted" if types == {"ABORT"} else "unknown"
    return LaterTransactions(will, may, pa.array(outcome, pa.string()))


@dataclass(frozen=True, slots=True)
class _Later:
    """A coordinator's transaction, or several that were counted before, with a partition (cluster and
    name). ``is_open``: it is not completed; ``completed_ms`` is UNKNOWN if a hole may hide that.
    """

    place: tuple[str, str]
    epoch: int
    is_open: bool
    completed_ms: int
    due_type: str | None


def _pairs(comparison: Comparison, open_rows: Longs, epochs: Longs) -> Iterator[tuple[int, _Later]]:
    """Each open transaction with each of a later epoch whose marker the partition does not have."""
    places, before = comparison.transaction_places, comparison.before
    markers = sums_at(before.due_at, before.markers, before.due_at)
    gone = longs(comparison.listed["lost"]) == 1
    sides = (
        (comparison.listed, comparison.listed_places, comparison.has_marker() | gone),
        (comparison.counted, comparison.counted_places, before.listed_whole <= markers),
    )
    count = 1 + max(int(each.max(initial=-1)) for each in (places, *(places for _, places, _ in sides)))
    first = np.full(count, _NONE_OPEN)
    np.minimum.at(first, places[open_rows], epochs[open_rows])
    later: defaultdict[int, list[_Later]] = defaultdict(list)
    for rows, at_places, is_over in sides:
        found = np.flatnonzero((longs(rows["producer_epoch"]) > first[at_places]) & ~is_over)
        for place, row in zip(at_places[found].tolist(), rows.take(pa.array(found)).to_pylist(), strict=True):
            ms = row["completed_ms"]
            is_open = ms is None and not row.get("cut", True)
            later[place].append(
                _Later(
                    (row["cluster"], row["name"]),
                    row["producer_epoch"],
                    is_open,
                    UNKNOWN if ms is None else ms,
                    row["due_type"],
                )
            )
    for at in open_rows.tolist() if later else ():
        for one in later.get(int(places[at]), ()):
            if one.epoch > epochs[at]:
                yield at, one
