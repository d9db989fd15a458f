"""Segments that are missing: of Kafka's own topics between others, and the newest ones of every log."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fencepost import tables
from fencepost.settings import Broker

if TYPE_CHECKING:
    from conftest import Site

_OFFSETS = "__consumer_offsets-0"


def _log_dir(captures: Path, capture: str, folder: Path, *gone: str) -> Broker:
    """The log directory of a capture's broker without these files, and without the one that names the broker:
    a copy stands for a replica.
    """
    shutil.copytree(captures / capture / "broker-1" / "log_dir", folder)
    for name in (*gone, "meta.properties"):
        (folder / name).unlink()
    return Broker(1, (str(folder).replace("[", "[[]"),))


def _missing(site: Site) -> list[tuple[str, str]]:
    return [(row["file"], row["reason"]) for row in site.rows(tables.QUARANTINE)]


def test_a_segment_between_others_is_missing_until_it_is_there(captures: Path, site: Site) -> None:
    segment = f"{_OFFSETS}/00000000000000000020.log"
    broker = _log_dir(captures, "subscriptions-4.3.1", site.folder / "data", segment)
    site.capture(broker)
    assert _missing(site) == [(segment, "missing")]
    site.capture(broker)
    assert _missing(site) == [(segment, "missing")]
    shutil.copy(
        captures / "subscriptions-4.3.1" / "broker-1" / "log_dir" / segment, site.folder / "data" / segment
    )
    site.capture(broker)
    assert _missing(site) == []


@pytest.mark.parametrize(
    ("capture", "gone"),
    [
        ("subscriptions-4.3.1", [f"{_OFFSETS}/00000000000000000000.log"]),
        # the cleaner has been here
        ("compacted-4.3.1", []),
        # nobody knows whether it has
        (
            "subscriptions-4.3.1",
            [f"{_OFFSETS}/00000000000000000020.log", "recovery-point-offset-checkpoint"],
        ),
    ],
)
def test_what_may_have_been_deleted_or_compacted_is_not_missing(
    capture: str, gone: list[str], captures: Path, site: Site
) -> None:
    site.capture(_log_dir(captures, capture, site.folder / "data", *gone))
    assert _missing(site) == []


def test_the_cleaner_leaves_the_first_segment_though_perhaps_nothing_in_it(
    captures: Path, site: Site
) -> None:
    segment = f"{_OFFSETS}/00000000000000000000.log"
    broker = _log_dir(captures, "compacted-4.3.1", site.folder / "data", segment)
    site.capture(broker)
    assert _missing(site) == [(segment, "missing")]
    (site.folder / "data" / segment).touch()
    site.capture(broker)
    assert _missing(site) == []


_CHECKPOINTS = ["recovery-point-offset-checkpoint", "replication-offset-checkpoint"]


@pytest.mark.parametrize(
    ("capture", "segment", "gone"),
    [
        ("subscriptions-4.3.1", f"{_OFFSETS}/00000000000000000045.log", []),
        ("subscriptions-4.3.1", f"{_OFFSETS}/00000000000000000045.log", _CHECKPOINTS[:1]),
        ("subscriptions-4.3.1", f"{_OFFSETS}/00000000000000000045.log", _CHECKPOINTS[1:]),
        # what is left is a snapshot
        ("subscriptions-4.3.1", f"{_OFFSETS}/00000000000000000045.log", _CHECKPOINTS),
        ("compacted-4.3.1", f"{_OFFSETS}/00000000000000000529.log", []),
    ],
)
def test_the_newest_segment_is_missing_until_it_is_there(
    capture: str, segment: str, gone: list[str], captures: Path, site: Site
) -> None:
    broker = _log_dir(captures, capture, site.folder / "data", segment, *gone)
    for _ in range(2):
        site.capture(broker)
        assert [(Path(file).parent.name, reason) for file, reason in _missing(site)] == [
            (Path(segment).parent.name, "missing")
        ]
    whole = _log_dir(captures, capture, site.folder / "replica")
    site.capture(broker, Broker(2, whole.log_dirs))
    assert _missing(site) == []


def test_a_log_whose_end_was_written_after_it_was_read_is_not_missing(captures: Path, site: Site) -> None:
    """A segment that is read up to where it ended when the run began, and a copy without its end."""
    broker = _log_dir(captures, "subscriptions-4.3.1", site.folder / "data", *_CHECKPOINTS)
    segment = site.folder / "data" / _OFFSETS / "00000000000000000045.log"
    whole = segment.read_bytes()
    checkpoint = site.folder / "data" / _CHECKPOINTS[1]
    for snapshot in segment.parent.glob("*.snapshot"):
        snapshot.unlink()
    size, last_delta = (int.from_bytes(whole[at : at + 4], "big") for at in (8, 23))
    segment.write_bytes(whole[: 12 + size])
    end = 45 + last_delta + 1
    checkpoint.write_text(f"0\n1\n__consumer_offsets 0 {end}\n")
    site.capture(broker)
    assert _missing(site) == []
    checkpoint.write_text(f"0\n1\n__consumer_offsets 0 {end + 1}\n")
    site.capture(broker)
    assert _missing(site) == [(f"{_OFFSETS}/{end:020d}.log", "missing")]
    segment.write_bytes(whole)
    site.capture(broker)
    assert _missing(site) == []


def test_a_partition_without_segments_is_missing_unless_a_replica_has_them(
    captures: Path, site: Site
) -> None:
    """Its snapshot is still there."""
    segments = ("00000000000000000000.log",)
    broker = _log_dir(captures, "producers-4.3.1", site.folder / "data", f"two_instances-0/{segments[0]}")
    site.capture(broker)
    assert _missing(site) == [(f"{site.folder}/data/two_instances-0/{segments[0]}", "missing")]
    replica = _log_dir(captures, "producers-4.3.1", site.folder / "replica")
    site.capture(broker, Broker(2, replica.log_dirs))
    assert _missing(site) == []


def test_a_partition_that_a_broker_is_creating_is_no_fault(
    captures: Path, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kafka creates leader-epoch-checkpoint some milliseconds before the first segment."""
    broker = _log_dir(captures, "subscriptions-4.3.1", site.folder / "data")
    new = site.folder / "data" / "created-0"
    new.mkdir()
    (new / "leader-epoch-checkpoint").write_text("0\n0\n")
    monkeypatch.setattr("fencepost.capture.log_dirs.time.sleep", lambda _: (new / f"{0:020d}.log").touch())
    site.capture(broker)
    assert _missing(site) == []


def test_a_segment_that_grew_until_the_id_of_its_topic_was_found_is_not_missing(
    captures: Path, site: Site
) -> None:
    broker = _log_dir(captures, "subscriptions-4.3.1", site.folder / "data")
    segment = site.folder / "data" / _OFFSETS / "00000000000000000020.log"
    metadata = segment.with_name("partition.metadata")
    whole, named = segment.read_bytes(), metadata.read_bytes()
    metadata.unlink()
    segment.write_bytes(whole[: len(whole) // 2])
    site.capture(broker)
    assert len(_missing(site)) == 1
    metadata.write_bytes(named)
    segment.write_bytes(whole)
    site.capture(broker)
    assert _missing(site) == []


def test_a_hole_that_a_damaged_segment_left_is_named_once(captures: Path, site: Site) -> None:
    broker = _log_dir(captures, "subscriptions-4.3.1", site.folder / "data")
    segment = site.folder / "data" / _OFFSETS / "00000000000000000020.log"
    data = bytearray(segment.read_bytes())
    data[70] ^= 1
    segment.write_bytes(bytes(data))
    site.capture(broker)
    assert _missing(site) == [(str(segment), "bad_crc")]


def test_what_another_replica_has_is_not_missing(captures: Path, site: Site) -> None:
    segment = f"{_OFFSETS}/00000000000000000020.log"
    broker = _log_dir(captures, "subscriptions-4.3.1", site.folder / "data", segment)
    whole = _log_dir(captures, "subscriptions-4.3.1", site.folder / "replica")
    site.capture(broker)
    assert _missing(site) == [(segment, "missing")]
    site.capture(broker, Broker(2, whole.log_dirs))
    assert _missing(site) == []
