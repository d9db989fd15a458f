"""Of which requests a log shows what they wrote."""

from __future__ import annotations

import numpy as np
import pytest

from fencepost.replay.log_ends import FOREVER, NEVER
from fencepost.replay.logs import Batches, Log
from fencepost.replay.unlike_lines import are_shown, batches_after_gaps, gap_before


def _log(*offsets: int, cleaned_to: tuple[int, ...] = ()) -> Log:
    """A log of batches with one record each, which were written at a hundred times their offset."""
    base = np.array(offsets, dtype=np.int64)
    ones, zeros = np.ones_like(base), np.zeros_like(base)
    batches = Batches(base, base, zeros, ones, base * 100, zeros, base, ("a",))
    return Log(batches, cleaned_to=cleaned_to)


@pytest.mark.parametrize(
    ("log", "shown"),
    [
        (_log(0, 1, 2, 3), [True, True, False]),
        # compaction has removed what was before 2
        (_log(2, 3, cleaned_to=(2,)), [False, False, False]),
        (_log(1, 2, 3, cleaned_to=(2,)), [False, True, False]),
        # nobody knows what was there
        (_log(2, 3), [False, False, False]),
        (_log(0, 2, 3), [False, False, False]),
    ],
)
def test_a_log_shows_what_it_has_without_a_hole(log: Log, shown: list[bool]) -> None:
    assert are_shown(log, [50, 150, 350], [90, 250, 390]).tolist() == shown


def _log_of_terms(*terms: tuple[int, int, int]) -> Log:
    """A log of batches with one record each: the time, leader epoch and offset of each."""
    ms, epoch, base = np.array(terms, dtype=np.int64).T
    ones, zeros = np.ones_like(base), np.zeros_like(base)
    return Log(Batches(base, base, epoch, ones, ms, zeros, base, ("a",)))


@pytest.mark.parametrize(
    ("log", "after"),
    [
        # before the log, in its first term, between two terms, in the second, behind the log
        (_log_of_terms((100, 0, 0), (200, 0, 1), (500, 1, 2), (600, 1, 3)), [0, -1, 2, -1, -1]),
        # a hole lies there, too, or at the log's beginning
        (_log_of_terms((100, 0, 0), (200, 0, 1), (500, 1, 3), (600, 1, 4)), [0, -1, -1, -1, -1]),
        (_log_of_terms((100, 0, 1), (200, 0, 2), (500, 1, 3), (600, 1, 4)), [-1, -1, 2, -1, -1]),
        # another broker, whose clock is ahead, led in between; at 310 a record was written
        (_log_of_terms((100, 0, 0), (900, 1, 1), (310, 2, 2), (950, 2, 3)), [0, 1, -1, 1, -1]),
    ],
)
def test_gaps_lie_between_terms(log: Log, after: list[int]) -> None:
    assert batches_after_gaps(log, [10, 110, 300, 510, 960], [20, 120, 310, 520, 970]).tolist() == after


def test_behind_the_end_of_a_log_is_a_gap_if_nothing_follows() -> None:
    log = _log_of_terms((100, 0, 0), (200, 0, 1))
    assert [
        batches_after_gaps(log, [150, 300], [160, 310], ended=ended).tolist() for ended in (False, True)
    ] == [
        [-1, -1],
        [-1, 2],
    ]
    assert gap_before(log, 2) == (200, FOREVER)


def test_a_gap_ends_with_the_batch_behind_it() -> None:
    log = _log_of_terms((100, 0, 0), (500, 1, 1))
    assert [gap_before(log, at) for at in (0, 1)] == [(NEVER, 100), (100, 500)]
