"""The timeline of an instance of Kafka Streams: a lane for each task, with bars for the locks of its
directory.

The background shows when a lag report of the instance was waiting for its assignment: a directory that the
cleaner deletes then had just been reported. The same rows give the same bytes.
"""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fencepost.plots import canvas
from fencepost.plots.layout import clean, counted
from fencepost.protocols.lag_report.plot.layout import MARKS, InstanceLayout, arrange, findings
from fencepost.protocols.lag_report.plot.reading import InstanceTimeline

_BARS = (
    ("task", "has the task", "#A9C6D9", 0.5, 7.0),
    ("report", "locked for a lag report", "#7A7A7A", 0.5, 3.0),
    ("restore", "restores", "#009E73", 0.25, 2.5),
    ("from_the_beginning", "restores from the beginning", "#E69F00", 0.25, 2.5),
)
_WAIT = "#E4E7EA"


def picture(timeline: InstanceTimeline, kind: str) -> tuple[bytes, str]:
    """A file's content (``kind`` is svg or png), and its findings in one line."""
    layout = arrange(timeline)
    return canvas.content(draw(timeline, layout), kind), findings(layout.counts)


def draw(timeline: InstanceTimeline, layout: InstanceLayout) -> Figure:
    """A figure with one axes.

    Its artists carry gids: ``waits``, ``bars:<kind>``, ``marks:<kind>``, ``lane:<number>``,
    ``detail:<number>``, ``title``, ``subtitle``, ``findings``, ``left_out``.
    """
    with canvas.style():
        return _draw(timeline, layout)


def _draw(timeline: InstanceTimeline, layout: InstanceLayout) -> Figure:
    lanes = [(clean(lane.task_id, 27), lane.detail) for lane in layout.lanes]
    figure, axes, height = canvas.sheet(1, 1 - len(lanes), (layout.start, layout.end), 0.5)
    for since, until in layout.waits:
        axes.axvspan(since, until, color=_WAIT, zorder=0, linewidth=0.8, gid="waits")
    drawn = _bars(axes, layout)
    _marks(axes, layout)
    canvas.labels(axes, lanes, [-number for number in range(len(lanes))])
    canvas.time_axis(axes)
    canvas.heading(
        figure,
        height,
        title=f"State directories of {clean(timeline.instance, 80)}",
        about=(f"cluster {clean(timeline.cluster, 40)}", canvas.span(layout.start, layout.end)),
        findings=findings(layout.counts),
        alarming=bool(layout.counts.get("needed")),
    )
    canvas.legend(figure, height, [*_handles(layout), *drawn])
    if layout.left_out:
        words = f"{counted(layout.left_out, 'task')} left out: those with the least to show."
        canvas.left_out(figure, height, f"{words} Narrow the time to see them.")
    return figure


def _bars(axes: Axes, layout: InstanceLayout) -> list[Line2D]:
    handles = []
    for kind, words, colour, height, width in _BARS:
        lines = [
            [(bar.start, height - number), (bar.end, height - number)]
            for number, lane in enumerate(layout.lanes)
            for bar in lane.bars
            if bar.kind == kind
        ]
        if lines:
            each = LineCollection(lines, colors=colour, linewidths=width, zorder=2, gid=f"bars:{kind}")
            axes.add_collection(each, autolim=False)
            handles.append(Line2D([], [], color=colour, linewidth=width, label=words))
    return handles


def _marks(axes: Axes, layout: InstanceLayout) -> None:
    placed = [lane.marks.assign(height=0.5 - number) for number, lane in enumerate(layout.lanes)]
    canvas.marks(axes, MARKS, placed)


def _handles(layout: InstanceLayout) -> list[Any]:
    counts = layout.counts
    handles: list[Any] = [*canvas.handles(MARKS, counts)]
    return [*handles, Line2D([], [], color=_WAIT, linewidth=7, label="a lag report waits for its assignment")]
