"""Timelines of a group and of a transactional id: what is drawn where, names that try to break it, and
``fencepost plot``.
"""

from __future__ import annotations

import datetime as dt
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
import pandas as pd
import pyarrow as pa
import pytest
import yaml
from matplotlib.dates import date2num
from matplotlib.figure import Figure
from pyspark.sql import SparkSession

from fencepost import cli, commands
from fencepost.iceberg.catalog import open_catalog
from fencepost.plots import layout as shared
from fencepost.plots.reading import PlotError, find
from fencepost.protocols.offset_commit.plot import drawing, layout, reading
from fencepost.protocols.offset_commit.plot.reading import (
    COMMIT_COLUMNS,
    GROUP_COLUMNS,
    MEMBER_COLUMNS,
    Timeline,
)
from fencepost.protocols.producer_epoch.plot import drawing as producer_drawing
from fencepost.protocols.producer_epoch.plot import layout as producer_layout
from fencepost.protocols.producer_epoch.plot import reading as producer_reading
from fencepost.protocols.producer_epoch.plot.reading import ProducerTimeline
from fencepost.reading import ENGINES, Reader, open_lake, over
from fencepost.settings import Settings
from fencepost.tables.table import ARROW

ROOT = Path(__file__).resolve().parents[1]
MODELS = {
    model["name"]: {column["name"]: column["data_type"] for column in model["columns"]}
    for file in (ROOT / "dbt" / "models").rglob("fct_*.yml")
    for model in yaml.load(file.read_text(), yaml.CSafeLoader)["models"]
}
NOON = pd.Timestamp("2026-01-02 12:00:00")
HOSTILE = [
    "",
    "a\nb\r\tc",
    "$\\frac{1}{0}$ \\invalid $ _^{",
    "<b>&amp;\"'</svg>]]>",
    "\x00\x1b[31m\x7f",
    "\u202eevil\u2066\u200b",
    "عميل عربي",
    "שלום-1",
    "注文\U0001f600",
    "\ud800 alone",
    "e\u0301\u0300" * 30,
    "x" * 70_000,
    "{}%s{0}",
]


def at(seconds: float | None) -> Any:
    return pd.NaT if seconds is None else NOON + pd.Timedelta(seconds=seconds)


def day(seconds: float) -> float:
    return float(date2num(at(seconds)))  # type: ignore[no-untyped-call]


def member(
    member_id: str,
    epoch: int | None,
    start: float,
    end: float | None,
    *,
    group: int = 1,
    client: str = "client",
) -> dict[str, Any]:
    return {
        "member_id": member_id,
        "client_id": client,
        "protocol": "consumer",
        "life": 1,
        "from_position": int(start),
        "member_epoch": epoch,
        "group_epoch": group,
        "target_assignment_epoch": group,
        "from_time": at(start),
        "to_time": at(end),
    }


def commit(
    member_id: str, epoch: int, when: float, truth: str = "owner", answer: str = "accept", *, commits: int = 1
) -> dict[str, Any]:
    values = (member_id, "client", epoch, truth, answer, at(when), commits)
    return dict(zip(COMMIT_COLUMNS, values, strict=True))


def timeline(members: list[dict[str, Any]], commits: list[dict[str, Any]], **more: Any) -> Timeline:
    times = dict.fromkeys(("from_time", "to_time"), "datetime64[us]")
    frames = (
        pd.DataFrame(members, columns=list(MEMBER_COLUMNS)).astype(times),
        pd.DataFrame(members, columns=list(GROUP_COLUMNS)).astype(times),
        pd.DataFrame(commits, columns=list(COMMIT_COLUMNS)).astype({"answered_at": "datetime64[us]"}),
    )
    names = {"cluster": "prod", "group_id": "orders", **more}
    return Timeline(names.pop("cluster"), names.pop("group_id"), *frames, **names)


def drawn(of: Timeline) -> Figure:
    return drawing.draw(of, layout.arrange(of))


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


LIFE = [
    member("m1", 1, 0, 10),
    member("m1", 1, 10, 20, group=2),
    member("m2", 2, 10, 30, group=2),
    member("m1", 2, 20, 30, group=2),
    member("m1", None, 30, 40, group=3),
    member("m1", 3, 40, None, group=3),
]


def test_lanes_are_in_the_order_of_first_appearance() -> None:
    figure = drawn(
        timeline(LIFE[2:], [commit("early", 1, 5), commit("m1", 1, 7), commit("", -1, 50, "unfenced")])
    )
    names = [artist(figure, f"detail:{number}").get_text() for number in range(5)]
    assert names == ["epochs of the group", "early", "m1", "m2", "names no member id"]
    assert artist(figure, "lane:4").get_text() == "(no member)"
    assert figure.axes[0].get_ylim() == (-4, 1)
    assert artist(figure, "subtitle").get_text().endswith("3 members")


def test_steps_join_where_they_meet_and_break_where_nothing_is_known() -> None:
    of = timeline(LIFE, [], end=at(60).to_pydatetime())
    figure, scale = drawn(of), layout.arrange(of).scale
    one, two, three = (round(float(scale(epoch)), 4) for epoch in (1, 2, 3))
    assert 0 < one < two < three < 1
    assert segments(figure, "steps") == [
        [(0, one - 1), (20, one - 1), (20, two - 1), (30, two - 1)],
        [(40, three - 1), (60, three - 1)],
        [(10, two - 2), (30, two - 2)],
    ]
    assert [[second for second, _ in line] for line in segments(figure, "unknown")] == [[30, 40]]
    group = [[(0, one), (10, one), (10, two), (30, two), (30, three), (60, three)]]
    assert segments(figure, "group_epoch") == group
    assert segments(figure, "target_assignment_epoch") == group


def test_epochs_of_two_lives_are_not_joined() -> None:
    of = timeline([member("m1", 5, 0, 10), member("m1", 1, 20, 30)], [])
    assert len(segments(drawn(of), "steps")) == 2


@pytest.mark.parametrize(
    ("truth", "answer", "kind"),
    [
        ("owner", "accept", "accepted_owner"),
        ("owner", "reject", "refused_owner"),
        ("owner", "other_error", "other_error"),
        ("owner", "unknown", "unknown"),
        ("zombie", "accept", "accepted_zombie"),
        ("zombie", "reject", "refused_zombie"),
        ("not_owner", "accept", "accepted_not_owner"),
        ("not_owner", "reject", "refused_not_owner"),
        ("unfenced", "accept", "unfenced"),
        ("unfenced", "reject", "unfenced"),
        ("unfenced", "unknown", "unfenced"),
        ("unknown", "accept", "unknown"),
        ("unknown", "reject", "unknown"),
        ("unknown", "other_error", "unknown"),
    ],
)
def test_a_commit_is_one_mark_of_its_kind(truth: str, answer: str, kind: str) -> None:
    of = timeline(LIFE, [commit("m2", 1, 25, truth, answer, commits=3)])
    figure = drawn(of)
    assert {gid for gid in gids(figure) if gid.startswith("marks:")} == {f"marks:{kind}"}
    (point,) = artist(figure, f"marks:{kind}").get_offsets()
    assert tuple(point) == pytest.approx((day(25), layout.arrange(of).scale(1) - 2))
    words = {each.name: each.words for each in layout.KINDS}
    assert f"{words[kind]}: 3" in [text.get_text() for text in figure.legends[0].get_texts()]


def test_kinds_differ_in_more_than_colour_and_a_zombie_is_seen_first() -> None:
    assert len({kind.marker + kind.edge for kind in layout.KINDS}) == len(layout.KINDS)
    assert layout.KINDS[-1].name == "accepted_zombie"
    assert max(layout.KINDS, key=lambda kind: kind.size).name == "accepted_zombie"


def test_an_epoch_stands_in_its_lane_whatever_it_is() -> None:
    for members in (LIFE, LIFE[:1], []):
        of = timeline(members, [commit("m1", epoch, 5) for epoch in (-2, -1, 0, 1, 2**31 - 1)])
        heights = [height for _, height in artist(drawn(of), "marks:accepted_owner").get_offsets()]
        assert all(-1 < height < 0 for height in heights), members
        assert heights[0] == heights[1] == min(heights)


def test_findings_are_told() -> None:
    of = timeline(
        LIFE,
        [
            commit("m1", 1, 5, "zombie", commits=2),
            commit("m1", 1, 6, answer="reject"),
            commit("m1", 1, 7, "unknown"),
            commit("m1", 1, 8, commits=1996),
        ],
    )
    words = "2,000 commits: 2 zombies accepted, 1 owner refused, 1 unknown"
    assert artist(drawn(of), "findings").get_text() == words
    assert drawing.picture(of, "png")[1] == words


def test_limits_are_kept_as_asked() -> None:
    start, end = dt.datetime(2026, 1, 2, 12, 0, 5), dt.datetime(2026, 1, 2, 12, 0, 35)
    figure = drawn(timeline(LIFE, [], start=start, end=end))
    assert figure.axes[0].get_xlim() == (day(5), day(35))
    assert "2026-01-02 12:00:05 to 2026-01-02 12:00:35 UTC" in artist(figure, "subtitle").get_text()


@pytest.mark.parametrize(
    "of",
    [
        timeline(LIFE[:1], []),
        timeline([], [commit("m", 1, 0)]),
        timeline([], [commit("", -1, 0, "unfenced")]),
        timeline([member("m", None, 0, None)], []),
        timeline([member("m", 1, 0, 0.0001)], [commit("m", 1, 0.00005)]),
        timeline([member("m", 1, 0, 86_400 * 900)], []),
        timeline([member("m", 1, 0, None)], [], start=at(60).to_pydatetime()),
    ],
    ids=["no commits", "no members", "nobody", "unknown", "a moment", "years", "nothing since"],
)
def test_little_is_drawn_without_a_word(of: Timeline) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in ("svg", "png"):
            assert drawing.picture(of, kind)[0]
        assert layout.arrange(of).start < layout.arrange(of).end


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_a_hostile_name_is_one_line_of_text(name: str) -> None:
    of = timeline(
        [member(name + "m", 1, 0, None, client=name)],
        [commit(name + "m", 1, 5), commit(name, 1, 6)],
        group_id=name,
        cluster=name,
    )
    figure = drawn(of)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        svg, _ = drawing.picture(of, "svg")
        assert drawing.picture(of, "png")[0].startswith(b"\x89PNG")
    ElementTree.fromstring(svg)
    for gid in ("title", "subtitle", "lane:1", "detail:1"):
        text = artist(figure, gid)
        assert text.get_parse_math() is False
        assert text.get_text().replace(shared.LEFT_TO_RIGHT, "").isprintable()
        assert len(text.get_text()) < 120


def test_a_name_is_shown_as_far_as_it_can_be_told_apart() -> None:
    assert shared.clean("orders", 20) == "orders"
    assert shared.clean("a\nb", 20) == "a\\nb"
    assert shared.clean("$x$", 20) == "$x$"
    assert shared.clean("注", 20) == "\\u6ce8"
    assert shared.clean("a" * 50 + "end", 20) == "a" * 13 + "…" + "aaaend"
    assert shared.clean("שלום", 20) == "\u200eשלום\u200e"
    members = [member(f"app-{tail}", 1, 0, None, client="app") for tail in ("abcdefgh1xxxx", "abcdefgh2xxxx")]
    lanes = layout.arrange(timeline(members, [])).lanes
    assert [(lane.name, lane.detail) for lane in lanes] == [
        ("app", "abcdefgh1xxx…"),
        ("app", "abcdefgh2xxx…"),
    ]


def test_too_many_members_are_not_dropped_silently() -> None:
    members = [member(f"m{number:03}", 1, number, None) for number in range(layout.MOST_LANES + 20)]
    commits = [commit(f"m{number:03}", 1, number + 1) for number in range(layout.MOST_LANES + 5)]
    commits.append(commit("m059", 1, 90, "zombie"))
    of = timeline(members, commits)
    lanes = [lane.member_id for lane in layout.arrange(of).lanes]
    assert len(lanes) == layout.MOST_LANES
    assert lanes == sorted(lanes)
    assert lanes[-1] == "m059"
    figure = drawn(of)
    assert artist(figure, "left_out").get_text().startswith("20 of 60 lanes are left out, with 6 commits")
    assert artist(figure, "findings").get_text().startswith("46 commits: 1 zombie accepted")
    assert "left_out" not in gids(drawn(timeline(members[: layout.MOST_LANES], [])))


def test_hundreds_of_thousands_of_commits_become_an_image() -> None:
    few = [commit("m1", 1, number / 100) for number in range(100)]
    assert b"<image" not in drawing.picture(timeline(LIFE, few), "svg")[0]
    one = timeline(LIFE, few)
    marks = pd.concat([one.commits] * 2000, ignore_index=True)
    many = Timeline("prod", "orders", one.members, one.group, marks)
    begun = time.monotonic()
    svg, words = drawing.picture(many, "svg")
    assert b"<image" in svg
    assert len(svg) < 2_000_000
    assert words.startswith("200,000 commits")
    assert time.monotonic() - begun < 60


def test_the_same_rows_give_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    of = timeline(LIFE, [commit("m1", 1, 5, "zombie"), commit("m2", 2, 15)])
    for kind in ("svg", "png"):
        content = drawing.picture(of, kind)
        with mpl.rc_context({"font.size": 20, "axes.facecolor": "red", "svg.hashsalt": "other"}):
            assert drawing.picture(of, kind) == content


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
        (epochs, producer_reading.EPOCH_COLUMNS, ("from_time", "to_time")),
        (transactions, producer_reading.TRANSACTION_COLUMNS, ("started_at", "ended_at")),
        (fencings, producer_reading.FENCING_COLUMNS, ("occurred_at",)),
        (dangling, producer_reading.DANGLING_COLUMNS, ("since",)),
    )
    frames = [
        pd.DataFrame(rows or [], columns=list(names)).astype(dict.fromkeys(times, "datetime64[us]"))
        for rows, names, times in columns
    ]
    names = {"cluster": "prod", "transactional_id": "tx", **more}
    return ProducerTimeline(names.pop("cluster"), names.pop("transactional_id"), *frames, **names)


def producer_drawn(of: ProducerTimeline) -> Figure:
    return producer_drawing.draw(of, producer_layout.arrange(of))


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
    figure, scale = producer_drawn(TAKEN_OVER), producer_layout.arrange(TAKEN_OVER).scale
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
    colours = {kind.name: mpl.colors.to_rgba(kind.colour) for kind in producer_layout.CAUSES}
    drawn_in = [tuple(colour) for colour in artist(figure, "steps").get_colors()]
    assert drawn_in[:4] == [colours[name] for name in ("new_instance", "end_txn", "timeout", "new_instance")]
    ids = figure.findobj(lambda each: each.get_gid() == "producer")
    assert sorted(text.get_text() for text in ids) == ["producer id 7", "producer id 8"]


def test_whoever_bumped_or_was_fenced_has_a_lane() -> None:
    figure, scale = producer_drawn(TAKEN_OVER), producer_layout.arrange(TAKEN_OVER).scale
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
    figure = producer_drawn(TAKEN_OVER)

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


def test_what_happened_to_a_transactional_id_is_told() -> None:
    words = (
        "5 epochs, 4 transactions (1 committed, 1 aborted, 1 open, 1 unknown), 3 requests fenced, 1 dangling"
    )
    figure = producer_drawn(TAKEN_OVER)
    assert artist(figure, "findings").get_text() == words
    assert producer_drawing.picture(TAKEN_OVER, "png")[1] == words
    legend = {text.get_text() for text in figure.legends[0].get_texts()}
    assert legend == {
        *("REQUEST FENCED: 3", "bumped by a new instance: 2", "bumped by a timeout: 1", "dangling: 1"),
        *("bumped by EndTxn: 1", "begun, cause unknown: 1", "committed: 1", "aborted: 1", "open: 1"),
        *("outcome unknown: 1", "epoch unknown"),
    }
    quiet = produced([epoch(0, 0, None)])
    assert artist(producer_drawn(quiet), "findings").get_text() == (
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
            assert producer_drawing.picture(of, kind)[0]


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_a_producers_hostile_names_are_lines_of_text(name: str) -> None:
    of = produced(
        [epoch(0, 0, 10, "new_instance", name + "\0a"), epoch(1, 10, None, "new_instance", name + "\0b")],
        fencings=[(name, 0, at(12), 1), ("(the coordinator)", 0, at(13), 1)],
        dangling=[(name, 0, 1, at(5))],
        transactional_id=name,
        cluster=name,
    )
    figure = producer_drawn(of)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        svg, _ = producer_drawing.picture(of, "svg")
        assert producer_drawing.picture(of, "png")[0].startswith(b"\x89PNG")
    ElementTree.fromstring(svg)
    for gid in ("title", "subtitle", *(f"lane:{number}" for number in range(2, 7))):
        text = artist(figure, gid)
        assert text.get_parse_math() is False
        assert text.get_text().replace(shared.LEFT_TO_RIGHT, "").isprintable()
        assert len(text.get_text()) < 120


def test_a_producers_lanes_are_not_dropped_silently() -> None:
    clients = producer_layout.MOST_CLIENTS + 5
    epochs = [epoch(number, number, number + 1, client=f"c{number:03}") for number in range(clients)]
    fencings = [(f"c{clients - 1:03}", 3, at(90), 1)]
    dangling = [("t", number, 0, at(1)) for number in range(producer_layout.MOST_DANGLING + 2)]
    of = produced(epochs, fencings=fencings, dangling=dangling)
    arranged = producer_layout.arrange(of)
    names = [lane.name for lane in arranged.clients]
    assert names == sorted(names)
    assert len(names) == producer_layout.MOST_CLIENTS
    assert names[-1] == f"c{clients - 1:03}"
    assert len(arranged.dangling) == producer_layout.MOST_DANGLING
    words = "5 clients and 2 dangling transactions are left out"
    assert artist(producer_drawn(of), "left_out").get_text().startswith(words)
    assert "left_out" not in gids(producer_drawn(TAKEN_OVER))


def test_a_producers_many_transactions_become_an_image() -> None:
    many = produced(
        [epoch(number, number, number + 1) for number in range(10_000)],
        [("committed", at(number + 0.2), at(number + 0.8), 1) for number in range(10_000)],
    )
    begun = time.monotonic()
    svg, words = producer_drawing.picture(many, "svg")
    assert b"<image" in svg
    assert b"<image" not in producer_drawing.picture(TAKEN_OVER, "svg")[0]
    assert len(svg) < 3_000_000
    assert words.startswith("10,000 epochs, 10,000 transactions")
    assert time.monotonic() - begun < 60


def test_the_same_producer_gives_the_same_bytes() -> None:
    for kind in ("svg", "png"):
        assert producer_drawing.picture(TAKEN_OVER, kind) == producer_drawing.picture(TAKEN_OVER, kind)


GROUPS = [("a", "orders"), ("b", "orders"), ("a", "orders-eu"), ("a", "x\ny"), ("b", "payments")]


@pytest.mark.parametrize(
    ("group", "cluster", "found"),
    [
        ("payments", None, ("b", "payments")),
        ("orders", "b", ("b", "orders")),
        ("x\ny", None, ("a", "x\ny")),
        ("x\\ny", None, ("a", "x\ny")),
    ],
)
def test_a_group_is_found(group: str, cluster: str | None, found: tuple[str, str]) -> None:
    assert find(GROUPS, group, cluster) == found


@pytest.mark.parametrize(
    ("group", "cluster", "words"),
    [
        ("order", None, "No group 'order'. Near: 'orders', 'orders-eu'."),
        ("EU", None, "No group 'EU'. Near: 'orders-eu'."),
        ("zzz", None, "There are 4: 'orders', 'orders-eu', 'payments', 'x\\\\ny'."),
        ("payments", "a", "No group 'payments'. There are 3"),
        ("orders", None, "Several clusters have a group 'orders': 'a', 'b'. Choose one with --cluster."),
        ("orders", "c", "No cluster 'c'. There are: 'a', 'b'."),
    ],
)
def test_a_group_is_not_found(group: str, cluster: str | None, words: str) -> None:
    with pytest.raises(PlotError) as caught:
        find(GROUPS, group, cluster)
    assert words in str(caught.value)


def test_what_is_looked_for_is_named() -> None:
    with pytest.raises(PlotError, match=r"No transactional id 'tx'\. There are no transactional ids"):
        find([], "tx", None, "transactional id")
    with pytest.raises(PlotError, match="Several clusters have a transactional id 'orders': 'a', 'b'"):
        find(GROUPS, "orders", None, "transactional id")


@pytest.fixture(scope="module")
def lake(
    new_lake: Callable[[], tuple[SparkSession, Settings]],
) -> tuple[SparkSession, Settings]:
    """A lake with the marts a picture is drawn from: group orders in two clusters, group other in one."""
    spark, settings = new_lake()
    catalog = open_catalog(settings.lake)
    catalog.create_namespace_if_not_exists("marts")

    def fill(mart: str, rows: list[dict[str, Any]]) -> None:
        schema = pa.schema([(name, ARROW[kind]) for name, kind in MODELS[mart].items()])
        named = [{name: row.get(name) for name in schema.names} for row in rows]
        catalog.create_table(f"marts.{mart}", schema).append(pa.Table.from_pylist(named, schema=schema))

    groups = (("a", "orders"), ("b", "orders"), ("a", "other"))
    members = [
        {
            **row,
            "cluster": cluster,
            "group_id": group,
            "to_time": None if pd.isna(row["to_time"]) else row["to_time"],
        }
        for cluster, group in groups
        for row in LIFE
    ]
    commits = [
        {
            "cluster": cluster,
            "group_id": group,
            "member_id": "m1",
            "client_id": "client",
            "client_epoch": 1,
            "truth": "zombie" if second == 25 else "owner",
            "broker_answer": "accept",
            "responded_at": at(second + part / 1000),
        }
        for cluster, group in groups
        for second in (5, 25, 3600)
        for part in (0, 1, 2)
    ]
    fill("fct_member_epochs", members)
    fill("fct_offset_commits", commits)
    fill("fct_invariant_verdicts", [])
    fill_producers(fill)
    return spark, settings


def fill_producers(fill: Callable[[str, list[dict[str, Any]]], None]) -> None:
    """Transactional id tx in cluster a: two epochs, a hole and a third; one that was only ever fenced."""
    own = {"cluster": "a", "transactional_id": "tx", "producer_id": 7}
    epochs: list[dict[str, Any]] = [
        {**own, "producer_epoch": 0, "cause": "new_instance", "caused_by_client_id": "x", "from_position": 1},
        {**own, "producer_epoch": 1, "cause": "end_txn", "caused_by_client_id": "x", "from_position": 2},
        {**own, "producer_id": None, "from_position": 3},
        {**own, "producer_epoch": 4, "from_position": 4},
        {"cluster": "a", "producer_id": 9, "producer_epoch": 0, "from_time": at(0)},
    ]
    for row, start, end in zip(epochs, (0, 10, None, 30), (10, 20, 30, None), strict=False):
        row["from_time"] = None if start is None else at(start)
        row["to_time"] = None if end is None else at(end)
    fill("fct_producer_epochs", epochs)
    fill(
        "fct_transactions",
        [
            {**own, "outcome": "committed", "started_at": at(5), "completed_at": at(11)},
            {**own, "started_at": at(15), "prepared_at": at(16)},
            {**own, "outcome": "open", "started_at": at(35), "prepared_at": at(36)},
            {**own, "transactional_id": "other", "outcome": "open", "started_at": at(35)},
        ],
    )
    victim = {
        "cluster": "a",
        "protocol": "producer_epoch",
        "victim_kind": "transactional_id",
        "victim_epoch": 1,
        "evidence": '{"client_id":"AddPartitionsManager-client-1","victim_client_id":"old"}',
    }
    fill(
        "fct_fencing_events",
        [
            {**victim, "victim": "tx", "occurred_at": at(31)},
            {**victim, "victim": "tx", "occurred_at": at(31), "evidence": '{"client_id":"old"}'},
            {**victim, "victim": "tx", "occurred_at": at(31), "victim_kind": "member"},
            {**victim, "victim": "fenced", "occurred_at": at(31)},
        ],
    )
    fill(
        "fct_dangling_transactions",
        [
            {**own, "topic": "t", "partition": 0, "first_offset": 3, "since": at(32)},
            {**own, "transactional_id": None, "topic": "t", "partition": 1, "since": at(32)},
        ],
    )


@pytest.fixture(params=ENGINES)
def reader(lake: tuple[SparkSession, Settings], request: pytest.FixtureRequest) -> Iterator[Reader]:
    """The lake, read by DuckDB and by Spark."""
    spark, settings = lake
    if request.param == "spark":
        yield over(spark)
    else:
        with open_lake(settings) as opened:
            assert opened.engine == "duckdb"
            yield opened


@pytest.fixture
def plot(
    lake: tuple[SparkSession, Settings], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Callable[..., int]]:
    """Calls ``fencepost plot`` in this process."""
    _, settings = lake
    config = tmp_path / "fencepost.toml"
    config.write_text(
        f'[lake]\nwarehouse = "{settings.lake.warehouse}"\ncatalog = "{settings.lake.catalog}"\n'
        '[[clusters]]\nname = "a"\n[[clusters.brokers]]\nid = 1\n'
        f'log_dirs = ["{tmp_path}"]\nrequest_logs = ["{tmp_path}/*.log"]\n'
    )
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.chdir(tmp_path)
    yield lambda *arguments: cli.main(["plot", *arguments, "--config", str(config)])
    monkeypatch.undo()
    time.tzset()


def test_rows_are_read_and_thinned(reader: Reader) -> None:
    found = reading.read(reader, "other")
    assert list(found.members["from_time"]) == [row["from_time"] for row in LIFE]
    assert list(found.commits["commits"]) == [3, 3, 3]
    assert set(found.commits["answered_at"]) == {at(5), at(25), at(3600)}
    start, end = NOON.to_pydatetime(), at(25.001).to_pydatetime()
    part = reading.read(reader, "orders", "b", start + dt.timedelta(seconds=15), end)
    assert part.cluster == "b"
    assert list(part.commits["truth"]) == ["zombie", "zombie"]
    assert list(part.members["from_position"]) == [10, 10, 20]
    with pytest.raises(PlotError, match="Nothing is known of group 'other' in that time"):
        reading.read(reader, "other", end=start - dt.timedelta(days=1))


def test_the_command_writes_a_picture(
    plot: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert plot("other") == commands.OK
    assert "other-epochs.svg: 9 commits: 3 zombies accepted, 0 owners refused" in capsys.readouterr().out
    ElementTree.fromstring((tmp_path / "other-epochs.svg").read_bytes())
    limits = ("--from", "2026-01-02T13:00:20+01:00", "--to", "2026-01-02T12:00:30Z")
    assert plot("orders", "--cluster", "b", "--out", "b.png", *limits) == commands.OK
    assert (tmp_path / "b.png").read_bytes().startswith(b"\x89PNG")
    assert "b.png: 3 commits: 3 zombies accepted" in capsys.readouterr().out


def test_rows_of_a_transactional_id_are_read(reader: Reader) -> None:
    found = producer_reading.read(reader, "tx")
    assert [None if pd.isna(number) else int(number) for number in found.epochs["producer_epoch"]] == [
        *(0, 1, None, 4),
    ]
    # what a hole hides begins where it was last known
    assert list(found.epochs["from_time"]) == [at(0), at(10), at(20), at(30)]
    assert list(found.epochs["to_time"])[:3] == [at(10), at(20), at(30)]
    assert pd.isna(found.epochs["to_time"][3])
    assert list(found.transactions["ended_at"].dropna()) == [at(11), at(16)]
    assert list(found.fencings["client_id"]) == ["old"]
    assert list(found.fencings["fencings"]) == [2]
    assert list(found.dangling["partition"]) == [0]
    assert producer_drawing.picture(found, "svg")[1] == (
        "3 epochs, 3 transactions (1 committed, 1 open, 1 unknown), 2 requests fenced, 1 dangling"
    )
    part = producer_reading.read(reader, "tx", "a", at(12).to_pydatetime(), at(18).to_pydatetime())
    assert list(part.epochs["producer_epoch"]) == [1]
    assert [len(rows) for rows in (part.transactions, part.fencings, part.dangling)] == [1, 0, 0]
    only = producer_reading.read(reader, "fenced")
    assert [len(rows) for rows in (only.epochs, only.fencings)] == [0, 1]
    with pytest.raises(PlotError, match="Nothing is known of transactional id 'tx' in that time"):
        producer_reading.read(reader, "tx", end=at(-60).to_pydatetime())


def test_the_command_draws_a_transactional_id(
    plot: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert plot("--transactional-id", "tx") == commands.OK
    assert "tx-epochs.svg: 3 epochs, 3 transactions" in capsys.readouterr().out
    ElementTree.fromstring((tmp_path / "tx-epochs.svg").read_bytes())
    assert plot("--transactional-id", "tx", "--cluster", "a", "--out", "tx.png") == commands.OK
    assert (tmp_path / "tx.png").read_bytes().startswith(b"\x89PNG")
    assert plot("--transactional-id", "t") == cli.BAD_USAGE
    assert "No transactional id 't'. Near: 'tx'" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["orders", "--transactional-id", "tx"]])
def test_one_group_or_transactional_id_is_drawn(
    plot: Callable[..., int], capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        plot(*arguments)
    assert caught.value.code == cli.BAD_USAGE
    assert "GROUP" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["othr"], "No group 'othr'. Near: 'other'."),
        (["orders"], "Choose one with --cluster"),
        (["orders", "--cluster", "c"], "No cluster 'c'"),
        (["other", "--out", "picture.gif"], ".svg or .png"),
        (["other", "--out", "none/picture.svg"], "no such folder"),
        (["other", "--out", "folder.svg"], "folder.svg"),
        (["other", "--from", "2026-01-03", "--to", "2026-01-02"], "--from must be before --to"),
        (["other", "--to", "2025-01-01"], "in that time"),
    ],
)
def test_what_cannot_be_drawn_is_bad_usage(
    plot: Callable[..., int],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    words: str,
) -> None:
    (tmp_path / "folder.svg").mkdir()
    assert plot(*arguments) == cli.BAD_USAGE
    assert words in capsys.readouterr().err
    assert [path for path in tmp_path.rglob("*.*g") if path.is_file()] == []


def test_a_wrong_time_is_bad_usage(plot: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        plot("other", "--from", "yesterday")
    assert caught.value.code == cli.BAD_USAGE
    assert "is no time like" in capsys.readouterr().err
