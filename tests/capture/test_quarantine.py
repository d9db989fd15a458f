"""A line that could not be read is a hole in its log, whatever name that has and whoever has its name."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fencepost import tables
from fencepost.engines.tasks import TaskEngine
from fencepost.opening import ensure
from fencepost.replay.view import with_current_names
from fencepost.settings import Broker

if TYPE_CHECKING:
    from conftest import Site

_LINE_END = b" (kafka.request.logger)\n"


def _lines(captures: Path) -> list[bytes]:
    log = captures / "troubled-4.3.1" / "broker-1" / "kafka-request.log"
    return log.read_bytes().splitlines(keepends=True)[:60]


def _damaged(line: bytes) -> bytes:
    return line.replace(b'{"isForwarded', b"{isForwarded")


def _holes(site: Site) -> set[tuple[str, int]]:
    return {(Path(row["file"]).name, row["position"]) for row in site.rows(tables.QUARANTINE)}


@pytest.fixture
def logs(site: Site, captures: Path) -> tuple[Path, Path, int]:
    """A log with a line that cannot be read, its name when it has been rotated, and where that line is."""
    lines = _lines(captures)
    log = site.folder / "kafka-request.log"
    log.write_bytes(b"".join([*lines[:5], _damaged(lines[5]), *lines[6:20]]))
    return log, site.folder / "kafka-request.log.1", sum(map(len, lines[:5]))


def _roll(logs: tuple[Path, Path, int], captures: Path) -> None:
    """The next log has a hole, too."""
    log, rolled, _ = logs
    log.rename(rolled)
    lines = _lines(captures)
    log.write_bytes(b"".join([*lines[20:30], _damaged(lines[30])]))


@pytest.mark.parametrize("grows", [False, True])
def test_a_hole_goes_with_its_log(
    site: Site, captures: Path, logs: tuple[Path, Path, int], *, grows: bool
) -> None:
    log, rolled, at = logs
    broker = Broker(1, request_logs=site.glob("kafka-request.log*"))
    site.capture(broker)
    assert _holes(site) == {(log.name, at)}
    _roll(logs, captures)
    if grows:
        rolled.write_bytes(rolled.read_bytes() + _lines(captures)[40])
    site.capture(broker)
    behind = sum(map(len, _lines(captures)[20:30]))
    assert _holes(site) == {(rolled.name, at), (log.name, behind)}


def test_a_hole_stays_where_the_log_is_nowhere_until_it_is_found(
    site: Site, captures: Path, logs: tuple[Path, Path, int]
) -> None:
    log, rolled, at = logs
    behind = sum(map(len, _lines(captures)[20:30]))
    site.capture(Broker(1, request_logs=site.glob("kafka-request.log")))
    _roll(logs, captures)
    site.capture(Broker(1, request_logs=site.glob("kafka-request.log")))
    assert _holes(site) == {(log.name, at), (log.name, behind)}
    # a rebuild sees lines and holes of the log that is gone in one file
    catalog = ensure(site.settings.lake)
    named = with_current_names(TaskEngine(catalog))
    of_cluster = [{"cluster": site.cluster}]
    scanned = [named.scan(table, ("file",), of_cluster) for table in (tables.REQUESTS, tables.QUARANTINE)]
    lines, holes = (set(each["file"].to_pylist()) for each in scanned)
    assert len(lines) == 2
    assert holes == lines
    site.capture(Broker(1, request_logs=site.glob("kafka-request.log*")))
    assert _holes(site) == {(rolled.name, at), (log.name, behind)}


def test_what_a_killed_run_found_in_the_next_log_is_not_taken_for_the_one_before(
    site: Site, captures: Path, logs: tuple[Path, Path, int]
) -> None:
    log, rolled, at = logs
    broker = Broker(1, request_logs=site.glob("kafka-request.log*"))
    site.capture(broker)
    _roll(logs, captures)
    site.capture_until(tables.FILES.name, broker)
    site.capture(broker)
    behind = sum(map(len, _lines(captures)[20:30]))
    assert _holes(site) == {(rolled.name, at), (log.name, behind)}


def test_what_was_cut_in_its_first_line_is_no_hole_of_the_whole(site: Site, captures: Path) -> None:
    """How a log begins is not known before that line is whole."""
    log = site.folder / "kafka-request.log.1.gz"
    packed = gzip.compress(b"".join(_lines(captures)))
    broker = Broker(1, request_logs=site.glob("kafka-request.log*"))
    log.write_bytes(packed[:300])
    site.capture(broker)
    assert _holes(site) == {(log.name, 0)}
    log.write_bytes(packed)
    site.capture(broker)
    assert _holes(site) == set()


def test_a_file_whose_name_is_not_utf_8_is_set_aside(site: Site, captures: Path) -> None:
    log = site.folder / "kafka-request.log"
    log.write_bytes(b"".join(_lines(captures)))
    Path(f"{log}.\udce9").write_bytes(b"".join(_lines(captures)))
    site.capture(Broker(1, request_logs=site.glob("kafka-request.log*")))
    assert site.quarantine() == {"kafka-request.log.\\xe9": ("unreadable", 0)}
    assert {Path(row["file"]).name for row in site.rows(tables.REQUESTS)} == {log.name}
