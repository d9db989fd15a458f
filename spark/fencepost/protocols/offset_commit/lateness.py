"""How late each broker wrote the lines of its request log."""

from __future__ import annotations

from collections.abc import Iterable

from fencepost.protocols.offset_commit.requests import CommitRequest, HeartbeatAnswer, MemberLine
from fencepost.replay.group_coordinator.records import OffsetCommitRecord
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

    def note(self, request: CommitRequest, record: OffsetCommitRecord) -> None:
        """A request and what it certainly wrote: its line came as much later as the record was earlier."""
        late, key = request.requested_ms - record.timestamp_ms, _key(request)
        self._seen[key] = max(self._seen.get(key, 0), late)
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
