"""Pictures of a group's epochs: what is drawn where, and names that try to break it."""

from __future__ import annotations

import datetime as dt
import warnings
from functools import partial
from typing import Any

import matplotlib as mpl
import pandas as pd
import pytest
from matplotlib.figure import Figure
from pictures import HOSTILE, artist, assert_sound, at, day, gids, segments

from fencepost.plots import canvas
from fencepost.plots import layout as shared
from fencepost.protocols.offset_commit.plot import drawing, layout
from fencepost.protocols.offset_commit.plot.reading import (
    COMMIT_COLUMNS,
    GROUP_COLUMNS,
    MEMBER_COLUMNS,
    OWNERSHIP_COLUMNS,
    REMARKABLE_COLUMNS,
    Timeline,
)


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
    assert_sound(partial(drawing.picture, of))
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
    svg, words = drawing.picture(many, "svg")
    assert b"<image" in svg
    assert len(svg) < 2_000_000
    assert words.startswith("200,000 commits")


def test_the_same_rows_give_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    of = timeline(LIFE, [commit("m1", 1, 5, "zombie"), commit("m2", 2, 15)])
    for kind in ("svg", "png"):
        content = drawing.picture(of, kind)
        with mpl.rc_context({"font.size": 20, "axes.facecolor": "red", "svg.hashsalt": "other"}):
            assert drawing.picture(of, kind) == content


def owned(of: list[tuple[str, int, str, float, float | None]]) -> pd.DataFrame:
    """Topic, partition, owner, and from when to when it owned that."""
    rows = [(topic, partition, owner, at(start), at(end)) for topic, partition, owner, start, end in of]
    times = dict.fromkeys(("from_time", "to_time"), "datetime64[us]")
    return pd.DataFrame(rows, columns=list(OWNERSHIP_COLUMNS)).astype(times)


def remarkable(of: list[tuple[str, str, str, str, int, int, float]]) -> pd.DataFrame:
    """Member, truth, answer, topic, partition, offset and time of commits."""
    rows = [(member_id, 1, *rest, at(when)) for member_id, *rest, when in of]
    return pd.DataFrame(rows, columns=list(REMARKABLE_COLUMNS)).astype({"responded_at": "datetime64[us]"})


def test_who_owned_the_partition_of_a_zombies_commit() -> None:
    of = timeline(
        LIFE,
        [commit("m1", 1, 25, "zombie")],
        end=at(60).to_pydatetime(),
        remarkable=remarkable([("m1", "zombie", "accept", "orders", 2, 1028, 25)]),
        ownership=owned(
            [("orders", 2, "m1", 0, 10), ("orders", 2, "m2", 12, None), ("orders", 1, "m1", 0, 9)]
        ),
    )
    figure = drawn(of)
    assert artist(figure, "lane:3").get_text() == "orders-2"
    assert figure.axes[0].get_ylim() == (-3, 1)
    bands = [
        each.get_paths()[0].get_extents() for each in figure.axes[0].collections if each.get_gid() == "owners"
    ]
    assert [(band.x0, band.x1) for band in bands] == [
        (pytest.approx(day(0)), pytest.approx(day(10))),
        (pytest.approx(day(12)), pytest.approx(day(60))),
    ]
    assert artist(figure, "offset").get_text() == "1028 of orders-2"
    marks = [each for each in figure.axes[0].collections if each.get_gid() == "marks:accepted_zombie"]
    assert [len(each.get_offsets()) for each in marks] == [
        1,
        1,
    ]  # in the member's lane and in the partition's


def test_a_partition_that_went_from_member_to_member_is_shown_without_a_commit() -> None:
    of = timeline(
        LIFE,
        [],
        end=at(60).to_pydatetime(),
        remarkable=remarkable([]),
        ownership=owned(
            [("orders", 2, "m1", 0, 10), ("orders", 2, "m2", 12, None), ("orders", 1, "m1", 0, 9)]
        ),
    )
    (shown,) = layout.arrange(of).partitions
    assert (shown.name, [band.member_id for band in shown.bands]) == ("orders-2", ["m1", "m2"])
    assert_sound(partial(drawing.picture, of))


def test_partitions_with_the_gravest_commits_are_shown() -> None:
    count = layout.MOST_PARTITIONS + 1
    commits = [("m1", "not_owner", "accept", "orders", number, 5, 25) for number in range(count)]
    commits.append(("m1", "zombie", "accept", "x\n\u202e" * 90, 0, 5, 25))
    of = timeline(LIFE, [], remarkable=remarkable(commits), ownership=owned([]))
    shown = [lane.name for lane in layout.arrange(of).partitions]
    assert (len(shown), sum(name.startswith("orders-") for name in shown)) == (count - 1, count - 2)
    assert_sound(partial(drawing.picture, of))


def test_commits_that_were_accepted_of_others_are_counted() -> None:
    figure = drawn(timeline(LIFE, [commit("m2", 1, 25, "not_owner")]))
    assert artist(figure, "findings").get_text().endswith("0 owners refused, 1 accepted of others")
    assert artist(figure, "findings").get_color() == canvas.ALARM
