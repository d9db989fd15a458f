"""Requests and commits that say the same, by their times: who stands still commits one offset for months."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from operator import and_


class HandledRequests:
    """Requests with the same content: when each came and was answered (ms), and its row."""

    def __init__(self, lines: list[tuple[int, int, int]]) -> None:
        lines.sort()
        self._requested_ms = [requested_ms for requested_ms, _, _ in lines]
        self._latest_ms = list(accumulate((responded_ms for _, responded_ms, _ in lines), max))
        self._lines = lines

    def only_at(self, ms: int, tolerance_ms: int) -> int | None:
        """The one that may have written a record then, both dated by the coordinator; None for several."""
        found = None
        for at in reversed(range(bisect_right(self._requested_ms, ms + tolerance_ms))):
            if self._latest_ms[at] < ms - tolerance_ms:
                break
            _, responded_ms, row = self._lines[at]
            if responded_ms >= ms - tolerance_ms:
                if found is not None:
                    return None
                found = row
        return found


class RepeatedCommits:
    """Commits of the same offset for the same key, by their time."""

    def __init__(self, commits: list[tuple[int, str, str | None, int]]) -> None:
        commits.sort(key=lambda each: each[:2])
        self._ms = [each[0] for each in commits]
        self._commits = commits
        self._one = list(accumulate((each[2] == commits[0][2] for each in commits), and_))

    def newest_at(self, ms: float) -> tuple[str, str | None, int, bool] | None:
        """Id, origin and leader epoch of the newest so far, and whether all of them are of one origin."""
        at = bisect_right(self._ms, ms) - 1
        return None if at < 0 else (*self._commits[at][1:], self._one[at])
