"""Finds brokers whose request logs have another clock than their records, as with a wrong ``timezone``.

A broker writes the record of a request between the request's arrival and its answer, and dates all three by
one clock. If most of a broker's lines and records contradict this, no request may be placed by the times of
its lines. By how much the two differ says which time zone would fit (``report.clocks``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from fencepost.replay.columns import Columns
from fencepost.replay.line_times import Finding
from fencepost.replay.logs import Longs
from fencepost.replay.requests import LATEST_MS
from fencepost.tables import Table
from fencepost.tables.clocks import LINES_MISSING, OTHER_CLOCK, WENT_BACK

NOBODY = -1
"""Stands for an unknown leader: no broker has this id."""

_MANY = 4
"""From so many lines on it is no coincidence if all are late by about as much."""
_QUARTER_MS, _HOUR_MS = 900_000, 3_600_000
_SOME = 5
"""A difference that fewer than one in so many requests have is of requests that were matched by mistake."""


class Difference(NamedTuple):
    """By how much the clock of a broker's request log is ahead of that of its records (negative: behind), in
    ms: the median of ``requests`` whose records were written from ``first_ms`` to ``last_ms``. None with
    another ``finding``, that these requests, which came then, have no records (unlike_lines).
    """

    broker_id: int
    ahead_ms: int | None
    requests: int
    first_ms: int
    last_ms: int
    finding: str = OTHER_CLOCK


def add_clock_rows(
    rows: Columns, cluster: str, partition: int | None, differences: Iterable[Difference]
) -> None:
    """Add rows of a table of ``tables.clocks``."""
    for broker_id, *measured, finding in differences:
        rows.add(cluster, broker_id, partition, finding, *measured)


def line_time_rows(table: Table, findings: Iterable[Finding]) -> pa.Table:
    """Rows of a table of ``tables.clocks``. What is so of a whole log has one for each hour, for a chapter
    keeps those that end in it.
    """
    rows = Columns(table)
    for (cluster, broker_id), finding, first_ms, last_ms in findings:
        begins_ms = range(first_ms // _HOUR_MS * _HOUR_MS, last_ms + 1, _HOUR_MS)
        of_hours = [(max(first_ms, ms), min(last_ms, ms + _HOUR_MS - 1)) for ms in begins_ms]
        for times in [(first_ms, last_ms)] if finding in (WENT_BACK, LINES_MISSING) else of_hours:
            rows.add(cluster, broker_id, None, finding, None, None, *times)
    return rows.to_arrow()


def brokers_with_another_clock(times: ArrayLike, tolerance_ms: int) -> frozenset[int]:
    """The brokers of which most requests seem to be answered before their record was written, or seem to
    arrive after it, all by about as much.

    ``times`` has a row for each request whose record was found without a clock: the broker's id, and when the
    request arrived, was answered, and had its record written, in milliseconds. ``tolerance_ms``: how late a
    line may be.
    """
    broker_id, requested_ms, responded_ms, written_ms = np.asarray(times, dtype=np.int64).reshape(-1, 4).T
    return frozenset(
        int(broker)
        for broker in np.unique(broker_id)
        for own in [broker_id == broker]
        if _is_behind(written_ms[own] - responded_ms[own], tolerance_ms)
        or _is_ahead(requested_ms[own] - written_ms[own], tolerance_ms)
    )


def differences(times: ArrayLike, brokers: Iterable[int]) -> list[Difference]:
    """The differences of these brokers, by hour: of each broker one, or several where its log changes to
    summer time and back, or has files of several zones. ``times`` as above.
    """
    broker_id, requested_ms, responded_ms, written_ms = np.asarray(times, dtype=np.int64).reshape(-1, 4).T
    ahead_ms = (requested_ms + responded_ms) // 2 - written_ms
    zones = np.rint(ahead_ms / _QUARTER_MS).astype(np.int64)
    found = []
    for broker in sorted(brokers):
        own = broker_id == broker
        for zone, count in zip(*np.unique(zones[own], return_counts=True), strict=True):
            alike = own & (zones == zone)
            if _SOME * count < own.sum():
                continue
            for hour in np.unique(written_ms[alike] // _HOUR_MS):
                of_hour = alike & (written_ms // _HOUR_MS == hour)
                written = written_ms[of_hour]
                median = int(np.median(ahead_ms[of_hour]))
                found.append(
                    Difference(broker, median, int(of_hour.sum()), int(written.min()), int(written.max()))
                )
    return found


def leaders_by_clock(
    leaders: Mapping[int, int | None], leader_epochs: Iterable[int], other_clocks: frozenset[int]
) -> dict[int, int | None]:
    """Leader epoch -> broker id; NOBODY if a broker with another clock led, or may have led. So no time of
    its lines is compared with that of a record.
    """
    if not other_clocks:
        return dict(leaders)
    led_by = ((epoch, leaders.get(epoch)) for epoch in {*leaders, *leader_epochs})
    return {epoch: NOBODY if leader is None or leader in other_clocks else leader for epoch, leader in led_by}


def _is_behind(early_ms: Longs, tolerance_ms: int) -> bool:
    return bool(2 * (early_ms > tolerance_ms).sum() > len(early_ms))


def _is_ahead(late_ms: Longs, tolerance_ms: int) -> bool:
    """Whether the line's clock is ahead: single lines may be late, but not by more than LATEST_MS, and then
    not all by about as much.
    """
    low, high = np.quantile(late_ms, (0.25, 0.75))
    alike = len(late_ms) >= _MANY and high - low < low / 2
    return bool(low > tolerance_ms and (alike or low > LATEST_MS))
