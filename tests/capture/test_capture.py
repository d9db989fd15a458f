"""Capture of real brokers' files: everything once, whatever happens to the files and to the runs."""

from __future__ import annotations

import gzip
import json
import shutil
import struct
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fencepost import lake, protocols, tables
from fencepost.capture import readers, run
from fencepost.capture.plan import bundles
from fencepost.engines import intake, tasks
from fencepost.settings import Broker, Client, Settings, load

if TYPE_CHECKING:
    from conftest import Site

INTERNAL = ("__consumer_offsets", "__cluster_metadata", "__transaction_state")
BRONZE = (tables.BATCHES, tables.RECORDS, tables.REQUESTS)
EVERYWHERE = pytest.mark.parametrize("site", ["process", "processes", "spark"], indirect=True)


def counts(site: Site) -> tuple[int, ...]:
    """How many rows each table of BRONZE has."""
    return tuple(len(site.rows(table)) for table in BRONZE)


@pytest.fixture
def capture_of(captures: Path) -> Callable[[str], Settings]:
    return lambda name: load(captures / name / "fencepost.toml")


def batches_of(file: Path) -> list[tuple[int, int, int, int]]:
    """(position, size, base offset, records to be read) of each batch, read the plain way."""
    data, found, position = file.read_bytes(), [], 0
    internal = file.parent.name.rpartition("-")[0] in INTERNAL
    while position < len(data):
        base, length = struct.unpack_from(">qi", data, position)
        attributes, count = (
            struct.unpack_from(f, data, position + at)[0] for f, at in ((">h", 21), (">i", 57))
        )
        found.append((position, length + 12, base, count if internal or attributes & 32 else 0))
        position += length + 12
    return found


def segments_of(log_dir: Path) -> list[Path]:
    return sorted(log_dir.glob("*-*/*.log"))


def largest_segment(broker: Path) -> Path:
    files = (broker / "log_dir").glob("__consumer_offsets-*/*.log")
    return max(files, key=lambda file: file.stat().st_size)


def request_lines(files: list[Path]) -> int:
    count = 0
    for file in files:
        text = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        for line in text.decode().splitlines():
            body = line.partition("Completed request:")[2].removesuffix(" (kafka.request.logger)")
            api = json.loads(body)["requestHeader"]["requestApiKeyName"] if body else None
            count += any(keep(line.encode()) for keep in protocols.requests().get(api, ()))
    return count


def test_a_log_rolled_after_the_run_was_planned_is_read_by_the_next(
    site: Site, captures: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = site.folder / "kafka-request.log"
    lines = (captures / "troubled-4.3.1" / "broker-1" / "kafka-request.log").read_bytes()
    lines = lines.splitlines(keepends=True)
    read_before, planned, newer = lines[:20], lines[20:60], lines[60:]
    broker = Broker(1, request_logs=site.glob("kafka-request.log*"))

    def expect(*files: Path) -> None:
        site.capture(broker)
        assert len(site.rows(tables.REQUESTS)) == request_lines(list(files))

    log.write_bytes(b"".join(read_before))
    expect(log)
    before = log.rename(site.folder / "before")
    log.write_bytes(b"".join(read_before + planned))
    read_all, rolled = readers.read_all, site.folder / "kafka-request.log.1"

    def read_later(sources: Any) -> Any:
        if not rolled.exists():
            log.rename(rolled)
            # longer than the planned one was
            log.write_bytes(b"".join(newer * 2))
        return read_all(sources)

    with monkeypatch.context() as patch:
        patch.setattr(readers, "read_all", read_later)
        # no line of the new log: it may be newer than the segments that this run reads
        expect(before)
    log.write_bytes(b"".join(newer))
    expect(rolled, log)


@EVERYWHERE
def test_replicas_of_three_brokers_count_once_and_a_second_run_adds_nothing(
    site: Site, captures: Path, capture_of: Callable[[str], Settings]
) -> None:
    source = captures / "healthy-4.3.1"
    (cluster,) = capture_of("healthy-4.3.1").clusters
    assert len(cluster.brokers) == 3
    unique = {
        (file.parent.name, base): count
        for broker in range(1, 4)
        for file in segments_of(source / f"broker-{broker}" / "log_dir")
        for _, _, base, count in batches_of(file)
    }
    summary = site.capture(*cluster.brokers)
    expected = (
        len(unique),
        sum(unique.values()),
        request_lines(list(source.glob("broker-*/kafka-request.log*"))),
    )
    assert tuple(summary.added[table.name] for table in BRONZE) == expected
    assert counts(site) == expected
    assert min(expected) > 100
    assert site.quarantine() == {}
    snapshots = {str(file) for file in source.glob("broker-*/log_dir/*-*/*.snapshot")}
    read = site.rows(tables.PRODUCER_SNAPSHOT_ENTRIES)
    assert {row["file"] for row in read} == snapshots
    assert len({row["file"] for row in read if row["producer_id"] is None}) < len(snapshots)
    again = site.capture(*cluster.brokers, run_id="again")
    assert (again.files, set(again.added.values())) == (0, {0})
    assert counts(site) == expected
    records = site.rows(tables.RECORDS)
    assert {row["decode_status"] for row in records} <= {"known", "control"}
    read_whole = {(row["topic"], row["topic_id"]) for row in records if row["decode_status"] == "known"}
    assert sorted(topic for topic, _ in read_whole) == sorted(INTERNAL)


def test_a_growing_segment_and_a_rotating_log_are_taken_piece_by_piece(site: Site, captures: Path) -> None:
    source = captures / "troubled-4.3.1" / "broker-1"
    whole = largest_segment(source)
    data, batches = whole.read_bytes(), batches_of(whole)
    partition = site.folder / "data" / whole.parent.name
    partition.mkdir(parents=True)
    shutil.copy(whole.parent / "partition.metadata", partition)
    segment, log = partition / whole.name, site.folder / "kafka-request.log"
    lines = (source / "kafka-request.log").read_bytes().splitlines(keepends=True)
    text = b"".join(lines)
    broker = Broker(1, log_dirs=site.glob("data"), request_logs=site.glob("kafka-request.log*"))

    def expect(upto: int, cut: int, torn: dict[str, tuple[str, int]]) -> None:
        site.capture(broker)
        read = [count for position, size, _, count in batches if position + size <= upto]
        text_read = site.folder / "lines.txt"
        text_read.write_bytes(text[: text.rfind(b"\n", 0, cut) + 1])
        assert counts(site) == (len(read), sum(read), request_lines([text_read]))
        assert site.quarantine() == torn

    boundary = batches[40][0]
    line_start = sum(map(len, lines[:20]))
    segment.write_bytes(data[:boundary])
    log.write_bytes(text[:line_start])
    expect(boundary, line_start, {})

    # an arbitrary byte: inside the next batch, inside the next line
    segment.write_bytes(data[: boundary + 33])
    log.write_bytes(text[: line_start + 120])
    expect(boundary, line_start, {segment.name: ("torn_tail", boundary), log.name: ("torn_tail", line_start)})

    # the segment is complete and closed by a later one, the log was rotated in the middle of that line
    segment.write_bytes(data)
    (partition / "00000000000000999999.log").touch()
    middle = sum(map(len, lines[:30]))
    rotated = log.rename(site.folder / "kafka-request.log.1")
    rotated.write_bytes(text[:middle])
    log.write_bytes(text[middle:-200])
    last_line = len(text) - len(lines[-1]) - middle
    expect(len(data), len(text) - 200, {log.name: ("torn_tail", last_line)})
    (rotated_row,) = [row for row in site.rows(tables.FILES) if row["file"].endswith(".log.1")]
    # it went on where it had stopped under its old name
    assert 0 < rotated_row["entries"] < request_lines([rotated])

    # rotated files are compressed, and the partition's folder is renamed by a deletion of the topic
    (site.folder / "kafka-request.log.2.gz").write_bytes(gzip.compress(rotated.read_bytes()))
    rotated.unlink()
    log.write_bytes(text[middle:])
    partition.rename(partition.with_name(f"{partition.name}.{'0f' * 16}-delete"))
    expect(len(data), len(text), {})


@pytest.mark.parametrize("killed", ["records", "requests", "files"])
def test_a_run_killed_at_any_commit_is_repeated_without_loss(
    site: Site, capture_of: Callable[[str], Settings], killed: str
) -> None:
    (cluster,) = capture_of("troubled-4.2.1").clusters
    site.capture_until(f"bronze.{killed}", *cluster.brokers)
    assert site.rows(tables.FILES) == []
    site.capture(*cluster.brokers)
    files = segments_of(Path(cluster.brokers[0].log_dirs[0]))
    batches = [batch for file in files for batch in batches_of(file)]
    for table, expected in (
        (tables.BATCHES, len(batches)),
        (tables.RECORDS, sum(batch[3] for batch in batches)),
    ):
        rows = site.rows(table)
        assert len(rows) == len({tuple(row[name] for name in table.key) for row in rows}) == expected


def test_a_large_run_goes_on_behind_what_it_had_noted_when_it_was_killed(
    site: Site, capture_of: Callable[[str], Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    (cluster,) = capture_of("healthy-4.3.1").clusters
    site.capture(*cluster.brokers)
    pieces = replace(site, cluster=f"{site.cluster} in pieces")
    monkeypatch.setattr(intake, "HELD_BYTES", 20_000)
    monkeypatch.setattr(tasks, "_TASKS_AT_ONCE", 1)
    monkeypatch.setattr(run, "bundles", partial(bundles, size=1))
    append, read_all, read = lake.append, readers.read_all, []
    appended: Counter[str] = Counter()

    def append_until(catalog: Any, table: tables.Table, rows: Any) -> int:
        appended[table.name] += rows.num_rows > 0
        if appended[tables.FILES.name] == 2:
            raise KeyboardInterrupt
        return append(catalog, table, rows)

    def noted_read(sources: Any) -> Any:
        read.extend(source.file for source in sources)
        return read_all(sources)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(lake, "append", append_until)
        pieces.capture(*cluster.brokers)
    noted = {row["file"] for row in pieces.rows(tables.FILES)}
    # the logs in text of a broker are noted together
    logs = {row["file"] for row in site.rows(tables.FILES) if row["kind"].endswith("_log")}
    assert 0 < len({Path(log).parent for log in noted & logs}) < len(cluster.brokers) < len(logs)
    assert {Path(log).parent for log in noted & logs}.isdisjoint(Path(log).parent for log in logs - noted)
    monkeypatch.setattr(readers, "read_all", noted_read)
    pieces.capture(*cluster.brokers)
    whole = {row["file"] for row in site.rows(tables.FILES)}
    assert set(read) == whole - noted != whole
    for table in (*BRONZE, tables.REQUEST_IDS, tables.PRODUCER_SNAPSHOT_ENTRIES, tables.QUARANTINE):
        of_run = {"cluster", "captured_at"}
        expected, found = (
            Counter(repr([row[name] for name in table.columns if name not in of_run]) for row in rows)
            for rows in (site.rows(table), pieces.rows(table))
        )
        assert found == expected, table.name


@EVERYWHERE
def test_every_kind_of_bad_input_is_set_aside_and_the_rest_is_read(  # noqa: PLR0915 (one case a line)
    site: Site, captures: Path
) -> None:
    source = captures / "troubled-4.3.1" / "broker-1"
    whole = largest_segment(source)
    data, batches = whole.read_bytes(), batches_of(whole)
    third, last = batches[2], batches[-1]
    records = sum(batch[3] for batch in batches)
    text = (source / "kafka-request.log").read_bytes()
    lines = text.splitlines(keepends=True)
    wanted = next(i for i, line in enumerate(lines) if i > 3 and b'"OFFSET_COMMIT"' in line)
    before = sum(map(len, lines[:wanted]))
    torn = bytearray(data)
    torn[third[0] + 70] ^= 0xFF

    def segment(broker: int, content: bytes, *, closed: bool = False) -> Path:
        # each broker has its own partition, so that none can stand in for another
        folder = site.folder / f"b{broker}" / f"__consumer_offsets-{broker}"
        folder.mkdir(parents=True)
        file = folder / f"{broker:020}.log"
        file.write_bytes(content)
        if closed:
            (folder / "00000000000000999999.log").touch()
        return file

    def log(broker: int, content: bytes, suffix: str = "") -> Path:
        file = site.folder / f"b{broker}" / f"request-{broker}.log{suffix}"
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(content)
        return file

    packed = gzip.compress(text, mtime=0)
    segment(1, data[:-5])
    segment(2, data[:-5], closed=True)
    segment(3, bytes(torn))
    segment(4, data[: last[0]] + b"\x93 this is no batch, and long enough to have a header of its own" * 3)
    segment(5, data + bytes(4096))
    segment(6, b"").unlink()
    (site.folder / "b6" / "__consumer_offsets-6" / f"{6:020}.log").mkdir()
    segment(7, b"")
    segment(8, data)
    log(9, b"".join(lines[:wanted]) + lines[wanted][:300] + b"\n" + b"".join(lines[wanted:]))
    log(10, packed[: len(packed) // 2], ".gz")
    log(11, b"\x00\xff" * 2000)
    brokers = [
        Broker(i, site.glob(f"b{i}") if i < 9 else (), site.glob(f"b{i}", "request*") if i >= 9 else ())
        for i in range(1, 12)
    ]
    brokers.append(Broker(12, log_dirs=site.glob("absent"), request_logs=site.glob("no*match")))
    brokers.append(Broker(13, log_dirs=site.glob("b9", "request-9.log")))
    summary = site.capture(*brokers)

    found = {(row["broker_id"], row["reason"], row["position"]) for row in site.rows(tables.QUARANTINE)}
    half = next(row for row in found if row[0] == 10)
    assert found == {
        (1, "torn_tail", last[0]),
        (2, "truncated", last[0]),
        (3, "bad_crc", third[0]),
        (4, "bad_magic", last[0]),
        (6, "unreadable", 0),
        (9, "bad_line", before),
        (10, "truncated", half[2]),
        (11, "torn_tail", 0),
        (12, "missing", 0),
        (13, "unreadable", 0),
    }
    assert 0 < half[2] < len(text)
    by_partition = Counter(row["partition"] for row in site.rows(tables.RECORDS))
    whole_but = {1: last[3], 2: last[3], 3: third[3], 4: last[3], 5: 0, 8: 0}
    assert by_partition == {partition: records - lost for partition, lost in whole_but.items()}
    by_broker = Counter(row["broker_id"] for row in site.rows(tables.REQUESTS))
    assert by_broker[9] == request_lines([log(99, text)])
    assert 0 < by_broker[10] < by_broker[9]
    details = [row["detail"] for row in site.rows(tables.QUARANTINE)]
    assert all(len(detail.split()) > 5 for detail in details)
    assert summary.quarantined >= len(details) == 11
    # what is still bad is still there after the next run, once
    site.capture(*brokers, run_id="again")
    assert len(site.rows(tables.QUARANTINE)) == 11


def test_preallocated_segments_grow_without_changing_size(site: Site, captures: Path) -> None:
    whole = largest_segment(captures / "troubled-4.3.1" / "broker-1")
    data, batches = whole.read_bytes(), batches_of(whole)
    file = site.folder / "data" / whole.parent.name / whole.name
    file.parent.mkdir(parents=True)
    half = batches[len(batches) // 2][0]
    for upto in (half, len(data)):
        file.write_bytes(data[:upto] + bytes(len(data) + 100_000 - upto))
        site.capture(Broker(1, log_dirs=site.glob("data")))
        assert len(site.rows(tables.BATCHES)) == sum(batch[0] < upto for batch in batches)
    assert site.quarantine() == {}


SECRET = b"PAYLOAD-MUST-NOT-BE-READ"


def data_batch(base_offset: int, records: int = 1) -> bytes:
    """A batch of a data topic whose payload says what it is, and whose checksum is not even tried."""
    payload = SECRET * 40
    head = struct.pack(">qiibI", base_offset, len(payload) + 49, 3, 2, 0xDEAD)
    return head + struct.pack(">hiqqqhii", 16, records - 1, 5, 6, 7, 8, 9, records) + payload


def test_what_applications_wrote_is_nowhere(site: Site) -> None:
    whole = b"".join(data_batch(i * 2, 2) for i in range(30))
    size = len(data_batch(0))
    # framing that is lost in the middle of a payload, a batch that is cut there, headers that make no sense
    shorter = bytearray(whole)
    struct.pack_into(">i", shorter, 4 * size + 8, 300)
    contents = {
        "whole": whole,
        "lost": bytes(shorter),
        "torn": whole + data_batch(60)[:-300],
        "garbage": whole + SECRET * 50,
        "zeros": whole + bytes(100) + SECRET,
        "control": whole + data_batch(60).replace(struct.pack(">h", 16), struct.pack(">h", 48), 1),
    }
    for topic, content in contents.items():
        folder = site.folder / "data" / f"{topic}-0"
        folder.mkdir(parents=True)
        (folder / "00000000000000000000.log").write_bytes(content)
        (folder / "00000000000000000060.snapshot").write_bytes(struct.pack(">hIi", 1, 0x48674BC7, 0))
    broker = Broker(1, log_dirs=site.glob("data"))
    site.capture(broker)
    found = {
        (Path(row["file"]).parent.name, row["reason"])
        for row in site.rows(tables.QUARANTINE)
        if row["kind"] == "segment"
    }
    assert found == {
        ("lost-0", "bad_magic"),
        ("torn-0", "torn_tail"),
        ("garbage-0", "bad_magic"),
        ("control-0", "bad_record"),
    }
    counts = Counter(row["topic"] for row in site.rows(tables.BATCHES))
    assert counts == {"whole": 30, "lost": 5, "torn": 30, "garbage": 30, "zeros": 30, "control": 31}
    assert site.rows(tables.RECORDS) == []
    # a snapshot without producers is there, and says so
    empty = site.rows(tables.PRODUCER_SNAPSHOT_ENTRIES)
    assert [(row["producer_id"], row["snapshot_offset"]) for row in empty] == [(None, 60)] * len(contents)
    for table in protocols.tables():
        if table.name.startswith("bronze."):
            assert not [row for row in site.rows(table) if SECRET.decode() in repr(row)]
    for file in Path(site.settings.lake.warehouse).rglob("*"):
        assert file.is_dir() or SECRET not in file.read_bytes(), file


def test_a_data_segment_grows_is_renamed_and_goes(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = site.folder / "data" / "orders-3"
    folder.mkdir(parents=True)
    file, last = folder / "00000000000000000100.log", folder / "00000000000000000120.log"
    whole = b"".join(data_batch(100 + i) for i in range(20))
    size = len(data_batch(0))
    told = site.folder / "client.log"
    line = "[2026-11-20 22:02:40,024] INFO [Producer clientId=c] ProducerId set to 5 with epoch 12\n"
    client = Client("shop", site.glob("client.log*"), "Asia/Tokyo")

    def expect(batches: int, lines: int, *torn: int) -> None:
        site.capture(Broker(1, log_dirs=site.glob("data")), clients=(client,))
        assert len(site.rows(tables.BATCHES)) == batches
        assert [position for _, position in site.quarantine().values()] == list(torn)
        epochs = [row["producer_epoch"] for row in site.rows(tables.CLIENT_LINES)]
        assert epochs == [12] * lines

    file.write_bytes(whole[: 5 * size + 30])
    told.write_text(line + line[:-2])
    expect(5, 1, 5 * size)
    file.write_bytes(whole)
    last.touch()
    told.write_text(line * 2)
    read_all, deleted = readers.read_all, Path(f"{file}.deleted")

    def read_later(sources: Any) -> Any:
        # retention renames the segment before it is read, then deletes it; the client's log is rotated
        if file.exists():
            file.rename(deleted)
            told.rename(f"{told}.1").with_name("client.log").write_text("")
        return read_all(sources)

    with monkeypatch.context() as patch:
        patch.setattr(readers, "read_all", read_later)
        expect(5, 1)
    other = b"".join(data_batch(120 + i) for i in range(3))
    last.write_bytes(other)
    expect(23, 2)
    noted = sorted(site.rows(tables.FILES), key=lambda row: row["captured_at"])
    read = [(row["file"], row["entries"]) for row in noted if file.name in row["file"]]
    # each run went on where the one before had stopped
    assert read == [(str(file), 5), (str(deleted), 15)]
    # a follower was truncated and written again under another leader
    deleted.unlink()
    again = bytearray(other + data_batch(123))
    for batch in range(4):
        struct.pack_into(">i", again, batch * size + 12, 4)
    last.write_bytes(again)
    expect(27, 2)
