"""The layout of an instance's timeline before it is drawn: a lane for each task, with bars and marks."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from fencepost.plots.layout import Kind, Lane, clean, days, extent, kept
from fencepost.protocols.lag_report.plot.reading import InstanceTimeline
from fencepost.words import counted

# From the least to the most remarkable, which is drawn last.
MARKS = (
    Kind("empty", "empty directory deleted", "v", "none", "#999999", 20),
    Kind("cleaned", "directory deleted by the cleaner", "v", "#56B4E9", "none", 34),
    Kind("by_others", "deleted by others", "s", "#E69F00", "none", 30, "deleted by others"),
    Kind("needed", "DELETED AND NEEDED", "X", "#D55E00", "black", 70, "deleted and needed"),
)
MOST_TASKS = 30


@dataclass(frozen=True)
class Bar:
    """A stretch of a kind: task, report, restore, from_the_beginning."""

    start: float
    end: float
    kind: str


@dataclass(frozen=True)
class TaskLane(Lane):
    """The history of one task's directory: ``bars``, and ``marks`` (at, kind)."""

    task_id: str
    bars: tuple[Bar, ...]
    marks: pd.DataFrame


@dataclass(frozen=True)
class InstanceLayout:
    """The picture. ``waits``: stretches in which a lag report waited for its assignment; ``counts``:
    rebalances, and deletions by kind; ``left_out``: tasks without a lane.
    """

    start: float
    end: float
    waits: tuple[tuple[float, float], ...]
    lanes: tuple[TaskLane, ...]
    counts: dict[str, int]
    left_out: int


def arrange(timeline: InstanceTimeline) -> InstanceLayout:
    """The timeline as it will be drawn."""
    bars = pd.concat([timeline.locks, timeline.restores], ignore_index=True)
    deletions = timeline.deletions
    times = (
        bars["since"], bars["until"].dropna(), deletions["at"], timeline.rebalances["since"],
    )  # fmt: skip
    start, end = extent(times, timeline.start, timeline.end)
    tasks = sorted({*bars["task_id"], *deletions["task_id"]}, key=_in_order)
    lanes = [_lane(task, bars[bars["task_id"] == task], deletions, end) for task in tasks]
    shown = kept(lanes, MOST_TASKS, _by_remarkable_marks)
    waits = zip(
        days(timeline.rebalances["since"]),
        days(timeline.rebalances["until"].fillna(timeline.rebalances["since"])),
        strict=True,
    )
    return InstanceLayout(
        start,
        end,
        tuple((float(since), float(until)) for since, until in waits),
        tuple(shown),
        {
            "rebalances": len(timeline.rebalances),
            **{str(kind): int(count) for kind, count in deletions["kind"].value_counts().items()},
        },
        len(lanes) - len(shown),
    )


def findings(counts: dict[str, int]) -> str:
    """The counts in words, in one line."""
    deleted = sum(counts.get(kind.name, 0) for kind in MARKS)
    return ", ".join(
        (
            counted(counts["rebalances"], "rebalance"),
            f"{counted(deleted, 'deletion')} of directories",
            f"{counts.get('needed', 0):,} of them needed",
        )
    )


def _lane(task_id: str, bars: pd.DataFrame, deletions: pd.DataFrame, end: float) -> TaskLane:
    own_deletions = deletions[deletions["task_id"] == task_id]
    untils = [end if pd.isna(until) else float(at) for until, at in _ends(bars)]
    drawn = tuple(
        Bar(float(since), until, str(kind))
        for since, until, kind in zip(days(bars["since"]), untils, bars["kind"], strict=True)
    )
    placed = pd.DataFrame({"at": days(own_deletions["at"]), "kind": own_deletions["kind"].to_numpy()})
    deletions_counted = counted(len(own_deletions), "deletion")
    return TaskLane(clean(task_id, 27), deletions_counted, task_id, drawn, placed)


def _ends(bars: pd.DataFrame) -> zip[tuple[object, float]]:
    return zip(bars["until"], days(bars["until"].fillna(bars["since"])), strict=True)


def _by_remarkable_marks(lane: TaskLane) -> tuple[int, int, str]:
    needed = sum(kind == "needed" for kind in lane.marks["kind"])
    return -needed, -len(lane.marks) - len(lane.bars), lane.task_id


def _in_order(task_id: str) -> tuple[int, str]:
    return len(task_id), clean(task_id, 60)
