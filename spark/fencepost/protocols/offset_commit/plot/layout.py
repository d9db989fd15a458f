"""Lays out a timeline before it is drawn: kinds of commits, histories as runs, lanes and their names.

Times are days since 1970, as Matplotlib counts them; heights are within a lane of height 1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from fencepost.plots.layout import Kind, Lane, Run, Scale, clean, days, extent, kept
from fencepost.protocols.offset_commit.plot.reading import Timeline
from fencepost.words import counted

# From the least to the most remarkable, which is drawn last. The colours are Okabe and Ito's, which everybody
# can tell apart.
KINDS = (
    Kind("accepted_owner", "accepted, owner", "o", "#56B4E9", "none", 14),
    Kind("unfenced", "unfenced (no epoch presented)", "s", "#F0E442", "#8A7F00", 20),
    Kind("unknown", "unknown", "o", "none", "#666666", 24),
    Kind("other_error", "refused for another reason", "P", "#9AA3AA", "white", 40),
    Kind("refused_not_owner", "refused, not the owner", "<", "#0072B2", "white", 40),
    Kind("refused_zombie", "refused, zombie", "v", "#0072B2", "white", 46),
    Kind("accepted_not_owner", "accepted, not the owner", "D", "#E69F00", "black", 34),
    Kind("refused_owner", "refused, owner (false fencing)", "X", "#CC79A7", "black", 64),
    Kind("accepted_zombie", "ACCEPTED ZOMBIE", "*", "#D55E00", "black", 230),
)
GONE = Kind("gone", "no longer a member", "p", "#22303C", "white", 40)
_REMOVED_BY = {"administrator": "removed by an administrator", "left": "left", "away": "left for a while"}
# If there are more members, those with the least to show are left out, and the picture says so.
MOST_LANES = 40
MOST_PARTITIONS = 6
# Tints of Okabe and Ito's colours. A band has its owner's name, too, so nothing rests on the colour alone.
OWNERS = ("#BFE0F5", "#F5DDA8", "#BCE3D4", "#EBCBDB", "#F6F0B0", "#F2C6A8", "#B5CFE2")


@dataclass(frozen=True)
class MemberEpochs(Lane):
    """The lane of a member; ``runs`` are its epochs."""

    member_id: str
    runs: tuple[Run, ...]


@dataclass(frozen=True)
class Band:
    """A stretch of time in which a member owned a partition. ``colour``: that of the member."""

    start: float
    end: float
    member_id: str
    owner: str
    colour: str


@dataclass(frozen=True)
class PartitionOwners(Lane):
    """The lane of a partition: who owned it, and the ``marks`` of commits for it that were accepted of others
    or refused of its owner (columns of ``Timeline.remarkable``, and kind).
    """

    bands: tuple[Band, ...]
    marks: pd.DataFrame


@dataclass(frozen=True)
class Layout:
    """The ``lanes`` that are shown and the ``commits`` in them, with their kind; below them ``partitions``.

    ``every`` counts all commits by kind. ``group`` has the runs of the group's own epochs, ``left_out`` the
    numbers of lanes and commits that are not shown. ``ends``: when members of these lanes were no longer
    members, at their last epoch (member_id, at, epoch, kind, label).
    """

    start: float
    end: float
    lanes: tuple[MemberEpochs, ...]
    partitions: tuple[PartitionOwners, ...]
    group: dict[str, tuple[Run, ...]]
    scale: Scale
    commits: pd.DataFrame
    every: dict[str, int]
    members: int
    left_out: tuple[int, int]
    ends: pd.DataFrame


def arrange(timeline: Timeline) -> Layout:
    """The timeline as it will be drawn."""
    start, end = limits(timeline)
    commits = timeline.commits.assign(kind=kinds(timeline.commits))
    every = lanes_of(timeline, end)
    lanes = chosen(every, commits)
    shown = commits["member_id"].isin([lane.member_id for lane in lanes])
    group = {name: runs(timeline.group, name, end) for name in ("group_epoch", "target_assignment_epoch")}
    return Layout(
        start,
        end,
        tuple(lanes),
        partitions_of(timeline, every, (start, end)),
        group,
        scale_of(every, group.values()),
        commits[shown],
        counts_of(commits),
        sum(lane.member_id != "" for lane in every),
        (len(every) - len(lanes), int(commits.loc[~shown, "commits"].sum())),
        _ends(timeline, lanes),
    )


def kinds(commits: pd.DataFrame) -> pd.Series:
    """The kind of each commit, from the broker's answer and the truth."""
    truth, answer = commits["truth"], commits["broker_answer"]
    word = answer.map({"accept": "accepted_", "reject": "refused_"})
    names = (word + truth).where(answer != "other_error", "other_error")
    names = names.where((truth != "unknown") & (answer != "unknown"), "unknown")
    return names.where(truth != "unfenced", "unfenced").astype(object)


def runs(rows: pd.DataFrame, column: str, end: float) -> tuple[Run, ...]:
    """The history of one column. Rows are in the order of the log; an open row lasts until ``end``."""
    merged: list[Run] = []
    starts = days(rows["from_time"])
    latest = max(end, starts.max(initial=end))
    ends = np.where(rows["to_time"].isna(), latest, days(rows["to_time"]))
    for from_time, to_time, value in zip(starts, ends, rows[column], strict=True):
        run = Run(from_time, to_time, None if pd.isna(value) else float(value))
        last = merged[-1] if merged else None
        if last is not None and run.start <= last.end:
            if run.value == last.value:
                merged[-1] = Run(last.start, max(last.end, run.end), last.value)
                continue
            merged[-1] = Run(last.start, max(last.start, run.start), last.value)
        merged.append(run)
    return tuple(merged)


def limits(timeline: Timeline) -> tuple[float, float]:
    """When the picture begins and ends: as requested, otherwise around all rows."""
    members, commits = timeline.members, timeline.commits
    return extent(
        (members["from_time"], members["to_time"], commits["answered_at"]), timeline.start, timeline.end
    )


def lanes_of(timeline: Timeline, end: float) -> list[MemberEpochs]:
    """Every member that has epochs or commits, in the order of first appearance."""
    members, commits = timeline.members, timeline.commits
    seen = pd.concat(
        [
            members[["member_id", "client_id", "from_time"]].rename(columns={"from_time": "at"}),
            commits[["member_id", "client_id", "answered_at"]].rename(columns={"answered_at": "at"}),
        ]
    ).sort_values(["at", "member_id"], kind="stable")
    clients = seen.drop_duplicates("member_id").set_index("member_id")["client_id"].fillna("")
    heads = _heads(clients)
    rows = dict(tuple(members.groupby("member_id", sort=False)))
    lanes = []
    for member_id, client_id in clients.items():
        epochs_of_member = rows.get(member_id)
        epochs = () if epochs_of_member is None else runs(epochs_of_member, "member_epoch", end)
        if member_id:
            name = clean(client_id, 27) or "(no client id)"
            lane = MemberEpochs(name, heads[member_id], str(member_id), epochs)
        else:
            lane = MemberEpochs("(no member)", "names no member id", "", epochs)
        lanes.append(lane)
    return lanes


def partitions_of(
    timeline: Timeline, members: Iterable[MemberEpochs], shown: tuple[float, float]
) -> tuple[PartitionOwners, ...]:
    """A lane for each partition that remarkable commits are for, or that went from member to member; those
    with the gravest commits if all do not fit.
    """
    if timeline.remarkable is None or timeline.ownership is None:
        return ()
    marks = timeline.remarkable.assign(
        kind=kinds(timeline.remarkable), at=days(timeline.remarkable["responded_at"])
    )
    marks = marks[marks["at"].between(*shown)]
    rank = {kind.name: number for number, kind in enumerate(KINDS)}
    names = {lane.member_id: lane.name for lane in members}
    lanes = []
    place = ["topic", "partition"]
    owners = timeline.ownership.groupby(place)["member_id"].transform("nunique")
    places = pd.concat([marks[place], timeline.ownership.loc[owners > 1, place]])
    places = places.drop_duplicates().sort_values(place)
    for topic, partition in places.itertuples(index=False):
        owned, rows = (
            each[(each["topic"] == topic) & (each["partition"] == partition)]
            for each in (timeline.ownership, marks)
        )
        bands = _bands(owned, names, shown)
        name = f"{clean(str(topic), 22)}-{partition}"
        lanes.append(PartitionOwners(name, "who owned it", bands, rows))
    return tuple(kept(lanes, MOST_PARTITIONS, lambda lane: (-_gravest(lane.marks, rank), lane.name)))


def _ends(timeline: Timeline, lanes: Iterable[MemberEpochs]) -> pd.DataFrame:
    ends = timeline.ends if timeline.ends is not None else pd.DataFrame()
    if ends.empty:
        return pd.DataFrame(columns=["member_id", "at", "epoch", "kind", "label"])
    ends = ends[ends["member_id"].isin([lane.member_id for lane in lanes])]
    words = [
        _REMOVED_BY.get(why, why.replace("_", " ")) if isinstance(why, str) else "gone, reason unknown"
        for why in ends["removed_by"]
    ]
    return pd.DataFrame(
        {
            "member_id": ends["member_id"],
            "at": days(ends["ended_at"]),
            "epoch": ends["last_epoch"].astype("float64").fillna(-1),
            "kind": GONE.name,
            "label": words,
        }
    )


def _gravest(marks: pd.DataFrame, rank: dict[str, int]) -> int:
    return -1 if marks.empty else int(marks["kind"].map(rank).max())


def _bands(owned: pd.DataFrame, names: dict[str, str], shown: tuple[float, float]) -> tuple[Band, ...]:
    low, high = shown
    starts = np.maximum(days(owned["from_time"]), low)
    ends = np.minimum(np.where(owned["to_time"].isna(), high, days(owned["to_time"])), high)
    order = {member: number for number, member in enumerate(names)}
    return tuple(
        Band(
            start,
            end,
            member,
            names.get(member, clean(member, 12)),
            OWNERS[order.get(member, 0) % len(OWNERS)],
        )
        for start, end, member in zip(starts, ends, owned["member_id"], strict=True)
        if start < end
    )


def _heads(clients: pd.Series) -> dict[str, str]:
    """The head of each member id, without the client id that classic ones begin with."""
    tails = {str(member): str(member).removeprefix(f"{client}-") for member, client in clients.items()}
    most = max(map(len, tails.values()), default=0)
    for length in (8, 12, 18):
        heads = {member: tail[:length] for member, tail in tails.items()}
        if length >= most or len({(clients[member], head) for member, head in heads.items()}) == len(heads):
            break
    return {
        member: clean(head, 30) + ("…" if len(head) < len(tails[member]) else "")
        for member, head in heads.items()
    }


def chosen(lanes: list[MemberEpochs], commits: pd.DataFrame) -> list[MemberEpochs]:
    """The lanes with the most to show, as many as fit, in their former order."""
    rank = {kind.name: number for number, kind in enumerate(KINDS)}
    worst = commits["kind"].map(rank).groupby(commits["member_id"]).max().to_dict()
    count = commits.groupby("member_id")["commits"].sum().to_dict()
    return kept(
        lanes,
        MOST_LANES,
        lambda lane: (
            -worst.get(lane.member_id, -1),
            -count.get(lane.member_id, 0),
            -len(lane.runs),
            lane.member_id,
        ),
    )


def scale_of(lanes: Iterable[MemberEpochs], group: Iterable[tuple[Run, ...]]) -> Scale:
    """The scale that holds every epoch of the members and the group."""
    every = [run.value for each in (*(lane.runs for lane in lanes), *group) for run in each]
    values = [value for value in every if value is not None and value >= 0]
    return Scale(min(values, default=0), max(values, default=0))


def counts_of(commits: pd.DataFrame) -> dict[str, int]:
    """How many commits there are of each kind."""
    return {str(kind): int(count) for kind, count in commits.groupby("kind")["commits"].sum().items()}


def findings(counts: dict[str, int]) -> str:
    """A sentence that sums up counts of kinds."""
    zombies, owners = counts.get("accepted_zombie", 0), counts.get("refused_owner", 0)
    sentence = (
        f"{counted(sum(counts.values()), 'commit')}: {counted(zombies, 'zombie')} accepted, "
        f"{counted(owners, 'owner')} refused"
    )
    others = counts.get("accepted_not_owner", 0)
    sentence += f", {others:,} accepted of others" if others else ""
    unknown = counts.get("unknown", 0)
    return f"{sentence}, {unknown:,} unknown" if unknown else sentence
