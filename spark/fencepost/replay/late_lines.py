"""How late brokers write the lines of their request logs."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from fencepost.replay.logs import Longs

_NEAR_MS = 60_000

AnyMs = TypeVar("AnyMs", int, Longs)


class LateLines:
    """How late a broker's lines may be at a moment: by the tolerance, or by more where requests with a
    certain record show it.
    """

    def __init__(self, tolerance_ms: int) -> None:
        """``tolerance_ms``: how late a line may be where no request shows more."""
        self.tolerance_ms = tolerance_ms
        self._late_by_minute: dict[tuple[int, int], int] = {}
        self._latest: dict[tuple[int, int], int] = {}

    def note(self, broker_id: int, responded_ms: Longs, late_ms: Longs) -> None:
        """Note how much later than their records (``late_ms``) a broker's lines were, for requests whose
        records are certain.
        """
        minutes, number = np.unique(minute_of(responded_ms), return_inverse=True)
        latest = np.zeros(len(minutes), dtype=np.int64)
        np.maximum.at(latest, number, late_ms)
        for minute, late in zip(minutes.tolist(), latest.tolist(), strict=True):
            self._late_by_minute[broker_id, minute] = max(
                self._late_by_minute.get((broker_id, minute), 0), late
            )
        self._latest.clear()

    def at(self, broker_id: int, responded_ms: int) -> int:
        """By how many ms a line may be late: twice the most that was seen around it, because the latest line
        of all need not be among those that were seen.
        """
        return max(self.tolerance_ms, 2 * self.latest_around(broker_id, minute_of(responded_ms)))

    def shown_at(self, broker_id: int, responded_ms: int) -> int:
        """By how many ms a line may be late, judged by other lines alone. Rounding loses a millisecond."""
        return 2 * self.latest_around(broker_id, minute_of(responded_ms)) + 1

    def latest_around(self, broker_id: int, minute: int) -> int:
        """By how many ms the latest line that was seen around a minute was late."""
        key = broker_id, minute
        late_ms = self._latest.get(key)
        if late_ms is None:
            late_ms = max(
                self._late_by_minute.get((broker_id, near), 0) for near in (minute - 1, minute, minute + 1)
            )
            self._latest[key] = late_ms
        return late_ms


def minute_of(ms: AnyMs) -> AnyMs:
    """The minute in which each time lies."""
    return ms // _NEAR_MS
