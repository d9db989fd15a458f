"""Draws the timeline of one topic: its incarnations as bands, leader epochs as steps, a lane for each group.

The colour of a step says how its leader was elected. A commit is drawn at the height of its offset, so an
offset of an earlier incarnation stands above those of the live one. The same rows give the same bytes.
"""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from fencepost.plots import canvas
from fencepost.plots.canvas import ALARM, GREY, INK
from fencepost.plots.layout import Kind, clean, counted
from fencepost.protocols.leader_epoch.plot.layout import (
    ELECTIONS,
    MARKS,
    PartitionLane,
    TopicLayout,
    arrange,
    findings,
)
from fencepost.protocols.leader_epoch.plot.reading import TopicTimeline

_BANDS = ("#E8F1F8", "#F6EEE2")
_LOST = Kind("lost", "RECORDS LOST", "X", "#D55E00", "black", 80)


def picture(timeline: TopicTimeline, kind: str) -> tuple[bytes, str]:
    """A file's content (``kind`` is svg or png), and one line that says what it shows."""
    layout = arrange(timeline)
    return canvas.content(draw(timeline, layout), kind), findings(layout.counts)


def draw(timeline: TopicTimeline, layout: TopicLayout) -> Figure:
    """The figure, with a single axes.

    Its artists carry gids: ``incarnation:<number>`` (its band) and ``name:<number>``, ``steps:<how>``,
    ``leader``, ``lost``, ``marks:<kind>``, ``lane:<number>`` and ``detail:<number>`` (partitions, then
    groups), ``title``, ``subtitle``, ``findings``, ``left_out``.
    """
    with canvas.style():
        return _draw(timeline, layout)


def _draw(timeline: TopicTimeline, layout: TopicLayout) -> Figure:
    lanes = [(lane.name, lane.detail) for lane in layout.partitions]
    lanes += [(lane.name, lane.detail) for lane in layout.groups]
    figure, axes, height = canvas.sheet(
        0.6, -len(lanes), (layout.start, layout.end), 0.62 if len(lanes) <= 16 else 0.45
    )
    _lives(axes, layout, len(lanes))
    for number, lane in enumerate(layout.partitions):
        _steps(axes, layout, lane, -number - 1)
    _lost(axes, layout)
    _marks(axes, layout)
    canvas.labels(axes, lanes, [-number - 1 for number in range(len(lanes))])
    canvas.time_axis(axes)
    canvas.heading(
        figure,
        height,
        title=f"Topic {clean(timeline.topic, 80)}",
        about=(f"cluster {clean(timeline.cluster, 40)}", canvas.span(layout.start, layout.end)),
        findings=findings(layout.counts),
        alarming=bool(layout.counts["lost"] or layout.counts.get("orphaned")),
    )
    canvas.legend(figure, height, _handles(layout))
    partitions, groups = layout.left_out
    if partitions or groups:
        words = f"{counted(partitions, 'partition')} and {counted(groups, 'group')} are left out: "
        canvas.left_out(figure, height, f"{words}those with the least to show. Narrow the time to see them.")
    return figure


def _lives(axes: Axes, layout: TopicLayout, lanes: int) -> None:
    """A band for each incarnation over all lanes; where there is none the topic did not exist."""
    low, high = axes.get_xlim()
    free = high
    for number, life in reversed(list(enumerate(layout.lives))):
        start, end = max(life.start, low), min(life.end, high)
        axes.axvspan(start, end, color=_BANDS[number % 2], zorder=0, linewidth=0, gid=f"incarnation:{number}")
        axes.plot([start, start], [-lanes, 0.6], color=GREY, linewidth=0.7, zorder=1)
        if start <= free:
            axes.annotate(
                clean(life.name, 40),
                (start, 0.6),
                xytext=(3, -9),
                textcoords="offset points",
                fontsize=7.5,
                color=INK,
                zorder=2.5,
                parse_math=False,
                gid=f"name:{number}",
            )
            free = start - (high - low) * 0.16
    lines = [[(low, -number), (high, -number)] for number in range(lanes)]
    axes.add_collection(LineCollection(lines, colors="white", linewidths=1.2, zorder=0.5), autolim=False)


def _steps(axes: Axes, layout: TopicLayout, lane: PartitionLane, base: float) -> None:
    for how, (_, colour) in ELECTIONS.items():
        each = [election.run for election in lane.elections if election.how == how]
        if each:
            heights = [base + float(layout.scale(run.value)) for run in each]
            lines = [[(run.start, y), (run.end, y)] for run, y in zip(each, heights, strict=True)]
            axes.add_collection(
                LineCollection(
                    lines,
                    colors=colour,
                    linewidths=3.2,
                    linestyles=":" if how == "none" else "-",
                    zorder=2,
                    gid=f"steps:{how}",
                    rasterized=len(lines) > canvas.MOST_VECTORS,
                ),
                autolim=False,
            )
    canvas.numbers(axes, [election.run for election in lane.elections], layout.scale, base)
    _leaders(axes, lane, base)


def _leaders(axes: Axes, lane: PartitionLane, base: float) -> None:
    """Names the leader above the steps; of changes that are close together only the last."""
    low, high = axes.get_xlim()
    room, free = (high - low) * 0.06, high
    for election in reversed(lane.elections):
        at = max(election.run.start, low)
        if election.leader is None or election.run.end <= low or at > free:
            continue
        axes.annotate(
            "no leader" if election.leader < 0 else f"broker {election.leader}",
            (at, base + 0.84),
            xytext=(-2.5 if at > high - room else 2.5, 0),
            textcoords="offset points",
            ha="right" if at > high - room else "left",
            fontsize=6.5,
            color=ALARM if election.leader < 0 else GREY,
            zorder=2.5,
            gid="leader",
        )
        free = at - room


def _lost(axes: Axes, layout: TopicLayout) -> None:
    places = [
        (election.run.start, -number - 1 + float(layout.scale(election.run.value)))
        for number, lane in enumerate(layout.partitions)
        for election in lane.elections
        if election.lost
    ]
    if places:
        times, heights = zip(*places, strict=True)
        axes.scatter(
            times,
            heights,
            s=_LOST.size,
            marker=_LOST.marker,
            facecolor=_LOST.colour,
            edgecolor=_LOST.edge,
            zorder=4,
            gid="lost",
        )


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
