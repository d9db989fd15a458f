"""The timeline of a group's rebalances: a bar for each at the top, and a lane for each member with its
claims.

A bar reaches from the begin of the rebalance to the time at which its assignment was written; its height is
the generation. Bars of rebalances without effect are red. The same rows give the same bytes.
"""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fencepost.plots import canvas
from fencepost.plots.canvas import ALARM, INK
from fencepost.plots.layout import clean, counted
from fencepost.protocols.ownership_claim.plot.layout import MARKS, RebalanceLayout, arrange, findings
from fencepost.protocols.ownership_claim.plot.reading import GroupTimeline

_MEMBER = "#A9C6D9"
_ALARMING = ("contradicted", "stale_won", "handed_over")


def picture(timeline: GroupTimeline, kind: str) -> tuple[bytes, str]:
    """A file's content (``kind`` is svg or png), and its findings in one line."""
    layout = arrange(timeline)
    return canvas.content(draw(timeline, layout), kind), findings(layout.counts)


def draw(timeline: GroupTimeline, layout: RebalanceLayout) -> Figure:
    """A figure with one axes.

    Its artists carry gids: ``rebalances`` and ``stuck``, ``members``, ``marks:<kind>``, ``lane:<number>`` and
    ``detail:<number>`` (the group's is 0), ``title``, ``subtitle``, ``findings``, ``left_out``.
    """
    with canvas.style():
        return _draw(timeline, layout)


def _draw(timeline: GroupTimeline, layout: RebalanceLayout) -> Figure:
    lanes = [("group", "generations")] + [(lane.name, lane.detail) for lane in layout.members]
    figure, axes, height = canvas.sheet(
        1, 1 - len(lanes), (layout.start, layout.end), 0.62 if len(lanes) <= 16 else 0.45
    )
    for number in range(0, len(lanes), 2):
        axes.axhspan(-number, 1 - number, color="#F7F8F9", zorder=0, linewidth=0)
    _bars(axes, layout)
    _members(axes, layout)
    _marks(axes, layout)
    canvas.labels(axes, lanes, [-number for number in range(len(lanes))])
    canvas.time_axis(axes)
    canvas.heading(
        figure,
        height,
        title=f"Rebalances of group {clean(timeline.group_id, 80)}",
        about=(f"cluster {clean(timeline.cluster, 40)}", canvas.span(layout.start, layout.end)),
        findings=findings(layout.counts),
        alarming=any(layout.counts.get(kind) for kind in _ALARMING),
    )
    canvas.legend(figure, height, _handles(layout))
    if layout.left_out:
        words = f"{counted(layout.left_out, 'member')} left out: those with the least to show."
        canvas.left_out(figure, height, f"{words} Narrow the time to see them.")
    return figure


def _bars(axes: Axes, layout: RebalanceLayout) -> None:
    for name, stuck, colour in (("rebalances", False, INK), ("stuck", True, ALARM)):
        runs = [each.run for each in layout.rebalances if each.stuck == stuck]
        heights = [float(layout.scale(run.value)) for run in runs]
        lines = [[(run.start, y), (run.end, y)] for run, y in zip(runs, heights, strict=True)]
        if lines:
            axes.add_collection(
                LineCollection(lines, colors=colour, linewidths=4.0, zorder=2, gid=name), autolim=False
            )
            # so that a rebalance too short for a visible bar is visible
            axes.scatter([run.end for run in runs], heights, s=10, marker="|", color=colour, zorder=2.2)
    canvas.numbers(axes, [each.run for each in layout.rebalances], layout.scale, 0)


def _members(axes: Axes, layout: RebalanceLayout) -> None:
    lines = [
        [(run.start, 0.4 - number - 1), (run.end, 0.4 - number - 1)]
        for number, lane in enumerate(layout.members)
        for run in lane.runs
    ]
    axes.add_collection(
        LineCollection(lines, colors=_MEMBER, linewidths=3.2, zorder=1.5, gid="members"), autolim=False
    )


def _marks(axes: Axes, layout: RebalanceLayout) -> None:
    placed = [lane.marks.assign(height=0.4 - n - 1) for n, lane in enumerate(layout.members)]
    canvas.marks(axes, MARKS, placed)


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
