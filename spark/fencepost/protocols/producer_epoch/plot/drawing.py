"""The timeline of one transactional id: epochs as steps, transactions as bars, a lane for each client.

A step has the colour of the cause of its epoch; the client that caused it has a mark of the same colour at
that epoch in its lane. A request that was fenced is a cross at the epoch that it presented. The same rows
give the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from fencepost.plots import canvas
from fencepost.plots.canvas import ALARM, FAINT, GREY
from fencepost.plots.layout import Lane, clean
from fencepost.plots.picture import Picture
from fencepost.protocols.producer_epoch.plot.layout import (
    CAUSES,
    FENCED,
    MARKS,
    OUTCOMES,
    ProducerLayout,
    Span,
    arrange,
    findings,
)
from fencepost.protocols.producer_epoch.plot.reading import ProducerTimeline
from fencepost.words import counted

# The lane of epochs is as high as so many others.
_TALL = 2.4
_MOST_GUIDES = 60
# Bars are at least this share of the picture's width.
_THINNEST = 0.0015
_COLOURS = {kind.name: canvas.edge(kind) if kind.colour == "none" else kind.colour for kind in CAUSES}
_HATCH = "////"


def picture(timeline: ProducerTimeline, kind: str) -> tuple[bytes, str]:
    """A file's content (``kind`` is svg or png), and its findings in one line."""
    layout = arrange(timeline)
    return canvas.content(draw(timeline, layout), kind), findings(layout.counts)


def draw(timeline: ProducerTimeline, layout: ProducerLayout) -> Figure:
    """See Picture; its artists also carry the gids ``steps``, ``joints``, ``unknown``, ``producer``,
    ``transactions:<outcome>``, ``marks:<kind>``, ``dangling``. Lane 0 has the epochs, 1 the transactions.
    """
    transactions = Lane("transactions", "from begin to completion")
    below = [transactions, *layout.clients, *layout.dangling]
    clients, dangling = layout.left_out
    words = f"{counted(clients, 'client')} and {counted(dangling, 'dangling transaction')} are left out"
    picture = Picture(
        title=f"Transactional id {clean(timeline.transactional_id, 80)}",
        cluster=timeline.cluster,
        limits=(layout.start, layout.end),
        lanes=[Lane("epoch", "of the transactional id"), *below],
        bases=[_TALL / 2 - 0.5, *(-number - 1 for number in range(len(below)))],
        findings=findings(layout.counts),
        alarming=bool(layout.counts.get(FENCED.name) or layout.counts["dangling"]),
        left_out=words if clients or dangling else "",
        top=_TALL,
        lane=canvas.lane_height(len(below)),
    )
    return picture.draw(partial(_paint, layout, len(below)))


def _paint(layout: ProducerLayout, lanes: int, axes: Axes) -> list[Any]:
    _ground(axes, layout, lanes)
    _steps(axes, layout)
    _producers(axes, layout)
    _transactions(axes, layout)
    _marks(axes, layout)
    _dangling(axes, layout)
    return _handles(layout)


def _height(layout: ProducerLayout) -> Callable[[float], Any]:
    return lambda epoch: _TALL * layout.scale(epoch)


def _ground(axes: Axes, layout: ProducerLayout, lanes: int) -> None:
    canvas.stripes(axes, range(-2, -lanes - 1, -2))
    axes.axhspan(0, _TALL, color="#EEF2F5", zorder=0, linewidth=0)
    fenced = layout.marks.loc[layout.marks["kind"] == FENCED.name, "at"]
    if len(fenced) <= _MOST_GUIDES:
        guides = [[(at, -lanes), (at, _TALL)] for at in fenced]
        look = {"alpha": 0.35, "linewidths": 0.8, "linestyles": ":", "zorder": 0.5}
        canvas.lines(axes, guides, colors=FENCED.colour, **look)


def _steps(axes: Axes, layout: ProducerLayout) -> None:
    height = _height(layout)
    with_epoch = [span for span in layout.epochs if span.run.value is not None]
    lines = [[(span.run.start, _at(height, span)), (span.run.end, _at(height, span))] for span in with_epoch]
    joints = [
        [(after.run.start, _at(height, before)), (after.run.start, _at(height, after))]
        for before, after in zip(layout.epochs, layout.epochs[1:], strict=False)
        if before.run.value is not None and after.run.value is not None and before.run.end >= after.run.start
    ]
    hidden = [
        [(span.run.start, 0.12), (span.run.end, 0.12)] for span in layout.epochs if span.run.value is None
    ]
    looks: dict[str, tuple[list[Any], dict[str, Any]]] = {
        "joints": (joints, {"colors": GREY, "linewidths": 0.8, "zorder": 1.9}),
        "steps": (
            lines,
            {"colors": [_COLOURS[span.kind] for span in with_epoch], "linewidths": 3.2, "zorder": 2},
        ),
        "unknown": (hidden, {"colors": GREY, "linewidths": 1.2, "linestyles": ":", "zorder": 2}),
    }
    for gid, (each, look) in looks.items():
        rasterized = len(each) > canvas.MOST_VECTORS
        canvas.lines(axes, each, gid=gid, rasterized=rasterized, **look)
    canvas.numbers(axes, [span.run for span in layout.epochs], height, 0)


def _at(height: Callable[[float], Any], span: Span) -> float:
    return float(height(span.run.value or 0.0))


def _producers(axes: Axes, layout: ProducerLayout) -> None:
    """Where each producer id begins; of ids close together the last is named."""
    low, _ = axes.get_xlim()
    for at, producer in canvas.last_of_close(axes, layout.producers, 0.09):
        axes.plot([at, at], [0, _TALL], color=FAINT if at == low else GREY, linewidth=0.7, zorder=1)
        canvas.note(axes, f"producer id {producer}", (at, _TALL), gid="producer")


def _transactions(axes: Axes, layout: ProducerLayout) -> None:
    low, high = axes.get_xlim()
    thinnest = (high - low) * _THINNEST
    for outcome, colour in OUTCOMES.items():
        spans = [span.run for span in layout.transactions if span.kind == outcome]
        if spans:
            boxes = [_box(run.start, max(run.end, run.start + thinnest), -0.8, -0.2) for run in spans]
            canvas.areas(
                axes,
                boxes,
                facecolors=colour,
                edgecolors=_shade(colour),
                linewidths=0.6,
                hatch=_HATCH if outcome == "open" else None,
                zorder=2,
                rasterized=len(boxes) > canvas.MOST_VECTORS,
                gid=f"transactions:{outcome}",
            )


def _box(start: float, end: float, low: float, high: float) -> list[tuple[float, float]]:
    return [(start, low), (start, high), (end, high), (end, low)]


def _shade(colour: str) -> tuple[float, float, float]:
    red, green, blue, _ = to_rgba(colour)
    return red * 0.6, green * 0.6, blue * 0.6


def _marks(axes: Axes, layout: ProducerLayout) -> None:
    lane_of = {lane.key: -number - 2 for number, lane in enumerate(layout.clients)}
    heights = layout.scale(layout.marks["epoch"]) + layout.marks["key"].map(lane_of).to_numpy()
    canvas.marks(axes, MARKS, [layout.marks.assign(height=heights)])


def _dangling(axes: Axes, layout: ProducerLayout) -> None:
    first = -2 - len(layout.clients)
    boxes = [
        _box(lane.start, layout.end, first - number + 0.25, first - number + 0.75)
        for number, lane in enumerate(layout.dangling)
    ]
    if boxes:
        look = {"edgecolors": ALARM, "linewidths": 1, "hatch": _HATCH, "zorder": 2}
        canvas.areas(axes, boxes, facecolors="white", gid="dangling", **look)


def _handles(layout: ProducerLayout) -> list[Any]:
    counts = layout.counts
    handles: list[Any] = [*canvas.handles(MARKS, counts)]
    for outcome, colour in OUTCOMES.items():
        number = counts.get(f"transaction {outcome}")
        if number:
            label = f"{'outcome unknown' if outcome == 'unknown' else outcome}: {number:,}"
            hatch = _HATCH if outcome == "open" else None
            handles.append(Patch(facecolor=colour, edgecolor=_shade(colour), hatch=hatch, label=label))
    if counts["dangling"]:
        label = f"dangling: {counts['dangling']:,}"
        handles.append(Patch(facecolor="white", edgecolor=ALARM, hatch=_HATCH, label=label))
    if any(span.run.value is None for span in layout.epochs):
        handles.append(Line2D([], [], color=GREY, linewidth=1.2, linestyle=":", label="epoch unknown"))
    return handles
