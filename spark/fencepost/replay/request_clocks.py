"""Brokers whose request logs show another clock than their records do, as with a wrong ``timezone``.

A broker writes the record of a request between the request's arrival and its answer, and dates all three by
one clock. Where most of what it wrote contradicts this, nothing may be placed by the times of its lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from fencepost.replay.logs import Longs
from fencepost.replay.requests import LATEST_MS

NOBODY = -1
"""No broker has this id."""

_MANY = 4
"""So many lines are not all late by about as much."""


def brokers_with_another_clock(
    broker_id: Longs, requested_ms: Longs, responded_ms: Longs, written_ms: Longs, *, tolerance_ms: int
) -> frozenset[int]:
    """The brokers most of whose requests were answered before their record was written, or arrived about as
    long after it.

    One row for each request whose record was found without a clock. ``tolerance_ms``: how late a line may be.
    """
    return frozenset(
        int(broker)
        for broker in np.unique(broker_id)
        for own in [broker_id == broker]
        if _is_behind(written_ms[own] - responded_ms[own], tolerance_ms)
        or _is_ahead(requested_ms[own] - written_ms[own], tolerance_ms)
    )


def leaders_by_clock(
    leaders: Mapping[int, int | None], leader_epochs: Iterable[int], other_clocks: frozenset[int]
) -> dict[int, int | None]:
    """Broker ids by leader epoch, NOBODY for those with another clock and where one of them may have led: so
    no time of a line is compared with that of a record.
    """
    if not other_clocks:
        return dict(leaders)
    led_by = ((epoch, leaders.get(epoch)) for epoch in {*leaders, *leader_epochs})
    return {epoch: NOBODY if who is None or who in other_clocks else who for epoch, who in led_by}


def _is_behind(early_ms: Longs, tolerance_ms: int) -> bool:
    return bool(2 * (early_ms > tolerance_ms).sum() > len(early_ms))


def _is_ahead(late_ms: Longs, tolerance_ms: int) -> bool:
    """A line may be late by itself, but not by more than LATEST_MS, and others are then not as late."""
    low, high = np.quantile(late_ms, (0.25, 0.75))
    alike = len(late_ms) >= _MANY and high - low < low / 2
    return bool(low > tolerance_ms and (alike or low > LATEST_MS))
