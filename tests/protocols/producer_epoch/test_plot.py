"""Pictures of a transactional id's epochs: what is drawn where, and names that try to break it."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import matplotlib as mpl
import pandas as pd
import pytest
from matplotlib.figure import Figure
from pictures import HOSTILE, artist, assert_sound, at, day, gids, segments

from fencepost.plots import layout as shared
from fencepost.protocols.producer_epoch.plot import drawing, layout, reading
from fencepost.protocols.producer_epoch.plot.reading import ProducerTimeline


def epoch(
    number: int | None,
    start: float | None,
    end: float | None,
    cause: str | None = "end_txn",
    client: str | None = "app",
    *,
    producer: int = 7,
) -> tuple[Any, ...]:
    return (None if number is None else producer, number, cause, client, at(start), at(end), 1)


def produced(
    epochs: list[tuple[Any, ...]] | None = None,
    transactions: list[tuple[Any, ...]] | None = None,
    fencings: list[tuple[Any, ...]] | None = None,
    dangling: list[tuple[Any, ...]] | None = None,
    **more: Any,
) -> ProducerTimeline:
    columns = (
        (epochs, reading.EPOCH_COLUMNS, ("from_time", "to_time")),
        (transactions, reading.TRANSACTION_COLUMNS, ("started_at", "ended_at")),
        (fencings, reading.FENCING_COLUMNS, ("occurred_at",)),
        (dangling, reading.DANGLING_COLUMNS, ("since",)),
    )
    frames = [
        pd.DataFrame(rows or [], columns=list(names)).astype(dict.fromkeys(times, "datetime64[us]"))
        for rows, names, times in columns
    ]
    names = {"cluster": "prod", "transactional_id": "tx", **more}
    return ProducerTimeline(names.pop("cluster"), names.pop("transactional_id"), *frames, **names)


def drawn(of: ProducerTimeline) -> Figure:
    return drawing.draw(of, layout.arrange(of))


TAKEN_OVER = produced(
    [
        epoch(0, 0, 10, "new_instance", "a"),
        epoch(1, 10, 20, "end_txn", "a"),
        epoch(2, 20, 30, "timeout", None),
        epoch(3, 30, 40, "new_instance", "b"),
        epoch(None, 40, 50, None, None),
        epoch(6, 50, None, None, None, producer=8),
    ],
    [
        ("committed", at(5), at(12), 1),
        ("aborted", at(15), at(21), 1),
        (None, at(39), at(39), 1),
        ("open", at(52), None, 1),
    ],
    [("a", 1, at(32), 2), (None, None, at(33), 1)],
    [("orders", 0, 4711, at(33))],
    end=at(60).to_pydatetime(),
)


def test_a_step_has_the_colour_of_what_began_it() -> None:
    figure, scale = drawn(TAKEN_OVER), layout.arrange(TAKEN_OVER).scale
    heights = [round(2.4 * float(scale(number)), 4) for number in (0, 1, 2, 3, 6)]
    assert segments(figure, "steps") == [
        [(start, height), (start + 10, height)]
        for start, height in zip((0, 10, 20, 30, 50), heights, strict=True)
    ]
    assert segments(figure, "joints") == [
        [(start, before), (start, after)]
        for start, before, after in zip((10, 20, 30), heights, heights[1:], strict=False)
    ]
    assert [[second for second, _ in line] for line in segments(figure, "unknown")] == [[40, 50]]
    colours = {kind.name: mpl.colors.to_rgba(kind.colour) for kind in layout.CAUSES}
    drawn_in = [tuple(colour) for colour in artist(figure, "steps").get_colors()]
    assert drawn_in[:4] == [colours[name] for name in ("new_instance", "end_txn", "timeout", "new_instance")]
    ids = figure.findobj(lambda each: each.get_gid() == "producer")
    assert sorted(text.get_text() for text in ids) == ["producer id 7", "producer id 8"]


def test_whoever_bumped_or_was_fenced_has_a_lane() -> None:
    figure, scale = drawn(TAKEN_OVER), layout.arrange(TAKEN_OVER).scale
    names = [artist(figure, f"lane:{number}").get_text() for number in range(7)]
    assert names == [
        *("epoch", "transactions", "a", "(the coordinator)", "b", "(client not known)", "orders-0"),
    ]
    assert artist(figure, "detail:2").get_text() == "2 epochs, 2 fenced"
    assert artist(figure, "detail:6").get_text() == "dangling from offset 4711"

    def marks(kind: str) -> list[tuple[float, float]]:
        return [tuple(point) for point in artist(figure, f"marks:{kind}").get_offsets()]

    assert marks("new_instance") == [
        pytest.approx((day(0), scale(0) - 2)),
        pytest.approx((day(30), scale(3) - 4)),
    ]
    assert marks("timeout") == [pytest.approx((day(20), scale(2) - 3))]
    # one that presented no epoch that is known stands below all others
    assert marks("fenced") == [
        pytest.approx((day(32), scale(1) - 2)),
        pytest.approx((day(33), scale(-1) - 5)),
    ]


def test_transactions_are_bars_of_their_outcome() -> None:
    figure = drawn(TAKEN_OVER)

    def bar(gid: str) -> tuple[float, float]:
        (path,) = artist(figure, gid).get_paths()
        extents = path.get_extents()
        return tuple(round((x - day(0)) * 86_400, 1) for x in (extents.x0, extents.x1))

    assert bar("transactions:committed") == (5, 12)
    assert bar("transactions:aborted") == (15, 21)
    assert bar("transactions:open") == (52, 60)
    start, end = bar("transactions:unknown")
    assert (start, end > start) == (39, True)
    assert bar("dangling") == (33, 60)


def test_how_long_a_client_waited_stands_beside_its_mark() -> None:
    waits = pd.DataFrame([("a", 0, at(5), 1_234, "missing_marker")], columns=list(reading.WAIT_COLUMNS))
    marks = layout.arrange(produced([epoch(0, 0, None, None, "a")], waits=waits)).marks
    assert marks.loc[marks["kind"] == "waited", "label"].tolist() == ["waits 1.23 s: missing marker"]


def test_what_happened_to_a_transactional_id_is_told() -> None:
    words = (
        "5 epochs, 4 transactions (1 committed, 1 aborted, 1 open, 1 unknown), 3 requests fenced, 1 dangling"
    )
    figure = drawn(TAKEN_OVER)
    assert artist(figure, "findings").get_text() == words
    assert drawing.picture(TAKEN_OVER, "png")[1] == words
    legend = {text.get_text() for text in figure.legends[0].get_texts()}
    assert legend == {
        *("REQUEST FENCED: 3", "bumped by a new instance: 2", "bumped by a timeout: 1", "dangling: 1"),
        *("bumped by EndTxn: 1", "begun, cause unknown: 1", "committed: 1", "aborted: 1", "open: 1"),
        *("outcome unknown: 1", "epoch unknown"),
    }
    quiet = produced([epoch(0, 0, None)])
    assert artist(drawn(quiet), "findings").get_text() == (
        "1 epoch, 0 transactions, 0 requests fenced, 0 dangling"
    )


@pytest.mark.parametrize(
    "of",
    [
        produced([epoch(0, 0, None)]),
        produced([epoch(None, 0, None, None)]),
        produced(transactions=[("open", at(0), None, 1)]),
        produced(fencings=[(None, None, at(0), 1)]),
        produced(dangling=[("t", 0, 0, at(0))]),
        produced([epoch(0, 0, 0)]),
        produced([epoch(32767, 0, 86_400 * 900), epoch(0, 86_400 * 900, None, producer=8)]),
        produced([epoch(0, 0, None)], start=at(60).to_pydatetime()),
        produced([epoch(0, 0, None)], end=at(-60).to_pydatetime()),
    ],
    ids=["an epoch", "unknown", "open", "fenced", "dangling", "a moment", "years", "nothing since", "later"],
)
def test_little_of_a_producer_is_drawn_without_a_word(of: ProducerTimeline) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in ("svg", "png"):
            assert drawing.picture(of, kind)[0]


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_a_producers_hostile_names_are_lines_of_text(name: str) -> None:
    of = produced(
        [epoch(0, 0, 10, "new_instance", name + "\0a"), epoch(1, 10, None, "new_instance", name + "\0b")],
        fencings=[(name, 0, at(12), 1), ("(the coordinator)", 0, at(13), 1)],
        dangling=[(name, 0, 1, at(5))],
        transactional_id=name,
        cluster=name,
    )
    figure = drawn(of)
    assert_sound(partial(drawing.picture, of))
    for gid in ("title", "subtitle", *(f"lane:{number}" for number in range(2, 7))):
        text = artist(figure, gid)
        assert text.get_parse_math() is False
        assert text.get_text().replace(shared.LEFT_TO_RIGHT, "").isprintable()
        assert len(text.get_text()) < 120


def test_a_producers_lanes_are_not_dropped_silently() -> None:
    clients = layout.MOST_CLIENTS + 5
    epochs = [epoch(number, number, number + 1, client=f"c{number:03}") for number in range(clients)]
    fencings = [(f"c{clients - 1:03}", 3, at(90), 1)]
    dangling = [("t", number, 0, at(1)) for number in range(layout.MOST_DANGLING + 2)]
    of = produced(epochs, fencings=fencings, dangling=dangling)
    arranged = layout.arrange(of)
    names = [lane.name for lane in arranged.clients]
    assert names == sorted(names)
    assert len(names) == layout.MOST_CLIENTS
    assert names[-1] == f"c{clients - 1:03}"
    assert len(arranged.dangling) == layout.MOST_DANGLING
    words = "5 clients and 2 dangling transactions are left out"
    assert artist(drawn(of), "left_out").get_text().startswith(words)
    assert "left_out" not in gids(drawn(TAKEN_OVER))


def test_a_producers_many_transactions_become_an_image() -> None:
    many = produced(
        [epoch(number, number, number + 1) for number in range(10_000)],
        [("committed", at(number + 0.2), at(number + 0.8), 1) for number in range(10_000)],
    )
    svg, words = drawing.picture(many, "svg")
    assert b"<image" in svg
    assert b"<image" not in drawing.picture(TAKEN_OVER, "svg")[0]
    assert len(svg) < 3_000_000
    assert words.startswith("10,000 epochs, 10,000 transactions")


def test_the_same_producer_gives_the_same_bytes() -> None:
    for kind in ("svg", "png"):
        assert drawing.picture(TAKEN_OVER, kind) == drawing.picture(TAKEN_OVER, kind)
