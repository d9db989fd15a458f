"""Where the chapters of a history begin."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa
import pytest

from fencepost import lake
from fencepost.iceberg import commits
from fencepost.replay import chapters
from fencepost.replay.chapters import begins
from fencepost.replay.new_evidence import first_affected_chapters, newest_snapshots, note_read
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
    catalog = lake.ensure(empty_lake().lake)

    def plan(cluster: str, runs: Sequence[Sequence[float]]) -> list[int]:
        for number, days in enumerate(runs):
            rows = [_line(cluster, f"{number} {day}", day) for day in days]
            lake.append(catalog, REQUESTS, pa.Table.from_pylist(rows, schema=REQUESTS.arrow_schema))
        assert begins(catalog, cluster, None) == [chapters.FIRST]
        return [each // DAY_MS for each in begins(catalog, cluster, DAY_MS)]

    return plan


def _line(cluster: str, digest: str, day: float) -> Mapping[str, object]:
    return {"cluster": cluster, "line_digest": digest, "logged_at_ms": int(day * DAY_MS)}


def test_a_rebuild_after_many_captures_knows_what_is_new(
    empty_lake: Callable[[], Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commits, "SNAPSHOTS_KEPT", 3)
    catalog = lake.ensure(empty_lake().lake)

    def capture(day: float) -> None:
        lines = [_line("hourly", f"{day}", day)]
        lake.append(catalog, REQUESTS, pa.Table.from_pylist(lines, schema=REQUESTS.arrow_schema))
        files = [{"cluster": "hourly", "file": "kafka-request.log", "size": int(day * DAY_MS)}]
        lake.replace(catalog, FILES, pa.Table.from_pylist(files, schema=FILES.arrow_schema))

    for day in (0.5, 2.5, 9.5):
        capture(TODAY + day)
    seen = newest_snapshots(catalog)
    note_read(catalog, seen)
    for hour in range(12):
        capture(TODAY + 9.6 + hour / 100)
    history = [chapters.FIRST, *((TODAY + day) * DAY_MS for day in (2, 9))]
    assert first_affected_chapters(catalog, seen, {"hourly": history}) == {"hourly": history[-1]}


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
