"""The layout that all pictures share: kinds of marks, runs, the scale of epochs, names that can be drawn."""

from __future__ import annotations

import datetime as dt
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from matplotlib import font_manager
from matplotlib.ft2font import FT2Font

from fencepost.words import printable


@dataclass(frozen=True)
class Kind:
    """A kind of mark: its name, its words in the legend (in capitals if it is alarming), and how it looks.
    ``label``: a few words beside each mark; a mark may have others of its own.
    """

    name: str
    words: str
    marker: str
    colour: str
    edge: str
    size: float
    label: str = ""


L = TypeVar("L", bound="Lane")
_LOW, _HIGH = 0.16, 0.74
_HALF_SECOND = 0.5 / 86_400


LEFT_TO_RIGHT = "\u200e"


@dataclass(frozen=True)
class Lane:
    """A lane of a picture: its name, and more about it in smaller letters."""

    name: str
    detail: str


@dataclass(frozen=True)
class Run:
    """A stretch of time with one value, None if that is unknown. Times are Matplotlib's days."""

    start: float
    end: float
    value: float | None


@dataclass(frozen=True)
class Scale:
    """Maps epochs to heights within a lane, the same in every lane."""

    low: float
    high: float

    def __call__(self, epochs: Any) -> Any:
        """The heights of epochs; a negative epoch (none) is below all others."""
        epochs = np.asarray(epochs, dtype=float)
        if self.high == self.low:
            place = np.where(epochs < self.low, -0.1, np.where(epochs > self.high, 1.1, 0.5))
        else:
            place = np.clip((epochs - self.low) / (self.high - self.low), -0.1, 1.1)
        return np.where(epochs < 0, 0.05, _LOW + (_HIGH - _LOW) * place)


def extent(
    times: Iterable[pd.Series], first: dt.datetime | None, last: dt.datetime | None
) -> tuple[float, float]:
    """The begin and the end of a picture of these times: the given limits, else around all of them."""
    times_known = np.concatenate([days(each.dropna()) for each in times])
    start = times_known.min() if first is None else days(pd.Series([first]))[0]
    end = times_known.max() if last is None else days(pd.Series([last]))[0]
    end = max(start, end) if last is None else end
    # a margin, so that marks at the edge are visible
    air = (end - start) * 0.015 or _HALF_SECOND
    return (
        float(start - air if first is None else start),
        float(end + air if last is None else end),
    )


def days(times: pd.Series) -> np.ndarray:
    """Times as Matplotlib's days; missing times must have been dropped."""
    return np.asarray(times.to_numpy(dtype="datetime64[us]").astype("int64") / 86_400e6)


def kept(lanes: Sequence[L], most: int, rank: Callable[[L], Any]) -> list[L]:
    """As many lanes as fit, those with the lowest ranks; their order stays."""
    chosen = sorted(range(len(lanes)), key=lambda number: rank(lanes[number]))[:most]
    return [lanes[number] for number in sorted(chosen)]


def ends(starts: np.ndarray, ended: pd.Series, end: float) -> np.ndarray:
    """When what began at these times ended; what has not lasts until the end of the picture."""
    return np.where(ended.isna(), np.maximum(end, starts), days(ended))


def word(column: pd.Series) -> pd.Series:
    """The values of a column; a missing one is unknown."""
    return column.astype(object).where(column.notna(), "unknown")


def clean(text: str | None, most: int) -> str:
    """A name from outside as one short line; characters that the font does not have are written
    as escapes.
    """
    glyphs = _glyphs()
    line = "".join(
        char if ord(char) in glyphs else char.encode("unicode_escape").decode() for char in printable(text)
    )
    if len(line) > most:
        tail = most // 3
        line = f"{line[: most - tail - 1]}…{line[-tail:]}"
    # a name in Arabic or Hebrew reads from right to left; the text around it must not
    reads_back = any(unicodedata.bidirectional(char) in ("R", "AL") for char in line)
    return f"{LEFT_TO_RIGHT}{line}{LEFT_TO_RIGHT}" if reads_back else line


@cache
def _glyphs() -> frozenset[int]:
    font = font_manager.findfont(font_manager.FontProperties(family="DejaVu Sans"))
    return frozenset(FT2Font(font).get_charmap())
