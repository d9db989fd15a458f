"""Pictures in tests: their times, names that try to break them, and the artists in a figure by their gid."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import pandas as pd
from hostile import NAMES
from matplotlib.dates import date2num
from matplotlib.figure import Figure

NOON = pd.Timestamp("2026-01-02 12:00:00")
HOSTILE = [*NAMES, "", "$\\frac{1}{0}$ \\invalid $ _^{", "\ud800 alone", "e\u0301\u0300" * 30, "x" * 70_000]


def at(seconds: float | None) -> Any:
    return pd.NaT if seconds is None else NOON + pd.Timedelta(seconds=seconds)


def day(seconds: float) -> float:
    return float(date2num(at(seconds)))  # type: ignore[no-untyped-call]


def assert_sound(picture: Callable[[str], tuple[bytes, str]]) -> None:
    """``picture`` is called with a format: each is drawn without a warning, SVG as XML that can be parsed."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        svg, _ = picture("svg")
        assert picture("png")[0].startswith(b"\x89PNG")
    ElementTree.fromstring(svg)


def artist(figure: Figure, gid: str) -> Any:
    found = figure.findobj(lambda each: each.get_gid() == gid)
    assert len(found) == 1, (gid, len(found))
    return found[0]


def gids(figure: Figure) -> set[str]:
    return {each.get_gid() for each in figure.findobj(lambda each: each.get_gid() is not None)}


def segments(figure: Figure, gid: str) -> list[list[tuple[float, float]]]:
    """Lines of (seconds after noon, height)."""
    lines = artist(figure, gid).get_segments()
    return [[(round((x - day(0)) * 86_400, 3), round(float(y), 4)) for x, y in line] for line in lines]
