"""Where the chapters of a history begin."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost import lake
from fencepost.iceberg import commits
from fencepost.ledger import Entry, Ledger
from fencepost.opening import ensure
from fencepost.replay import chapters
from fencepost.replay.chapters import begins, shortest
from fencepost.replay.line_counts import line_counts
from fencepost.settings import Settings
from fencepost.tables import FILES, REQUESTS

DAY_MS = 86_400_000
TODAY = 20_000
"""Days since 1970."""


@pytest.fixture(scope="module")
def planned(empty_lake: Callable[[], Settings]) -> Callable[[str, Sequence[Sequence[float]]], list[int]]:
    """Call it with a cluster's name, and the days of the lines that each run finds, for the days on which its
    chapters begin.
    """
    catalog = ensure(empty_lake().lake)

    def plan(cluster: str, runs: Sequence[Sequence[float]]) -> list[int]:
        for number, days in enumerate(runs):
            rows = [_line(cluster, f"{number} {day}", day) for day in days]
            lake.append(catalog, REQUESTS, pa.Table.from_pylist(rows, schema=REQUESTS.arrow_schema))
            counted = line_counts(catalog, shortest(DAY_MS))
        return [each / DAY_MS for each in begins(counted[cluster], DAY_MS)]

    return plan


def _line(cluster: str, digest: str, day: float) -> Mapping[str, object]:
    return {"cluster": cluster, "line_digest": digest, "logged_at_ms": int(day * DAY_MS)}


def test_a_rebuild_after_many_captures_knows_what_is_new(
    empty_lake: Callable[[], Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commits, "SNAPSHOTS_KEPT", 3)
    settings = empty_lake()
    catalog = ensure(settings.lake)

    def capture(day: float) -> None:
        lines = [_line("hourly", f"{day}", day)]
        lake.append(catalog, REQUESTS, pa.Table.from_pylist(lines, schema=REQUESTS.arrow_schema))
        files = [{"cluster": "hourly", "file": "kafka-request.log", "size": int(day * DAY_MS)}]
        lake.replace(catalog, FILES, pa.Table.from_pylist(files, schema=FILES.arrow_schema))

    for day in (0.5, 2.5, 9.5):
        capture(TODAY + day)
    history = [chapters.FIRST, *((TODAY + day) * DAY_MS for day in (2, 9))]
    planned = {("hourly", begin): until for begin, until in pairwise([*history, None]) if begin is not None}
    ledger = Ledger(catalog, settings)
    ledger.begin("rebuild")
    ledger.done(
        "rebuild", [Entry(cluster="hourly", chapter=at, until=planned["hourly", at]) for at in history], {}
    )
    assert ledger.changed_evidence(planned) == {}
    for hour in range(12):
        ledger.keep_unread()
        capture(TODAY + 9.6 + hour / 100)
    assert ledger.changed_evidence(planned) == {"hourly": history[-1]}


Planned = Callable[[str, Sequence[Sequence[float]]], list[int]]


def test_a_night_is_no_chapter(planned: Planned) -> None:
    """Nor is a midnight; the first chapter has at least a day."""
    assert planned("night", [[TODAY + 0.9, TODAY + 1.1]]) == [0]
    assert planned("days", [[TODAY + 0.9, TODAY + 1.9], [TODAY + 2.1]]) == [0, TODAY + 2]


def test_chapters_begin_where_lines_follow_in_whatever_order_they_came(planned: Planned) -> None:
    days = [TODAY + each for each in (0.5, 1.5, 2.0, 2.5, 9.5, 10.5)]
    assert planned("once", [days]) == [0, TODAY + 2, TODAY + 9, TODAY + 10]
    assert planned("hourly", [[each] for each in reversed(days)]) == [0, TODAY + 2, TODAY + 9, TODAY + 10]


def test_a_wrong_clock_makes_no_thousands(planned: Planned, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = [0.1, *(TODAY + each for each in range(4)), 47_482.5]
    assert planned("wrong", [wrong]) == [0, *range(TODAY, TODAY + 4), 47_482]
    monkeypatch.setattr(chapters, "MOST", 4)
    assert planned("many", [[TODAY + each for each in range(16)]]) == [0, TODAY + 8, TODAY + 12]


def test_a_day_with_many_lines_is_divided(planned: Planned, monkeypatch: pytest.MonkeyPatch) -> None:
    """As often as halves of it have many; days with few stay whole."""
    monkeypatch.setattr(chapters, "MOST_LINES", 3)
    quiet = [TODAY + each for each in (0.1, 0.4, 0.8)]
    morning = [TODAY + 2 + each / 24 for each in (0.5, 1.4, 1.6, 2.9, 7)]
    evening = [TODAY + 2 + each / 24 for each in (13, 14, 20)]
    expected = [TODAY + 2, TODAY + 2.25, TODAY + 2.5]
    assert planned("busy", [[*quiet, *morning, *evening]]) == [0, *expected]
    assert planned("busy by hours", [quiet, morning[:3], morning[3:], evening]) == [0, *expected]
    monkeypatch.setattr(chapters, "MOST_LINES", 8)
    assert planned("less busy", [[*quiet, *morning, *evening]]) == [0, TODAY + 2]


def test_days_with_few_lines_are_one_chapter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two, four or eight of them, from a multiple of as many on; the first chapter has at least so many."""
    monkeypatch.setattr(chapters, "FEW_LINES", 8)
    begin = 16 * 1_000

    def planned(lines_of_days: Sequence[int], longest: int | None) -> list[int]:
        lines = {(begin + day) * DAY_MS: lines for day, lines in enumerate(lines_of_days) if lines}
        found = begins(lines, DAY_MS, longest and longest * DAY_MS)
        return [each // DAY_MS - begin for each in found[1:]]

    quiet = [1] * 32
    assert planned(quiet, None) == list(range(2, 32))
    assert planned(quiet, 8) == planned(quiet, 15) == [16, 24]
    assert planned(quiet, 3) == list(range(4, 32, 2))
    assert planned([*quiet[:24], *[2] * 8], 8) == [16, 24, 28]
    assert planned([*quiet[:24], 1, 1, 9, 1, 1, 1], 8) == [16, 24, 26, 27, 28]


_PART_MS = chapters.shortest(DAY_MS)


@given(
    st.dictionaries(st.integers(0, 80).map(lambda each: each * _PART_MS), st.integers(1, 9), min_size=1),
    st.lists(st.integers(0, 40), min_size=2, max_size=2).map(sorted),
    st.sampled_from([1, 2, 8]),
)
def test_a_chapter_has_few_lines_or_is_short(
    lines: Mapping[int, int], few_and_most: Sequence[int], days: int
) -> None:
    """But for the first one, which may be twice as long. Lines of a new day leave the chapters alone that end
    before what may be one chapter with it.
    """
    few, most = few_and_most
    today = max(lines) // (days * DAY_MS) * (days * DAY_MS)
    earlier = {begin: number for begin, number in lines.items() if begin < today}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chapters, "MOST_LINES", most)
        patch.setattr(chapters, "FEW_LINES", few)
        planned, planned_before = (begins(each, DAY_MS, days * DAY_MS) for each in (lines, earlier))
    for begin, until in pairwise([*planned[1:], max(lines) + 1]):
        inside = [each for each in lines if begin <= each < until]
        assert inside
        number = sum(lines[each] for each in inside)
        is_day = begin // DAY_MS == max(inside) // DAY_MS
        assert number <= (most if is_day else few) or max(inside) < begin + _PART_MS
    assert planned_before == [each for each in planned if each < today or each == chapters.FIRST]
