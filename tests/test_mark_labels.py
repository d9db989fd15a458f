"""Words beside marks: none covers another mark or other words, whatever the marks."""

from __future__ import annotations

import random

import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from fencepost.plots import canvas
from fencepost.plots.layout import Kind

QUIET = Kind("quiet", "quiet", "o", "#56B4E9", "none", 14)
TOLD = Kind("told", "told", "s", "#0072B2", "white", 40, "told in words")
LOUD = Kind("loud", "LOUD", "X", "#D55E00", "black", 80, "loud and clear")
LANES = 4


def _drawn(rows: list[tuple[float, float, str, str | None]]) -> tuple[Figure, list[Text]]:
    figure, axes, _ = canvas.sheet(1, 1 - LANES, (0, 100), canvas.lane_height(LANES))
    with canvas.style():
        canvas.marks(
            axes, (QUIET, TOLD, LOUD), [pd.DataFrame(rows, columns=["at", "height", "kind", "label"])]
        )
        FigureCanvasAgg(figure).draw()
    return figure, [each for each in axes.texts if str(each.get_gid()).startswith("label:")]


def _boxes(texts: list[Text]) -> list[Bbox]:
    return [Text.get_window_extent(each).padded(-1) for each in texts]


@pytest.mark.parametrize("seed", range(6))
def test_no_words_cover_others_or_a_mark_or_leave_the_picture(seed: int) -> None:
    chance = random.Random(seed)
    heights = [lane + 0.1 * step for lane in range(1 - LANES, 1) for step in range(1, 9)]
    kinds, words = (
        ("quiet", "told", "loud"),
        (None, "W" * 12, "epoch 3 fenced", "1,234,567 of an earlier topic"),
    )
    rows = [
        (chance.uniform(0, 100), *(chance.choice(each) for each in (heights, kinds, words)))
        for _ in range(8 + 6 * seed)
    ]
    figure, texts = _drawn(rows)
    (axes,) = figure.axes
    assert texts
    boxes = _boxes(texts)
    frame = axes.get_window_extent()
    for number, box in enumerate(boxes):
        assert frame.x0 - 1 <= box.x0 and box.x1 <= frame.x1 + 1
        assert not any(box.overlaps(other) for other in boxes[number + 1 :])
        for at, height, _, _ in rows:
            assert not box.contains(*axes.transData.transform((at, height)))


def test_each_mark_that_has_room_has_its_words_and_the_loudest_come_first() -> None:
    rows = [
        (1.0, 0.5, "loud", None),
        (2.0, 0.5, "told", None),
        (50.0, -0.5, "told", "of its own"),
        (99.0, -1.5, "loud", None),
        (30.0, -2.5, "quiet", None),
    ]
    _, texts = _drawn(rows)
    assert [(each.get_text(), each.get_ha()) for each in texts] == [
        # the first loud one has no room, and the last one none to its right
        ("loud and clear", "right"),
        ("of its own", "left"),
        ("told in words", "left"),
    ]
    assert {each.get_color() for each in texts if each.get_gid() == "label:loud"} == {canvas.ALARM}
    assert not [each for each in texts if each.get_gid() == "label:quiet"]
