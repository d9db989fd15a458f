"""The timeline of an instance of Kafka Streams: a lane for each task, with bars for the locks of its
directory.

The background shows when a lag report of the instance was waiting for its assignment: a directory that the
cleaner deletes then had just been reported. The same rows give the same bytes.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fencepost.plots import canvas
from fencepost.plots.layout import clean
from fencepost.plots.picture import Picture
from fencepost.protocols.lag_report.plot.layout import MARKS, InstanceLayout, arrange, findings
from fencepost.protocols.lag_report.plot.reading import InstanceTimeline
from fencepost.words import counted

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
    """See Picture; its artists also carry the gids ``waits``, ``bars:<kind>`` and ``marks:<kind>``."""
    picture = Picture(
        title=f"State directories of {clean(timeline.instance, 80)}",
        cluster=timeline.cluster,
        limits=(layout.start, layout.end),
        lanes=layout.lanes,
        bases=[-number for number in range(len(layout.lanes))],
        findings=findings(layout.counts),
        alarming=bool(layout.counts.get("needed")),
        left_out=f"{counted(layout.left_out, 'task')} left out" if layout.left_out else "",
    )
    return picture.draw(partial(_paint, layout))


def _paint(layout: InstanceLayout, axes: Axes) -> list[Any]:
    for since, until in layout.waits:
        axes.axvspan(since, until, color=_WAIT, zorder=0, linewidth=0.8, gid="waits")
    drawn = _bars(axes, layout)
    placed = [lane.marks.assign(height=0.5 - number) for number, lane in enumerate(layout.lanes)]
    canvas.marks(axes, MARKS, placed)
    waits = Line2D([], [], color=_WAIT, linewidth=7, label="a lag report waits for its assignment")
    return [*canvas.handles(MARKS, layout.counts), waits, *drawn]


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
            canvas.lines(axes, lines, colors=colour, linewidths=width, zorder=2, gid=f"bars:{kind}")
            handles.append(Line2D([], [], color=colour, linewidth=width, label=words))
    return handles
