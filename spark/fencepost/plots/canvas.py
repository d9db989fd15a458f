"""The sheet that every picture is drawn on: sizes, colours, axis of time, names of lanes, heading, legend.

Names from outside are shown as plain text: nothing in them is read as mathematics.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.textpath import text_to_path

from fencepost.plots.layout import Kind, Lane, Run

T = TypeVar("T")

# Above this many marks a vector file holds them as one image.
MOST_VECTORS = 4_000
INK, GREY, FAINT, ALARM = "#22303C", "#6B7680", "#E3E7EA", "#B00020"
WIDTH, LEFT, RIGHT = 13.0, 2.35, 0.3
HEAD, FOOT = 0.95, 1.25
_LABEL = 7.5
"""The size of a label's letters in points."""
_LINE, _MARK, _GAP = 0.14, 0.06, 0.14
"""Inches: the height of a label, half a mark's width, from the middle of a mark to both ends of its label."""
_MOST_LABELS = 40
Box = tuple[float, float, float, float]
"""Left, right, bottom, top."""
_STYLE = {
    "font.family": ["DejaVu Sans"],
    "svg.hashsalt": "fencepost",
    "svg.fonttype": "path",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.edgecolor": GREY,
    "xtick.color": GREY,
    "xtick.labelsize": 8.5,
}


def style() -> Any:
    """Matplotlib's settings while a picture is drawn and saved."""
    settings: dict[Any, Any] = {**_defaults(), **_STYLE}
    return mpl.rc_context(settings)


@cache
def _defaults() -> dict[str, Any]:
    """Matplotlib's default settings, so that no matplotlibrc changes the picture."""
    return {name: value for name, value in mpl.rcParamsDefault.items() if not name.startswith("backend")}


def content(figure: Figure, kind: str) -> bytes:
    """The figure as a file (``kind`` is svg or png); the same figure gives the same bytes."""
    out = io.BytesIO()
    metadata: dict[str, Any] = {"Date": None} if kind == "svg" else {}
    with style():
        figure.savefig(out, format=kind, dpi=150, metadata=metadata)
    return out.getvalue()


def sheet(top: float, bottom: float, limits: tuple[float, float], lane: float) -> tuple[Figure, Axes, float]:
    """A figure whose axes reach from ``bottom`` to ``top``, a lane of height 1 being ``lane`` inches high.

    Returns the figure, its axes and its height.
    """
    height = HEAD + FOOT + lane * (top - bottom)
    figure = Figure(figsize=(WIDTH, height))
    box = (LEFT / WIDTH, FOOT / height, 1 - (LEFT + RIGHT) / WIDTH, 1 - (HEAD + FOOT) / height)
    axes = figure.add_axes(box)
    axes.set_xlim(*limits)
    axes.set_ylim(bottom, top)
    return figure, axes, height


def lane_height(lanes: int) -> float:
    """The height of a lane in inches, of so many."""
    return 0.62 if lanes <= 16 else 0.45


def lines(axes: Axes, segments: Sequence[Any], **look: Any) -> None:
    """Lines, each a sequence of points."""
    axes.add_collection(LineCollection(segments, **look), autolim=False)


def areas(axes: Axes, outlines: Sequence[Any], **look: Any) -> None:
    """Areas, each by the points of its outline."""
    axes.add_collection(PolyCollection(outlines, **look), autolim=False)


def stripes(axes: Axes, bases: Iterable[float]) -> None:
    """A light ground for the lanes that begin there."""
    for base in bases:
        axes.axhspan(base, base + 1, color="#F7F8F9", zorder=0, linewidth=0)


def last_of_close(axes: Axes, each: Sequence[tuple[float, T]], room: float) -> Iterator[tuple[float, T]]:
    """What begins at these times, the last first: of what is closer together than ``room``, a part of the
    picture's width, only the last. What began before the picture begins with it.
    """
    low, high = axes.get_xlim()
    free = high
    for start, what in reversed(each):
        at = max(start, low)
        if at <= free:
            yield at, what
            free = at - (high - low) * room


def numbers(axes: Axes, each: Sequence[Run], scale: Callable[[float], Any], base: float) -> None:
    """The epoch beside each step if there is room; of steps close together only the last has its number."""
    low, _ = axes.get_xlim()
    known = [(run.start, run.value) for run in each if run.value is not None and run.end > low]
    for at, value in last_of_close(axes, known, 0.022):
        axes.annotate(
            f"{value:.0f}",
            (at, base + float(scale(value))),
            xytext=(2.5, 1.8),
            textcoords="offset points",
            fontsize=6.5,
            color=GREY,
            zorder=2.5,
            gid="number",
        )


def note(axes: Axes, text: str, at: tuple[float, float], gid: str) -> None:
    """A few words below a point at the top, within the picture."""
    low, high = axes.get_xlim()
    is_late = at[0] + _length(text, False) * (high - low) / (WIDTH - LEFT - RIGHT) > high
    axes.annotate(
        text,
        at,
        xytext=(-3 if is_late else 3, -9),
        textcoords="offset points",
        ha="right" if is_late else "left",
        fontsize=7.5,
        color=INK,
        zorder=2.5,
        parse_math=False,
        gid=gid,
    )


def words(axes: Axes, text: str, at: tuple[float, float], gid: str, *, alarm: bool = False) -> None:
    """A few words that begin to the right of a point, and end within the picture."""
    low, high = axes.get_xlim()
    is_late = at[0] > low + 0.85 * (high - low)
    axes.annotate(
        text,
        at,
        xytext=(-9 if is_late and alarm else 9 if alarm else 3, 0),
        textcoords="offset points",
        ha="right" if is_late and alarm else "left",
        va="center" if alarm else "baseline",
        fontsize=7.5,
        color=ALARM if alarm else INK,
        fontweight="bold" if alarm else "normal",
        zorder=4,
        parse_math=False,
        annotation_clip=True,
        gid=gid,
    )


def labels(axes: Axes, lanes: Sequence[Lane], heights: Sequence[float]) -> None:
    """Name and detail of each lane, left of it: gids ``lane:<number>`` and ``detail:<number>``."""
    for number, (lane, base) in enumerate(zip(lanes, heights, strict=True)):
        for text, height, size, colour in ((lane.name, 0.56, 9, INK), (lane.detail, 0.2, 7.5, GREY)):
            axes.text(
                -0.012,
                height + base,
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


def time_axis(axes: Axes) -> None:
    """The axis of time in UTC below the lanes; there is no other axis."""
    locator = AutoDateLocator(minticks=5, maxticks=11)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    axes.set_yticks([])
    axes.grid(axis="x", color="#EEF0F2", linewidth=0.6, zorder=0.4)
    axes.set_axisbelow(True)


def heading(
    figure: Figure,
    height: float,
    *,
    title: str,
    about: Sequence[str],
    findings: str,
    alarming: bool,
) -> None:
    """The title, what the picture covers, and its findings: gids ``title``, ``subtitle``, ``findings``."""
    bold: dict[str, Any] = {"fontweight": "bold"}
    lines: tuple[tuple[str, float, str, dict[str, Any]], ...] = (
        (title, 0.36, "title", {"fontsize": 14, "color": INK, **bold}),
        ("    ".join(about), 0.60, "subtitle", {"fontsize": 9, "color": GREY}),
        (findings, 0.81, "findings", {"fontsize": 9, "color": ALARM if alarming else INK, **bold}),
    )
    for text, inches_down, gid, text_style in lines:
        figure.text(0.25 / WIDTH, 1 - inches_down / height, text, parse_math=False, gid=gid, **text_style)


def span(start: float, end: float) -> str:
    """The time from ``start`` to ``end`` in words, for a heading."""
    since, until = (f"{pd.Timestamp(limit * 86_400e9):%Y-%m-%d %H:%M:%S}" for limit in (start, end))
    return f"{since} to {until} UTC"


def left_out(figure: Figure, height: float, words: str) -> None:
    """A line about what is not shown for lack of room (gid ``left_out``)."""
    at = (LEFT / WIDTH, 0.1 / height)
    figure.text(*at, words, color=ALARM, fontsize=9, gid="left_out", parse_math=False)


def marks(axes: Axes, kinds: Sequence[Kind], placed: Sequence[pd.DataFrame]) -> None:
    """Marks (columns at, height and kind, and label, where marks have words of their own) of several lanes,
    the last of ``kinds`` on top: gids ``marks:<kind>``, and ``label:<kind>`` of the words.
    """
    if not placed:
        return
    each = pd.concat(placed, ignore_index=True)
    for order, kind in enumerate(kinds):
        rows = each[each["kind"] == kind.name]
        if not rows.empty:
            axes.scatter(
                rows["at"],
                rows["height"],
                s=kind.size,
                marker=kind.marker,
                facecolor=kind.colour,
                edgecolor=edge(kind),
                linewidth=1.2 if kind.colour == "none" else 0 if kind.edge == "none" else 0.7,
                zorder=3 + order / 10,
                rasterized=len(each) > MOST_VECTORS,
                gid=f"marks:{kind.name}",
            )
    _mark_labels(axes, kinds, each)


def _mark_labels(axes: Axes, kinds: Sequence[Kind], each: pd.DataFrame) -> None:
    """Words beside marks, the most remarkable and the newest first, where they cover no mark and no words."""
    low, high = axes.get_xlim()
    inch = (high - low) / (WIDTH - LEFT - RIGHT)
    half = _LINE * (axes.get_ylim()[1] - axes.get_ylim()[0]) / _inches(axes) / 2
    own = each["label"].where(each["label"].notna(), "") if "label" in each else pd.Series("", each.index)
    places = list(zip(each["at"], each["height"], strict=True))
    taken = {(at - _MARK * inch, at + _MARK * inch, middle - half, middle + half) for at, middle in places}
    for kind in reversed(kinds):
        of_kind = each["kind"] == kind.name
        texts = own[of_kind].where(own[of_kind] != "", kind.label)
        for row in sorted(texts.index[texts != ""], key=lambda row: -each.at[row, "at"])[:_MOST_LABELS]:
            at, middle, text = each.at[row, "at"], each.at[row, "height"], str(texts[row])
            length = _GAP + _length(text, kind.words.isupper())
            for side, ends in (("left", (at, at + length * inch)), ("right", (at - length * inch, at))):
                box = (ends[0] + _MARK * inch, ends[1], middle - half, middle + half)
                box = box if side == "left" else (ends[0], ends[1] - _MARK * inch, *box[2:])
                if low <= ends[0] and ends[1] <= high and not any(_cover(box, other) for other in taken):
                    taken.add(box)
                    _label(axes, text, (at, middle), side, kind)
                    break


def _length(text: str, is_alarming: bool) -> float:
    """The length of a label in inches."""
    font = FontProperties(family="DejaVu Sans", weight="bold" if is_alarming else "normal", size=_LABEL)
    return float(text_to_path.get_text_width_height_descent(text, font, ismath=False)[0]) / 72


def _inches(axes: Axes) -> float:
    """The height of the axes."""
    figure = axes.figure
    assert isinstance(figure, Figure)
    return float(axes.get_position().height * figure.get_figheight())


def _cover(one: Box, other: Box) -> bool:
    return one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3]


def _label(axes: Axes, text: str, at: tuple[float, float], side: str, kind: Kind) -> None:
    is_alarming = kind.words.isupper()
    axes.annotate(
        text,
        at,
        xytext=(8 if side == "left" else -8, 0),
        textcoords="offset points",
        ha=side,
        va="center",
        fontsize=_LABEL,
        color=ALARM if is_alarming else INK,
        fontweight="bold" if is_alarming else "normal",
        # so that it can be read above the lines of its lane
        path_effects=[withStroke(linewidth=2.5, foreground="white")],
        zorder=4,
        parse_math=False,
        annotation_clip=True,
        gid=f"label:{kind.name}",
    )


def edge(kind: Kind) -> str:
    """The colour of a mark's edge."""
    return kind.colour if kind.edge == "none" else kind.edge


def handle(kind: Kind, count: int) -> Line2D:
    """The legend's entry for a kind of mark, with their number."""
    return Line2D(
        [],
        [],
        linestyle="none",
        marker=kind.marker,
        markersize=kind.size**0.5,
        markerfacecolor=kind.colour,
        markeredgecolor=edge(kind),
        label=f"{kind.words}: {count:,}",
    )


def handles(kinds: Sequence[Kind], counts: Mapping[str, int]) -> list[Line2D]:
    """The legend's entries for kinds that have marks: the most remarkable, which are drawn last,
    come first.
    """
    return [handle(kind, counts[kind.name]) for kind in reversed(kinds) if counts.get(kind.name)]


def legend(figure: Figure, height: float, signs: Sequence[Any]) -> None:
    """The legend below the axis of time."""
    figure.legend(
        handles=list(signs),
        loc="upper left",
        bbox_to_anchor=((LEFT - 0.1) / WIDTH, (FOOT - 0.42) / height),
        ncols=4,
        frameon=False,
        fontsize=8.5,
        labelcolor=INK,
        columnspacing=1.6,
        borderaxespad=0,
    )
