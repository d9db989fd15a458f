"""Requests and commits of one content are found by their times as if each were compared with each."""

from __future__ import annotations

from random import Random

import numpy as np

from fencepost.protocols.leader_epoch.commit_times import RepeatedCommits, RequestTimes, match_requests

TOLERANCE_MS = 3


def test_a_request_is_found_where_it_is_the_only_one() -> None:
    rng, found = Random(1), set()
    for _ in range(300):
        begun = [
            (rng.randrange(2), rng.randrange(60), rng.choice((0, 2, 30)), rng.choice((7, 7, 7, 8)))
            for _ in range(rng.randrange(12))
        ]
        lines = [(content, ms, ms + took, alike) for content, ms, took, alike in begun]
        records = [(content, ms) for content in range(3) for ms in range(-5, 100, 3)]
        requests = RequestTimes(*np.array(lines, dtype=np.int64).reshape(-1, 4).T)
        told = match_requests(requests, *np.array(records, dtype=np.int64).T, TOLERANCE_MS)
        for (content, ms), only, one in zip(records, *(each.tolist() for each in told), strict=True):
            fits = [
                row
                for row, (of, first, last, _) in enumerate(lines)
                if of == content and first - TOLERANCE_MS <= ms <= last + TOLERANCE_MS
            ]
            kinds = {lines[row][3] for row in fits}
            assert only == (fits[0] if len(fits) == 1 else -1), (lines, content, ms)
            assert one in fits if len(kinds) == 1 else one == -1, (lines, content, ms)
            found.add((min(len(fits), 2), len(kinds)))
    assert found == {(0, 0), (1, 1), (2, 1), (2, 2)}


def test_the_newest_commit_is_found_with_whether_all_were_of_one_incarnation() -> None:
    rng, found = Random(2), set()
    for _ in range(300):
        count = rng.randrange(1, 8)
        commits = [
            (rng.randrange(40), f"id{row}", rng.choice(("a", "a", "b", None)), row) for row in range(count)
        ]
        repeated = RepeatedCommits(list(commits))
        for ms in range(-2, 45, 3):
            before = sorted((each for each in commits if each[0] <= ms), key=lambda each: each[:2])
            one = len({each[2] for each in before}) == 1
            newest = (*before[-1][1:], one) if before else None
            assert repeated.newest_at(ms) == newest, (commits, ms)
            found.add(None if newest is None else one)
    assert found == {None, True, False}
