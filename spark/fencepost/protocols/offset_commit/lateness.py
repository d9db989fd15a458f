"""How late each broker writes the lines of its request log."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fencepost.protocols.offset_commit.member_lines import HeartbeatAnswer, MemberLine
from fencepost.protocols.offset_commit.request_columns import Requests
from fencepost.protocols.offset_commit.requests import CommitRequest
from fencepost.replay.entities import first_of_each, numbered_rows
from fencepost.replay.late_lines import LateLines, minute_of
from fencepost.replay.logs import Longs
from fencepost.replay.requests import LATEST_MS

Flags = NDArray[np.bool_]


class Lateness(LateLines):
    """How late the lines of members and commits may be.

    A line was written before the broker took up the next request of its connection. So only the last line of
    a connection has no such limit: where lines are later than the tolerance, it may be as late as LATEST_MS.
    """

    def __init__(self, tolerance_ms: int) -> None:
        """As for LateLines."""
        super().__init__(tolerance_ms)
        self._is_last: Flags = np.empty(0, dtype=np.bool_)

    def note_last(self, is_last: Flags) -> None:
        """Note for each request, by its number, whether its line is the last one of its connection."""
        self._is_last = is_last

    def of(self, line: CommitRequest | MemberLine | HeartbeatAnswer) -> int:
        """By how many ms a line may be late."""
        is_late = self.latest_around(line.broker_id, minute_of(line.responded_ms)) > self.tolerance_ms
        if is_late and isinstance(line, CommitRequest) and self._is_last[line.number]:
            return LATEST_MS
        return self.at(line.broker_id, line.responded_ms)

    def of_requests(self, requests: Requests, numbers: Longs) -> Longs:
        """``of`` for the requests with these numbers."""
        broker_id, minute = requests["broker_id"][numbers], minute_of(requests["responded_ms"][numbers])
        which = numbered_rows(broker_id, minute)
        first = first_of_each(which)
        around = zip(broker_id[first].tolist(), minute[first].tolist(), strict=True)
        late_ms = np.fromiter((self.latest_around(*each) for each in around), np.int64, len(first))[which]
        is_last = (late_ms > self.tolerance_ms) & self._is_last[numbers]
        return np.where(is_last, LATEST_MS, np.maximum(self.tolerance_ms, 2 * late_ms))
