"""What was taken of a partition without its topic's id, or with another one's, is replaced."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from fencepost import lake, tables
from fencepost.opening import ensure
from fencepost.settings import Broker

if TYPE_CHECKING:
    from conftest import Site

OLD, NEW = "PSvpru7T6iKzcADdw-lUwQ", "vOR8QkGkTJ6y3wbnAcLCPQ"
_LOG = "00000000000000000000.log"


def _segments(captures: Path) -> tuple[bytes, bytes]:
    """Two segments that differ, of one topic."""
    folder = captures / "troubled-4.2.1" / "broker-1" / "log_dir"
    found = sorted(folder.glob("__consumer_offsets-*/*.log"), key=lambda file: -file.stat().st_size)
    return found[0].read_bytes(), found[1].read_bytes()


def _put(folder: Path, segment: bytes, topic_id: str | None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _LOG).write_bytes(segment)
    if topic_id:
        (folder / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}")
    return folder


def _found(site: Site) -> dict[str | None, set[int]]:
    """The offsets of records by the id of their topic."""
    found: dict[str | None, set[int]] = {}
    for row in site.rows(tables.RECORDS):
        found.setdefault(row["topic_id"], set()).add(row["record_offset"])
    return found


def test_a_folder_does_not_get_the_id_of_the_topic_s_incarnation_before(site: Site, captures: Path) -> None:
    old, new = _segments(captures)
    data, name = site.folder / "data", "__consumer_offsets-3"
    deleted = _put(data / f"{name}.{'0f' * 16}-delete", old, OLD)
    created = _put(data / name, new, None)
    broker = Broker(1, log_dirs=site.glob("data"))
    site.capture(broker)
    assert set(_found(site)) == {OLD, None}
    _put(created, new, NEW)
    site.capture(broker)
    found = _found(site)
    shutil.rmtree(site.folder / "data")
    for folder, segment, topic_id in ((deleted, old, OLD), (created, new, NEW)):
        _put(folder, segment, topic_id)
    site.cluster += " at once"
    site.capture(broker)
    assert found == _found(site)
    assert set(found) == {OLD, NEW}


def test_of_two_folders_one_gets_no_id(site: Site, captures: Path) -> None:
    """Its rows are not taken away with those of the other, whose id came late."""
    one, other = _segments(captures)
    ids = {"1": OLD, "2": None, "3": NEW}
    brokers = [Broker(int(each), log_dirs=site.glob(each)) for each in ids]
    folders = {each: site.folder / each / "__consumer_offsets-3" for each in ids}
    _put(folders["1"], one[: len(one) // 2], None)
    _put(folders["2"], one, None)
    _put(folders["3"], other, NEW)
    # without that broker no id is known
    site.capture(*brokers[:2])
    before = _found(site)
    assert set(before) == {None}
    _put(folders["1"], one[: len(one) // 2], OLD)
    site.capture(*brokers)
    found = _found(site)
    assert found[None] == before[None]
    assert found[OLD] < found[None]
    # what stands is not done again
    snapshot = lake.snapshot(ensure(site.settings.lake), tables.RECORDS)
    site.capture(*brokers)
    assert lake.snapshot(ensure(site.settings.lake), tables.RECORDS) == snapshot


def test_a_killed_run_that_knew_no_id_is_repeated_by_one_that_does(site: Site, captures: Path) -> None:
    """It has noted nothing of what it took."""
    folder, broker = site.folder / "data" / "__consumer_offsets-3", Broker(1, log_dirs=site.glob("data"))
    _put(folder, _segments(captures)[0], None)
    site.capture_until(tables.FILES.name, broker)
    (before,) = _found(site).items()
    _put(folder, _segments(captures)[0], OLD)
    site.capture(broker)
    assert before[0] is None
    assert _found(site) == {OLD: before[1]}


def test_a_backup_inside_a_log_directory_is_no_topic_of_its_own(site: Site, captures: Path) -> None:
    """Its partition.metadata was copied, too. Of a folder that was renamed its topic's others tell."""
    whole, other = _segments(captures)
    data = site.folder / "data"
    for name, segment, topic_id in (
        ("__consumer_offsets-3", whole, OLD),
        ("__consumer_offsets.bak-3", other, OLD),
        ("orders-0", whole, NEW),
        ("orders-1", whole, NEW),
        ("old-2", other, NEW),
    ):
        _put(data / name, segment, topic_id)
    site.capture(Broker(1, log_dirs=site.glob("data")))
    assert {row["topic"] for row in site.rows(tables.BATCHES)} == {"__consumer_offsets", "orders"}
    assert site.quarantine() == {"__consumer_offsets.bak-3": ("unreadable", 0), "old-2": ("unreadable", 0)}


def test_a_deleted_partition_is_not_mixed_with_the_one_that_has_its_name_now(
    site: Site, captures: Path
) -> None:
    old, new = _segments(captures)
    data, name = site.folder / "data", "__consumer_offsets-3"
    _put(data / name, new, None)
    broker = Broker(1, log_dirs=site.glob("data"))
    site.capture(broker)
    alone = _found(site)
    deleted = _put(data / f"{name}.{'0f' * 16}-delete", old, None)
    site.capture(broker)
    assert _found(site) == alone
    assert site.quarantine() == {deleted.name: ("unreadable", 0)}
    _put(deleted, old, OLD)
    site.capture(broker)
    assert set(_found(site)) == {None, OLD}
    assert site.quarantine() == {}
