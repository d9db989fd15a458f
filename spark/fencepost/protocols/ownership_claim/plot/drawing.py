"""The timeline of a group's rebalances: a bar for each at the top, and a lane for each member with its
claims.

A bar reaches from the begin of the rebalance to the time at which its assignment was written; its height is
the generation. Bars of rebalances without effect are red. The same rows give the same bytes.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fencepost.plots import canvas
from fencepost.plots.canvas import ALARM, INK
from fencepost.plots.layout import Lane, clean
from fencepost.plots.picture import Picture
from fencepost.protocols.ownership_claim.plot.layout import MARKS, RebalanceLayout, arrange, findings
from fencepost.protocols.ownership_claim.plot.reading import GroupTimeline
from fencepost.words import counted

_MEMBER = "#A9C6D9"
_ALARMING = ("contradicted", "stale_won", "handed_over")


def picture(timeline: GroupTimeline, kind: str) -> tuple[bytes, str]:
    """A file's content (``kind`` is svg or png), and its findings in one line."""
    layout = arrange(timeline)
    return canvas.content(draw(timeline, layout), kind), findings(layout.counts)


def draw(timeline: GroupTimeline, layout: RebalanceLayout) -> Figure:
    """See Picture; its artists also carry the gids ``rebalances`` and ``stuck``, ``members``, and
    ``marks:<kind>``. The group's lane is 0.
    """
    lanes = [Lane("group", "generations"), *layout.members]
    picture = Picture(
        title=f"Rebalances of group {clean(timeline.group_id, 80)}",
        cluster=timeline.cluster,
        limits=(layout.start, layout.end),
        lanes=lanes,
        bases=[-number for number in range(len(lanes))],
        findings=findings(layout.counts),
        alarming=any(layout.counts.get(kind) for kind in _ALARMING),
        left_out=f"{counted(layout.left_out, 'member')} left out" if layout.left_out else "",
        lane=canvas.lane_height(len(lanes)),
    )
    return picture.draw(partial(_paint, layout))


def _paint(layout: RebalanceLayout, axes: Axes) -> list[Any]:
    canvas.stripes(axes, range(0, -len(layout.members) - 1, -2))
    _bars(axes, layout)
    lines = [
        [(run.start, 0.4 - number - 1), (run.end, 0.4 - number - 1)]
        for number, lane in enumerate(layout.members)
        for run in lane.runs
    ]
    canvas.lines(axes, lines, colors=_MEMBER, linewidths=3.2, zorder=1.5, gid="members")
    placed = [lane.marks.assign(height=0.4 - n - 1) for n, lane in enumerate(layout.members)]
    canvas.marks(axes, MARKS, placed)
    return _handles(layout)


def _bars(axes: Axes, layout: RebalanceLayout) -> None:
    for name, stuck, colour in (("rebalances", False, INK), ("stuck", True, ALARM)):
        runs = [each.run for each in layout.rebalances if each.stuck == stuck]
        heights = [float(layout.scale(run.value)) for run in runs]
        lines = [[(run.start, y), (run.end, y)] for run, y in zip(runs, heights, strict=True)]
        if lines:
            canvas.lines(axes, lines, colors=colour, linewidths=4.0, zorder=2, gid=name)
            # so that a rebalance too short for a visible bar is visible
            axes.scatter([run.end for run in runs], heights, s=10, marker="|", color=colour, zorder=2.2)
    canvas.numbers(axes, [each.run for each in layout.rebalances], layout.scale, 0)


def _handles(layout: RebalanceLayout) -> list[Any]:
    counts = layout.counts
    handles: list[Any] = [*canvas.handles(MARKS, counts)]
    quiet = counts["rebalances"] - counts["stuck"]
    handles.append(Line2D([], [], color=INK, linewidth=4.0, label=f"rebalances: {quiet:,}"))
    if counts["stuck"]:
        label = f"WITHOUT EFFECT: {counts['stuck']:,}"
        handles.append(Line2D([], [], color=ALARM, linewidth=4.0, label=label))
    handles.append(Line2D([], [], color=_MEMBER, linewidth=3.2, label="is a member"))
    return handles
