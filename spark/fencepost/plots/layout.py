"""What every picture arranges: kinds of marks, runs, the scale of epochs, names as they can be drawn."""

from __future__ import annotations

import datetime as dt
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import font_manager
from matplotlib.ft2font import FT2Font

from fencepost.words import printable


@dataclass(frozen=True)
class Kind:
    """A kind of commit: what it is called, and how its mark looks."""

    name: str
    words: str
    marker: str
    colour: str
    edge: str
    size: float


_LOW, _HIGH = 0.16, 0.74
_HALF_SECOND = 0.5 / 86_400


LEFT_TO_RIGHT = "\u200e"


@dataclass(frozen=True)
class Run:
    """A stretch with one value; ``value`` is None where it is unknown. Times as matplotlib counts them."""

    start: float
    end: float
    value: float | None


@dataclass(frozen=True)
class Scale:
    """From epochs to heights within a lane, the same in every lane."""

    low: float
    high: float

    def __call__(self, epochs: Any) -> Any:
        """Heights; what presents no epoch stands below all others."""
        epochs = np.asarray(epochs, dtype=float)
        if self.high == self.low:
            place = np.where(epochs < self.low, -0.1, np.where(epochs > self.high, 1.1, 0.5))
        else:
            place = np.clip((epochs - self.low) / (self.high - self.low), -0.1, 1.1)
        return np.where(epochs < 0, 0.05, _LOW + (_HIGH - _LOW) * place)


def extent(
    times: Iterable[pd.Series], asked_start: dt.datetime | None, asked_end: dt.datetime | None
) -> tuple[float, float]:
    """Where a picture of these times begins and ends: at the given limits, else around all of them."""
    known = np.concatenate([days(each.dropna()) for each in times])
    start = known.min() if asked_start is None else days(pd.Series([asked_start]))[0]
    end = known.max() if asked_end is None else days(pd.Series([asked_end]))[0]
    end = max(start, end) if asked_end is None else end
    # what ends or begins at the edge is seen whole
    air = (end - start) * 0.015 or _HALF_SECOND
    return (
        float(start - air if asked_start is None else start),
        float(end + air if asked_end is None else end),
    )


def days(times: pd.Series) -> np.ndarray:
    """Times as Matplotlib counts them; what is no time has no meaning here."""
    return np.asarray(times.to_numpy(dtype="datetime64[us]").astype("int64") / 86_400e6)


def counted(number: int, word: str) -> str:
    """A number with its noun."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def clean(text: str | None, most: int) -> str:
    """A name from outside as one short line; what the font cannot draw is written as an escape."""
    glyphs = _glyphs()
    line = "".join(
        char if ord(char) in glyphs else char.encode("unicode_escape").decode() for char in printable(text)
    )
    if len(line) > most:
        tail = most // 3
        line = f"{line[: most - tail - 1]}…{line[-tail:]}"
    # a name in Arabic or Hebrew reads from the right, what stands around it does not
    reads_back = any(unicodedata.bidirectional(char) in ("R", "AL") for char in line)
    return f"{LEFT_TO_RIGHT}{line}{LEFT_TO_RIGHT}" if reads_back else line


@cache
def _glyphs() -> frozenset[int]:
    font = font_manager.findfont(font_manager.FontProperties(family="DejaVu Sans"))
    return frozenset(FT2Font(font).get_charmap())
