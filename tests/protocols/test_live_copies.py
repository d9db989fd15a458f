"""A copy of a live log directory: what its coordinator refused last is unknown, unless files keep their times
and the broker noted its high watermarks after that.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from chaptered import Audit

from fencepost import lake
from fencepost.replay.keys import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from fencepost.tables import BATCHES

PROTOCOLS = ("offset_commit", "producer_epoch")
REFUSED = {"offset_commits", "offset_commit_states", "add_partitions_to_txns", "add_partitions_to_txn_states"}
NOTED_S = 60
"""After the newest record."""


@pytest.mark.parametrize("name", ["groups-4.3.1", "producers-4.3.1"])
def test_a_live_copy_that_keeps_times_tells_as_much_as_logs_that_ended(
    captures: Path, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / name
    shutil.copytree(captures / name, folder)
    ended = Audit.of(folder, tmp_path / "ended", PROTOCOLS)
    (log_dir,) = folder.glob("*/log_dir")
    (log_dir / ".kafka_cleanshutdown").unlink()
    without_times = Audit.of(folder, tmp_path / "without_times", PROTOCOLS)
    different = {table for table in ended.whole if ended.whole[table] - without_times.whole[table]}
    assert different
    assert {table.removeprefix("silver.") for table in different} <= REFUSED
    of_coordinators = [{"topic": frozenset({OFFSETS_TOPIC, TRANSACTIONS_TOPIC})}]
    written = lake.scan(ended.catalog, BATCHES, ("file", "max_timestamp_ms"), of_coordinators)
    for row in sorted(written.to_pylist(), key=lambda row: row["max_timestamp_ms"]):
        at = row["max_timestamp_ms"] / 1000
        os.utime(row["file"], (at, at))
    os.utime(log_dir / "replication-offset-checkpoint", (at + NOTED_S, at + NOTED_S))
    assert Audit.of(folder, tmp_path / "with_times", PROTOCOLS).whole == ended.whole
