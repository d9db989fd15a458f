"""How late each broker wrote the lines of its request log."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from fencepost.protocols.offset_commit.member_lines import HeartbeatAnswer, MemberLine
from fencepost.protocols.offset_commit.requests import CommitRequest
from fencepost.replay.logs import Longs
from fencepost.replay.requests import LATEST_MS

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
        self._last: set[CommitRequest] = set()

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

    def note_last(self, requests: Iterable[CommitRequest]) -> None:
        """Requests that no line of their connection follows."""
        self._last.update(requests)

    def of(self, line: CommitRequest | MemberLine | HeartbeatAnswer) -> int:
        """How late a line may be: twice what was seen around it, since what was seen is not the latest of
        all.
        """
        key = _key(line)
        seen = self._around.get(key)
        if seen is None:
            broker_id, moment = key
            seen = max(self._seen.get((broker_id, near), 0) for near in (moment - 1, moment, moment + 1))
            self._around[key] = seen
        if seen > self._tolerance_ms and line in self._last:
            return LATEST_MS
        return max(self._tolerance_ms, 2 * seen)


def _key(line: CommitRequest | MemberLine | HeartbeatAnswer) -> tuple[int, int]:
    return line.broker_id, line.responded_ms // _NEAR_MS
