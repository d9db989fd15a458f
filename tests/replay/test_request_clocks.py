"""By how much the clock of a request log is ahead of that of the records."""

from __future__ import annotations

from fencepost.replay.line_times import Finding
from fencepost.replay.request_clocks import (
    Difference,
    brokers_with_another_clock,
    differences,
    line_time_rows,
)
from fencepost.tables.clocks import clock_table

HOUR = 3_600_000
NOON = 500_000 * HOUR
"""The begin of an hour."""


def _times(
    ahead_ms: int, count: int = 10, broker_id: int = 1, from_ms: int = NOON
) -> list[tuple[int, int, int, int]]:
    """Requests, one each second, that took two ms; each record was written in the middle."""
    written = (from_ms + 1000 * each for each in range(count))
    return [(broker_id, ms + ahead_ms - 1, ms + ahead_ms + 1, ms) for ms in written]


def test_a_clock_that_agrees_is_no_difference() -> None:
    assert brokers_with_another_clock(_times(0), 25) == frozenset()
    assert differences(_times(0), brokers_with_another_clock(_times(0), 25)) == []
    assert differences([], brokers_with_another_clock([], 25)) == []


def test_lines_of_a_slow_broker_are_no_other_clock() -> None:
    late = [
        (1, ms + after, ms + after + 1, ms) for ms in range(NOON, NOON + 24_000, 1000) for after in [ms % 700]
    ]
    assert brokers_with_another_clock(late, 25) == frozenset()


def test_each_broker_has_its_own() -> None:
    times = [*_times(HOUR), *_times(0, broker_id=2), *_times(-2 * HOUR, 4, broker_id=3)]
    others = brokers_with_another_clock(times, 25)
    assert differences(times, others) == [
        Difference(1, HOUR, 10, NOON, NOON + 9000),
        Difference(3, -2 * HOUR, 4, NOON, NOON + 3000),
    ]


def test_summer_time_is_a_difference_of_its_own() -> None:
    later = NOON + 4000 * HOUR
    times = [*_times(HOUR), *_times(2 * HOUR, from_ms=later)]
    assert differences(times, [1]) == [
        Difference(1, HOUR, 10, NOON, NOON + 9000),
        Difference(1, 2 * HOUR, 10, later, later + 9000),
    ]


def test_one_row_an_hour_wherever_history_is_cut() -> None:
    times = _times(HOUR, 20, from_ms=NOON - 10_000)
    whole = differences(times, [1])
    assert [each.requests for each in whole] == [10, 10]
    before, after = times[:10], times[10:]
    assert [*differences(before, [1]), *differences(after, [1])] == whole


def test_a_request_that_was_matched_by_mistake_is_left_out() -> None:
    times = [*_times(HOUR), (1, NOON + 7 * HOUR, NOON + 7 * HOUR, NOON)]
    assert [each.ahead_ms for each in differences(times, [1])] == [HOUR]


def test_what_lines_tell_has_a_row_an_hour() -> None:
    """A chapter keeps the rows that end in it, so none may be longer than a chapter."""
    findings = [
        Finding(("c", 1), "whole_seconds", NOON - 1, NOON + HOUR),
        Finding(("c", 2), "went_back", NOON - 5, NOON),
    ]
    rows = line_time_rows(clock_table("silver.clocks", "__consumer_offsets"), findings).to_pylist()
    times = [
        (row["broker_id"], *(round(row[name].timestamp() * 1000) - NOON for name in ("first_at", "last_at")))
        for row in rows
    ]
    assert times == [(1, -1, -1), (1, 0, HOUR - 1), (1, HOUR, HOUR), (2, -5, 0)]
    assert {row["finding"]: (row["requests"], row["ahead_ms"]) for row in rows} == {
        "whole_seconds": (None, None),
        "went_back": (None, None),
    }
