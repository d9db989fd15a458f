"""What brokers keep beside their segments, and what they tell clients of topics: each content once."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fencepost import tables
from fencepost.protocols.leader_epoch.bronze import LEADER_EPOCH_CHECKPOINTS, PARTITION_FOLDERS
from fencepost.settings import Broker, load

if TYPE_CHECKING:
    from conftest import Site

EVERYWHERE = pytest.mark.parametrize("site", ["process", "processes", "spark"], indirect=True)
TOPIC_ID = "PSvpru7T6iKzcADdw-lUwQ"


def partition(site: Site, name: str = "orders-3", topic_id: str = TOPIC_ID) -> Path:
    folder = site.folder / "data" / name
    folder.mkdir(parents=True)
    (folder / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}")
    (folder / f"{0:020d}.log").touch()
    return folder


def checkpoint(*entries: tuple[int, int]) -> str:
    return "".join([f"0\n{len(entries)}\n", *(f"{epoch} {offset}\n" for epoch, offset in entries)])


def epochs(site: Site) -> list[tuple[str, int | None, int | None]]:
    rows = sorted(site.rows(LEADER_EPOCH_CHECKPOINTS), key=lambda row: (row["captured_at"], row["position"]))
    assert {(row["topic"], row["topic_id"], row["partition"]) for row in rows} <= {("orders", TOPIC_ID, 3)}
    return [(row["state"], row["leader_epoch"], row["start_offset"]) for row in rows]


def test_a_checkpoint_counts_with_each_content_it_had(site: Site) -> None:
    folder = partition(site)
    file = folder / "leader-epoch-checkpoint"
    broker = Broker(1, log_dirs=site.glob("data"))
    expected: list[tuple[str, int | None, int | None]] = []

    def expect(text: str, *new: tuple[str, int | None, int | None]) -> None:
        file.write_text(text)
        for _ in range(2):
            site.capture(broker)
            assert epochs(site) == expected + list(new)
        expected.extend(new)

    first, second = ("live", 0, 0), ("live", 4, 17)
    expect(checkpoint(), ("live", None, None))
    expect(checkpoint((0, 0)), first)
    expect(checkpoint((0, 0), (4, 17)), first, second)
    # a truncation, and another epoch at the same place: nothing of it was there before
    expect(checkpoint((0, 0), (5, 17)), first, ("live", 5, 17))
    expect(checkpoint((0, 0)))
    # what a broker leaves that is killed before it writes: it tells nothing, and nothing is damaged
    expect("")
    assert site.quarantine() == {}
    # while it is damaged it tells nothing, and is looked at again
    for damaged, reason, position in (
        ("1\n0\n", "unreadable", 0),
        ("0\n2\n0 0\n", "truncated", 0),
        ("0\n1\n0 x\n", "bad_record", 4),
    ):
        expect(damaged)
        assert site.quarantine() == {file.name: (reason, position)}
    expect(checkpoint((7, 20)), ("live", 7, 20))
    assert site.quarantine() == {}
    # the topic goes: the folder is renamed, and what it holds is that of a deleted replica
    folder.rename(folder.with_name(f"{folder.name}.{'0f' * 16}-delete"))
    site.capture(broker)
    assert epochs(site) == [*expected, ("delete", 7, 20)]
    folders = {(row["state"], row["topic_id"]) for row in site.rows(PARTITION_FOLDERS)}
    assert folders == {("live", TOPIC_ID), ("delete", TOPIC_ID)}


def test_a_topic_of_the_same_name_is_another_one(site: Site) -> None:
    broker = Broker(1, log_dirs=site.glob("data"))
    folder = partition(site)
    site.capture(broker)
    folder.rename(folder.with_name(f"{folder.name}.{'a0' * 16}-delete"))
    other = "QSvpru7T6iKzcADdw-lUwg"
    partition(site, topic_id=other)
    partition(site, f"{folder.name}.{'b0' * 16}-stray", "RSvpru7T6iKzcADdw-lUwg")
    (partition(site, "broken-0") / "partition.metadata").write_text("version: 0\n")
    # of a topic with a long name: there was no room for all of it
    suffix = f"-0.{'c0' * 16}-delete"
    partition(site, "a" * (255 - len(suffix)) + suffix, "TSvpru7T6iKzcADdw-lUwg")
    site.capture(broker)
    names = ("topic", "partition", "state", "topic_id")
    found = {tuple(row[name] for name in names) for row in site.rows(PARTITION_FOLDERS)}
    assert found == {
        ("orders", 3, "live", TOPIC_ID),
        ("orders", 3, "delete", TOPIC_ID),
        ("orders", 3, "live", other),
        ("orders", 3, "stray", "RSvpru7T6iKzcADdw-lUwg"),
    }
    assert site.quarantine() == {"partition.metadata": ("bad_record", 0)}


@pytest.mark.parametrize(
    "killed", ["leader_epoch_checkpoints", "partition_folders", "metadata_snapshots", "files"]
)
def test_a_run_killed_at_a_commit_is_repeated_without_loss(site: Site, captures: Path, killed: str) -> None:
    (partition(site) / "leader-epoch-checkpoint").write_text(checkpoint((0, 0), (4, 17)))
    snapshot(site, captures, 1)
    brokers = [Broker(1, log_dirs=site.glob("data")), Broker(2, log_dirs=site.glob("1"))]

    site.capture_until(f"bronze.{killed}", *brokers)
    site.capture(*brokers)
    assert epochs(site) == [("live", 0, 0), ("live", 4, 17)]
    assert len(site.rows(PARTITION_FOLDERS)) == 1
    assert len(site.rows(tables.METADATA_SNAPSHOTS)) == 8


def snapshot(site: Site, captures: Path, broker: int, cut: int = 0) -> Path:
    """A real one: a bootstrap.checkpoint is written as every snapshot of the metadata log is."""
    real = (captures / "failover-4.3.1" / "broker-1" / "log_dir" / "bootstrap.checkpoint").read_bytes()
    file = site.folder / str(broker) / "__cluster_metadata-0" / "00000000000000000042-0000000003.checkpoint"
    file.parent.mkdir(parents=True, exist_ok=True)
    (file.parent / f"{0:020d}.log").touch()
    file.write_bytes(real[: len(real) - cut])
    return file


@EVERYWHERE
def test_logs_of_a_broker_that_was_shut_down_end_where_it_says(site: Site, captures: Path) -> None:
    """Without the file that tells of a clean shutdown nothing is noted; a second run adds nothing."""
    folder = site.folder / "data"
    folder.mkdir()
    whole = captures / "producers-4.3.1" / "broker-1" / "log_dir"
    names = ("meta.properties", "recovery-point-offset-checkpoint")
    for name in names:
        (folder / name).write_bytes((whole / name).read_bytes())
    broker = Broker(1, log_dirs=site.glob("data"))
    for told in (None, "{}", '{"brokerEpoch": "12"}', "\xff", "[]"):
        if told is not None:
            (folder / ".kafka_cleanshutdown").write_text(told, encoding="latin-1")
        site.capture(broker)
        assert not site.rows(tables.LOG_ENDS)
    (folder / ".kafka_cleanshutdown").write_bytes((whole / ".kafka_cleanshutdown").read_bytes())
    for _ in range(2):
        site.capture(broker)
        lines = (whole / names[1]).read_text(encoding="utf-8").splitlines()[2:]
        rows = site.rows(tables.LOG_ENDS)
        assert sorted(f"{r['topic']} {r['partition']} {r['log_end_offset']}" for r in rows) == sorted(lines)
        assert {r["broker_epoch"] for r in rows} == {12}


def test_a_copy_of_a_started_broker_may_still_tell_of_its_shutdown(site: Site, captures: Path) -> None:
    """Its recovery points are newer than that. A checkpoint that was copied in part says nothing."""
    folder, whole = site.folder / "data", captures / "ends-4.3.1" / "broker-1" / "log_dir"
    shutil.copytree(whole, folder)
    checkpoint = folder / "recovery-point-offset-checkpoint"
    told = checkpoint.read_text()
    ends = {tuple(line.rsplit(" ", 1)) for line in told.splitlines()[2:]}
    log, end = max(ends, key=lambda each: int(each[1]))
    for changed in (told.replace(f"{log} {end}", f"{log} {int(end) - 1}"), told[:-2]):
        checkpoint.write_text(changed)
        site.capture(Broker(1, log_dirs=site.glob("data")))
        assert site.rows(tables.LOG_ENDS) == []
    checkpoint.write_text(told)
    site.capture(Broker(1, log_dirs=site.glob("data")))
    assert len(site.rows(tables.LOG_ENDS)) == len(ends)


def test_where_logs_begin_is_noted_once(site: Site) -> None:
    """Of the folder that is there: the checkpoint of a deleted topic is forgotten with it."""
    (site.folder / "data" / "orders-0").mkdir(parents=True)
    metadata = "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\n"
    (site.folder / "data" / "orders-0" / "partition.metadata").write_text(metadata)
    checkpoint = site.folder / "data" / "log-start-offset-checkpoint"
    for told in ("0\n2\norders 0 2\nwhole 1 0\n", "0\n1\norders 0 7\n"):
        checkpoint.write_text(told)
        for _ in range(2):
            site.capture(Broker(1, log_dirs=site.glob("data")))
    rows = site.rows(tables.LOG_STARTS)
    noted = sorted((r["topic"], r["topic_id"], r["partition"], r["log_start_offset"]) for r in rows)
    assert noted == [("orders", "AAAAAAAAAAAAAAAAAAAAAQ", 0, at) for at in (2, 7)]


def test_a_metadata_snapshot_counts_once_and_whole(site: Site, captures: Path) -> None:
    brokers = [Broker(each, log_dirs=site.glob(str(each))) for each in (1, 2, 3)]
    torn, cut = snapshot(site, captures, 1, cut=9), snapshot(site, captures, 2, cut=75)
    unknown = cut.with_name("00000000000000000043-0000000003.checkpoint.part")
    unknown.write_bytes(cut.read_bytes())
    (torn.parent / "quorum-state").touch()
    snapshot(site, captures, 3)
    site.capture(*brokers)

    def rows() -> list[tuple[int, int, int, str, str, int]]:
        names = ["snapshot_offset", "snapshot_epoch", "record_offset", "record_name", "decode_status"]
        names.append("broker_id")
        return sorted(tuple(row[name] for name in names) for row in site.rows(tables.METADATA_SNAPSHOTS))

    names = ["SNAPSHOT_HEADER", *["FeatureLevelRecord"] * 6, "SNAPSHOT_FOOTER"]
    states = ["control", *["known"] * 6, "control"]
    whole = [(42, 3, at, *said, 3) for at, said in enumerate(zip(names, states, strict=True))]
    assert rows() == whole
    faults = {(row["broker_id"], row["reason"]) for row in site.rows(tables.QUARANTINE)}
    assert faults == {(1, "truncated"), (2, "truncated")}
    # both are copied again, later one is about to be deleted: nothing is new, nothing is wrong any more
    snapshot(site, captures, 1)
    snapshot(site, captures, 2)
    for run_id in ("again", "and again"):
        site.capture(*brokers, run_id=run_id)
        assert (rows(), site.quarantine()) == (whole, {})
        if torn.exists():
            torn.rename(f"{torn}.deleted")
    # the same state at another offset
    snapshot(site, captures, 1).rename(torn.with_name("00000000000000000050-0000000003.checkpoint"))
    site.capture(*brokers, run_id="later")
    assert rows() == [*whole, *((50, 3, at, name, state, 1) for _, _, at, name, state, _ in whole)]


def test_a_metadata_snapshot_is_dated_by_the_log_whichever_replica_wrote_it(
    site: Site, captures: Path
) -> None:
    """Three replicas wrote it at three times, and each dated its records by that."""
    name = "00000000000000000187-0000000002.checkpoint"
    for number in (3, 1, 2):
        real = (
            captures / "incarnations-4.3.1" / f"broker-{number}" / "log_dir" / "__cluster_metadata-0" / name
        )
        copy = site.folder / str(number) / "__cluster_metadata-0" / name
        copy.parent.mkdir(parents=True)
        copy.write_bytes(real.read_bytes())
        site.capture(Broker(number, log_dirs=site.glob(str(number))))
    found = site.rows(tables.METADATA_SNAPSHOTS)
    assert {row["broker_id"] for row in found} == {3}
    # LastContainedLogTimestamp, as kafka-dump-log shows it
    assert {row["timestamp_ms"] for row in found} == {1795367006309}


@EVERYWHERE
def test_what_clients_are_told_of_topics_is_kept_once(site: Site, captures: Path) -> None:
    (cluster,) = load(captures / "producers-failover-4.3.1" / "fencepost.toml").clusters
    brokers = [Broker(each.id, request_logs=each.request_logs) for each in cluster.brokers]
    copied = site.folder / "kafka-request.log"
    shutil.copy(captures / "producers-failover-4.3.1" / "broker-1" / copied.name, copied)
    site.capture(*brokers, Broker(9, request_logs=site.glob(copied.name)))
    logged = {}
    for file in sorted((captures / "producers-failover-4.3.1").glob("broker-*/kafka-request.log*")):
        broker_id = int(file.parent.name.removeprefix("broker-"))
        data = file.read_bytes()
        text = gzip.decompress(data) if file.suffix == ".gz" else data
        for line in text.decode().splitlines():
            body = line.partition("Completed request:")[2].removesuffix(" (kafka.request.logger)")
            if '"requestApiKeyName":"METADATA"' in body:
                said = json.loads(body)
                key = (broker_id, said["requestHeader"]["clientId"], said["requestHeader"]["correlationId"])
                logged[key, said["connection"]] = said["response"]
    lists = {row["topics_digest"]: row["topic_digests"] for row in site.rows(tables.TOPIC_LISTS)}
    answers = {row["topic_digest"]: json.loads(row["topic"]) for row in site.rows(tables.TOPIC_ANSWERS)}
    assert len(site.rows(tables.TOPIC_LISTS)) == len(lists) < len(logged)
    assert len(site.rows(tables.TOPIC_ANSWERS)) == len(answers)
    found = {}
    for row in site.rows(tables.REQUESTS):
        if row["api_name"] == "METADATA" and row["broker_id"] != 9:
            response = json.loads(row["response"])
            response["topics"] = [answers[each] for each in lists[response["topics"]]]
            key = (row["broker_id"], row["client_id"], row["correlation_id"])
            found[key, row["connection"]] = response
    assert found == logged
    assert len(found) > 30


def test_a_topics_id_that_comes_late_is_given_to_what_was_read_before(site: Site, captures: Path) -> None:
    """A folder is copied file by file: the segments are there before ``partition.metadata`` is."""
    whole = captures / "troubled-4.2.1" / "broker-1" / "log_dir" / "__transaction_state-0"
    folder = site.folder / "data" / whole.name
    shutil.copytree(whole, folder)
    segment = next(folder.glob("*.log"))
    data, told = segment.read_bytes(), (folder / "partition.metadata").read_bytes()
    (folder / "partition.metadata").unlink()
    segment.write_bytes(data[: len(data) // 2])
    broker = Broker(1, log_dirs=site.glob("data"))
    site.capture(broker)
    before = site.rows(tables.RECORDS)
    assert before
    assert {row["topic_id"] for row in before} == {None}
    (folder / "partition.metadata").write_bytes(told)
    segment.write_bytes(data)
    site.capture(broker)
    found = site.rows(tables.RECORDS)
    assert None not in {row["topic_id"] for row in found}
    offsets = [row["record_offset"] for row in found]
    assert sorted(offsets) == sorted(set(offsets)) == list(range(len(offsets)))
    assert len(offsets) > len(before)
    # it is unreadable for once: what is added is of the same topic
    (folder / "partition.metadata").unlink()
    segment.write_bytes(data + data[-100:])
    site.capture(broker)
    assert None not in {row["topic_id"] for row in site.rows(tables.BATCHES)}


def test_what_brokers_noted_of_kafkas_logs_is_kept_if_it_is_newer(site: Site) -> None:
    """Only of logs with a segment. A copy that is older than the one before says nothing new, and a collector
    does not tell it each minute. A time may be no date.
    """
    folder, checkpoint = site.folder / "data", site.folder / "data" / "replication-offset-checkpoint"
    for name in ("__consumer_offsets-3", "__transaction_state-1", "orders-0"):
        (folder / name).mkdir(parents=True)
        (folder / name / f"{0:020d}.log").touch()
    collects = "collect-0123456789ab-1"
    noted = ((7, 100, "run"), (9, 200, "run"), (8, 150, "run"), (9, 210, collects), (9, 10**12, "run"))
    for offset, at, run_id in noted:
        checkpoint.write_text(f"0\n3\n__consumer_offsets 3 {offset}\n__transaction_state 1 0\norders 0 7\n")
        os.utime(folder / "__consumer_offsets-3" / f"{0:020d}.log", (at - 5, at - 5))
        os.utime(checkpoint, (at, at))
        site.capture(Broker(1, log_dirs=site.glob("data")), run_id=run_id)
    (row,) = site.rows(tables.HIGH_WATERMARKS)
    place = (row["broker_id"], row["topic"], row["partition"], row["high_watermark"])
    times = (row["written_at"], row["segment_written_at"])
    assert (*place, *(each.timestamp() for each in times)) == (1, "__consumer_offsets", 3, 9, 200, 195)
