"""A ZooKeeper on loopback for brokers before 4.0, and what they are told instead of KRaft's settings."""

from __future__ import annotations

import socket
import subprocess
import time
from pathlib import Path

from brokers import LabError, free_ports, java

_START_TIMEOUT_S = 30.0
_OF_KRAFT = ("process.roles", "node.id", "controller.", "listener.", "group.consumer.", "share.")
"""The begins of settings that a broker with ZooKeeper does not have."""
_SETTINGS = """tickTime=500
dataDir={data}
clientPort={port}
clientPortAddress=127.0.0.1
admin.enableServer=false
maxClientCnxns=0
"""


class ZooKeeper:
    """A running server; ``stop`` ends it. Raises ``LabError`` if it does not start."""

    def __init__(self, version: str, home: Path) -> None:
        home.mkdir(parents=True)
        (self._port,) = free_ports(1)
        config, main = home / "zoo.cfg", "org.apache.zookeeper.server.quorum.QuorumPeerMain"
        config.write_text(_SETTINGS.format(data=home / "data", port=self._port))
        with (home / "console.log").open("ab") as console:
            self._process = subprocess.Popen(
                java(version, "128m", main, str(config)), stdout=console, stderr=subprocess.STDOUT, cwd=home
            )
        deadline = time.monotonic() + _START_TIMEOUT_S
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise LabError(f"ZooKeeper did not start:\n{(home / 'console.log').read_text()[-2000:]}")
            time.sleep(0.2)

    def _answers(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self._port), 1).close()
        except OSError:
            return False
        return True

    def settings(self, of_kraft: dict[str, object]) -> dict[str, object]:
        """The settings of a broker that keeps its metadata here, made of those of one with KRaft."""
        kept = {name: value for name, value in of_kraft.items() if not name.startswith(_OF_KRAFT)}
        return {
            **kept,
            "broker.id": of_kraft["node.id"],
            "listeners": of_kraft["advertised.listeners"],
            "zookeeper.connect": f"127.0.0.1:{self._port}",
            "inter.broker.protocol.version": "3.9",
        }

    def stop(self) -> None:
        """End the server."""
        self._process.terminate()
        self._process.wait()
