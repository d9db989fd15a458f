"""A log in text that is there twice is read once, and stands where it is whole."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fencepost import tables
from fencepost.engines.tasks import TaskEngine
from fencepost.opening import ensure
from fencepost.replay.view import with_current_names
from fencepost.settings import Broker, Client

if TYPE_CHECKING:
    from conftest import Site


@pytest.fixture
def lines(captures: Path) -> list[bytes]:
    log = captures / "troubled-4.3.1" / "broker-1" / "kafka-request.log"
    return log.read_bytes().splitlines(keepends=True)[:40]


def _captured(site: Site) -> None:
    site.capture(Broker(1, request_logs=site.glob("**", "kafka-request.log*")))


def _stand_in(site: Site) -> dict[str, int]:
    """How many requests stand in each file, as a rebuild sees them."""
    engine = with_current_names(TaskEngine(ensure(site.settings.lake)))
    rows = engine.scan(tables.REQUESTS, ("file",), [{"cluster": site.cluster}])
    names = [Path(name).name for name in rows["file"].to_pylist()]
    return {name: names.count(name) for name in sorted(set(names))}


@pytest.mark.parametrize("copied", [1.0, 0.5], ids=["copied", "being copied"])
def test_a_log_that_is_copied_before_it_is_emptied(site: Site, lines: list[bytes], copied: float) -> None:
    log, rolled = site.folder / "kafka-request.log", site.folder / "kafka-request.log.1"
    log.write_bytes(old := b"".join(lines[:20]))
    rolled.write_bytes(old[: int(copied * len(old))])
    _captured(site)
    before = _stand_in(site)
    assert set(before) == {log.name}
    assert site.quarantine() == {}
    rolled.write_bytes(old)
    log.write_bytes(b"".join(lines[20:]))
    _captured(site)
    after = _stand_in(site)
    assert after[rolled.name] == before[log.name]
    assert after[log.name] > 0
    assert site.quarantine() == {}


def test_what_is_packed_is_there_beside_its_original(site: Site, lines: list[bytes]) -> None:
    rolled, packed = site.folder / "kafka-request.log.1", site.folder / "kafka-request.log.1.gz"
    rolled.write_bytes(old := b"".join(lines))
    packed.write_bytes(gzip.compress(old)[:200])
    _captured(site)
    assert set(_stand_in(site)) == {rolled.name}
    assert site.quarantine() == {}
    packed.write_bytes(gzip.compress(old))
    _captured(site)
    rolled.unlink()
    _captured(site)
    assert set(_stand_in(site)) == {packed.name}
    assert site.quarantine() == {}


def test_what_could_not_be_read_of_a_copy_is_told_no_more(site: Site, lines: list[bytes]) -> None:
    log, copy = site.folder / "kafka-request.log", site.folder / "copy" / "kafka-request.log.7"
    copy.parent.mkdir()
    whole = b"".join(lines)
    copy.write_bytes(whole[: len(whole) // 2])
    _captured(site)
    assert site.quarantine()[copy.name][0] == "torn_tail"
    log.write_bytes(whole)
    _captured(site)
    assert site.quarantine() == {}
    assert set(_stand_in(site)) == {log.name}


def test_a_folder_that_was_moved_leaves_no_hole_behind(site: Site, lines: list[bytes]) -> None:
    old, new = site.folder / "old", site.folder / "new"
    old.mkdir()
    whole = b"".join(lines)
    (old / "kafka-request.log").write_bytes(whole[: len(whole) // 2])
    _captured(site)
    assert site.quarantine()["kafka-request.log"][0] == "torn_tail"
    old.rename(new)
    (new / "kafka-request.log").write_bytes(whole)
    _captured(site)
    assert site.quarantine() == {}


def test_logs_that_only_begin_alike_are_all_read(site: Site, lines: list[bytes]) -> None:
    for number, own in enumerate((lines[3:20], lines[20:]), start=1):
        (site.folder / f"kafka-request.log.{number}").write_bytes(b"".join([*lines[:3], *own]))
    _captured(site)
    assert set(_stand_in(site)) == {"kafka-request.log.1", "kafka-request.log.2"}


def test_clients_may_write_the_same(site: Site) -> None:
    for name in ("a", "b"):
        (site.folder / f"{name}.log").write_text(
            "[2026-01-02 12:00:00,000] INFO it was started (org.example)\n"
        )
    clients = tuple(Client(name, site.glob(f"{name}.log")) for name in ("a", "b"))
    site.capture(Broker(1), clients=clients)
    read = {Path(row["file"]).name for row in site.rows(tables.FILES)}
    assert read == {"a.log", "b.log"}
