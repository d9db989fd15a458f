"""Which files of request logs are found, and which must be missing."""

from __future__ import annotations

import bz2
import lzma
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from fencepost import tables
from fencepost.capture.request_logs import find_request_logs
from fencepost.settings import Broker, Cluster

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


def test_a_log_that_is_not_compressed_by_gzip_is_named(site: Site) -> None:
    text = b"[2026-11-20 22:02:40,024] DEBUG nothing (kafka.request.logger)\n"
    packed = {
        "bz2": bz2.compress(text),
        "xz": lzma.compress(text),
        "zst": pa.Codec("zstd").compress(text, asbytes=True),
    }
    for suffix, data in packed.items():
        (site.folder / f"log.{suffix}").write_bytes(data)
    (site.folder / "log").write_bytes(text)
    site.capture(Broker(1, request_logs=site.glob("log*")))
    found = {(Path(row["file"]).name, row["reason"]) for row in site.rows(tables.QUARANTINE)}
    assert found == {(f"log.{suffix}", "unreadable") for suffix in packed}
    assert [Path(row["file"]).name for row in site.rows(tables.FILES)] == ["log"]


def test_a_link_to_a_log_of_the_same_broker_takes_nothing_away(tmp_path: Path) -> None:
    (tmp_path / "kafka-request.log").touch()
    (tmp_path / "kafka-request.log-newest").symlink_to(tmp_path / "kafka-request.log")
    broker = Broker(id=1, log_dirs=(), request_logs=(f"{tmp_path}/kafka-request.log*",))
    sources, faults = find_request_logs(Cluster(name="c", brokers=(broker,)))
    assert {Path(each.file).name for each in sources} == {"kafka-request.log", "kafka-request.log-newest"}
    assert faults == []
