"""The epoch timeline of one group: a lane for each member, its epochs as steps, its commits as marks.

Every lane has the same scale of epochs, and a mark stands at the epoch that its commit presented: a mark
below its member's step is a commit that came with an old epoch. The same rows give the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fencepost.plots import canvas
from fencepost.plots.canvas import FAINT, GREY, INK
from fencepost.plots.layout import Lane, Run, Scale, clean, days
from fencepost.plots.picture import Picture
from fencepost.protocols.offset_commit.plot.layout import (
    GONE,
    KINDS,
    Layout,
    MemberEpochs,
    arrange,
    counts_of,
    findings,
)
from fencepost.protocols.offset_commit.plot.reading import Timeline
from fencepost.words import counted

_TARGET = "#0072B2"
_MOST_GUIDES = 60
_EDGE, _NAME_ROOM, _LABEL_ROOM = 0.006, 0.1, 0.14
"""Parts of the picture's width: the edge of a lane, and what the name of an owner and a label take."""


def picture(timeline: Timeline, kind: str) -> tuple[bytes, str]:
    """The content of a file (``kind`` is svg or png), and a sentence that sums it up."""
    layout = arrange(timeline)
    return canvas.content(draw(timeline, layout), kind), findings(layout.every)


def draw(timeline: Timeline, layout: Layout) -> Figure:
    """See Picture; its artists also carry the gids ``group_epoch``, ``target_assignment_epoch``, ``steps``,
    ``unknown``, ``owners``, ``owner``, ``offset`` and ``marks:<kind>``. The group's lane is 0.
    """
    count = len(layout.lanes)
    members, commits = layout.left_out
    words = f"{members} of {members + count} lanes are left out, with {counted(commits, 'commit')}"
    picture = Picture(
        title=f"Group {clean(timeline.group_id, 90)}",
        cluster=timeline.cluster,
        limits=(layout.start, layout.end),
        lanes=[Lane("group", "epochs of the group"), *layout.lanes, *layout.partitions],
        bases=[-number for number in range(count + len(layout.partitions) + 1)],
        findings=findings(layout.every),
        alarming=bool({"accepted_zombie", "refused_owner", "accepted_not_owner"} & layout.every.keys()),
        left_out=words if members else "",
        lane=canvas.lane_height(count),
        about=(counted(layout.members, "member"),),
    )
    return picture.draw(partial(_paint, timeline, layout))


def _paint(timeline: Timeline, layout: Layout, axes: Axes) -> list[Line2D]:
    _ground(axes, layout.lanes, layout.group["group_epoch"])
    _group_lane(axes, layout.group, layout.scale)
    _steps(axes, layout.lanes, layout.scale)
    _marks(axes, layout)
    _owners(axes, layout)
    return _handles(timeline, layout)


def _line(each: Sequence[Run], scale: Scale, base: float) -> list[list[tuple[float, float]]]:
    """Polylines of the known runs; a gap in time or knowledge begins a new one."""
    lines: list[list[tuple[float, float]]] = []
    last: Run | None = None
    for run in each:
        if run.value is not None:
            height = base + float(scale(run.value))
            points = [(run.start, height), (run.end, height)]
            if last is not None and last.value is not None and last.end == run.start:
                lines[-1] += points
            else:
                lines.append(points)
        last = run
    return lines


def _ground(axes: Axes, lanes: Sequence[MemberEpochs], group: Sequence[Run]) -> None:
    canvas.stripes(axes, range(-1, -len(lanes) - 1, -2))
    axes.axhspan(0, 1, color="#EEF2F5", zorder=0, linewidth=0)
    if len(group) <= _MOST_GUIDES:
        changes = [[(run.start, -len(lanes)), (run.start, 1)] for run in group]
        canvas.lines(axes, changes, colors=FAINT, linewidths=0.8, zorder=0.5, gid="guides")


def _group_lane(axes: Axes, group: dict[str, tuple[Run, ...]], scale: Scale) -> None:
    looks: dict[str, dict[str, Any]] = {
        "group_epoch": {"colors": INK, "linewidths": 1.1},
        "target_assignment_epoch": {"colors": _TARGET, "linewidths": 1.4, "linestyles": [(0, (3, 2))]},
    }
    for name, look in looks.items():
        canvas.lines(axes, _line(group[name], scale, 0), zorder=2, gid=name, **look)
    canvas.numbers(axes, group["group_epoch"], scale, 0)


def _steps(axes: Axes, lanes: Sequence[MemberEpochs], scale: Scale) -> None:
    lines, areas, unknown = [], [], []
    for number, lane in enumerate(lanes):
        base = -number - 1
        lines += _line(lane.runs, scale, base)
        for run in lane.runs:
            if run.value is None:
                unknown.append([(run.start, base + 0.1), (run.end, base + 0.1)])
            else:
                top = base + float(scale(run.value))
                areas.append([(run.start, base), (run.start, top), (run.end, top), (run.end, base)])
        canvas.numbers(axes, lane.runs, scale, base)
    canvas.areas(axes, areas, facecolors="#D9E2E9", linewidths=0, alpha=0.55, zorder=1, gid="alive")
    canvas.lines(axes, lines, colors=INK, linewidths=1.5, zorder=2, gid="steps")
    canvas.lines(axes, unknown, colors=GREY, linewidths=1.2, linestyles=":", zorder=2, gid="unknown")


def _marks(axes: Axes, layout: Layout) -> None:
    lane_of = {lane.member_id: number for number, lane in enumerate(layout.lanes)}
    commits = layout.commits
    heights = (
        layout.scale(commits["client_epoch"].fillna(-1)) - commits["member_id"].map(lane_of).to_numpy() - 1
    )
    placed = commits.assign(at=days(commits["answered_at"]), height=heights)
    lanes = layout.ends["member_id"].map(lane_of).to_numpy(dtype=float)
    ends = layout.ends.assign(height=layout.scale(layout.ends["epoch"]) - lanes - 1)
    canvas.marks(axes, (GONE, *KINDS), [each for each in (placed, ends) if not each.empty])


def _owners(axes: Axes, layout: Layout) -> None:
    """Who owned the partitions of remarkable commits; a label at each commit says which offset it stored. A
    band without room for a name is told by the colour at the edge of its owner's lane.
    """
    low, high = axes.get_xlim()
    lane_of = {lane.member_id: number for number, lane in enumerate(layout.lanes, 1)}
    owners = {band.member_id: band.colour for lane in layout.partitions for band in lane.bands}
    for member_id, colour in owners.items():
        if member_id in lane_of:
            base = -lane_of[member_id]
            _box(axes, (low, low + _EDGE * (high - low)), (base, base + 1), colour, "owner_lane")
    for number, lane in enumerate(layout.partitions, len(layout.lanes) + 1):
        base = -number
        for band in lane.bands:
            _box(axes, (band.start, band.end), (base + 0.12, base + 0.88), band.colour, "owners")
            if band.end - band.start > _NAME_ROOM * (high - low):
                canvas.words(axes, band.owner, (band.start, base + 0.2), gid="owner")
        canvas.marks(axes, KINDS, [lane.marks.assign(height=base + 0.6)])
        offsets = [
            (at, f"{offset} of {lane.name}")
            for at, offset in zip(lane.marks["at"], lane.marks["committed_offset"], strict=True)
        ]
        for at, label in canvas.last_of_close(axes, offsets, _LABEL_ROOM):
            canvas.words(axes, label, (at, base + 0.62), gid="offset", alarm=True)


def _box(axes: Axes, times: tuple[float, float], heights: tuple[float, float], colour: str, gid: str) -> None:
    (start, end), (bottom, top) = times, heights
    outline = [(start, bottom), (start, top), (end, top), (end, bottom)]
    canvas.areas(axes, [outline], facecolors=colour, edgecolors=GREY, linewidths=0.5, gid=gid)


def _handles(timeline: Timeline, layout: Layout) -> list[Line2D]:
    counts = {**counts_of(layout.commits), GONE.name: len(layout.ends)}
    generations = set(timeline.members["protocol"].dropna()) == {"classic"}
    member_epoch = "generation" if generations else "member epoch"
    handles = [
        Line2D([], [], color=INK, linewidth=1.5, label=member_epoch),
        Line2D([], [], color=INK, linewidth=1.1, label="group epoch (top lane)"),
        Line2D([], [], color=_TARGET, linewidth=1.4, linestyle=(0, (3, 2)), label="target assignment epoch"),
    ]
    if timeline.members["member_epoch"].isna().any():
        handles.append(Line2D([], [], color=GREY, linewidth=1.2, linestyle=":", label="epoch unknown"))
    return handles + canvas.handles((GONE, *KINDS), counts)
