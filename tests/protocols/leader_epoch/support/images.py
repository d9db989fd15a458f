"""What Kafka's own classes make of a metadata log, and what our replay makes of it, in one form."""

from __future__ import annotations

import json
import subprocess
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fencepost.protocols.leader_epoch.cluster import ClusterHistory

PROGRAM = Path(__file__).with_name("ImagesOfLogs.java")
PARTITION = ("leader", "leader_epoch", "partition_epoch", "recovering", "isr", "replicas", "elr")
BROKER = ("epoch", "incarnation_id", "fenced", "in_controlled_shutdown", "metadata_version")


class Image(NamedTuple):
    """Topics' names by topic id, fields of partitions by topic id:partition, of brokers by id."""

    names: dict[str, str]
    partitions: dict[str, dict[str, Any]]
    brokers: dict[str, dict[str, Any]]


def images_of(jars: Path, logs: Sequence[Path]) -> dict[Path, list[tuple[int, Image]]]:
    """Kafka's images of each folder of a log or ``.checkpoint`` file, with the last offset in each."""
    options = ["-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{jars}/kafka-4.4.0/*"]
    command = ["java", *options, str(PROGRAM), *map(str, logs)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[Path, list[tuple[int, Image]]] = {log: [] for log in logs}
    for line in done.stdout.splitlines():
        said = json.loads(line)
        image = Image(said["names"], said["partitions"], said["brokers"])
        found[Path(said["from"])].append((said["offset"], image))
    return found


def image_at(history: ClusterHistory, offset: int) -> Image:
    """What our replay says was so behind the record at an offset."""
    names, partitions, brokers = {}, {}, {}
    for life in history.topics.values():
        if life.begins.position <= offset and (life.gone is None or offset < life.gone.position):
            assert life.topic is not None
            names[life.topic_id] = life.topic
    for _, partition in history.partitions():
        (now,) = partition.between(offset, offset)
        if now is not None:
            partitions[":".join(map(str, partition.id))] = _fields(now, PARTITION)
    for broker_id, life in history.brokers.items():
        at = bisect_right(life.states.begins, offset, key=lambda point: point.position)
        state = life.states.states[at - 1] if at else None
        if state is not None:
            brokers[str(broker_id)] = _fields(state[0], BROKER)
    return Image(names, partitions, brokers)


def _fields(state: Any, names: Sequence[str]) -> dict[str, Any]:
    values = ((name, getattr(state, name)) for name in names)
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values}
