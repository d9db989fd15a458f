"""How late each broker writes the lines of its request log."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fencepost.protocols.offset_commit.member_lines import HeartbeatAnswer, MemberLine
from fencepost.protocols.offset_commit.request_columns import Requests
from fencepost.protocols.offset_commit.requests import CommitRequest
from fencepost.replay.entities import first_of_each, numbered_rows
from fencepost.replay.logs import Longs
from fencepost.replay.requests import LATEST_MS

Flags = NDArray[np.bool_]

_NEAR_MS = 60_000


class Lateness:
    """How late a broker's lines may be at a moment: by the tolerance, or by more where commits with a certain
    record show it.

    A line was written before the broker took up the next request of its connection. So only the last line of
    a connection has no such limit: where lines are later than the tolerance, it may be as late as LATEST_MS.
    """

    def __init__(self, tolerance_ms: int) -> None:
        """``tolerance_ms``: how late a line may be where no commit shows more."""
        self._tolerance_ms = tolerance_ms
        self._late_by_minute: dict[tuple[int, int], int] = {}
        self._latest: dict[tuple[int, int], int] = {}
        self._is_last: Flags = np.empty(0, dtype=np.bool_)

    def note(self, broker_id: int, responded_ms: Longs, late_ms: Longs) -> None:
        """Note how much later than their records (``late_ms``) a broker's lines were, for requests whose
        records are certain.
        """
        minutes, number = np.unique(responded_ms // _NEAR_MS, return_inverse=True)
        latest = np.zeros(len(minutes), dtype=np.int64)
        np.maximum.at(latest, number, late_ms)
        for minute, late in zip(minutes.tolist(), latest.tolist(), strict=True):
            self._late_by_minute[broker_id, minute] = max(
                self._late_by_minute.get((broker_id, minute), 0), late
            )
        self._latest.clear()

    def note_last(self, is_last: Flags) -> None:
        """Note for each request, by its number, whether its line is the last one of its connection."""
        self._is_last = is_last

    def of(self, line: CommitRequest | MemberLine | HeartbeatAnswer) -> int:
        """By how many ms a line may be late: twice the most that was seen around it, because the latest line
        of all need not be among those that were seen.
        """
        late_ms = self._latest_around(line.broker_id, line.responded_ms // _NEAR_MS)
        is_last = (
            late_ms > self._tolerance_ms and isinstance(line, CommitRequest) and self._is_last[line.number]
        )
        return LATEST_MS if is_last else max(self._tolerance_ms, 2 * late_ms)

    def of_requests(self, requests: Requests, numbers: Longs) -> Longs:
        """``of`` for the requests with these numbers."""
        broker_id, minute = requests["broker_id"][numbers], requests["responded_ms"][numbers] // _NEAR_MS
        which = numbered_rows(broker_id, minute)
        first = first_of_each(which)
        around = zip(broker_id[first].tolist(), minute[first].tolist(), strict=True)
        late_ms = np.fromiter((self._latest_around(*each) for each in around), np.int64, len(first))[which]
        is_last = (late_ms > self._tolerance_ms) & self._is_last[numbers]
        return np.where(is_last, LATEST_MS, np.maximum(self._tolerance_ms, 2 * late_ms))

    def _latest_around(self, broker_id: int, minute: int) -> int:
        key = broker_id, minute
        late_ms = self._latest.get(key)
        if late_ms is None:
            late_ms = max(
                self._late_by_minute.get((broker_id, near), 0) for near in (minute - 1, minute, minute + 1)
            )
            self._latest[key] = late_ms
        return late_ms
