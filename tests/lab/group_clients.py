"""Real Java members of classic groups (``java/GroupMember.java``), which report what their assignor sees."""

from __future__ import annotations

from pathlib import Path

from brokers import jars, java
from clients import Client
from java_programs import compile_program, properties_file
from lab_client import note
from log4j import client_logging
from rebalance_groups import RebalanceGroup
from rebalance_truth import read_events
from truth import now_ms

_ASSIGNOR_LOGS = {
    "org.apache.kafka.clients.consumer.internals.ConsumerCoordinator": "DEBUG",
    "org.apache.kafka.clients.consumer.internals.AbstractStickyAssignor": "DEBUG",
}


class JavaMember(Client):
    """One real member. Its log has the lines of Kafka's classes; ``events`` are its assignor's reports."""

    def __init__(self, name: str, log: Path, command: list[str], group: RebalanceGroup, told: Path) -> None:
        super().__init__(name, log, command)
        self._group = group
        self._told = told
        self._note("started")

    def events(self, event: str) -> int:
        """How many events of a name its assignor has reported."""
        return sum(each["event"] == event for each in read_events(self._told))

    def freeze(self) -> None:
        """Pause the process, and note that."""
        self._note("paused")
        self.pause()

    def thaw(self) -> None:
        """Resume it, and note that."""
        self.resume()
        self._note("resumed")

    def stop(self) -> None:
        """It leaves its group (a static member sends no LeaveGroup) and ends."""
        self._note("stopping")
        self.ask_to_stop()
        self.wait()
        self._note("stopped")

    def crash(self) -> None:
        """Kill it."""
        self._note("killed")
        self.kill()

    def failed(self) -> str | None:
        """The exception that ended it."""
        return next((each["error"] for each in read_events(self._told) if each["event"] == "failed"), None)

    def tell(self) -> None:
        """Add its assignor's reports to the group's account."""
        self._group.account.tell(read_events(self._told))

    def _note(self, event: str) -> None:
        note(
            self._group.stage.truth,
            "client",
            event=event,
            client_id=self.name,
            group_id=self._group.group_id,
            at_ms=now_ms(),
        )


def start(
    group: RebalanceGroup,
    name: str,
    assignor: str = "Cooperative",
    *,
    instance_id: str | None = None,
    session_timeout_ms: int = 10_000,
    pattern: str | None = None,
    debug: bool = False,
) -> JavaMember:
    """Start a real member whose client id is ``name``; ``assignor`` is a class in ``GroupMember.java``.

    ``debug``: its log also shows what its coordinator and its assignor do.
    """
    clients = group.stage.clients
    version = group.stage.cluster.plan.version
    config = {
        "bootstrap.servers": group.stage.cluster.bootstrap,
        "group.id": group.group_id,
        "client.id": name,
        "group.protocol": "classic",
        "session.timeout.ms": str(session_timeout_ms),
        "heartbeat.interval.ms": "400",
        "auto.commit.interval.ms": "2000",
        "auto.offset.reset": "earliest",
        **({"group.instance.id": instance_id} if instance_id else {}),
    }
    properties = properties_file(clients, name, config)
    told = clients.folder / f"{name}.events"
    classes = compile_program("GroupMember", f"{jars(version)}/*", clients.folder / "classes")
    (topic,) = {topic for topic, _ in group.partitions}
    loggers = _ASSIGNOR_LOGS if debug else None
    logging = client_logging(version, clients.folder / name, "INFO", loggers, pattern)
    options = [logging, f"-Duser.timezone={clients.zone(name)}"]
    program = ["GroupMember", properties, topic, assignor, str(told)]
    command = java(version, "64m", *options, *program, classes=classes)
    return clients.run(JavaMember(name, clients.folder / f"{name}.log", command, group, told))
