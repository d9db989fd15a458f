"""Replicas that have different batches in one place: only one of them can be what the leader wrote."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from fencepost import tables
from fencepost.formats.batches import walk
from fencepost.formats.crc32c import crc32c
from fencepost.settings import Broker

if TYPE_CHECKING:
    from conftest import Site

EVERYWHERE = pytest.mark.parametrize("site", ["process", "processes", "spark"], indirect=True)
CAPTURE, PARTITION, SEGMENT = "producers-failover-4.3.1", "failover-0", "00000000000000000000.log"
OFFSET = 8
"""Of the batch that is another one in a replica; another batch follows it in the segment."""
_LEADER_EPOCH, _CRC, _ATTRIBUTES, _COUNT = 12, 17, 21, 57
Edit = Callable[[bytearray, int], None]


def replicas(captures: Path, site: Site) -> tuple[Broker, Broker]:
    """One partition's folders at two brokers, without the files that name these."""
    found = []
    for broker in (1, 2):
        folder = site.folder / f"broker-{broker}"
        shutil.copytree(captures / CAPTURE / f"broker-{broker}" / "log_dir" / PARTITION, folder / PARTITION)
        found.append(Broker(broker, site.glob(f"broker-{broker}")))
    return found[0], found[1]


def edited(site: Site, edit: Edit) -> tuple[Path, int]:
    """Edit the batch at broker 2, and make its checksum right again; returns its file and position."""
    file = site.folder / "broker-2" / PARTITION / SEGMENT
    data = bytearray(file.read_bytes())
    (batch,) = [row for row in walk(bytes(data)).batches.to_pylist() if row["base_offset"] == OFFSET]
    position, end = batch["position"], batch["position"] + batch["size"]
    edit(data, position)
    crc = crc32c(np.frombuffer(bytes(data), dtype=np.uint8), position + _ATTRIBUTES, end)
    struct.pack_into(">I", data, position + _CRC, int(crc))
    file.write_bytes(bytes(data))
    return file, position


def another_payload(data: bytearray, position: int) -> None:
    data[position + 80] ^= 1


def found(site: Site) -> list[tuple[str, str, int]]:
    rows = site.rows(tables.QUARANTINE)
    return sorted((row["reason"], row["file"], row["position"]) for row in rows)


@EVERYWHERE
def test_replicas_that_differ_are_told_although_their_checksums_are_right(site: Site, captures: Path) -> None:
    brokers = replicas(captures, site)
    file, position = edited(site, another_payload)
    site.capture(*brokers)
    assert found(site) == [("contradiction", str(file), position)]
    (row,) = site.rows(tables.QUARANTINE)
    assert row["detail"].startswith("broker 1 has another batch at offset 8 of leader epoch 1, which")
    # what was read first is what bronze has
    (batch,) = [each for each in site.rows(tables.BATCHES) if each["base_offset"] == OFFSET]
    assert batch["broker_id"] == 1
    site.capture(*brokers, run_id="again")
    assert found(site) == [("contradiction", str(file), position)]


def test_a_replica_is_compared_with_what_another_run_has_read(site: Site, captures: Path) -> None:
    """As collectors of several machines read them."""
    first, second = replicas(captures, site)
    file, position = edited(site, another_payload)
    site.capture(first)
    assert found(site) == []
    site.capture(first, second)
    assert found(site) == [("contradiction", str(file), position)]


def of_an_older_epoch(data: bytearray, position: int) -> None:
    struct.pack_into(">i", data, position + _LEADER_EPOCH, 0)


def test_a_replica_whose_leader_epochs_fall_is_told(site: Site, captures: Path) -> None:
    """Where the others have a newer one, the older batch looks like one that was written over."""
    brokers = replicas(captures, site)
    file, position = edited(site, of_an_older_epoch)
    site.capture(*brokers)
    assert found(site) == [("out_of_order", str(file), position)]
    epochs = {row["leader_epoch"] for row in site.rows(tables.BATCHES) if row["base_offset"] == OFFSET}
    assert epochs == {0, 1}, "the row of the older one stays"


def fewer_records(data: bytearray, position: int) -> None:
    struct.pack_into(">i", data, position + _COUNT, 1)


def with_a_delete_horizon(data: bytearray, position: int) -> None:
    (attributes,) = struct.unpack_from(">h", data, position + _ATTRIBUTES)
    struct.pack_into(">h", data, position + _ATTRIBUTES, attributes | 0x40)


def as_it_was(data: bytearray, position: int) -> None:
    """What a follower appends."""


@pytest.mark.parametrize("edit", [fewer_records, with_a_delete_horizon, as_it_was])
def test_what_the_log_cleaner_writes_anew_contradicts_nothing(site: Site, captures: Path, edit: Edit) -> None:
    brokers = replicas(captures, site)
    edited(site, edit)
    site.capture(*brokers)
    assert found(site) == []
