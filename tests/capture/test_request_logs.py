"""Which files of request logs are found, and which must be missing."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
import zstandard

from fencepost import lake, tables
from fencepost.capture import cuts, progress
from fencepost.capture.digests import head_digest
from fencepost.capture.plan import REQUEST_LOG, Source
from fencepost.capture.request_logs import find_request_logs
from fencepost.capture.writers import Writer
from fencepost.formats.request_log import answered_clusters, has_follower
from fencepost.settings import Broker, Client, Cluster

if TYPE_CHECKING:
    from conftest import Site

ROLLED: dict[str, tuple[list[str], list[str]]] = {
    "whole": (["log", "log.1.gz", "log.2.gz", "log.3"], []),
    "oldest are gone": (["log", "log.4", "log.5"], []),
    "one is gone": (["log", "log.1.gz", "log.3.gz"], ["log.2"]),
    "several are gone": (["log.1", "log.4", "log.6.gz"], ["log.2", "log.3", "log.5"]),
    "by date": (["log", "log.2026-11-20-05", "log.2026-11-20-09", "log.20261120", "log.20261124"], []),
    "by date and number": (
        ["log.2026-11-20.1", "log.2026-11-20.3", "log.2026-11-21.1"],
        ["log.2026-11-20.2"],
    ),
}


@pytest.mark.parametrize("case", ROLLED)
def test_numbers_that_are_skipped_are_missing(case: str, tmp_path: Path) -> None:
    present, gone = ROLLED[case]
    for name in present:
        (tmp_path / name).touch()
    broker = Broker(id=7, log_dirs=(), request_logs=(f"{tmp_path}/log*",))
    sources, faults = find_request_logs(Cluster(name="c", brokers=(broker,)))
    assert [Path(each.file).name for each in sources] == sorted(present)
    assert [Path(each.file).name for each in faults] == gone
    assert {(each.cluster, each.broker_id, each.kind, each.reason) for each in faults} <= {
        ("c", 7, "request_log", "missing")
    }


def test_a_file_that_several_brokers_list_is_not_read(tmp_path: Path) -> None:
    for name in ("one", "two", "shared"):
        (tmp_path / name).touch()
    (tmp_path / "link").symlink_to(tmp_path / "shared")
    brokers = (
        Broker(id=1, log_dirs=(), request_logs=(f"{tmp_path}/one", f"{tmp_path}/shared")),
        Broker(id=2, log_dirs=(), request_logs=(f"{tmp_path}/two", f"{tmp_path}/link")),
    )
    sources, faults = find_request_logs(Cluster(name="c", brokers=brokers))
    assert [(each.broker_id, Path(each.file).name) for each in sources] == [(1, "one"), (2, "two")]
    assert [(each.broker_id, Path(each.file).name, each.reason) for each in faults] == [
        (1, "shared", "unreadable"),
        (2, "link", "unreadable"),
    ]


def test_a_new_log_is_compared_with_those_that_begin_alike(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of all that were ever read, also of those that are gone."""
    compared = 0

    def digest(*of: Any) -> str:
        nonlocal compared
        compared += 1
        return head_digest(*of)

    log = site.folder / "log"
    broker = Broker(1, request_logs=site.glob("log*"))
    for hour in range(10, 20):
        entry = f"[2026-11-20 {hour}:02:40,024] DEBUG nothing (kafka.request.logger)\n"
        log.write_text(entry * 2)
        site.capture(broker)
        log.rename(site.folder / f"log.2026-11-20-{hour}")
        site.capture(broker)
        (site.folder / f"log.2026-11-20-{hour}").unlink()
    log.write_text(entry.replace(" 19:", " 20:") * 2)
    monkeypatch.setattr(progress, "head_digest", digest)
    site.capture(broker)
    # with the log that had its name before; the other digest is of its own beginning
    assert compared == 2
    assert {row["consumed_to"] for row in site.rows(tables.FILES)} == {2 * len(entry)}


_LINE = "[2026-11-20 22:02:40,024] DEBUG nothing (kafka.request.logger)"
_ANSWERS = (
    {"took": 1, "hits": {"hits": [{"_source": {"message": _LINE}}]}},
    {"events": [{"logStreamName": "b", "timestamp": 1, "message": _LINE}]},
    {"status": "success", "data": {"resultType": "streams", "result": [{"values": [["1", _LINE]]}]}},
    {"preview": False, "init_offset": 0, "messages": [], "results": [{"_raw": _LINE}]},
    {"data": [{"attributes": {"message": _LINE}}]},
    [{"line": _LINE, "timestamp": "1"}],
)
"""Of Elasticsearch, CloudWatch, Loki, Splunk and Datadog; what Grafana downloads."""


def _archive(text: bytes) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        member = tarfile.TarInfo("kafka-request.log")
        member.size = len(text)
        archive.addfile(member, io.BytesIO(text))
    return data.getvalue()


def test_a_log_that_is_compressed_otherwise_is_named(site: Site) -> None:
    text = b"[2026-11-20 22:02:40,024] DEBUG nothing (kafka.request.logger)\n"
    packed = {
        "bz2": bz2.compress(text),
        "xz": lzma.compress(text),
        "lz4": pa.Codec("lz4").compress(text, asbytes=True),
        "utf-16": text.decode().encode("utf-16"),
        "tar": _archive(text),
        "tgz": gzip.compress(_archive(text)),
        **{f"{number}.json": json.dumps(answer).encode() for number, answer in enumerate(_ANSWERS)},
        "pretty.json": json.dumps(_ANSWERS[0], indent=2).encode(),
    }
    for suffix, data in packed.items():
        (site.folder / f"log.{suffix}").write_bytes(data)
    (site.folder / "log").write_bytes(text)
    site.capture(Broker(1, request_logs=site.glob("log*")))
    found = {(Path(row["file"]).name, row["reason"]) for row in site.rows(tables.QUARANTINE)}
    assert found == {(f"log.{suffix}", "unreadable") for suffix in packed}
    assert [Path(row["file"]).name for row in site.rows(tables.FILES)] == ["log"]


def _newest_first(lines: list[bytes]) -> list[bytes]:
    return lines[::-1]


def _of_two_shards(lines: list[bytes]) -> list[bytes]:
    half = len(lines) // 2
    return [line for pair in zip(lines[half:], lines[:half], strict=False) for line in pair]


def _of_two_files(lines: list[bytes]) -> list[bytes]:
    half = len(lines) // 2
    return lines[half:] + lines[:half]


def _sorted_within_a_millisecond(lines: list[bytes]) -> list[bytes]:
    stamp = len(b"[2026-11-20 22:02:40,024]")
    return sorted((lines[0][:stamp] + each[stamp:] for each in lines), reverse=True)


@pytest.mark.parametrize(
    "order", [_newest_first, _of_two_shards, _of_two_files, _sorted_within_a_millisecond]
)
def test_lines_in_another_order_are_not_read(
    site: Site, captures: Path, order: Callable[[list[bytes]], list[bytes]]
) -> None:
    """By their order it is known what a commit met: in another one they accuse a broker without fault."""
    log = captures / "healthy-4.3.1" / "broker-1" / "kafka-request.log"
    (site.folder / "log").write_bytes(b"".join(order(log.read_bytes().splitlines(keepends=True))))
    site.capture(Broker(1, request_logs=site.glob("log")))
    (fault,) = site.rows(tables.QUARANTINE)
    assert (fault["reason"], fault["position"]) == ("bad_line", 0)
    assert "not in the order in which they were written" in fault["detail"]
    assert [site.rows(each) for each in (tables.REQUESTS, tables.REQUEST_IDS, tables.TOPIC_LISTS)] == [[]] * 3


def test_lines_that_a_collector_sent_twice_count_once(site: Site, captures: Path) -> None:
    text = (captures / "healthy-4.3.1" / "broker-1" / "kafka-request.log").read_bytes()
    (site.folder / "log").write_bytes(text * 2)
    site.capture(Broker(1, request_logs=site.glob("log")))
    assert site.rows(tables.QUARANTINE) == []
    assert max(row["position"] for row in site.rows(tables.REQUESTS)) < len(text)


def test_of_files_put_together_the_first_is_read(
    site: Site, captures: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fencepost.capture.text.CHUNK", 1 << 10)
    lines = (captures / "healthy-4.3.1" / "broker-1" / "kafka-request.log").read_bytes().splitlines(True)
    half = len(lines) // 2
    first, second = b"".join(lines[half:]), b"".join(lines[:half])
    (site.folder / "log").write_bytes(first + second)
    site.capture(Broker(1, request_logs=site.glob("log")))
    faults = sorted((row["position"], row["length"]) for row in site.rows(tables.QUARANTINE))
    begins = faults[0][0]
    assert 0 < begins < len(first) + 2_000
    assert sum(length for _, length in faults) == len(first + second) - begins
    positions = [row["position"] for row in site.rows(tables.REQUESTS)]
    assert positions
    assert max(positions) < begins


def test_lines_that_were_sorted_by_the_times_of_a_collector_are_not_read(site: Site, captures: Path) -> None:
    """Each line was late by something else, so lines of a connection have changed places."""
    log = captures / "healthy-4.3.1" / "broker-1" / "kafka-request.log.1.gz"
    lines = gzip.decompress(log.read_bytes()).splitlines(True)
    late = sorted(range(len(lines)), key=lambda number: number + number * 17 % 60)
    stamps = [each[: len(b"[2026-11-20 22:02:40,024]")] for each in lines]
    again = (stamp + lines[number][len(stamp) :] for stamp, number in zip(stamps, late, strict=True))
    (site.folder / "log").write_bytes(b"".join(again))
    site.capture(Broker(1, request_logs=site.glob("log")))
    (fault,) = site.rows(tables.QUARANTINE)
    assert fault["length"] == len(b"".join(lines))


def test_a_log_whose_parts_go_back_in_time_is_not_cut(
    captures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuts, "CHUNK", 1 << 10)
    monkeypatch.setattr(cuts, "PART", 2 << 10)
    lines = (captures / "healthy-4.3.1" / "broker-1" / "kafka-request.log").read_bytes().splitlines(True)
    parts = []
    for order in (list, _of_two_files):
        file = tmp_path / order.__name__
        file.write_bytes(b"".join(order(lines)))
        source = Source("c", 1, REQUEST_LOG, str(file), end=file.stat().st_size, timezone="UTC")
        parts.append(len(cuts.cut(source)))
    assert parts[0] > 1
    assert parts[1] == 1


def test_a_clock_that_is_set_back_leaves_lines_in_their_order(site: Site, captures: Path) -> None:
    lines = (captures / "healthy-4.3.1" / "broker-1" / "kafka-request.log").read_bytes().splitlines(True)
    half, stamp = len(lines) // 2, len(b"[2026-11-20 22:02:40,024]")
    start = lines[0][:stamp]
    (site.folder / "log").write_bytes(
        b"".join([*lines[:half], *(start + each[stamp:] for each in lines[half:])])
    )
    site.capture(Broker(1, request_logs=site.glob("log")))
    assert site.rows(tables.QUARANTINE) == []


def test_lines_of_several_brokers_are_not_read(site: Site, captures: Path) -> None:
    """Collectors follow all pods of a cluster; a file of one pod is read, also if its lines name it."""
    lines = (captures / "healthy-4.3.1" / "broker-1" / "kafka-request.log").read_text().splitlines()
    one = [f"[pod/kafka-0/kafka] {line}\n" for line in lines]
    log, broker = site.folder / "log", Broker(1, request_logs=site.glob("log"))
    log.write_text("".join([*one, *(line.replace("kafka-0", "kafka-1") for line in one[:5])]))
    site.capture(broker)
    (fault,) = site.rows(tables.QUARANTINE)
    assert "lines of several programs (kafka-0, kafka-1)" in fault["detail"]
    assert site.rows(tables.REQUEST_IDS) == []
    log.write_text("".join(one))
    site.capture(broker)
    assert site.rows(tables.QUARANTINE) == []
    assert site.rows(tables.REQUEST_IDS)


def _of_others(site: Site) -> list[dict[str, Any]]:
    return [each for each in site.rows(tables.QUARANTINE) if each["reason"] == "other_cluster"]


def test_a_log_of_another_cluster_is_not_read_until_the_configuration_is_correct(
    site: Site, captures: Path
) -> None:
    """Brokers say in answers to Metadata of which cluster they are."""
    of_others, own = (captures / name / "broker-1" for name in ("failover-4.3.1", "troubled-4.3.1"))
    log_dirs = (str(own / "log_dir"),)
    site.capture(Broker(1, log_dirs=log_dirs, request_logs=(f"{of_others}/kafka-request.log*",)))
    faults = _of_others(site)
    assert [Path(each["file"]).name for each in faults] == ["kafka-request.log", "kafka-request.log.1.gz"]
    wrote = "a broker of the cluster yA_IB7UKQommh_yc1MU01w wrote it, and the log directories are of 7DBd"
    assert faults[0]["detail"].startswith(wrote)
    assert site.rows(tables.REQUEST_IDS) == []
    site.capture(Broker(1, log_dirs=log_dirs, request_logs=(f"{of_others}/kafka-request.log",)))
    assert [Path(each["file"]).name for each in _of_others(site)] == ["kafka-request.log"]
    site.capture(Broker(1, log_dirs=log_dirs, request_logs=(f"{own}/kafka-request.log*",)))
    assert site.rows(tables.QUARANTINE) == []
    assert site.rows(tables.REQUEST_IDS)


def test_a_log_of_another_broker_is_not_read(site: Site, captures: Path) -> None:
    """No broker fetches from itself as a follower."""
    log = (str(captures / "by-hand-4.3.1" / "broker-1" / "kafka-request.log"),)
    site.capture(Broker(2, request_logs=log))
    (fault,) = site.rows(tables.QUARANTINE)
    assert fault["reason"] == "other_broker"
    assert "broker 2 fetches in it as a follower, which no broker does from itself" in fault["detail"]
    assert site.rows(tables.REQUEST_IDS) == []
    site.capture(Broker(1, request_logs=log))
    assert site.rows(tables.QUARANTINE) == []
    assert site.rows(tables.REQUEST_IDS)


OTHER = "AAAAAAAAAAAAAAAAAAAAAB"
HEADER = '{"requestHeader":{"requestApiKeyName":"METADATA"}'
ANSWER = f'{HEADER},"request":{{}},"response":{{"clusterId":"{OTHER}",'
FETCH = '{"requestHeader":{"requestApiKeyName":"FETCH"},"request":{"replicaState":{"replicaId":7,'


@pytest.mark.parametrize(
    ("line", "named"),
    [
        (ANSWER, 1),
        (ANSWER.replace('"', r"\""), 1),
        (ANSWER.replace("METADATA", "VOTE"), 0),
        (f'{HEADER}\n"clusterId":"{OTHER}"', 0),
        # the name of a client
        (HEADER.replace("}", f',"clientId":{json.dumps(ANSWER)}}}'), 0),
    ],
)
def test_only_answers_name_the_cluster_of_a_broker(line: str, named: int) -> None:
    assert list(answered_clusters(line.encode())) == [OTHER] * named


@pytest.mark.parametrize(
    ("line", "fetches"),
    [
        (FETCH, True),
        (FETCH.replace('"', r"\""), True),
        (FETCH.replace('"replicaState":{', "").replace(":", ": "), True),
        (FETCH.replace("7", "77"), False),
        (FETCH.replace("7", "-7"), False),
        (HEADER.replace("}", f',"clientId":{json.dumps(FETCH)}}}'), False),
    ],
)
def test_only_a_fetch_has_a_follower(line: str, fetches: bool) -> None:
    assert has_follower(line.encode(), 7) is fetches


def test_who_wrote_a_log_may_change() -> None:
    """Disks that are formatted again have another cluster's id, and the broker goes on with its log."""
    own = "AAAAAAAAAAAAAAAAAAAAAA"
    of_own, of_other = ANSWER.replace(OTHER, own).encode(), ANSWER.encode()
    writer = Writer(Source("c", 1, REQUEST_LOG, "kafka-request.log", cluster_id=own))
    read = [
        writer.fault_of(lines) is None
        for lines in (b"", of_other, b"", of_own, b"", of_other + b"\n" + of_own, b"")
    ]
    assert read == [True, False, False, True, True, False, True]


def test_a_log_in_an_unknown_layout_is_named(site: Site) -> None:
    """Lines of others are skipped; but if no line is an entry, nobody can read any."""
    for name in ("client.log", "server.log"):
        (site.folder / name).write_text("20.11.26 22:02 said (a.B)\n" * 3)
    client = Client("c", logs=site.glob("client.log"))
    site.capture(Broker(1, server_logs=site.glob("server.log")), clients=(client,))
    found = site.rows(tables.QUARANTINE)
    assert {Path(row["file"]).name for row in found} == {"client.log", "server.log"}
    assert all("in a known layout" in row["detail"] for row in found)


@pytest.mark.parametrize("frames", [1, 3])
def test_a_log_that_zstd_has_packed_is_the_log(site: Site, captures: Path, frames: int) -> None:
    """Whether a log was read before it was packed or after: its rows are the same, and count once."""
    text = (captures / "healthy-4.3.1" / "broker-1" / "kafka-request.log").read_bytes()
    lines = text.splitlines(keepends=True)
    size = -(-len(lines) // frames)
    parts = [b"".join(lines[at : at + size]) for at in range(0, len(lines), size)]
    log, packed = site.folder / "kafka-request.log", site.folder / "kafka-request.log.1.zst"
    log.write_bytes(b"".join(parts))
    broker = Broker(1, request_logs=site.glob("kafka-request.log*"))
    site.capture(broker)
    before = {table.name: _read(site, table) for table in (tables.REQUESTS, tables.REQUEST_IDS)}
    packed.write_bytes(b"".join(map(zstandard.ZstdCompressor().compress, parts)))
    # beside its original, and then alone
    for _ in range(2):
        site.capture(broker)
        assert {table.name: _read(site, table) for table in (tables.REQUESTS, tables.REQUEST_IDS)} == before
        log.unlink(missing_ok=True)
    assert site.rows(tables.QUARANTINE) == []


def test_what_is_left_of_a_damaged_zstd_file_is_read(site: Site) -> None:
    lines = [_line(f"2026-10-01 12:00:00,{at:03}", at) for at in range(1_000)]
    whole = zstandard.ZstdCompressor(level=1).compress(b"".join(lines))
    (site.folder / "kafka-request.log.1.zst").write_bytes(whole[: len(whole) * 3 // 4])
    site.capture(Broker(1, request_logs=site.glob("kafka-request.log*")))
    (fault,) = site.rows(tables.QUARANTINE)
    assert (fault["reason"], len(site.rows(tables.REQUESTS)) > 0) == ("truncated", True)
    # what is there now is all of it
    (site.folder / "kafka-request.log.1.zst").write_bytes(whole)
    site.capture(Broker(1, request_logs=site.glob("kafka-request.log*")))
    assert len(site.rows(tables.REQUESTS)) == len(lines)
    assert site.rows(tables.QUARANTINE) == []


def _read(site: Site, table: tables.Table) -> list[str]:
    columns = [name for name in table.columns if name not in {"file", "run_id", "captured_at"}]
    return sorted(repr([row[name] for name in columns]) for row in site.rows(table))


def test_a_link_to_a_log_of_the_same_broker_takes_nothing_away(tmp_path: Path) -> None:
    (tmp_path / "kafka-request.log").touch()
    (tmp_path / "kafka-request.log-newest").symlink_to(tmp_path / "kafka-request.log")
    broker = Broker(id=1, log_dirs=(), request_logs=(f"{tmp_path}/kafka-request.log*",))
    sources, faults = find_request_logs(Cluster(name="c", brokers=(broker,)))
    assert {Path(each.file).name for each in sources} == {"kafka-request.log", "kafka-request.log-newest"}
    assert faults == []


def test_equal_lines_are_found_by_their_time(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a run reads of earlier lines does not grow with the lake. Also in the hour that a clock shows
    twice, where a line's time depends on what was read before it, an equal line counts once.
    """
    log, other = site.folder / "kafka-request.log", site.folder / "kafka-request.log.1"
    days = [_line(f"2026-10-{day:02} 12:00:00,000", day) for day in range(1, 25)]
    twice = [_line(f"2026-10-25 {time},000", 100 + at) for at, time in enumerate(("02:59:00", "02:01:00"))]
    log.write_bytes(b"".join([*days, *twice]))
    broker = Broker(1, request_logs=site.glob("kafka-request.log*"), timezone="Europe/Berlin")
    site.capture(broker)
    assert len(site.rows(tables.REQUESTS)) == len(days) + len(twice)
    read: dict[str, int] = {}
    by_file = lake.by_file

    def counting(catalog: Any, table: tables.Table, *rest: Any) -> Iterator[pa.Table]:
        for each in by_file(catalog, table, *rest):
            read[table.name] = read.get(table.name, 0) + each.num_rows
            yield each

    monkeypatch.setattr(lake, "by_file", counting)
    other.write_bytes(_line("2026-10-25 02:00:00,000", 200) + twice[-1])
    site.capture(broker)
    rows = site.rows(tables.REQUESTS)
    assert len(rows) == len(days) + len(twice) + 1
    assert read[tables.REQUESTS.name] <= 2 * len(twice)
    # the second pass through the hour is known only to who read the first one
    times = {row["correlation_id"]: row["logged_at_ms"] for row in rows}
    assert (times[101] - times[100], times[200] - times[100]) == (2 * 60_000, -59 * 60_000)


def _line(time: str, number: int) -> bytes:
    header = f'"requestApiKey":8,"requestApiVersion":9,"correlationId":{number},"clientId":"c"'
    request = f'"isForwarded":false,"requestHeader":{{{header},"requestApiKeyName":"OFFSET_COMMIT"}}'
    rest = '"request":{},"response":{},"connection":"a:1-b:2-0-0","totalTimeMs":1.0'
    return f"[{time}] DEBUG Completed request:{{{request},{rest}}} (kafka.request.logger)\n".encode()


@pytest.mark.parametrize("end", ["", " (kafka.request.logger)"])
def test_a_file_without_line_ends_is_not_lost_in_silence(site: Site, end: str) -> None:
    request = '{"isForwarded":false,"requestHeader":{"requestApiKeyName":"FETCH"}}'
    line = f"[2026-11-20 22:02:40,024] DEBUG Completed request:{request}{end}"
    (site.folder / "log").write_text(" ".join([line] * 1000))
    (site.folder / "server.log").write_text(" ".join([line] * 1000))
    site.capture(Broker(1, request_logs=site.glob("log"), server_logs=site.glob("server.log")))
    found = {(row["kind"], row["reason"]) for row in site.rows(tables.QUARANTINE)}
    assert found >= {("request_log", "torn_tail"), ("server_log", "bad_line")}
