"""Copies of a broker's directory, made by rsync while it is written, and audited one after the other."""

from __future__ import annotations

import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from brokers import Plan
from clients import Clients
from cluster import Cluster

from fencepost import lake
from fencepost.iceberg.catalog import open_catalog
from fencepost.pipeline import Run
from fencepost.protocols import protocols
from fencepost.settings import load
from fencepost.tables import EPISODES, QUARANTINE

pytestmark = [
    pytest.mark.live,
    pytest.mark.faults,
    pytest.mark.skipif(shutil.which("rsync") is None, reason="rsync is not installed"),
]

SEGMENT_MS, SHORT = "2000", "short"
OF_RUN = frozenset({"run_id", "captured_at"})
STEPS = ("capture", "rebuild", "judge")


def test_copies_of_a_live_broker_say_nothing_wrong_and_end_as_the_original(tmp_path: Path) -> None:
    """Segments roll and are deleted, a copy ends in the middle of a file, the broker restarts, and a copy
    without ``--delete`` keeps what tells of its clean shutdown.
    """
    settings = {"log.retention.check.interval.ms": 1000, "log.segment.delete.delay.ms": 1000}
    copy, seen = tmp_path / "copy", []
    plan = Plan("4.3.1", roll_bytes=300_000, settings=settings)
    with Cluster(plan, tmp_path / "home") as cluster:
        home = cluster.brokers[0].home
        for topic in ("orders", SHORT):
            cluster.create_topic(topic, 2)
            cluster.set_topic_config(topic, "segment.ms", SEGMENT_MS)
        cluster.set_topic_config(SHORT, "retention.ms", "3000")
        cluster.coordinator("any")
        cluster.set_topic_config("__consumer_offsets", "segment.ms", SEGMENT_MS)
        config = _config(tmp_path / "copies", copy)
        with Clients(cluster, tmp_path / "clients") as clients:
            for topic in ("orders", SHORT):
                clients.producer(f"{topic}-producer", topic, 200)
            clients.consumer("new", "new", "orders").await_event("offsets_committed", 3)
            clients.consumer("classic", "classic", "orders", protocol="CLASSIC").await_event(
                "offsets_committed", 3
            )
            for number in range(3):
                if number == 1:
                    _cut_copy(home, copy)
                else:
                    _copied(home, copy)
                seen.append(_audited(config))
                time.sleep(3)
            cluster.stop_broker(1)
            _copied(home, copy)
            cluster.start_broker(1)
            # what tells of the clean shutdown stays in the copy
            time.sleep(5)
            _copied(home, copy)
            seen.append(_audited(config))
            assert (copy / "log_dir" / ".kafka_cleanshutdown").exists()
            assert not (home / "log_dir" / ".kafka_cleanshutdown").exists()
        cluster.stop_broker(1)
        _copied(home, copy, "--delete")
        seen.append(_audited(config))
        assert not _violated(seen)
        assert sum(verdict == "holds" for verdict in seen[0].values()) > 3
        at_once = _config(tmp_path / "at-once", home)
        _audited(at_once)
        assert _differences(config, at_once, copy, home) == {}


def _copied(home: Path, copy: Path, *options: str) -> None:
    """A copy of the whole folder; files that vanish meanwhile are no failure."""
    done = subprocess.run(["rsync", "-a", *options, f"{home}/", f"{copy}/"], check=False, capture_output=True)
    assert done.returncode in (0, 24), done.stderr


def _cut_copy(home: Path, copy: Path) -> None:
    """A copy that is killed while it writes into the files themselves."""
    command = ["rsync", "-a", "--inplace", "--bwlimit=400", f"{home}/", f"{copy}/"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        time.sleep(0.7)
        process.send_signal(signal.SIGKILL)


def _config(folder: Path, logs: Path) -> Path:
    folder.mkdir()
    path = folder / "fencepost.toml"
    path.write_text(f"""
[[clusters]]
name = "copied"

[[clusters.brokers]]
id = 1
log_dirs = ["{logs}/log_dir"]
request_logs = ["{logs}/kafka-request.log*"]
server_logs = ["{logs}/server.log*"]
""")
    return path


def _audited(config: Path) -> dict[str, str]:
    """The verdict of each episode, after a run on what there is now."""
    with Run(load(config)) as run:
        for step in STEPS:
            run.step(step)
        rows = lake.scan(run.catalog, EPISODES, ("verdict_id", "invariant", "verdict"))
    return {f"{row['invariant']} {row['verdict_id']}": row["verdict"] for row in rows.to_pylist()}


def _violated(seen: list[dict[str, str]]) -> set[str]:
    return {name for verdicts in seen for name, verdict in verdicts.items() if verdict == "violated"}


def _differences(one: Path, other: Path, *folders: Path) -> dict[str, Any]:
    """By table, what only one of two lakes has: nothing of the topic whose segments were deleted."""
    found = [dict(_rows(config, folder)) for config, folder in zip((one, other), folders, strict=True)]
    pairs = {name: (found[0][name], found[1][name]) for name in found[0]}
    return {
        name: [(rows[0] - rows[1]).most_common(2), (rows[1] - rows[0]).most_common(2)]
        for name, rows in pairs.items()
        if rows[0] != rows[1]
    }


def _rows(config: Path, logs: Path) -> Iterator[tuple[str, Counter[str]]]:
    catalog = open_catalog(load(config).lake)
    for table in (*(table for each in protocols() for table in each.tables), QUARANTINE):
        rows = lake.scan(catalog, table).to_pylist()
        texts = (
            str({key: value for key, value in row.items() if key not in OF_RUN}).replace(f"{logs}/", "")
            for row in rows
        )
        yield table.name, Counter(text for text in texts if SHORT not in text)
