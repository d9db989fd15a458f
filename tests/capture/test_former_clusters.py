"""What is said of log directories that are not of the cluster that the lake has under their name."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from fencepost.formats.crc32c import crc32c
from fencepost.settings import Broker, SettingsError

if TYPE_CHECKING:
    from conftest import Site


@pytest.fixture
def read(site: Site, captures: Path) -> Iterator[Path]:
    """A log directory that has been read."""
    path = site.folder / "log_dir"
    shutil.copytree(captures / "markers-4.3.1" / "broker-1" / "log_dir", path)
    site.capture(Broker(1, site.glob("log_dir")))
    yield path


def _with(path: Path, name: str, value: str) -> None:
    file = path / "meta.properties"
    others = [line for line in file.read_text().splitlines() if not line.startswith(name)]
    file.write_text("\n".join([*others, f"{name}={value}"]))


def _another(path: Path) -> None:
    _with(path, "cluster.id", "x")


def _formatted_again(path: Path) -> None:
    _with(path, "directory.id", "y")
    log = path / "__cluster_metadata-0" / f"{0:020}.log"
    data = log.read_bytes()
    log.write_bytes(data[:17] + bytes(4) + data[21:27] + bytes(8) + data[35:])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_another, "is of the cluster x, and the lake has "),
        (_formatted_again, "was formatted again since it was read, and the cluster began anew"),
    ],
)
def test_a_cluster_that_began_anew_needs_another_name(
    site: Site, read: Path, change: Callable[[Path], None], said: str
) -> None:
    change(read)
    with pytest.raises(SettingsError, match=said):
        site.capture(Broker(1, site.glob("log_dir")))


def test_a_broker_that_is_back_on_an_empty_disk_is_read(site: Site, read: Path) -> None:
    """It has copied the metadata log from the others."""
    _with(read, "directory.id", "y")
    site.capture(Broker(1, site.glob("log_dir")))


def _restored(path: Path, epoch: int | None = None) -> None:
    """A metadata log that goes on otherwise from its middle on: other times, checksums, and perhaps epoch."""
    log = path / "__cluster_metadata-0" / f"{0:020}.log"
    data = bytearray(log.read_bytes())
    begins, at = [], 0
    while at < len(data):
        begins.append(at)
        at += 12 + int.from_bytes(data[at + 8 : at + 12])
    for at in begins[len(begins) // 2 :]:
        if epoch is not None:
            data[at + 12 : at + 16] = epoch.to_bytes(4)
        end = at + 12 + int.from_bytes(data[at + 8 : at + 12])
        data[at + 27 : at + 35] = bytes(8)
        data[at + 17 : at + 21] = int(crc32c(np.frombuffer(bytes(data), np.uint8), at + 21, end)).to_bytes(4)
    log.write_bytes(data)


def test_a_cluster_that_was_restored_needs_another_name(site: Site, read: Path) -> None:
    _restored(read)
    with pytest.raises(SettingsError, match="were restored from older copies"):
        site.capture(Broker(1, site.glob("log_dir")))


def test_a_metadata_log_may_lose_what_was_not_committed(site: Site, read: Path) -> None:
    """Another controller was elected, and its log replaced the end of this one."""
    _restored(read, 1000)
    site.capture(Broker(1, site.glob("log_dir")))
