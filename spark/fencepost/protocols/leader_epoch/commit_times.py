"""Matches requests and commits with the same content by their times: a group that reads nothing new commits
the same offset for months.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from operator import and_
from typing import NamedTuple

import numpy as np

from fencepost.replay.logs import Longs


class RequestTimes(NamedTuple):
    """Requests: a number that stands for the content of each, when it came and when it was answered (ms), and
    a number for what else is told of it.
    """

    content: Longs
    requested_ms: Longs
    responded_ms: Longs
    alike: Longs


def match_requests(
    requests: RequestTimes, content: Longs, ms: Longs, tolerance_ms: int
) -> tuple[Longs, Longs]:
    """For each record, the index of the only request with the same content that was being handled when the
    record was written, -1 for none, or several; and of one of several that are all alike, -1 for none, or if
    they differ. The coordinator dates both.
    """
    order = np.lexsort((requests.responded_ms, requests.requested_ms, requests.content))
    request_content, requested_ms, responded_ms, alike = (column[order] for column in requests)
    # records in the same order: neighbours find their requests close to each other in memory
    record_order = np.lexsort((ms, content))
    content, ms = content[record_order], ms[record_order]
    times = np.sort(np.concatenate([requested_ms, responded_ms]))
    span = len(times) + 1
    by_request = request_content * span + np.searchsorted(times, requested_ms)
    # the latest answer so far of the same content
    latest = np.maximum.accumulate(request_content * span + np.searchsorted(times, responded_ms))
    begin = np.searchsorted(latest, content * span + np.searchsorted(times, ms - tolerance_ms))
    end = np.searchsorted(
        by_request, content * span + np.searchsorted(times, ms + tolerance_ms, side="right")
    )
    one, several, differ = np.full(len(ms), -1), *(np.zeros(len(ms), dtype=np.bool_) for _ in range(2))
    at, undecided = end - 1, np.arange(len(ms))
    while len(undecided := undecided[(at[undecided] >= begin[undecided]) & ~differ[undecided]]):
        here = at[undecided]
        fits = undecided[responded_ms[here] >= ms[undecided] - tolerance_ms]
        several[fits] = one[fits] >= 0
        differ[fits] = several[fits] & (alike[one[fits]] != alike[at[fits]])
        one[fits] = at[fits]
        at[undecided] -= 1
    found = np.append(order, -1)[one]
    only, of_all = (np.empty_like(found) for _ in range(2))
    only[record_order], of_all[record_order] = np.where(several, -1, found), np.where(differ, -1, found)
    return only, of_all


class RepeatedCommits:
    """Commits of the same offset for the same key, by their time."""

    def __init__(self, commits: list[tuple[int, str, str | None, int]]) -> None:
        commits.sort(key=lambda each: each[:2])
        self._ms = [each[0] for each in commits]
        self._commits = commits
        self._one = list(accumulate((each[2] == commits[0][2] for each in commits), and_))

    def newest_at(self, ms: float) -> tuple[str, str | None, int, bool] | None:
        """Id, origin and leader epoch of the newest commit until ``ms``, and whether all until then have the
        same origin; None where there is none.
        """
        at = bisect_right(self._ms, ms) - 1
        return None if at < 0 else (*self._commits[at][1:], self._one[at])
