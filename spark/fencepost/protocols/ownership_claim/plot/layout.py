"""The layout of the timeline of a group's rebalances before it is drawn: lanes of members, bars, marks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from fencepost.plots.layout import Kind, Lane, Run, Scale, clean, days, extent, kept
from fencepost.protocols.ownership_claim.plot.reading import GroupTimeline
from fencepost.words import counted

# From the least to the most remarkable, which is drawn last.
MARKS = (
    Kind("valid", "claim valid", "o", "#56B4E9", "none", 12),
    Kind("unknown", "claim unknown", "o", "none", "#666666", 20),
    Kind("stale", "claim stale", "s", "#E69F00", "none", 26),
    Kind("contradicted", "CLAIM CONTRADICTED", "D", "#CC79A7", "black", 42, "contradicted"),
    Kind("stale_won", "STALE CLAIM WON", "X", "#D55E00", "black", 70, "stale claim won"),
    Kind("handed_over", "HANDED OVER AT ONCE", "v", "#B00020", "black", 60, "handed over"),
)
MOST_MEMBERS = 30
_RANK = {kind.name: number for number, kind in enumerate(MARKS)}


@dataclass(frozen=True)
class Rebalance:
    """One rebalance of the group: its bar, and whether it was one of many without effect."""

    run: Run
    stuck: bool


@dataclass(frozen=True)
class MemberLane(Lane):
    """The lane of a member: when it was one (``runs``), and its claims as ``marks`` (at, kind)."""

    runs: tuple[Run, ...]
    marks: pd.DataFrame


@dataclass(frozen=True)
class RebalanceLayout:
    """The picture. ``counts``: rebalances, ``stuck`` ones, and claims by kind; ``left_out``: members without
    a lane.
    """

    start: float
    end: float
    scale: Scale
    rebalances: tuple[Rebalance, ...]
    members: tuple[MemberLane, ...]
    counts: dict[str, int]
    left_out: int


def arrange(timeline: GroupTimeline) -> RebalanceLayout:
    """The timeline as it will be drawn."""
    each, marks = timeline.rebalances, timeline.marks
    begins = each["prepared_at"].fillna(each["stabilized_at"])
    start, end = extent((begins, each["stabilized_at"], marks["at"]), timeline.start, timeline.end)
    bars = tuple(
        Rebalance(Run(float(begin), float(until), float(generation)), bool(stuck))
        for begin, until, generation, stuck in zip(
            days(begins), days(each["stabilized_at"]), each["generation"], each["is_stuck"], strict=True
        )
    )
    members = [_lane(member, runs, marks) for member, runs in _memberships(each, end).items()]
    visible_lanes = [lane for lane in members if _is_visible(lane, start, end)]
    shown = kept(visible_lanes, MOST_MEMBERS, _by_remarkable_marks)
    visible = [bar for bar in bars if bar.run.end >= start]
    numbers = [bar.run.value or 0.0 for bar in visible]
    return RebalanceLayout(
        start,
        end,
        Scale(min(numbers, default=0), max(numbers, default=0)),
        tuple(visible),
        tuple(shown),
        {
            "rebalances": len(visible),
            "stuck": sum(bar.stuck for bar in visible),
            **{str(kind): int(count) for kind, count in marks.groupby("kind")["marks"].sum().items()},
        },
        len(visible_lanes) - len(shown),
    )


def findings(counts: dict[str, int]) -> str:
    """The counts in words, in one line."""
    claims = sum(counts.get(kind.name, 0) for kind in MARKS)
    return ", ".join(
        (
            counted(counts["rebalances"], "rebalance"),
            f"{counts['stuck']:,} without effect",
            counted(claims, "claim"),
            f"{counts.get('stale', 0) + counts.get('stale_won', 0):,} stale",
            f"{counts.get('contradicted', 0):,} contradicted",
            f"{counts.get('handed_over', 0):,} handed over at once",
        )
    )


def _memberships(rebalances: pd.DataFrame, end: float) -> dict[str, list[Run]]:
    """The times in which each member was one, from joins and leaves. A hole does not end them."""
    runs_of_member: dict[str, list[Run]] = {}
    member_since: dict[str, float] = {}
    times = days(rebalances["stabilized_at"])
    columns = (rebalances[name] for name in ("members_joined", "members_left", "members"))
    for at, joined, left, members in zip(times, *columns, strict=True):
        for member in _listed(left):
            runs_of_member.setdefault(member, []).append(Run(member_since.pop(member, at), at, None))
        if members == 0:
            for member in list(member_since):
                runs_of_member.setdefault(member, []).append(Run(member_since.pop(member), at, None))
        for member in _listed(joined):
            member_since.setdefault(member, at)
            runs_of_member.setdefault(member, [])
    for member, at in member_since.items():
        runs_of_member[member].append(Run(at, max(end, at), None))
    return runs_of_member


def _listed(names: object) -> list[str]:
    return [] if names is None or isinstance(names, float) else [str(name) for name in names]  # type: ignore[attr-defined]


def _lane(member_id: str, runs: list[Run], marks: pd.DataFrame) -> MemberLane:
    # an empty list would be taken for one of columns
    own_marks = marks[np.array([each == member_id for each in marks["member_id"]], dtype=np.bool_)]
    client = next((each for each in own_marks["client_id"] if isinstance(each, str)), None)
    placed = pd.DataFrame({"at": days(own_marks["at"]), "kind": own_marks["kind"].to_numpy()})
    claims = counted(int(own_marks["marks"].sum()), "claim")
    detail = f"{clean(client, 18)}, {claims}" if client else claims
    return MemberLane(clean(member_id, 27) or "(no member id)", detail, tuple(runs), placed)


def _is_visible(lane: MemberLane, start: float, end: float) -> bool:
    return any(run.end >= start and run.start <= end for run in lane.runs)


def _by_remarkable_marks(lane: MemberLane) -> tuple[int, int]:
    worst = max((_RANK[kind] for kind in lane.marks["kind"]), default=-1)
    return -worst, -len(lane.marks)
