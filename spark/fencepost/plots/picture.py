"""A picture of a history: lanes over time, and the words around them. A protocol paints the lanes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fencepost.plots import canvas
from fencepost.plots.layout import Lane, clean


@dataclass(frozen=True)
class Picture:
    """What all pictures have. Their artists carry gids: ``lane:<number>`` and ``detail:<number>``, ``title``,
    ``subtitle``, ``findings``, ``left_out``.

    ``limits``: the begin and the end, as Matplotlib's days. ``lanes``: from the top; ``bases``: the height at
    which each begins; ``top``: that at which the first one ends; ``lane``: the height of a lane in inches.
    ``about``: words for the heading. ``left_out``: what has no lane, in words; empty if all have one.
    """

    title: str
    cluster: str
    limits: tuple[float, float]
    lanes: Sequence[Lane]
    bases: Sequence[float]
    findings: str
    alarming: bool
    left_out: str
    top: float = 1
    lane: float = 0.5
    about: tuple[str, ...] = ()

    def draw(self, paint: Callable[[Axes], Sequence[Any]]) -> Figure:
        """A figure with one axes. ``paint`` paints in the lanes, and returns the entries of the legend."""
        with canvas.style():
            bottom = self.bases[-1] if self.bases else 0
            figure, axes, height = canvas.sheet(self.top, bottom, self.limits, self.lane)
            signs = paint(axes)
            canvas.labels(axes, self.lanes, self.bases)
            canvas.time_axis(axes)
            canvas.heading(
                figure,
                height,
                title=self.title,
                about=(f"cluster {clean(self.cluster, 40)}", canvas.span(*self.limits), *self.about),
                findings=self.findings,
                alarming=self.alarming,
            )
            canvas.legend(figure, height, signs)
            if self.left_out:
                words = f"{self.left_out}: those with the least to show. Narrow the time to see them."
                canvas.left_out(figure, height, words)
            return figure
