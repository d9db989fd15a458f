"""Real clients beside the requests by schema: Java's, librdkafka's, those of Python and Go, Kafka Streams."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

import hurried
import natural
import streams_apps
from brokers import LabError
from clients import Client, Clients
from makers import Makers
from plays.calls import Calls
from plays.script import Setting, Step
from scenario import Stage as LabStage
from truth import GroundTruth

_TOPICS = {"orders": 3, "shipped": 2, "audit": 2}
_CLEANUP_S = 60.0  # they end by themselves, and the machine may be busy
_PYTHON = ("librdkafka", "kafka-python", "aiokafka")


class Casts:
    """Steps that start ordinary clients; they go on by themselves while the play goes on.

    Each maker plays once on a cluster, since its groups and ids have fixed names.
    """

    def __init__(self, calls: Calls, setting: Setting, home: Path) -> None:
        self.calls, self.setting = calls, setting
        self.home = home
        self._clients: Clients | None = None
        self._lab: LabStage | None = None
        self._started: set[str] = set()
        self._running: list[subprocess.Popen[bytes]] = []
        self._hurried: list[Client] = []

    def do_cast(self, step: Step) -> None:
        maker = step["maker"]
        if maker in self._started:
            return
        self._started.add(maker)
        try:
            self._start(maker, step["s"])
        except LabError as error:  # this machine lacks what the maker's clients need
            self.calls.fact("cast_missing", maker=maker, why=str(error)[:200])
        else:
            self.calls.fact("cast", maker=maker)

    def _start(self, maker: str, seconds: int) -> None:
        stage = self._stage()
        clients = stage.clients
        if maker == "java-producer":
            clients.producer(maker, "orders", 2)
        elif maker == "java-consumer" and self.setting.is_new:
            for name in (f"{maker}-1", f"{maker}-2"):
                clients.consumer(name, maker, "orders", autocommit=True)
        elif maker in ("java-classic", "java-consumer"):
            clients.consumer(maker, maker, "orders", autocommit=True, protocol="CLASSIC")
        elif maker == "java-hurried":
            self._hurried += hurried.play(stage, seconds, is_new=self.setting.is_new)
        elif maker in _PYTHON:
            self._running += natural.start_clients(stage, seconds, (maker,))
        elif maker == "franz":
            if shutil.which("go") is None:
                raise LabError("franz-go needs go")
            makers = Makers(stage)
            makers.member("franz", "franz-1", "franz-group", assignor="cooperative-sticky", commit="manual")
            makers.member("franz", "franz-2", "franz-group", assignor="cooperative-sticky", commit="manual")
            makers.start(
                "franz", "transfer", "franz-tx", group="franz-eos", transactional_id="franz-tx", work=300
            )
        else:
            streams_apps.start(stage, _application(maker, self.setting), "a")

    def _stage(self) -> LabStage:
        if self._lab is None:
            cluster = self.calls.cluster
            for topic, partitions in _TOPICS.items():
                cluster.create_topic(topic, partitions)
            self._clients = Clients(cluster, self.home / "clients")
            self._lab = LabStage(cluster, self._clients, GroundTruth(), lambda _: None)
        return self._lab

    def stop(self) -> None:
        """End all clients cleanly, and wait for them: Kafka's answers at the end must be its last."""
        for each in self._running:
            each.wait(_CLEANUP_S)
        self._running.clear()
        for client in self._hurried:
            client.wait()
        if self._clients is not None:
            self._clients.__exit__(None, None, None)
            time.sleep(0.5)


def _application(maker: str, setting: Setting) -> streams_apps.Settings:
    """An application of Kafka Streams, as a member of a streams group or of a classic one."""
    guarantee = (("processing.guarantee", "exactly_once_v2"),) if maker == "streams-eos" else ()
    protocol = "streams" if maker == "streams" and setting.release >= "4.2" else "classic"
    return streams_apps.Settings(f"app-{maker}", protocol=protocol, topic="orders", more=guarantee)
