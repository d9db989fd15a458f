"""What the timeline of a topic shows, before it is drawn: incarnations, lanes of partitions and of groups.

Times are days since 1970, as Matplotlib counts them; heights are within a lane of height 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from fencepost.plots.layout import Kind, Lane, Run, Scale, clean, days, ends, extent, kept, word
from fencepost.protocols.leader_epoch.plot.reading import TopicTimeline
from fencepost.words import counted

# How a leader was elected, in words and by colour.
ELECTIONS = {
    "created": ("created", "#7A8B99"),
    "clean": ("elected from the ISR", "#56B4E9"),
    "preferred": ("preferred replica elected", "#009E73"),
    "same": ("the leader stayed", "#A9C6D9"),
    "none": ("no leader", "#B00020"),
    "unclean": ("ELECTED UNCLEAN", "#D55E00"),
    "unknown": ("election unknown", "#C3C9CE"),
}
# From the least to the most remarkable, which is drawn last.
MARKS = (
    Kind("live", "committed", "o", "#56B4E9", "none", 14),
    Kind("unknown", "committed, incarnation unknown", "o", "none", "#666666", 20),
    Kind("refused", "commit refused", "s", "#9AA4AD", "none", 26, "refused"),
    Kind("reset", "began by auto.offset.reset", ">", "#CC79A7", "black", 40),
    Kind("past_truncation", "committed past a truncation", "D", "#E69F00", "black", 40, "past a truncation"),
    Kind("orphaned", "OFFSET OF AN EARLIER TOPIC", "X", "#D55E00", "black", 80),
    Kind("read_on", "READ ON FROM IT", "v", "#B00020", "black", 60),
)
# Above these many lanes, those with the least to show are left out, and the picture says so.
MOST_PARTITIONS, MOST_GROUPS = 16, 24
_NO_COMMITS = ("read_on", "reset")
_RANK = {kind.name: number for number, kind in enumerate(MARKS)}


@dataclass(frozen=True)
class Life:
    """One incarnation: from its creation to its deletion."""

    start: float
    end: float
    name: str


@dataclass(frozen=True)
class Election:
    """One leader epoch of a partition, and how it was elected."""

    run: Run
    how: str
    leader: int | None
    lost: int


@dataclass(frozen=True)
class PartitionLane(Lane):
    """The leader epochs of the partitions of one number."""

    elections: tuple[Election, ...]


@dataclass(frozen=True)
class GroupLane(Lane):
    """Offsets of one group as ``marks`` (at, height, kind)."""

    marks: pd.DataFrame


@dataclass(frozen=True)
class TopicLayout:
    """The picture. ``counts`` are of everything, by kind (elections as ``elected <how>``, ``lost`` records,
    ``incarnations``); ``left_out`` the numbers of partitions and of groups that are not shown.
    """

    start: float
    end: float
    scale: Scale
    lives: tuple[Life, ...]
    partitions: tuple[PartitionLane, ...]
    groups: tuple[GroupLane, ...]
    counts: dict[str, int]
    left_out: tuple[int, int]


def arrange(timeline: TopicTimeline) -> TopicLayout:
    """The layout of a timeline."""
    lives, marks = timeline.incarnations, timeline.marks
    epochs = timeline.epochs.assign(how=word(timeline.epochs["how"]))
    spans = (lives["created_at"], lives["removed_at"], epochs["elected_at"], epochs["ended_at"], marks["at"])
    start, end = extent(spans, timeline.start, timeline.end)
    partitions = [_partition(int(number), rows, end) for number, rows in epochs.groupby("partition")]
    groups = [_group(group_id, rows) for group_id, rows in _by_group(marks)]
    shown = kept(partitions, MOST_PARTITIONS, _most_telling)
    shown_groups = kept(groups, MOST_GROUPS, _most_severe)
    known = epochs["leader_epoch"]
    return TopicLayout(
        start,
        end,
        Scale(min(known, default=0), max(known, default=0)),
        tuple(_life(row, start, end) for row in lives.to_dict("records")),
        tuple(shown),
        tuple(shown_groups),
        {
            **{str(kind): int(count) for kind, count in marks.groupby("kind")["marks"].sum().items()},
            **{f"elected {how}": int(count) for how, count in epochs.groupby("how")["epochs"].sum().items()},
            "lost": sum(each.lost for lane in partitions for each in lane.elections),
            "incarnations": len(lives),
        },
        (len(partitions) - len(shown), len(groups) - len(shown_groups)),
    )


def findings(counts: dict[str, int]) -> str:
    """The counts in one line of words."""
    elections = sum(counts.get(f"elected {how}", 0) for how in ELECTIONS)
    commits = sum(counts.get(kind.name, 0) for kind in MARKS if kind.name not in _NO_COMMITS)
    return ", ".join(
        (
            counted(counts["incarnations"], "incarnation"),
            f"{counted(elections, 'leader epoch')} ({counts.get('elected unclean', 0):,} unclean)",
            f"{counted(counts['lost'], 'record')} lost",
            counted(commits, "commit"),
            f"{counts.get('orphaned', 0):,} of an earlier topic",
            f"{counts.get('read_on', 0):,} read on from",
        )
    )


def _by_group(marks: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    # by number: Pandas takes strings that differ only behind a NUL for the same
    keys: dict[str, int] = {}
    numbers = [keys.setdefault(group_id, len(keys)) for group_id in marks["group_id"]]
    split = dict(list(marks.groupby(np.array(numbers, dtype=int)))) if numbers else {}
    return [(group_id, split[key]) for group_id, key in keys.items()]


def _life(row: dict[str, object], start: float, end: float) -> Life:
    number = (
        "incarnation not known" if pd.isna(row["incarnation"]) else f"incarnation {row['incarnation']:.0f}"
    )
    return Life(_at(row["created_at"], start), _at(row["removed_at"], end), f"{number}: {row['topic_id']}")


def _at(moment: object, else_: float) -> float:
    return else_ if pd.isna(moment) else float(days(pd.Series([moment], dtype="datetime64[us]"))[0])


def _partition(number: int, epochs: pd.DataFrame, end: float) -> PartitionLane:
    starts = days(epochs["elected_at"])
    elections = tuple(
        Election(
            Run(float(start), float(stop), float(epoch)),
            str(how),
            None if pd.isna(leader) else int(leader),
            0 if pd.isna(lost) else int(lost),
        )
        for start, stop, epoch, how, leader, lost in zip(
            starts,
            ends(starts, epochs["ended_at"], end),
            *(epochs[name] for name in ("leader_epoch", "how", "leader", "records_lost")),
            strict=True,
        )
    )
    lost = sum(each.lost for each in elections)
    words = f"{counted(int(epochs['epochs'].sum()), 'leader epoch')}"
    return PartitionLane(
        f"partition {number}", f"{words}, {counted(lost, 'record')} lost" if lost else words, elections
    )


def _most_telling(lane: PartitionLane) -> tuple[int, int]:
    return -sum(each.lost for each in lane.elections), -len(lane.elections)


def _most_severe(lane: GroupLane) -> tuple[int, int]:
    return -int(lane.marks["kind"].map(_RANK).max()), -len(lane.marks)


def _group(group_id: str, marks: pd.DataFrame) -> GroupLane:
    highest = max(float(marks["committed_offset"].max()), 1.0)
    told = zip(marks["kind"], marks["committed_offset"], marks["cause"], strict=True)
    placed = pd.DataFrame(
        {
            "at": days(marks["at"]),
            "height": 0.12 + 0.7 * marks["committed_offset"].to_numpy(dtype=float) / highest,
            "kind": marks["kind"].to_numpy(),
            "label": [_label(*each) for each in told],
        }
    )
    commits = int(marks.loc[~marks["kind"].isin(_NO_COMMITS), "marks"].sum())
    name = clean(group_id, 27) or "(no group id)"
    return GroupLane(name, f"{counted(commits, 'commit')}, offsets to {highest:,.0f}", placed)


def _label(kind: str, offset: int, cause: object) -> str:
    """Words beside an offset that is told by its number."""
    why = cause.replace("_", " ") if isinstance(cause, str) else "reason unknown"
    words = {
        "orphaned": f"{offset:,} of an earlier topic",
        "read_on": f"read on from {offset:,}",
        "reset": f"began at {offset:,}: {why}",
    }
    return words.get(kind, "")
