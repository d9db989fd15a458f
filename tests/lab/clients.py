"""Real clients: Kafka's own VerifiableProducer and VerifiableConsumer, each in its own small JVM.

Their JSON event lines (records consumed, offsets committed, partitions assigned and revoked) are the client
logs of a capture.
"""

from __future__ import annotations

import re
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import TypeVar

from brokers import LabError, java
from cluster import Cluster
from commits import release
from log4j import client_logging

_TOOLS = "org.apache.kafka.tools."
_CONFIG_OPTIONS = {"VerifiableProducer": "--producer.config", "VerifiableConsumer": "--consumer.config"}
"""The option for the tools' configuration before 4.2."""

_PATIENCE_S = 45.0


class Client:
    """One running client and its log."""

    def __init__(self, name: str, log: Path, command: list[str]) -> None:
        self.name = name
        self.log = log
        with log.open("wb") as out:
            self._process = subprocess.Popen(
                command, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
            )

    def await_event(self, event: str, count: int = 1) -> None:
        """Wait until the client has printed this many events of a name."""
        deadline = time.monotonic() + _PATIENCE_S
        while self.events(event) < count:
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise LabError(f"client {self.name} printed no {event!r} ({count} wanted), see {self.log}")
            time.sleep(0.1)

    def events(self, event: str) -> int:
        """How many events of a name the client has printed."""
        return len(re.findall(rf'"name":"{event}"', self.log.read_text(errors="replace")))

    def pause(self) -> None:
        """Pause the process: it sends nothing and does not notice that time passes."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Resume a paused process, which has its old state."""
        self._process.send_signal(signal.SIGCONT)

    def ask_to_stop(self) -> None:
        """Request a clean end (a consumer commits and leaves its group)."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)

    def wait(self) -> None:
        """Wait for the end; a client that does not end in time is killed."""
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.wait()


C = TypeVar("C", bound=Client)


class Clients:
    """Starts clients and ends them all with the ``with`` block."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self._cluster = cluster
        self.folder = folder
        self.zones: dict[str, str] = {}
        self._running: list[Client] = []
        folder.mkdir(parents=True)

    def __enter__(self) -> Clients:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        for client in self._running:
            if kind is None:
                client.ask_to_stop()
            else:
                client.kill()
        for client in self._running:
            client.wait()

    def zone(self, name: str) -> str:
        """The time zone of a client's log; ``zones`` has those that are not in UTC."""
        return self.zones.get(name, "UTC")

    def run(self, client: C) -> C:
        """Take over the end of a client that was started elsewhere."""
        self._running.append(client)
        return client

    def producer(
        self,
        name: str,
        topic: str,
        per_second: int,
        config: Mapping[str, str] = MappingProxyType({}),
        debug: str | None = None,
    ) -> Client:
        """A producer of increasing integers; ``debug`` is a logger to write into its log, too."""
        options = ["--topic", topic, "--throughput", str(per_second), "--repeating-keys", "16"]
        return self._start(name, "VerifiableProducer", config, options, debug)

    def consumer(
        self,
        name: str,
        group_id: str,
        topic: str,
        *,
        autocommit: bool = False,
        protocol: str = "CONSUMER",
        debug: str | None = None,
    ) -> Client:
        """A member of a group that commits after each poll, or automatically every 200 ms.

        ``protocol`` is ``CONSUMER`` (KIP-848) or ``CLASSIC``; ``debug`` a logger to write into its log, too.
        """
        config = {"client.id": name, "auto.commit.interval.ms": "200"}
        options = ["--topic", topic, "--group-id", group_id, "--group-protocol", protocol]
        options += ["--enable-autocommit"] if autocommit else []
        return self._start(name, "VerifiableConsumer", config, options, debug)

    def _start(
        self, name: str, tool: str, config: Mapping[str, str], options: list[str], debug: str | None = None
    ) -> Client:
        version = self._cluster.plan.version
        properties = self.folder / f"{name}.properties"
        properties.write_text("".join(f"{key}={value}\n" for key, value in config.items()))
        given = _CONFIG_OPTIONS[tool] if release(version) < (4, 2) else "--command-config"
        bootstrap = ["--bootstrap-server", self._cluster.bootstrap, given, str(properties)]
        logging = [client_logging(version, self.folder / name, "ERROR", {debug: "DEBUG"})] if debug else []
        command = java(version, "64m", *logging, _TOOLS + tool, *bootstrap, *options)
        return self.run(Client(name, self.folder / f"{name}.log", command))
