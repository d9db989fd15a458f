"""Clocks of applications and brokers that differ, by little or much: they are not compared, no verdict
changes.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from fencepost.protocols.lag_report.bronze import STREAMS_LINES
from fencepost.tables import REQUESTS

HOUR_MS = 3_600_000
Bronze = Mapping[str, pa.Table]
Rebuild = Callable[[Bronze], Bronze]


def shifted(table: pa.Table, ms: int, of: Callable[[dict[str, Any]], bool] = lambda row: True) -> pa.Table:
    rows = table.to_pylist()
    for row in rows:
        if of(row) and row["logged_at_ms"] is not None:
            row["logged_at_ms"] += ms
    return pa.Table.from_pylist(rows, schema=table.schema)


def counted(findings: Iterable[tuple[str, str, str]]) -> Counter[tuple[str, str]]:
    """Findings by cluster and definition, since the id of a refused report depends on its time."""
    return Counter((cluster, definition) for cluster, definition, _ in findings)


@pytest.mark.parametrize("ms", [20, -20, 5000, -5000, 26 * HOUR_MS, -26 * HOUR_MS])
def test_an_applications_clock_is_compared_with_none(
    ms: int,
    streams_bronze: Bronze,
    rebuild_streams: Rebuild,
    judge_streams: Callable[[Bronze], Any],
    verdicts: Any,
) -> None:
    """Only the logs of all instances called a have another time."""
    lines = shifted(streams_bronze[STREAMS_LINES.name], ms, lambda row: "-a" in row["client"])
    judged = judge_streams(rebuild_streams({**streams_bronze, STREAMS_LINES.name: lines}))
    assert judged == verdicts


@pytest.mark.parametrize("ms", [20, -5000, 26 * HOUR_MS])
def test_a_brokers_clock_is_compared_with_no_applications(
    ms: int,
    streams_bronze: Bronze,
    rebuild_streams: Rebuild,
    judge_streams: Callable[[Bronze], Any],
    verdicts: Any,
) -> None:
    requests = shifted(streams_bronze[REQUESTS.name], ms)
    judged = judge_streams(rebuild_streams({**streams_bronze, REQUESTS.name: requests}))
    assert counted(judged.violated) == counted(verdicts.violated)
    assert counted(judged.unknown) == counted(verdicts.unknown)
    assert judged.exercised == verdicts.exercised
    assert Counter(judged.decided.values()) == Counter(verdicts.decided.values())


def test_a_clock_that_is_set_back_makes_verdicts_unknown(
    streams_bronze: Bronze, rebuild_streams: Rebuild, judge_streams: Callable[[Bronze], Any], verdicts: Any
) -> None:
    """It is set back by an hour in the middle of each log: directories released before have no age then."""
    rows = streams_bronze[STREAMS_LINES.name]
    middles: dict[tuple[str, str], int] = {}
    for row in rows.to_pylist():
        key = row["cluster"], row["client"]
        middles[key] = max(middles.get(key, 0), row["position"])
    lines = shifted(rows, -HOUR_MS, lambda row: row["position"] > middles[row["cluster"], row["client"]] // 2)
    judged = judge_streams(rebuild_streams({**streams_bronze, STREAMS_LINES.name: lines}))
    assert judged.violated <= verdicts.violated
    assert verdicts.violated - judged.violated <= judged.unknown
    assert judged.unknown >= verdicts.unknown


@pytest.mark.parametrize("ms", [20, -20, 1000, -1000, HOUR_MS])
def test_another_brokers_clock_makes_ends_unknown_and_none_wrong(
    ms: int, streams_bronze: Bronze, rebuild_streams: Rebuild
) -> None:
    """ListOffsets is answered by a changelog's leader, which may be another broker than the coordinator."""
    requests = streams_bronze[REQUESTS.name].to_pylist()
    for row in requests:
        if row["api_name"] in ("LIST_OFFSETS", "CREATE_TOPICS"):
            row["broker_id"], row["logged_at_ms"] = 2, row["logged_at_ms"] + ms
    moved = pa.Table.from_pylist(requests, schema=REQUESTS.arrow_schema)
    # without the decisions in the leaders' own logs
    lines = streams_bronze[STREAMS_LINES.name]
    without_decisions = lines.filter(pc.invert(pc.starts_with(lines["event"], "decided")))
    evidence = {**streams_bronze, STREAMS_LINES.name: without_decisions}
    before, after = (
        {
            row["lag_report_id"]: row["end_offset_sum"]
            for row in rebuild_streams(each)["silver.lag_reports"].to_pylist()
            if row["logged_stores"]
        }
        for each in (evidence, {**evidence, REQUESTS.name: moved})
    )
    known_ends = {report: end for report, end in after.items() if end is not None}
    assert all(before[report] in (None, end) for report, end in known_ends.items())
    assert len(known_ends) > 0.9 * sum(end is not None for end in before.values()) or abs(ms) > 25


def _violated_alike(judged: Any, verdicts: Any) -> None:
    """Nothing is violated that is not violated by the whole log. A step names the witness of its lines."""
    fewer, whole = counted(judged.violated), counted(verdicts.violated)
    assert [key for key, count in fewer.items() if count > whole[key]] == []


def test_whole_seconds_make_nothing_wrong(
    streams_bronze: Bronze, rebuild_streams: Rebuild, judge_streams: Callable[[Bronze], Any], verdicts: Any
) -> None:
    rows = streams_bronze[STREAMS_LINES.name]
    seconds = [
        {**row, "logged_at_ms": row["logged_at_ms"] and row["logged_at_ms"] // 1000 * 1000}
        for row in rows.to_pylist()
    ]
    lines = pa.Table.from_pylist(seconds, schema=rows.schema)
    judged = judge_streams(rebuild_streams({**streams_bronze, STREAMS_LINES.name: lines}))
    _violated_alike(judged, verdicts)
    assert len(judged.unknown) > len(verdicts.unknown)


@pytest.mark.parametrize("share", [0.02, 0.1, 0.2, 0.4, 0.5, 0.8])
def test_lines_that_a_collector_lost_make_nothing_wrong(
    share: float,
    streams_bronze: Bronze,
    rebuild_streams: Rebuild,
    judge_streams: Callable[[Bronze], Any],
    verdicts: Any,
) -> None:
    rows, rng = streams_bronze[STREAMS_LINES.name], random.Random(str(share))
    left = rows.filter(pa.array([rng.random() >= share for _ in range(rows.num_rows)]))
    judged = judge_streams(rebuild_streams({**streams_bronze, STREAMS_LINES.name: left}))
    _violated_alike(judged, verdicts)


def test_lines_that_were_sent_twice_count_once(
    streams_bronze: Bronze, rebuild_streams: Rebuild, judge_streams: Callable[[Bronze], Any], verdicts: Any
) -> None:
    rows = streams_bronze[STREAMS_LINES.name]
    again = [{**row, "position": row["position"] + 100_000_000} for row in rows.to_pylist()]
    lines = pa.concat_tables([rows, pa.Table.from_pylist(again, schema=rows.schema)])
    assert judge_streams(rebuild_streams({**streams_bronze, STREAMS_LINES.name: lines})) == verdicts
