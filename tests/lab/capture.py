"""Makes a small capture, which can be committed, of a broker's folders."""

from __future__ import annotations

import gzip
import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from brokers import jars
from clients import Clients
from cluster import Cluster
from truth import GroundTruth

COMMIT_APIS = ("OFFSET_COMMIT", "TXN_OFFSET_COMMIT")

# Index files are preallocated and rebuilt from the segments; locks are of the running process.
_LEFT_OUT = shutil.ignore_patterns("*.index", "*.timeindex", ".lock")

_LARGE_BYTES = {"kafka-request.log": 1_000_000, "server.log": 250_000}


def write_capture(folder: Path, cluster: Cluster, clients: Clients, truth: GroundTruth) -> None:
    """Copy the evidence of a cluster into ``folder``, replacing it, with a ``fencepost.toml`` beside it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as unfinished:
        complete = Path(unfinished) / folder.name
        complete.mkdir()
        _fill(complete, cluster, clients, truth)
        if folder.exists():
            shutil.rmtree(folder)
        complete.rename(folder)


def _fill(folder: Path, cluster: Cluster, clients: Clients, truth: GroundTruth) -> None:
    for broker in cluster.brokers:
        target = folder / broker.home.name
        shutil.copytree(broker.log_dir, target / "log_dir", ignore=_LEFT_OUT)
        for log in sorted(broker.home.glob("kafka-request.log*")):
            shutil.copy2(log, target / log.name)
        _roll(target / "kafka-request.log")
        # Kafka prints its whole configuration; the paths of the recording do not matter.
        text = (broker.home / "server.log").read_text().replace(str(broker.home), "/var/lib/kafka")
        text = text.replace(str(jars(cluster.plan.version)), "/opt/kafka/libs")
        (target / "server.log").write_text(text)
        _roll(target / "server.log")
    (folder / "clients").mkdir()
    # a process that was killed early may have logged nothing
    names = sorted(log.stem for log in clients.folder.glob("*.log") if log.stat().st_size)
    for name in names:
        text = (clients.folder / f"{name}.log").read_text(errors="replace")
        text = text.replace(str(clients.folder), "/var/lib/client")
        (folder / "clients" / f"{name}.log").write_text(text)
    truth.write(folder / "ground_truth.jsonl")
    (folder / "fencepost.toml").write_text(
        _toml(folder.name, cluster, {name: clients.zone(name) for name in names})
    )


def _roll(log: Path) -> None:
    """Roll a large log, as logrotate does for brokers whose logging does not roll."""
    lines = log.read_bytes().splitlines(keepends=True)
    if log.stat().st_size > _LARGE_BYTES[log.name]:
        kept = len(lines) // 20
        with gzip.open(log.with_name(f"{log.name}.1.gz"), "wb") as rolled:
            rolled.writelines(lines[:-kept])
        log.write_bytes(b"".join(lines[-kept:]))


def _toml(name: str, cluster: Cluster, clients: dict[str, str]) -> str:
    lines = ["[[clusters]]", f"name = {json.dumps(name)}"]
    for broker in cluster.brokers:
        home = broker.home.name
        lines += ["", "[[clusters.brokers]]", f"id = {broker.broker_id}", f'log_dirs = ["{home}/log_dir"]']
        lines += [f'request_logs = ["{home}/kafka-request.log*"]', f'server_logs = ["{home}/server.log*"]']
        lines += [f"timezone = {json.dumps(cluster.plan.timezone)}"]
        if "unstable.feature.versions.enable" in cluster.plan.settings:
            # such a broker registers with the levels of the next release
            lines += [f"kafka_version = {json.dumps(cluster.plan.version)}"]
    for client, zone in clients.items():
        lines += ["", "[[clusters.clients]]", f"name = {json.dumps(client)}"]
        lines += [f'logs = ["clients/{client}.log"]']
        lines += [] if zone == "UTC" else [f"timezone = {json.dumps(zone)}"]
    return "\n".join(lines) + "\n"


def request_lines(folder: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Every line of a capture's request logs: its file and its JSON, oldest file first per broker."""
    for log in sorted(folder.glob("broker-*/kafka-request.log*"), key=_age):
        with gzip.open(log, "rt") if log.suffix == ".gz" else log.open() as lines:
            for line in lines:
                yield log, json.loads(line[line.index("{") : line.rindex("}") + 1])


def refused_commits(folder: Path) -> int:
    """How many partitions of commits in a capture's request logs were refused."""
    return sum(
        partition["errorCode"] != 0
        for _, line in request_lines(folder)
        if line["requestHeader"]["requestApiKeyName"] in COMMIT_APIS
        for topic in line["response"]["topics"]
        for partition in topic["partitions"]
    )


def _age(log: Path) -> tuple[str, float]:
    number = log.name.removeprefix("kafka-request.log").strip(".gz")
    return (log.parent.name, int(number) if number else float("inf"))
