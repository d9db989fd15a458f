"""Real Kafka Streams applications (``java/StreamsApp.java``), and observations of their state directories."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from brokers import LabError, jars, java, streams_jars
from clients import Client
from commits import release
from java_programs import compile_program
from lab_client import note
from log4j import client_logging
from partition_requests import Row
from rebalance_truth import read_events
from scenario import Stage
from truth import now_ms

DETAILS = {
    "org.apache.kafka.streams.processor.internals.StateDirectory": "TRACE",
    "org.apache.kafka.streams.processor.internals.TaskManager": "DEBUG",
    "org.apache.kafka.streams.processor.internals.StreamsPartitionAssignor": "DEBUG",
}
"""Loggers with the lines about task directories, and their levels."""

CONFIGURED = {
    "org.apache.kafka.clients.consumer.ConsumerConfig": "WARN",
    "org.apache.kafka.clients.producer.ProducerConfig": "WARN",
    "org.apache.kafka.clients.admin.AdminClientConfig": "WARN",
}
"""Loggers without the long configurations of clients, but with that of Streams."""

_BRIEF = {**CONFIGURED, "org.apache.kafka.streams.StreamsConfig": "WARN"}

_TASK = re.compile(r"\d+_\d+")
_LOOK_S = 0.02
PATIENCE_S = 90.0


@dataclass(frozen=True)
class Layout:
    """How an application logs: a pattern of log4j, loggers beside INFO, and the zone of its clock."""

    pattern: str | None = None
    loggers: dict[str, str] | None = None
    zone: str = "UTC"


@dataclass(frozen=True)
class Settings:
    """The configuration that the instances of one application share; the rest is Kafka's default.

    With ``topic`` it has that one alone, with a logged store.
    """

    application_id: str
    standbys: int = 0
    cleanup_ms: int = 600_000
    protocol: str = "classic"
    is_static: bool = False
    session_timeout_ms: int = 6000
    threads: int = 1
    topic: str | None = None
    more: tuple[tuple[str, object], ...] = ()
    layout: Layout = Layout()


class Instance(Client):
    """One process of an application, from its start to its end; ``name`` is its client id."""

    def __init__(self, stage: Stage, name: str, command: list[str], row: Row) -> None:
        super().__init__(name, stage.clients.folder / f"{name}.log", command)
        self._stage, self._row = stage, row
        self._told = stage.clients.folder / f"{name}.events"
        self._note("started")

    def told(self) -> list[Row]:
        """The events that the application has reported so far."""
        return read_events(self._told)

    def tasks(self) -> Row:
        """Its active and standby tasks in its last report."""
        said = [each["tasks"] for each in self.told() if each["event"] == "tasks"]
        return said[-1] if said else {"active": [], "standby": []}

    def is_running(self) -> bool:
        """Whether its state is RUNNING."""
        states = [each["to"] for each in self.told() if each["event"] == "state"]
        return bool(states) and states[-1] == "RUNNING"

    def stop(self) -> None:
        """Close it cleanly: a member of a classic group does not leave its group."""
        self._note("stopping")
        self.ask_to_stop()
        self.wait()
        self._note("stopped")
        self._tell()

    def crash(self) -> None:
        """Kill it."""
        self.kill()
        self._note("killed")
        self._tell()

    def _tell(self) -> None:
        for event in self.told():
            note(self._stage.truth, "streams", instance=self.name, **event)

    def _note(self, event: str) -> None:
        note(self._stage.truth, "application", event=event, instance=self.name, at_ms=now_ms(), **self._row)


def start(stage: Stage, settings: Settings, place: str, again: int = 0) -> Instance:
    """Start the instance of one ``place`` (state directory, client id); ``again`` counts its restarts."""
    clients, version = stage.clients, stage.cluster.plan.version
    name = f"{settings.application_id}-{place}"
    run = f"{name}-{again}" if again else name
    state = clients.folder / "state" / name
    config: dict[str, Any] = {
        "bootstrap.servers": stage.cluster.bootstrap,
        "application.id": settings.application_id,
        "client.id": name,
        "state.dir": state,
        "num.stream.threads": settings.threads,
        "num.standby.replicas": settings.standbys,
        "state.cleanup.delay.ms": settings.cleanup_ms,
        "commit.interval.ms": 500,
        "main.consumer.auto.offset.reset": "earliest",
        "main.consumer.session.timeout.ms": settings.session_timeout_ms,
        "main.consumer.heartbeat.interval.ms": 1000,
        "consumer.metadata.max.age.ms": 5000,
        **dict(settings.more),
    }
    if release(version) >= (4, 2):
        config["group.protocol"] = settings.protocol
    if settings.is_static:
        config["main.consumer.group.instance.id"] = name
    properties = clients.folder / f"{run}.properties"
    properties.write_text("".join(f"{key}={value}\n" for key, value in config.items()))
    told = clients.folder / f"{run}.events"
    more = f"{streams_jars(version)}/*"
    class_path = f"{jars(version)}/*:{more}"
    classes = compile_program("StreamsApp", class_path, clients.folder / "classes")
    layout = settings.layout
    clients.zones[run] = layout.zone
    loggers = _BRIEF if layout.loggers is None else layout.loggers
    logging = client_logging(version, clients.folder / run, "INFO", loggers, layout.pattern)
    options = [logging, f"-Duser.timezone={layout.zone}", f"-Djava.io.tmpdir={clients.folder}"]
    only = () if settings.topic is None else (settings.topic,)
    command = java(
        version,
        "160m",
        *options,
        "StreamsApp",
        str(properties),
        str(told),
        *only,
        classes=f"{classes}:{more}",
    )
    row = {
        "application_id": settings.application_id,
        "client_id": name,
        "protocol": settings.protocol,
        "standbys": settings.standbys,
        "cleanup_delay_ms": settings.cleanup_ms,
    }
    instance = Instance(stage, run, command, row)
    return clients.run(instance)


def until(what: str, so: Callable[[], bool], patience_s: float = PATIENCE_S) -> None:
    """Wait until a condition holds. Raises ``LabError`` if it does not."""
    deadline = time.monotonic() + patience_s
    while not so():
        if time.monotonic() > deadline:
            raise LabError(f"waited in vain: {what}")
        time.sleep(0.1)


class Directories:
    """Watches the task directories of all instances on disk: between which two looks each appears and
    disappears.
    """

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._root = stage.clients.folder / "state"
        self._over = threading.Event()
        self._seen: dict[tuple[str, str], tuple[int, int]] = {}
        self._processes: dict[str, str] = {}
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Directories:
        self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        before = now_ms()
        while not self._over.is_set():
            now = now_ms()
            self._look(before, now)
            before = now
            time.sleep(_LOOK_S)

    def _look(self, before: int, now: int) -> None:
        found: dict[tuple[str, str], int] = {}
        for folder in self._root.glob("*/*/*"):
            place = folder.parts[-3]
            if folder.name == "kafka-streams-process-metadata":
                self._process(place, folder)
            elif _TASK.fullmatch(folder.name):
                try:
                    found[place, folder.name] = folder.stat().st_mtime_ns // 1_000_000
                except FileNotFoundError:
                    continue
        for key in found.keys() - self._seen.keys():
            self._note("created", key, before, now, found[key])
        for key in self._seen.keys() - found.keys():
            self._note("deleted", key, before, now, self._seen[key][1])
        self._seen = {key: (now, modified) for key, modified in found.items()}

    def _note(self, event: str, key: tuple[str, str], after: int, at: int, modified: int) -> None:
        note(
            self._stage.truth,
            "directory",
            event=event,
            client_id=key[0],
            task_id=key[1],
            after_ms=after,
            at_ms=at,
            modified_at_ms=modified,
        )

    def _process(self, place: str, file: Path) -> None:
        try:
            process_id = json.loads(file.read_text())["processId"]
        except (OSError, ValueError, KeyError):  # it is being written
            return
        if self._processes.get(place) != process_id:
            self._processes[place] = process_id
            note(self._stage.truth, "process", client_id=place, process_id=process_id)
