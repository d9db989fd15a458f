"""Keys, request lines, the metadata log and columns: what every replay needs beside its log."""

from __future__ import annotations

import datetime as dt
import pickle
from dataclasses import replace

import pyarrow as pa

from fencepost.protocols.offset_commit import tables
from fencepost.replay.columns import Columns
from fencepost.replay.histories import History, Point, interval
from fencepost.replay.keys import OFFSETS_TOPIC, coordinator_partition, digest_of, topic_key
from fencepost.replay.metadata import ClusterMetadata, Sighting, Topics
from fencepost.replay.metadata_log import Hole, MetadataLog
from fencepost.replay.metadata_records import (
    PARTITION,
    PARTITION_CHANGE,
    REGISTER_BROKER,
    TOPIC,
    UNFENCE_BROKER,
    MetadataRecord,
)
from fencepost.replay.placement import Home, Placement
from fencepost.replay.requests import error_name, read_lines


def test_keys_are_java_s_and_kafka_s() -> None:
    assert coordinator_partition("polygenelubricants", 50) == 0  # its hash code has no positive twin
    assert coordinator_partition("group", 50) == 98629247 % 50
    assert coordinator_partition("", 50) == 0
    assert topic_key("id", "name", 3) == "id:3"
    assert topic_key(None, "name", 3) == "name/name:3"
    assert digest_of("a", None, 1) == digest_of("a", 1)


def test_a_name_means_one_incarnation_at_a_time() -> None:
    topics = Topics([Sighting("t", "new", 500), Sighting("t", "old", 100)], [Sighting("u", "seen", 300)])
    assert [topics.id_at("t", ms) for ms in (0, 100, 499, 500, 9999)] == ["old", "old", "old", "new", "new"]
    assert (topics.id_at("u", 0), topics.id_at("v", 0), topics.name_of("seen")) == ("seen", None, "u")
    assert [topics.id_during("t", *times) for times in ((0, 499), (499, 500), (500, 9999))] == [
        "old", None, "new",
    ]  # fmt: skip
    assert (topics.id_during("u", 0, 400), topics.id_during("v", 0, 400)) == ("seen", None)
    created_elsewhere = Topics([Sighting("t", "old", 100)], [Sighting("t", "old", 50)])
    assert created_elsewhere.incarnations() == Topics([Sighting("t", "old", 100)]).incarnations()


def test_a_late_commit_with_an_id_that_no_creation_has_begins_no_topic() -> None:
    """Of the topic before, whose creation no snapshot has any more."""
    late = [Sighting("t", "gone", 900)]
    log = MetadataLog.of_records(
        MetadataRecord(offset, ms, TOPIC, {"name": name, "topic_id": name.upper()})
        for offset, (ms, name) in enumerate([(500, "t"), (1000, "u")])
    )
    by_several_clocks = ClusterMetadata.of(log, late).topics
    register = MetadataRecord(2, 1000, REGISTER_BROKER, {"broker_id": 1, "features": []})
    pieces = (*log.pieces, *MetadataLog.of_records([register]).pieces)
    by_one_clock = ClusterMetadata.of(replace(log, pieces=pieces), late).topics
    assert [by_one_clock.id_at("t", ms) for ms in (400, 500, 900, 9999)] == ["gone", "T", "T", "T"]
    assert by_one_clock.name_of("gone") == "t"
    # a controller may have created it meanwhile, and behind the end of the log it does
    assert by_several_clocks.id_at("t", 900) == "gone"
    behind = ClusterMetadata.of(replace(log, pieces=pieces), [Sighting("t", "next", 1001)]).topics
    assert [behind.id_at("t", ms) for ms in (1000, 1001)] == ["T", "next"]
    hole = (log.pieces[0], Hole(1, 600), *pieces[1:])
    behind_a_hole = ClusterMetadata.of(replace(log, pieces=hole), late).topics
    assert behind_a_hole.id_at("t", 900) == "gone"


def test_the_metadata_log_tells_leaders_and_registrations() -> None:
    partition = {"topic_id": "O", "partition_id": 0}
    features = [{"name": "metadata.version", "min_supported_version": 7, "max_supported_version": 30}]
    records = [
        MetadataRecord(0, 10, REGISTER_BROKER, {"broker_id": 1, "features": []}),
        MetadataRecord(1, 20, TOPIC, {"name": OFFSETS_TOPIC, "topic_id": "O"}),
        MetadataRecord(2, 20, PARTITION, {**partition, "leader": 1, "leader_epoch": 0}),
        MetadataRecord(3, 30, PARTITION_CHANGE, {**partition, "leader": -2}),
        MetadataRecord(4, 40, PARTITION_CHANGE, {**partition, "leader": -1}),
        MetadataRecord(5, 50, PARTITION_CHANGE, {**partition, "leader": 2}),
        MetadataRecord(6, 60, REGISTER_BROKER, {"broker_id": 1, "features": features}),
    ]
    metadata = pickle.loads(pickle.dumps(ClusterMetadata.of(MetadataLog.of_records(reversed(records)))))
    assert metadata.partition_counts == {OFFSETS_TOPIC: 1}
    # nobody led epoch 1
    assert metadata.leaders(OFFSETS_TOPIC, 0) == {0: 1, 2: 2}
    versions = [metadata.registration(1, ms) for ms in (9, 10, 59, 60)]
    assert [each and each.metadata_version for each in versions] == [None, None, None, 30]
    assert metadata.registration(2, 99) is None


def test_a_broker_counts_a_coordinators_topic_when_it_starts() -> None:
    hour, group = 3_600_000, "gb"
    starts = [(0, 0, 1), (0, 0, 2), (0, 12 * hour, 4), (30 * hour, 30 * hour, 1)]
    brokers = [
        MetadataRecord(0, ms, kind, {"broker_id": broker, "id": broker, "epoch": 0})
        for start_ms, ready_ms, broker in starts
        for kind, ms in ((REGISTER_BROKER, start_ms), (UNFENCE_BROKER, ready_ms))
    ]
    records = [
        MetadataRecord(2, 1, TOPIC, {"name": OFFSETS_TOPIC, "topic_id": "O"}),
        *(
            MetadataRecord(3 + n, 2 if n == 0 else 10 * hour, PARTITION, {"topic_id": "O", "partition_id": n})
            for n in range(5)
        ),
        *brokers,
    ]
    records = [
        replace(each, offset=n) for n, each in enumerate(sorted(records, key=lambda each: each.timestamp_ms))
    ]
    metadata = ClusterMetadata.of(MetadataLog.of_records(records))
    placement = Placement.of(OFFSETS_TOPIC, {"c": metadata}, [{("c", "O", group, 0): 29 * hour}])
    new = coordinator_partition(group, 5)
    assert new != 0 and placement.timed == {"c"} and placement.moved("c") == {group}

    def partition(broker_id: int, hours: int) -> int | None:
        return placement.home_of("c", group, broker_id, hours * hour, hours * hour).partition

    # the records of the group in the old partition say nothing of a broker that was restarted
    assert [partition(1, hours) for hours in (5, 20, 30, 35)] == [0, 0, None, new]
    assert [partition(2, hours) for hours in (5, 20, 30, 35)] == [0, 0, 0, 0]
    assert partition(3, 5) == 0 and partition(3, 35) is None  # no start of it is known
    assert partition(4, 20) is None  # it loaded its logs while the topic grew
    assert placement.home_of("c", group, 2, 0, 0) == Home(0)


def test_request_lines_come_in_the_order_of_their_answers() -> None:
    rows = [
        ("second", 2000, 10.7, 8, '{"groupId": "g"}', '{"errorCode": 0}'),
        ("first", 1000, 0.2, 8, '{"groupId": "h"}', None),
        ("other", 1000, 0.2, 3, "{}", "{}"),
        ("cut", 1000, 0.2, 8, '{"groupId', None),
    ]
    columns = {
        "line_digest": [row[0] for row in rows],
        "logged_at_ms": [row[1] for row in rows],
        "total_time_ms": [row[2] for row in rows],
        "api_key": pa.array([row[3] for row in rows], pa.int32()),
        "request": [row[4] for row in rows],
        "response": [row[5] for row in rows],
    }
    for name, value in {
        "cluster": "c", "broker_id": 1, "api_version": 9, "correlation_id": 1, "client_id": "x",
        "connection": "y", "file": "f", "position": 0,
    }.items():  # fmt: skip
        columns[name] = [value] * len(rows)
    first, second = read_lines(pa.table(columns), {8})
    assert (first.requested_ms, first.responded_ms, first.answer) == (999, 1000, None)
    assert (second.requested_ms, second.sent, second.answer) == (1989, {"groupId": "g"}, {"errorCode": 0})
    assert second.request_id == digest_of("c", 1, "second")
    assert [error_name(code) for code in (0, 25, 9999, None)] == [
        "NONE",
        "UNKNOWN_MEMBER_ID",
        "ERROR_9999",
        None,
    ]


def test_rows_become_arrow_by_the_table_s_schema() -> None:
    columns = Columns(tables.COVERAGE)
    for number in range(10_000):
        columns.add("c", "g", number, 0, None if number else True, 1, None, 1500, None)
    found = columns.to_arrow()
    assert found.num_rows == 10_000
    assert found.schema.names == list(tables.COVERAGE.columns)
    at = dt.datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=dt.UTC)
    first = found.slice(0, 1).to_pylist()[0]
    assert (first["covered"], first["from_time"], first["to_time"]) == (True, at, None)
    assert found.schema.field("from_time").type == pa.timestamp("us", tz="UTC")


def test_a_history_is_cut_by_a_range() -> None:
    history: History[str] = History()
    for at, state in ((10, "a"), (20, "b"), (30, "c")):
        history.add(Point(at, at * 100), state)
    assert history.between(Point(15, 1), Point(30, 2)) == [("a", (15, 20, 1, 2000)), ("b", (20, 30, 2000, 2))]
    assert history.between(Point(5, 1), Point(10, 2)) == []
    assert history.between(Point(30, 3), None) == [("c", (30, None, 3, None))]
    assert History[str]().between(Point(0, 0), None) == []
    assert interval(Point(3, 0), Point(3, 1)) is None
