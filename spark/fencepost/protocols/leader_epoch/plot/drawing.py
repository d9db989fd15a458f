"""Draws the timeline of one topic: its incarnations as bands, leader epochs as steps, a lane for each group.

The colour of a step says how its leader was elected. A commit is drawn at the height of its offset, so an
offset of an earlier incarnation stands above those of the live one. The same rows give the same bytes.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from fencepost.plots import canvas
from fencepost.plots.canvas import ALARM, GREY
from fencepost.plots.layout import Kind, Lane, clean
from fencepost.plots.picture import Picture
from fencepost.protocols.leader_epoch.plot.layout import (
    ELECTIONS,
    MARKS,
    PartitionLane,
    TopicLayout,
    arrange,
    findings,
)
from fencepost.protocols.leader_epoch.plot.reading import TopicTimeline
from fencepost.words import counted

# The room above the lanes, for the names of incarnations.
_TOP = 0.6
# The room for the name of a leader, as a part of the picture's width.
_ROOM = 0.06
_BANDS = ("#E8F1F8", "#F6EEE2")
_LOST = Kind("lost", "RECORDS LOST", "X", "#D55E00", "black", 80)


def picture(timeline: TopicTimeline, kind: str) -> tuple[bytes, str]:
    """A file's content (``kind`` is svg or png), and one line that says what it shows."""
    layout = arrange(timeline)
    return canvas.content(draw(timeline, layout), kind), findings(layout.counts)


def draw(timeline: TopicTimeline, layout: TopicLayout) -> Figure:
    """See Picture; its artists also carry the gids ``incarnation:<number>`` (its band) and ``name:<number>``,
    ``steps:<how>``, ``leader``, ``marks:<kind>``, ``label:<kind>``. Lanes are partitions, then groups.
    """
    lanes: list[Lane] = [*layout.partitions, *layout.groups]
    partitions, groups = layout.left_out
    words = f"{counted(partitions, 'partition')} and {counted(groups, 'group')} are left out"
    picture = Picture(
        title=f"Topic {clean(timeline.topic, 80)}",
        cluster=timeline.cluster,
        limits=(layout.start, layout.end),
        lanes=lanes,
        bases=[-number - 1 for number in range(len(lanes))],
        findings=findings(layout.counts),
        alarming=bool(layout.counts["lost"] or layout.counts.get("orphaned")),
        left_out=words if partitions or groups else "",
        top=_TOP,
        lane=canvas.lane_height(len(lanes)),
    )
    return picture.draw(partial(_paint, layout))


def _paint(layout: TopicLayout, axes: Axes) -> list[Any]:
    _lives(axes, layout, len(layout.partitions) + len(layout.groups))
    for number, lane in enumerate(layout.partitions):
        _steps(axes, layout, lane, -number - 1)
    _lost(axes, layout)
    _marks(axes, layout)
    return _handles(layout)


def _lives(axes: Axes, layout: TopicLayout, lanes: int) -> None:
    """A band for each incarnation over all lanes; where there is none the topic did not exist."""
    low, high = axes.get_xlim()
    for number, life in reversed(list(enumerate(layout.lives))):
        start, end = max(life.start, low), min(life.end, high)
        axes.axvspan(start, end, color=_BANDS[number % 2], zorder=0, linewidth=0, gid=f"incarnation:{number}")
        axes.plot([start, start], [-lanes, _TOP], color=GREY, linewidth=0.7, zorder=1)
    starts = [(life.start, (number, life.name)) for number, life in enumerate(layout.lives)]
    for at, (number, name) in canvas.last_of_close(axes, starts, 0.16):
        canvas.note(axes, clean(name, 40), (at, _TOP), gid=f"name:{number}")
    lines = [[(low, -number), (high, -number)] for number in range(lanes)]
    canvas.lines(axes, lines, colors="white", linewidths=1.2, zorder=0.5)


def _steps(axes: Axes, layout: TopicLayout, lane: PartitionLane, base: float) -> None:
    for how, (_, colour) in ELECTIONS.items():
        each = [election.run for election in lane.elections if election.how == how]
        if each:
            heights = [base + float(layout.scale(run.value)) for run in each]
            lines = [[(run.start, y), (run.end, y)] for run, y in zip(each, heights, strict=True)]
            canvas.lines(
                axes,
                lines,
                colors=colour,
                linewidths=3.2,
                linestyles=":" if how == "none" else "-",
                zorder=2,
                gid=f"steps:{how}",
                rasterized=len(lines) > canvas.MOST_VECTORS,
            )
    canvas.numbers(axes, [election.run for election in lane.elections], layout.scale, base)
    _leaders(axes, lane, base)


def _leaders(axes: Axes, lane: PartitionLane, base: float) -> None:
    """Names the leader above the steps; of changes that are close together only the last."""
    low, high = axes.get_xlim()
    leaders = [
        (each.run.start, each.leader)
        for each in lane.elections
        if each.leader is not None and each.run.end > low
    ]
    room, free = (high - low) * _ROOM, high
    for at, leader in canvas.last_of_close(axes, leaders, _ROOM):
        is_last = at > high - room
        if not is_last and at + room > free:
            continue
        # a name that ends at its change takes the room before it
        free = at - room if is_last else at
        axes.annotate(
            "no leader" if leader < 0 else f"broker {leader}",
            (at, base + 0.84),
            xytext=(-2.5 if is_last else 2.5, 0),
            textcoords="offset points",
            ha="right" if is_last else "left",
            fontsize=6.5,
            color=ALARM if leader < 0 else GREY,
            zorder=2.5,
            gid="leader",
        )


def _lost(axes: Axes, layout: TopicLayout) -> None:
    places = [
        (
            election.run.start,
            -number - 1 + float(layout.scale(election.run.value)),
            _LOST.name,
            f"{counted(election.lost, 'record')} lost",
        )
        for number, lane in enumerate(layout.partitions)
        for election in lane.elections
        if election.lost
    ]
    if places:
        canvas.marks(axes, [_LOST], [pd.DataFrame(places, columns=["at", "height", "kind", "label"])])


def _marks(axes: Axes, layout: TopicLayout) -> None:
    first = -1 - len(layout.partitions)
    placed = [
        lane.marks.assign(height=lane.marks["height"] + first - n) for n, lane in enumerate(layout.groups)
    ]
    canvas.marks(axes, MARKS, placed)


def _handles(layout: TopicLayout) -> list[Any]:
    counts = layout.counts
    handles: list[Any] = [*canvas.handles(MARKS, counts)]
    if counts["lost"]:
        handles.append(canvas.handle(_LOST, counts["lost"]))
    for how, (words, colour) in ELECTIONS.items():
        number = counts.get(f"elected {how}")
        if number:
            handle = Line2D([], [], color=colour, linewidth=3.2, label=f"{words}: {number:,}")
            handle.set_linestyle(":" if how == "none" else "-")
            handles.append(handle)
    handles.append(Patch(facecolor=_BANDS[0], edgecolor=GREY, label=f"incarnations: {len(layout.lives):,}"))
    return handles
