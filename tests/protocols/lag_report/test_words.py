"""What is said of state directories, from golden rows, read without Spark."""

from __future__ import annotations

import datetime as dt
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from golden_marts import GOLDEN, open_golden_marts

from fencepost.plots.reading import PlotError
from fencepost.protocols.lag_report import explanation, report
from fencepost.protocols.lag_report.plot import drawing, layout, reading
from fencepost.protocols.lag_report.tables import (
    ASSIGNED_TASKS,
    DIRECTORY_DELETIONS,
    LAG_REPORTS,
    STREAMS_INSTANCES,
    STREAMS_REBALANCES,
    TASK_RESTORES,
)
from fencepost.reading import Reader

TABLES = (
    ASSIGNED_TASKS, DIRECTORY_DELETIONS, LAG_REPORTS, STREAMS_INSTANCES, STREAMS_REBALANCES, TASK_RESTORES,
)  # fmt: skip
REPORT = Path(__file__).with_name("report.txt")


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """A lake with golden rows of this protocol's marts, and of the tables of witnesses, in cluster prod."""
    with open_golden_marts(tmp_path_factory.mktemp("lake"), "lag_report", TABLES) as opened:
        yield opened


def test_the_report_names_directories_that_were_deleted_too_soon(reader: Reader) -> None:
    lines = "\n".join(report.StateDirectories(reader)("prod")) + "\n"
    if os.environ.get("FENCEPOST_UPDATE"):
        REPORT.write_text(lines, encoding="utf-8")
    assert lines == REPORT.read_text(encoding="utf-8")


def test_a_cluster_without_streams_has_no_report(reader: Reader) -> None:
    assert report.StateDirectories(reader)("quiet") == []


@pytest.mark.parametrize(
    ("table", "column", "words"),
    [
        (
            DIRECTORY_DELETIONS.name,
            "deletion_id",
            "2026-01-05 10:00:33.000 UTC  the state cleaner of 'app' deleted the directory of task 0_0, "
            "11700 ms after 'app-StreamThread-1' had released it; its delay is 10000 ms. The lag report of "
            "'app-StreamThread-2' of 2026-01-05 10:00:30.000 UTC was waiting for its "
            "assignment.",
        ),
        (
            ASSIGNED_TASKS.name,
            "assigned_task_id",
            "2026-01-05 10:00:34.000 UTC  'app-StreamThread-2' was assigned 0_0 as active task. Its instance "
            "had reported the offset sum "
            "50 for it, but has no directory of it.",
        ),
    ],
)
def test_a_verdict_is_explained_by_its_witness(reader: Reader, table: str, column: str, words: str) -> None:
    rows = json.loads((GOLDEN / "input" / f"{table}.json").read_text(encoding="utf-8"))
    (row,) = (row for row in rows if row.get("directory_exists") is False or "deleted_at" in row)
    verdict = {"verdict_id": "v", "module": "LagReportProps", "witness": json.dumps({"d": row[column]})}
    explained = explanation.explain(reader, [verdict])["v"]
    assert explained.sentence == words
    assert (explained.file, explained.position) == (row["file"], row["position"])


def test_an_instance_is_drawn(reader: Reader) -> None:
    timeline = reading.read(reader, "app")
    arranged = layout.arrange(timeline)
    assert [lane.task_id for lane in arranged.lanes] == ["0_0", "0_1", "2_0"]
    assert arranged.counts["needed"] == 1
    assert {bar.kind for bar in arranged.lanes[0].bars} == {"task", "report", "from_the_beginning"}
    content, words = drawing.picture(timeline, "svg")
    assert words == "4 rebalances, 1 deletion of directories, 1 of them needed"
    assert content == drawing.picture(timeline, "svg")[0]
    gids = {each.get_gid() for each in drawing.draw(timeline, arranged).axes[0].get_children()}
    assert gids >= {"waits", "bars:task", "bars:report", "marks:needed", "lane:0"}


def test_only_the_chosen_time_is_drawn(reader: Reader) -> None:
    start = dt.datetime(2026, 1, 5, 10, 0, 45)
    arranged = layout.arrange(reading.read(reader, "app", start=start))
    assert "0_0" not in {lane.task_id for lane in arranged.lanes if lane.marks.size}
    with pytest.raises(PlotError, match="No instance of Kafka Streams 'nobody'"):
        reading.read(reader, "nobody")
    with pytest.raises(PlotError, match="shows no task in that time"):
        reading.read(reader, "app", end=dt.datetime(2026, 1, 1))
