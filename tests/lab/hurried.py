"""Real Java clients that never wait, while their topic is deleted and created again under them.

Between two steps of an operator they commit dozens of times: what a broker does in the milliseconds in which
one part of it has heard of a change, and another has not, is in their lines.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from clients import Client
from java_programs import properties_file, start_program
from scenario import Stage

READ, WRITTEN = "hurried", "hurried-out"
_PARTITIONS = 2
_TO_START_S = 4.0
"""Until a JVM has joined its group and committed."""


def play(stage: Stage, seconds: int, *, is_new: bool) -> list[Client]:
    """Start the clients, and create their topic again; they end by themselves ``seconds`` later.

    ``is_new``: the broker has the consumer protocol.
    """
    for topic in (READ, WRITTEN):
        stage.cluster.create_topic(topic, _PARTITIONS)
    stage.clients.producer(f"{READ}-producer", READ, 50)
    started = [
        _start(stage, protocol, kind, round(_TO_START_S) + seconds)
        for protocol in (("classic", "consumer") if is_new else ("classic",))
        for kind in ("commits", "transfers")
    ]
    time.sleep(_TO_START_S)
    stage.cluster.delete_topic(READ)
    stage.cluster.create_topic(READ, _PARTITIONS)
    return started


def _start(stage: Stage, protocol: str, kind: str, seconds: int) -> Client:
    name = f"{READ}-{kind}-{protocol}"
    group = {"group.id": name, "group.protocol": protocol, "enable.auto.commit": "false"}
    config = {
        **group,
        "auto.offset.reset": "earliest",
        "metadata.max.age.ms": "1000",
        "max.poll.records": "5",
    }
    arguments = [_properties(stage, f"{name}-consumer", config), READ, str(seconds)]
    if kind == "transfers":
        config = {"transactional.id": name, "transaction.timeout.ms": "10000", "linger.ms": "0"}
        arguments += [_properties(stage, f"{name}-producer", config), WRITTEN]
    return start_program(stage.clients, stage.cluster.plan.version, name, "Hurried", *arguments)


def _properties(stage: Stage, client_id: str, config: Mapping[str, str]) -> str:
    of_all = {"bootstrap.servers": stage.cluster.bootstrap, "client.id": client_id, **config}
    return properties_file(stage.clients, client_id, of_all)
