"""The scenario ``natural``: ordinary clients of four makers on a broker with production settings.

The log cleaner runs, segments are small, the request log is rolled and gzipped, the broker is restarted, and
a topic is deleted and created again under its consumers. Nothing is made by hand, so there is no ground
truth: the audit must report no violation.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

from brokers import LabError, Plan
from scenario import Scenario, Stage, make_another, prepare, restart

CLIENTS = "FENCEPOST_LAB_PYTHON"
"""The variable with the Python that has confluent-kafka, kafka-python and aiokafka, which the product does
not need.
"""

_KINDS = {"librdkafka": "confluent_kafka", "kafka-python": "kafka", "aiokafka": "aiokafka"}
_SECONDS = 20
_SEGMENT_MS = "4000"
_SMALL = {"min.cleanable.dirty.ratio": "0.01", "delete.retention.ms": "0", "segment.ms": _SEGMENT_MS}


def play(stage: Stage) -> None:
    """All clients at once; then a restart, then another topic of the same name."""
    prepare(stage, {"orders": 3, "shipped": 2, "audit": 2}, _SEGMENT_MS)
    stage.cluster.coordinator("any", transaction=True)
    for topic in ("__consumer_offsets", "__transaction_state"):
        for name, value in _SMALL.items():
            stage.cluster.set_topic_config(topic, name, value)
    others = start_clients(stage, _SECONDS)
    stage.clients.producer("java-producer", "orders", 1)
    stage.clients.consumer("java-consumer", "java-consumer", "orders", autocommit=True)
    stage.clients.consumer("java-classic", "java-classic", "orders", autocommit=True, protocol="CLASSIC")
    time.sleep(7)
    make_another(stage, "audit", 2)
    time.sleep(3)
    restart(stage)
    for each in others:
        each.wait(_SECONDS + 30)


def start_clients(
    stage: Stage, seconds: int, kinds: Iterable[str] = tuple(_KINDS)
) -> list[subprocess.Popen[bytes]]:
    """Start the clients of these makers, by default of all; they end after so long. Raises ``LabError``."""
    return [_start(stage, kind, seconds) for kind in kinds]


def _start(stage: Stage, kind: str, seconds: int) -> subprocess.Popen[bytes]:
    python = os.environ.get(CLIENTS)
    if python is None or subprocess.run([python, "-c", f"import {_KINDS[kind]}"], check=False).returncode:
        raise LabError(
            f"{CLIENTS} must name a Python with confluent-kafka, kafka-python and aiokafka: "
            "python3 -m venv DIR && DIR/bin/pip install confluent-kafka kafka-python aiokafka"
        )
    script = Path(__file__).with_name("natural_clients.py")
    with (stage.clients.folder / f"{kind}.txt").open("wb") as out:
        command = [python, str(script), kind, stage.cluster.bootstrap, str(seconds)]
        return subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)


def plan(version: str) -> Plan:
    """One broker, whose cleaner is never idle for long."""
    settings: dict[str, object] = {
        "log.cleaner.enable": "true",
        "log.cleaner.backoff.ms": 500,
        "log.cleaner.dedupe.buffer.size": 4_194_304,
        "log.segment.delete.delay.ms": 500,
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": 2000,
    }
    return Plan(version, offsets_partitions=2, roll_bytes=150_000, settings=settings)


SCENARIO = Scenario(plan, play)
