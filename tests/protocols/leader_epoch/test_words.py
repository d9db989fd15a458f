"""What is said and drawn of topics, offsets and brokers, from the marts' golden rows, read without Spark."""

from __future__ import annotations

import datetime as dt
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from golden_marts import open_golden_marts
from matplotlib.figure import Figure
from pictures import gids

from fencepost.plots.reading import PlotError
from fencepost.protocols.leader_epoch import explanation
from fencepost.protocols.leader_epoch import report as reports
from fencepost.protocols.leader_epoch.plot import drawing, layout, reading
from fencepost.protocols.leader_epoch.plot.reading import EPOCH_COLUMNS, INCARNATION_COLUMNS, MARK_COLUMNS
from fencepost.reading import Reader
from fencepost.report.wording import log_of
from fencepost.tables import RECORDS

HOSTILE = "pay'ments:\n$1"


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """A lake with the golden rows of the marts of this protocol, in cluster prod; cluster quiet has none."""
    folder = tmp_path_factory.mktemp("lake")
    with open_golden_marts(folder, "leader_epoch", records=_lost_markers()) as opened:
        yield opened


def _lost_markers() -> pa.Table:
    """Markers at offsets 24 to 27 of the log that an election cut at 25, and one that replaced the last."""
    names = ("leader_epoch", "record_offset", "record_type", "is_control")
    markers = [(0, 24, 1, True), (0, 25, 1, True), (0, 26, 0, True), (0, 27, 2, True), (1, 27, 1, True)]
    place = {"cluster": "prod", "topic": "-dash", "partition": 0, "topic_id": "idB1"}
    rows = [{**place, **dict(zip(names, marker, strict=True))} for marker in [*markers, markers[1]]]
    return pa.Table.from_pylist(rows, RECORDS.arrow_schema)


def test_one_lost_marker_is_named(reader: Reader) -> None:
    row = {"elected_at": None, "topic": "t", "partition": 0, "leader_epoch": 3, "leader": 2, "how": "unclean"}
    row |= {"records_lost": 1, "lost_from": 5, "lost_to": 6, "lost_brokers": ["1"]}
    assert reports.loss(row, ["1 COMMIT marker"]) == (
        "(time unknown)  t-0 at leader epoch 3 (broker 2, unclean): 1 record, offset 5, a COMMIT marker; "
        "the log of broker 1 had it"
    )


def test_records_that_were_not_committed_are_not_said_to_be_lost_to_their_producers() -> None:
    """A leader was moved while it was written to, and the log of the broker that led before was kept."""
    row = {"elected_at": None, "topic": "t", "partition": 0, "leader_epoch": 1, "leader": 1, "how": "clean"}
    row |= {"records_lost": 2, "lost_from": 5, "lost_to": 7, "lost_brokers": ["2"]}
    words = (
        "(time unknown)  t-0 at leader epoch 1 (broker 1, clean): 2 records, offsets 5 to 6; the log of "
        "broker 2 had them; unless the new leader itself had lost them, they were not committed: no producer "
        "with acks=all was told that they were stored"
    )
    assert reports.loss(row, []) == words
    assert reports.loss({**row, "how": "preferred"}, []) == words.replace("1, clean", "1, preferred")
    one = words.replace("2 records, offsets 5 to 6", "1 record, offset 5").replace("they were", "it was")
    row |= {"records_lost": 1, "lost_to": 6}
    assert reports.loss(row, []) == one.replace(" them", " it")
    assert "committed" not in reports.loss({**row, "how": "unclean"}, [])


@pytest.mark.parametrize(
    ("brokers", "words"),
    [
        ([1], "1 broker shut down in good order."),
        ([1, 2], "2 brokers shut down in good order."),
        ([1, 1], "1 broker shut down in good order, 2 times in all."),
        ([1, 2, 1], "2 brokers shut down in good order, 3 times in all."),
    ],
)
def test_a_broker_that_is_restarted_is_one_broker(brokers: list[int], words: str) -> None:
    assert reports.shutdowns([{"broker_id": broker} for broker in brokers]) == words


@pytest.mark.parametrize(
    ("elections", "unknown", "losing", "words"),
    [
        (1, 1, 0, "1 election was unclean, and it is not known what it lost."),
        (3, 1, 0, "3 elections were unclean, of 1 it is not known what it lost."),
        (3, 0, 1, "3 elections were unclean."),
        (3, 0, 0, "3 elections were unclean: nothing was lost."),
    ],
)
def test_an_unclean_election_says_whether_anything_was_lost(
    elections: int, unknown: int, losing: int, words: str
) -> None:
    row = {"elections": elections, "unknown": unknown, "losing": losing}
    assert reports.unclean_elections(row) == words


@pytest.mark.parametrize(
    ("is_replaced", "moved", "words"),
    [
        (False, 3, "Log directory d1 of broker 3 had failed by 2026-03-01 10:00:00.000 UTC: 3 leaders moved"),
        (
            True, 1,
            "Broker 3 came back without its log directory d1 at 2026-03-01 10:00:00.000 UTC: 1 partition "
            "that nobody else led begins anew, unless the records were moved along",
        ),
    ],
    ids=["failed", "replaced"],
)  # fmt: skip
def test_a_replaced_disk_is_no_failed_directory(is_replaced: bool, moved: int, words: str) -> None:
    row = {
        "broker_id": 3, "is_replaced": is_replaced, "failed_log_dir": "d1", "moved": moved, "leaderless": 0,
        "failed_at": dt.datetime(2026, 3, 1, 10, tzinfo=dt.UTC),
    }  # fmt: skip
    assert reports.failed_directory(row) == words


def test_the_report_begins_with_what_is_lost(reader: Reader) -> None:
    lines = reports.Incarnations(reader)("prod")
    assert "\n".join(lines) == (Path(__file__).parent / "report.txt").read_text(encoding="utf-8").rstrip("\n")


def test_of_a_quiet_cluster_nothing_is_reported(reader: Reader) -> None:
    assert reports.Incarnations(reader)("quiet") == []


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("k1", "committed offset 30 of pay'ments:\\n$1-0 at leader epoch 0; it was stored."),
        (
            "k1",
            "It is of topic id idA1; topic id idA2 lived then. KIP-232 says INVALID_PARTITION",
        ),
        ("k4", "It is of an incarnation that nothing tells; topic id idA1 lived then."),
        ("k13", "by topic id idA1 at leader epoch 0; it was refused (UNKNOWN_TOPIC_ID)."),
        (
            "f3",
            "at offset 8, the one its group had committed, and was answered by broker",
        ),
        ("f6", "and was told that the logs part at offset 25 by broker 1"),
        ("f8", "which it had from elsewhere, and was answered"),
        ("f9", "and was refused (FENCED_LEADER_EPOCH) by broker 1"),
        ("a3", "broker 3, 20.0 s behind the metadata log at least, told client one's"),
        ("a3", "The client had topic id idA2, leader epoch 0, and took it."),
        (
            "a4",
            "refused it.\nKIP-232 says OUTDATED, the shipped rule OUTDATED, KIP-232",
        ),
        ("a6", "may have taken it, which is not known.\nKIP-232 says unknown"),
    ],
)
def test_a_verdict_is_told_by_the_row_it_is_about(reader: Reader, key: str, words: str) -> None:
    verdicts = [
        {"verdict_id": name, "module": module, "witness": witness}
        for name, module, witness in (
            ("v", "LeaderEpochProps", json.dumps({"c": key})),
            ("w", "LeaderEpochProps", json.dumps({"c": "nobody", "d": 7})),
            ("x", "LeaderEpochProps", None),
            ("y", "OffsetCommitProps", json.dumps({"c": key})),
        )
    ]
    told = explanation.explain(reader, verdicts)
    assert told.keys() == {"v"}
    assert words in told["v"].sentence
    assert told["v"].file and told["v"].position > 0


@pytest.mark.parametrize(
    ("begins", "words"),
    [(12, "the log has its first batch at offset 12."), (None, "the log has no batch of it.")],
)
def test_a_checkpoint_is_told_with_its_broker_and_both_offsets(begins: int | None, words: str) -> None:
    entry = {"cluster": "prod", "entry_id": "e1", "topic": "t", "partition": 0, "broker_id": 1, "file": "f"}
    entry |= {"captured_at": dt.datetime(2026, 3, 1), "leader_epoch": 1, "start_offset": 8}
    rows = pa.Table.from_pylist([entry | {"batches_start_offset": begins}])
    reader: Any = SimpleNamespace(has=lambda name: "entries" in name, scan=lambda *_, where: rows)
    verdict = {"verdict_id": "v", "module": "LeaderEpochProps", "witness": json.dumps({"e": "e1"})}
    told = explanation.explain(reader, [verdict])["v"]
    assert told.sentence == (
        "2026-03-01 00:00:00.000 UTC  when it was read, the leader-epoch-checkpoint of broker 1 for t-0 had "
        f"leader epoch 1 begin at offset 8; {words}"
    )
    assert told.file is None


def test_partitions_of_topics_that_are_gone_have_names(reader: Reader) -> None:
    assert explanation.topic_names(reader) == {
        **{"idA1": HOSTILE, "idA2": HOSTILE, "idB1": "-dash"},
        **{"idC1": "gone", "idD1": "hidden"},
    }


def test_a_scope_is_named_by_its_log() -> None:
    scope = json.dumps({"log": "AAAAAAAAAAAAAAAAAAAAAQ:__cluster_metadata-0"})
    assert log_of(scope) == "__cluster_metadata-0"


def test_a_topics_rows_are_read(reader: Reader) -> None:
    found = reading.read(reader, HOSTILE)
    assert (found.cluster, found.topic) == ("prod", HOSTILE)
    assert tuple(found.incarnations) == INCARNATION_COLUMNS
    assert tuple(found.epochs) == EPOCH_COLUMNS
    assert tuple(found.marks) == MARK_COLUMNS
    assert list(found.incarnations["topic_id"]) == ["idA1", "idA2"]
    # an epoch ends with the next one, or with its topic
    first, second, third = found.epochs.to_dict("records")
    assert (first["topic_id"], first["ended_at"]) == ("idA1", found.incarnations["removed_at"][0])
    assert second["ended_at"] == third["elected_at"]
    assert pd.isna(third["ended_at"])
    kinds = found.marks.groupby("kind")["marks"].sum().to_dict()
    assert kinds == {"live": 5, "unknown": 3, "refused": 1, "orphaned": 5, "read_on": 2, "reset": 1}


def test_a_moment_limits_what_is_read(reader: Reader) -> None:
    start = dt.datetime(2026, 3, 1, 10, 5, 31)
    found = reading.read(reader, HOSTILE, "prod", start, start + dt.timedelta(seconds=2))
    assert set(found.marks["group_id"]) == {"older", "by-name-2", "fresh"}
    assert list(found.incarnations["topic_id"]) == ["idA2"]
    with pytest.raises(PlotError, match="No topic 'nowhere'"):
        reading.read(reader, "nowhere")
    with pytest.raises(PlotError, match="Nothing is known of topic 'hidden' in that time"):
        reading.read(reader, "hidden", "prod", start)


def texts(figure: Figure, gid: str) -> list[str]:
    return [each.get_text() for each in figure.findobj(lambda each: each.get_gid() == gid)]  # type: ignore[attr-defined]


def test_incarnations_are_bands_and_an_orphan_is_seen(reader: Reader) -> None:
    found = reading.read(reader, HOSTILE)
    figure = drawing.draw(found, layout.arrange(found))
    assert {"incarnation:0", "incarnation:1", "marks:orphaned", "marks:read_on"} <= gids(figure)
    assert texts(figure, "name:0") == ["incarnation 1: idA1"]
    assert texts(figure, "title") == ["Topic pay'ments:\\n$1"]
    assert texts(figure, "findings") == [
        "2 incarnations, 3 leader epochs (0 unclean), 0 records lost, 14 commits, 5 of an earlier topic, "
        "2 read on from"
    ]
    assert texts(figure, "label:reset") == ["began at 2: topic recreated"]
    assert layout.MARKS[-2].size == max(kind.size for kind in layout.MARKS)


def test_an_unclean_election_and_what_it_lost_are_marked(reader: Reader) -> None:
    found = reading.read(reader, "-dash")
    figure = drawing.draw(found, layout.arrange(found))
    assert {"steps:unclean", "steps:none", "steps:created", "marks:lost", "marks:past_truncation"} <= gids(
        figure
    )
    assert texts(figure, "label:lost") == ["15 records lost"]
    assert texts(figure, "leader") == ["no leader", "broker 2", "broker 1"]
    words = [text.get_text() for text in figure.legends[0].get_texts()]
    assert {"RECORDS LOST: 15", "ELECTED UNCLEAN: 1", "committed past a truncation: 2"} <= set(words)


def test_a_pictures_bytes_follow_from_its_rows(reader: Reader) -> None:
    pictures = {drawing.picture(reading.read(reader, HOSTILE), "svg")[0] for _ in range(2)}
    assert len(pictures) == 1


NOON = pd.Timestamp("2026-01-02 12:00:00")
NAMES = [
    "",
    "a\nb\r\tc",
    "$\\frac{1}{0}$ _^{",
    "\x00\x1b[31m",
    "\u202eevil",
    "عميل عربي",
    "\ud800 alone",
    "x" * 70_000,
]


def timeline(
    lives: list[tuple[Any, ...]], epochs: list[tuple[Any, ...]], marks: list[tuple[Any, ...]], name: str = "t"
) -> reading.TopicTimeline:
    times = ("created_at", "removed_at", "elected_at", "ended_at", "at")
    frames = [
        pd.DataFrame(rows, columns=list(columns)).astype(
            {each: "datetime64[us]" for each in columns if each in times}
        )
        for rows, columns in (
            (lives, INCARNATION_COLUMNS),
            (epochs, EPOCH_COLUMNS),
            (marks, MARK_COLUMNS),
        )
    ]
    return reading.TopicTimeline("prod", name, *frames)


LIFE = ("id", None, pd.NaT, pd.NaT)
EPOCH = (0, "id", 0, None, None, None, NOON, pd.NaT, 1)


@pytest.mark.parametrize(
    "of",
    [
        timeline([LIFE], [EPOCH], []),
        timeline([], [], [("g", "live", 0, None, NOON, 1)]),
        timeline([LIFE], [], [("g", "orphaned", 2**62, None, NOON, 1)]),
        timeline([LIFE, ("id2", 2, NOON, NOON)], [(*EPOCH[:2], 2**31 - 1, *EPOCH[3:])], []),
    ],
)
def test_little_is_drawn_without_a_word(of: reading.TopicTimeline) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert drawing.picture(of, "svg")[0].startswith(b"<?xml")


@pytest.mark.parametrize("name", NAMES)
def test_a_hostile_name_is_one_line_of_text(name: str) -> None:
    of = timeline([LIFE], [EPOCH], [(name, "live", 3, None, NOON, 1)], name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = drawing.draw(of, layout.arrange(of))
        assert drawing.picture(of, "svg")[0]
    for (text,) in (texts(figure, "lane:1"), texts(figure, "title")):
        assert text.isprintable() or "\u200e" in text
        assert len(text) < 120


def test_lanes_are_not_dropped_silently() -> None:
    lost = [(n, "id", 0, 1, "unclean", n, NOON, pd.NaT, 1) for n in range(layout.MOST_PARTITIONS + 3)]
    groups = [(f"g{n}", "orphaned" if n == 40 else "live", n, None, NOON, 1) for n in range(41)]
    of = timeline([LIFE], lost, groups)
    made = layout.arrange(of)
    assert made.left_out == (3, 41 - layout.MOST_GROUPS)
    assert [lane.name for lane in made.partitions] == [f"partition {n}" for n in range(3, 19)]
    assert "g40" in [lane.name for lane in made.groups]
    (words,) = texts(drawing.draw(of, made), "left_out")
    assert words.startswith("3 partitions and 17 groups are left out")
