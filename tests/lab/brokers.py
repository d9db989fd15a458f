"""One real broker: its jars, configuration, logging and folders."""

from __future__ import annotations

import base64
import os
import socket
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

NOISE = ("FETCH", "BROKER_HEARTBEAT", "FETCH_SNAPSHOT")
"""APIs without epochs of groups or producers, which would be most of a request log."""


class LabError(Exception):
    """A broker, a client or a scenario failed in a way that makes the recording useless."""


def jars(version: str) -> Path:
    """The folder with every jar of one Kafka version (``$FENCEPOST_JARS`` or ``.jars`` of the repository)."""
    root = Path(os.environ.get("FENCEPOST_JARS", Path(__file__).resolve().parents[2] / ".jars"))
    folder = root / f"kafka-{version}"
    if not any(folder.glob("kafka-clients-*.jar")):
        raise LabError(
            f"{folder} holds no Kafka {version}: run `make setup`, or point FENCEPOST_JARS at the jars"
        )
    return folder


def streams_jars(version: str) -> Path:
    """The folder with Kafka Streams of one version, which no broker needs. Raises ``LabError``."""
    folder = jars(version).with_name(f"streams-{version}")
    if not any(folder.glob("kafka-streams-*.jar")):
        raise LabError(f"{folder} holds no Kafka Streams {version}: run `make jars-streams-{version}`")
    return folder


def java(version: str, heap: str, *arguments: str, classes: Path | str | None = None) -> list[str]:
    """A command line for a short-lived, small JVM with Kafka's jars and other ``classes``."""
    options = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", f"-Xmx{heap}"]
    found = f"{jars(version)}/*" if classes is None else f"{classes}:{jars(version)}/*"
    return ["java", *options, "-cp", found, *arguments]


def kafka_uuid() -> str:
    """A random uuid in Kafka's text form."""
    text = "-"
    while text.startswith(
        "-"
    ):  # Kafka makes none that begin with a dash, which its tools would take for an option
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    return text


def free_ports(count: int) -> list[int]:
    """Free ports on loopback."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [int(s.getsockname()[1]) for s in sockets]
    for s in sockets:
        s.close()
    return ports


@dataclass(frozen=True)
class Plan:
    """What kind of cluster to run. ``roll_bytes`` is the size at which the request log rolls into a .gz.

    ``features`` are levels to format with (``name=level``); ``settings`` are added to server.properties.
    ``unlogged`` are the APIs that the request log leaves out. ``zookeeper``: it keeps the metadata, of 3.9.
    ``ahead_s``: the seconds that each broker's clock is ahead of the machine's, if they have their own.
    """

    version: str
    brokers: int = 1
    offsets_partitions: int = 1
    timezone: str = "UTC"
    roll_bytes: int = 1 << 30
    session_timeout_ms: int = 45_000
    assignment_interval_ms: int = 0
    features: tuple[str, ...] = ()
    unlogged: tuple[str, ...] = NOISE
    settings: Mapping[str, object] = field(default_factory=dict)
    zookeeper: bool = False
    ahead_s: Sequence[float] = ()


@dataclass
class Broker:
    """One combined broker and controller, its folders and its process."""

    broker_id: int
    port: int
    controller_port: int
    home: Path
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def log_dir(self) -> Path:
        """Kafka's log.dirs."""
        return self.home / "log_dir"


def properties(plan: Plan, broker: Broker, voters: str) -> dict[str, object]:
    """The server.properties of a broker; ``voters`` is its controller.quorum.voters."""
    return {
        "process.roles": "broker,controller",
        "node.id": broker.broker_id,
        "controller.quorum.voters": voters,
        "listeners": f"PLAINTEXT://127.0.0.1:{broker.port},CONTROLLER://127.0.0.1:{broker.controller_port}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{broker.port}",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "log.dirs": broker.log_dir,
        "log.index.size.max.bytes": 4096,
        "log.cleaner.enable": "false",  # compaction would delete the history
        "log.segment.delete.delay.ms": 600_000,  # keeps the logs of deleted topics
        "auto.create.topics.enable": "false",
        "num.network.threads": 2,
        "num.io.threads": 2,
        "offsets.topic.num.partitions": plan.offsets_partitions,
        "offsets.topic.replication.factor": plan.brokers,
        "transaction.state.log.num.partitions": 1,
        "transaction.state.log.replication.factor": 1,
        "transaction.state.log.min.isr": 1,
        "share.coordinator.state.topic.num.partitions": 1,
        "share.coordinator.state.topic.replication.factor": 1,
        "group.initial.rebalance.delay.ms": 0,
        "group.consumer.heartbeat.interval.ms": 500,
        "group.consumer.min.heartbeat.interval.ms": 100,
        "group.consumer.min.session.timeout.ms": 1000,
        "group.consumer.session.timeout.ms": plan.session_timeout_ms,
        "group.consumer.assignment.interval.ms": plan.assignment_interval_ms,  # from 4.3
        **plan.settings,
    }
