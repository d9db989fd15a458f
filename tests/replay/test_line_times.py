"""Clocks that were set back: which times passed twice, and what a rebuild reads of requests of then."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest
from lines_in_pieces import LineEngine

from fencepost.engines import Engine
from fencepost.replay.line_times import Finding, LineTimes, LineTimesOfCluster, Range, line_times
from fencepost.replay.view import EvidenceView
from fencepost.tables import REQUESTS
from fencepost.tables.clocks import WENT_BACK

TOLERANCE_MS = 25


def _lines(*files: Sequence[int], broker: int = 1, took_ms: float = 3.0) -> list[dict[str, Any]]:
    """Lines of some files of a broker's log, logged at these times."""
    return [
        {"cluster": "c", "broker_id": broker, "file": f"log.{number}", "position": position,
         "logged_at_ms": ms, "total_time_ms": took_ms}
        for number, file in enumerate(files) for position, ms in enumerate(file)
    ]  # fmt: skip


@pytest.mark.parametrize("size", [1, 2, 100])
@pytest.mark.parametrize(
    ("lines", "ranges"),
    [
        (_lines([1_000, 1_100, 1_090, 1_200]), []),
        (_lines([1_000, 1_500, 1_000, 1_600]), [Range(500, 2_000)]),
        (_lines([50_000, 60_000, 52_000, 58_000, 61_000]), [Range(50_000, 62_000)]),
        (_lines([50_000, 60_000], [52_000, 63_000]), [Range(50_000, 62_000)]),
        (_lines([52_000, 63_000], [50_000, 60_000]), [Range(50_000, 62_000)]),
        (_lines([10_000, 20_000], [20_010, 30_000]), []),
        (_lines([10_000, 9_000, 9_500, 8_700, 11_000]), [Range(7_400, 11_300)]),
        (_lines([10_000, 9_000, 40_000, 39_000]), [Range(8_000, 11_000), Range(38_000, 41_000)]),
        (_lines([100_000, 200_000]) + _lines([100_000, 99_000], broker=2), []),
    ],
)
def test_a_fall_by_more_than_the_tolerance_is_a_step(
    lines: list[dict[str, Any]], ranges: list[Range], size: int
) -> None:
    found = line_times(cast(Engine, LineEngine(lines, size)), TOLERANCE_MS)
    assert list(found.get(("c", 1), ())) == ranges


def test_a_late_line_is_no_step() -> None:
    """A thread wrote its line late, and the next ones are at the newer time; of a real step many are low."""
    before = [*range(10_000, 12_000, 10)]
    after = [*range(12_000, 14_000, 10)]
    late = _lines([*before, 11_500, *after])
    assert not line_times(cast(Engine, LineEngine(late, 1_000)), TOLERANCE_MS)
    stepped = _lines([*before, *range(11_500, 12_000, 20), *after])
    assert line_times(cast(Engine, LineEngine(stepped, 1_000)), TOLERANCE_MS) == {
        ("c", 1): [Range(11_010, 12_480)]
    }


def test_a_step_that_is_undone_at_once_shows_on_a_connection() -> None:
    """Few lines are low then, as if they were late; but one of them is the next one of its connection."""
    lines = _lines([*range(10_000, 12_000, 10), 11_400, 11_410, *range(12_000, 14_000, 10)])
    for number, line in enumerate(lines):
        line |= {"connection": f"127.0.0.1:9092-127.0.0.1:5000{number % 3}", "correlation_id": number}
    assert line_times(cast(Engine, LineEngine(lines, 1_000)), TOLERANCE_MS) == {
        ("c", 1): [Range(10_810, 12_580)]
    }
    moved = [*lines[:150], *lines[151:170], lines[150], *lines[170:200]]  # the same lines, one of them late
    for position, line in enumerate(moved):
        line["position"] = position
    assert not line_times(cast(Engine, LineEngine(moved, 1_000)), TOLERANCE_MS)


def test_pieces_with_lines_between_each_others_show_no_step() -> None:
    engine = LineEngine([*_lines([10_000, 20_000, 30_000, 40_000])], 4)
    (piece,) = engine._pieces
    engine._pieces = [piece.take([0, 2]), piece.take([1, 3])]
    assert not line_times(cast(Engine, engine), TOLERANCE_MS)


@pytest.mark.parametrize("size", [1, 100])
def test_a_request_that_touches_the_range_lasts_for_all_of_it(size: int) -> None:
    lines = _lines([40_001, 60_000, 52_000, 63_001]) + _lines([60_001], broker=2)
    engine = EvidenceView(cast(Engine, LineEngine(lines, size))).with_line_times(TOLERANCE_MS)
    rows = engine.collect(engine.scan(REQUESTS, ("broker_id", "logged_at_ms", "total_time_ms")))
    spans = [
        (each["broker_id"], each["logged_at_ms"] - each["total_time_ms"], each["logged_at_ms"])
        for each in rows.to_pylist()
    ]
    assert spans == [
        (1, 39_998, 40_001),
        (1, 50_000, 62_000),
        (1, 50_000, 62_000),
        (1, 62_998, 63_001),
        (2, 59_998, 60_001),
    ]
    assert rows.column_names == ["broker_id", "logged_at_ms", "total_time_ms"]


def test_a_duration_is_known_only_where_no_time_passed_twice() -> None:
    passed = Finding(("c", 1), WENT_BACK, 100, 200), Finding(("d", 2), WENT_BACK, 1, 2)
    steps = LineTimes(passed).of("c")
    assert isinstance(steps, LineTimesOfCluster)
    assert [steps.is_steady(1, *times) for times in ((0, 99), (50, 300), (150, 160), (201, 300))] == [
        True, False, False, True,
    ]  # fmt: skip
    assert steps.is_steady(2, 0, 10)
    assert [steps.range_of(broker, 150) for broker in (1, 2, None)] == [
        Range(100, 200), Range(150, 150), Range(150, 150),
    ]  # fmt: skip


def _spans(lines: list[dict[str, Any]], size: int) -> list[tuple[int, int]]:
    engine = EvidenceView(cast(Engine, LineEngine(lines, size))).with_line_times(TOLERANCE_MS)
    rows = engine.collect(engine.scan(REQUESTS, ("logged_at_ms", "total_time_ms"))).to_pylist()
    return [(each["logged_at_ms"] - each["total_time_ms"], each["logged_at_ms"]) for each in rows]


@pytest.mark.parametrize("size", [1, 100])
def test_a_line_without_fractions_was_written_within_its_second(size: int) -> None:
    assert _spans(_lines([60_000, 60_000, 61_000]), size) == [
        (59_997, 60_999), (59_997, 60_999), (60_997, 61_999),
    ]  # fmt: skip
    assert _spans(_lines([60_000, 60_000, 61_001]), size) == [
        (59_997, 60_000), (59_997, 60_000), (60_998, 61_001),
    ]  # fmt: skip


def test_lines_that_others_dated_may_be_a_minute_late() -> None:
    """A program dates some lines at once, so the next request on a connection seems to arrive before the
    answer to the one before was logged.
    """

    def on_connections(times: Sequence[int], names: Sequence[str | None]) -> list[dict[str, Any]]:
        lines = _lines(times)
        for number, line in enumerate(lines):
            line |= {"connection": names[number % len(names)], "correlation_id": number}
        return lines

    at_once = on_connections([60_001] * 5, ["a"])
    assert _spans(at_once, 100) == [(-2, 60_001)] * 5
    steps = line_times(cast(Engine, LineEngine(at_once, 100)), TOLERANCE_MS).of("c")
    assert not steps.is_steady(1, 0, 10)
    in_time = [(59_998, 60_001)]
    assert _spans(at_once[1:], 100) == in_time * 4
    # on several connections, on none, one after the other, and of a clock that was set back
    assert _spans(on_connections([60_001] * 5, "abcde"), 100) == in_time * 5
    assert _spans(on_connections([60_001] * 5, [None]), 100) == in_time * 5
    assert _spans(on_connections([*range(60_001, 60_051, 10)], ["a"]), 100)[:1] == in_time
    set_back = on_connections([60_011] * 8 + [60_001] * 8, "abcdefgh")
    assert _spans(set_back, 100)[:1] == [(60_008, 60_011)]
