"""How late each broker wrote the lines of its request log."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fencepost.protocols.offset_commit.member_lines import HeartbeatAnswer, MemberLine
from fencepost.protocols.offset_commit.request_columns import Requests
from fencepost.protocols.offset_commit.requests import CommitRequest
from fencepost.replay.entities import numbered_rows
from fencepost.replay.logs import Longs
from fencepost.replay.requests import LATEST_MS

Flags = NDArray[np.bool_]

_NEAR_MS = 60_000


class Lateness:
    """How late a broker's lines may be at a moment: by the tolerance, or by what commits show whose record is
    certain.

    A line that another one of its connection follows was written before that one was taken up. Where lines
    are later than the tolerance at all, one that none follows may be as late as any.
    """

    def __init__(self, tolerance_ms: int) -> None:
        """``tolerance_ms``: how late a line may be where nothing shows more."""
        self._tolerance_ms = tolerance_ms
        self._seen: dict[tuple[int, int], int] = {}
        self._around: dict[tuple[int, int], int] = {}
        self._is_last: Flags = np.empty(0, dtype=np.bool_)

    def note(self, broker_id: int, responded_ms: Longs, late_ms: Longs) -> None:
        """A broker's answers to requests of which it is certain what they wrote: each line came as much later
        as its record was earlier.
        """
        minutes, number = np.unique(responded_ms // _NEAR_MS, return_inverse=True)
        latest = np.zeros(len(minutes), dtype=np.int64)
        np.maximum.at(latest, number, late_ms)
        for minute, late in zip(minutes.tolist(), latest.tolist(), strict=True):
            self._seen[broker_id, minute] = max(self._seen.get((broker_id, minute), 0), late)
        self._around.clear()

    def note_last(self, is_last: Flags) -> None:
        """Of each request whether no line of its connection follows it, by the request's number."""
        self._is_last = is_last

    def of(self, line: CommitRequest | MemberLine | HeartbeatAnswer) -> int:
        """How late a line may be: twice what was seen around it, since what was seen is not the latest of
        all.
        """
        seen = self._seen_around(line.broker_id, line.responded_ms // _NEAR_MS)
        is_last = seen > self._tolerance_ms and isinstance(line, CommitRequest) and self._is_last[line.number]
        return LATEST_MS if is_last else max(self._tolerance_ms, 2 * seen)

    def of_requests(self, requests: Requests, numbers: Longs) -> Longs:
        """``of`` the requests with these numbers."""
        broker_id, minute = requests["broker_id"][numbers], requests["responded_ms"][numbers] // _NEAR_MS
        _, first, which = np.unique(numbered_rows(broker_id, minute), return_index=True, return_inverse=True)
        around = zip(broker_id[first].tolist(), minute[first].tolist(), strict=True)
        seen = np.fromiter((self._seen_around(*each) for each in around), np.int64, len(first))[which]
        is_last = (seen > self._tolerance_ms) & self._is_last[numbers]
        return np.where(is_last, LATEST_MS, np.maximum(self._tolerance_ms, 2 * seen))

    def _seen_around(self, broker_id: int, minute: int) -> int:
        key = broker_id, minute
        seen = self._around.get(key)
        if seen is None:
            seen = max(self._seen.get((broker_id, near), 0) for near in (minute - 1, minute, minute + 1))
            self._around[key] = seen
        return seen
