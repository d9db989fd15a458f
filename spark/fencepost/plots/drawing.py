"""The epoch timeline of one group: a lane for each member, its epochs as steps, its commits as marks.

Every lane has the same scale of epochs, and a mark stands at the epoch that its commit presented: a mark
below its member's step is a commit that came with an old epoch. The same rows give the same bytes.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import cache
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fencepost.plots.layout import (
    KINDS,
    Kind,
    Lane,
    Layout,
    Run,
    Scale,
    arrange,
    clean,
    counted,
    counts_of,
    days,
    findings,
)
from fencepost.plots.reading import Timeline

# Above this many marks a vector file holds them as one image.
MOST_VECTORS = 4_000
_MOST_GUIDES = 60
_INK, _GREY, _FAINT, _TARGET, _ALARM = "#22303C", "#6B7680", "#E3E7EA", "#0072B2", "#B00020"
_WIDTH, _LEFT, _RIGHT = 13.0, 2.35, 0.3
_HEAD, _FOOT = 0.95, 1.25
_STYLE = {
    "font.family": ["DejaVu Sans"],
    "svg.hashsalt": "fencepost",
    "svg.fonttype": "path",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.edgecolor": _GREY,
    "xtick.color": _GREY,
    "xtick.labelsize": 8.5,
}


def picture(timeline: Timeline, kind: str) -> tuple[bytes, str]:
    """A file's content (``kind`` is svg or png), and what it shows in a line."""
    out = io.BytesIO()
    layout = arrange(timeline)
    with _style():
        metadata: dict[str, Any] = {"Date": None} if kind == "svg" else {}
        draw(timeline, layout).savefig(out, format=kind, dpi=150, metadata=metadata)
    return out.getvalue(), findings(layout.every)


def draw(timeline: Timeline, layout: Layout) -> Figure:
    """A figure with one axes.

    Its artists carry gids: ``group_epoch``, ``target_assignment_epoch``, ``steps``, ``unknown``,
    ``marks:<kind>``, ``lane:<number>`` and ``detail:<number>`` (the group's is 0), ``title``, ``subtitle``,
    ``findings``, ``left_out``.
    """
    with _style():
        return _draw(timeline, layout)


def _style() -> Any:
    settings: dict[Any, Any] = {**_defaults(), **_STYLE}
    return mpl.rc_context(settings)


@cache
def _defaults() -> dict[str, Any]:
    """Matplotlib's own settings: nobody's matplotlibrc changes the picture."""
    return {name: value for name, value in mpl.rcParamsDefault.items() if not name.startswith("backend")}


def _draw(timeline: Timeline, layout: Layout) -> Figure:
    lanes = layout.lanes
    height = _HEAD + _FOOT + (0.62 if len(lanes) <= 16 else 0.45) * (len(lanes) + 1)
    figure = Figure(figsize=(_WIDTH, height))
    box = (_LEFT / _WIDTH, _FOOT / height, 1 - (_LEFT + _RIGHT) / _WIDTH, 1 - (_HEAD + _FOOT) / height)
    axes = figure.add_axes(box)
    axes.set_xlim(layout.start, layout.end)
    axes.set_ylim(-len(lanes), 1)
    _ground(axes, lanes, layout.group["group_epoch"])
    _group_lane(axes, layout.group, layout.scale)
    _steps(axes, lanes, layout.scale)
    _marks(axes, layout)
    _labels(axes, lanes)
    _time_axis(axes)
    _heading(figure, timeline, layout, height)
    _legend(figure, timeline, layout.commits, height)
    members, commits = layout.left_out
    if members:
        figure.text(
            _LEFT / _WIDTH,
            0.1 / height,
            f"{members} of {members + len(lanes)} lanes are left out, with {counted(commits, 'commit')}: "
            "those with the least to show. Narrow the time to see them.",
            color=_ALARM,
            fontsize=9,
            gid="left_out",
        )
    return figure


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


def _ground(axes: Axes, lanes: Sequence[Lane], group: Sequence[Run]) -> None:
    for number in range(0, len(lanes), 2):
        axes.axhspan(-number - 1, -number, color="#F7F8F9", zorder=0, linewidth=0)
    axes.axhspan(0, 1, color="#EEF2F5", zorder=0, linewidth=0)
    if len(group) <= _MOST_GUIDES:
        changes = [[(run.start, -len(lanes)), (run.start, 1)] for run in group]
        axes.add_collection(
            LineCollection(changes, colors=_FAINT, linewidths=0.8, zorder=0.5, gid="guides"), autolim=False
        )


def _group_lane(axes: Axes, group: dict[str, tuple[Run, ...]], scale: Scale) -> None:
    looks: dict[str, dict[str, Any]] = {
        "group_epoch": {"colors": _INK, "linewidths": 1.1},
        "target_assignment_epoch": {"colors": _TARGET, "linewidths": 1.4, "linestyles": [(0, (3, 2))]},
    }
    for name, look in looks.items():
        axes.add_collection(
            LineCollection(_line(group[name], scale, 0), zorder=2, gid=name, **look), autolim=False
        )
    _numbers(axes, group["group_epoch"], scale, 0)


def _steps(axes: Axes, lanes: Sequence[Lane], scale: Scale) -> None:
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
        _numbers(axes, lane.runs, scale, base)
    areas_drawn = PolyCollection(areas, facecolors="#D9E2E9", linewidths=0, alpha=0.55, zorder=1, gid="alive")
    axes.add_collection(areas_drawn, autolim=False)
    axes.add_collection(
        LineCollection(lines, colors=_INK, linewidths=1.5, zorder=2, gid="steps"), autolim=False
    )
    axes.add_collection(
        LineCollection(unknown, colors=_GREY, linewidths=1.2, linestyles=":", zorder=2, gid="unknown"),
        autolim=False,
    )


def _numbers(axes: Axes, each: Sequence[Run], scale: Scale, base: float) -> None:
    """The epoch beside its step, where there is room: of steps close together the last has it."""
    low, high = axes.get_xlim()
    room = (high - low) * 0.022
    free = high
    for run in reversed(each):
        at = max(run.start, low)
        if run.value is None or run.end <= low or at > free:
            continue
        axes.annotate(
            f"{run.value:.0f}",
            (at, base + float(scale(run.value))),
            xytext=(2.5, 1.8),
            textcoords="offset points",
            fontsize=6.5,
            color=_GREY,
            zorder=2.5,
            gid="number",
        )
        free = at - room


def _marks(axes: Axes, layout: Layout) -> None:
    lane_of = {lane.member_id: number for number, lane in enumerate(layout.lanes)}
    for order, kind in enumerate(KINDS):
        rows = layout.commits[layout.commits["kind"] == kind.name]
        if rows.empty:
            continue
        heights = (
            layout.scale(rows["client_epoch"].fillna(-1)) - rows["member_id"].map(lane_of).to_numpy() - 1
        )
        axes.scatter(
            days(rows["answered_at"]),
            heights,
            s=kind.size,
            marker=kind.marker,
            facecolor=kind.colour,
            edgecolor=_edge(kind),
            linewidth=1.2 if kind.colour == "none" else 0 if kind.edge == "none" else 0.7,
            zorder=3 + order / 10,
            rasterized=len(layout.commits) > MOST_VECTORS,
            gid=f"marks:{kind.name}",
        )


def _edge(kind: Kind) -> str:
    return kind.colour if kind.edge == "none" else kind.edge


def _labels(axes: Axes, lanes: Sequence[Lane]) -> None:
    labels = [("group", "epochs of the group")] + [(lane.name, lane.detail) for lane in lanes]
    for number, (name, detail) in enumerate(labels):
        for text, height, size, colour in ((name, 0.56, 9, _INK), (detail, 0.2, 7.5, _GREY)):
            axes.text(
                -0.012,
                height - number,
                text,
                transform=axes.get_yaxis_transform(),
                ha="right",
                va="baseline",
                fontsize=size,
                color=colour,
                fontweight="bold" if number == 0 and size == 9 else "normal",
                parse_math=False,
                gid=f"lane:{number}" if size == 9 else f"detail:{number}",
            )


def _time_axis(axes: Axes) -> None:
    locator = AutoDateLocator(minticks=5, maxticks=11)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    axes.set_yticks([])
    axes.grid(axis="x", color="#EEF0F2", linewidth=0.6, zorder=0.4)
    axes.set_axisbelow(True)


def _heading(figure: Figure, timeline: Timeline, layout: Layout, height: float) -> None:
    since, until = (
        f"{pd.Timestamp(limit * 86_400e9):%Y-%m-%d %H:%M:%S}" for limit in (layout.start, layout.end)
    )
    about = (
        f"cluster {clean(timeline.cluster, 40)}",
        f"{since} to {until} UTC",
        counted(layout.members, "member"),
    )
    alarming = {"accepted_zombie", "refused_owner"} & layout.every.keys()
    lines: tuple[tuple[str, float, str, dict[str, Any]], ...] = (
        (
            f"Group {clean(timeline.group_id, 90)}",
            0.36,
            "title",
            {"fontsize": 14, "fontweight": "bold", "color": _INK},
        ),
        ("    ".join(about), 0.60, "subtitle", {"fontsize": 9, "color": _GREY}),
        (
            findings(layout.every),
            0.81,
            "findings",
            {"fontsize": 9, "fontweight": "bold", "color": _ALARM if alarming else _INK},
        ),
    )
    for text, down, gid, look in lines:
        figure.text(0.25 / _WIDTH, 1 - down / height, text, parse_math=False, gid=gid, **look)


def _legend(figure: Figure, timeline: Timeline, commits: pd.DataFrame, height: float) -> None:
    counts = counts_of(commits)
    generations = set(timeline.members["protocol"].dropna()) == {"classic"}
    member_epoch = "generation" if generations else "member epoch"
    handles = [
        Line2D([], [], color=_INK, linewidth=1.5, label=member_epoch),
        Line2D([], [], color=_INK, linewidth=1.1, label="group epoch (top lane)"),
        Line2D([], [], color=_TARGET, linewidth=1.4, linestyle=(0, (3, 2)), label="target assignment epoch"),
    ]
    if timeline.members["member_epoch"].isna().any():
        handles.append(Line2D([], [], color=_GREY, linewidth=1.2, linestyle=":", label="epoch unknown"))
    handles += [
        Line2D(
            [],
            [],
            linestyle="none",
            marker=kind.marker,
            markersize=kind.size**0.5,
            markerfacecolor=kind.colour,
            markeredgecolor=_edge(kind),
            label=f"{kind.words}: {counts[kind.name]:,}",
        )
        for kind in reversed(KINDS)
        if kind.name in counts
    ]
    figure.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=((_LEFT - 0.1) / _WIDTH, (_FOOT - 0.42) / height),
        ncols=4,
        frameon=False,
        fontsize=8.5,
        labelcolor=_INK,
        columnspacing=1.6,
        borderaxespad=0,
    )
