"""Kafka's own command-line tools against the cluster of a recording."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from brokers import LabError, java
from cluster import Cluster
from log4j import client_logging
from truth import Partition, now_ms

_TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"
_TOPICS = "org.apache.kafka.tools.TopicCommand"
_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
_PERFORMANCE = "org.apache.kafka.tools.ProducerPerformance"
_TIMEOUT_S = 90


def transactions(cluster: Cluster, *arguments: str) -> str:
    """What ``kafka-transactions.sh`` prints."""
    return _run(cluster, _TRANSACTIONS, *arguments)


def _run(cluster: Cluster, tool: str, *arguments: str) -> str:
    command = java(cluster.plan.version, "96m", tool, "--bootstrap-server", cluster.bootstrap, *arguments)
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S)
    if done.returncode:
        raise LabError(f"{tool} {' '.join(arguments)}: {done.stdout}{done.stderr}")
    return done.stdout


def describe_topics(cluster: Cluster) -> list[dict[str, Any]]:
    """Every partition as ``kafka-topics.sh --describe`` prints it; leader -1 for none."""
    found, topic_id = [], ""
    for line in _run(cluster, _TOPICS, "--describe").splitlines():
        told = dict(re.findall(r"(\w+): ([^\t]*)", line))
        if "TopicId" in told:
            topic_id = told["TopicId"].strip()
        if "Partition" not in told:
            continue
        found.append(
            {
                "topic": told["Topic"].strip(),
                "topic_id": topic_id,
                "partition": int(told["Partition"]),
                "leader": -1 if told["Leader"].strip() == "none" else int(told["Leader"]),
                "replicas": _ids(told["Replicas"]),
                "isr": sorted(_ids(told["Isr"])),
            }
        )
    return found


def _ids(text: str) -> list[int]:
    return [int(part) for part in text.split(",") if part.strip()]


def read_from(cluster: Cluster, place: Partition, offset: int, count: int, client_id: str) -> list[int]:
    """The offsets that a real Java consumer reads after a seek to an offset that was stored elsewhere."""
    topic, partition = place
    options = ["--topic", topic, "--partition", str(partition), "--offset", str(offset)]
    options += ["--max-messages", str(count), "--timeout-ms", "20000"]
    options += ["--consumer-property", f"client.id={client_id}"]
    options += ["--property", "print.offset=true", "--property", "print.value=false"]
    printed = _run(cluster, _CONSUMER, *options)
    return [int(found) for found in re.findall(r"^Offset:(\d+)", printed, re.MULTILINE)]


def find_hanging(cluster: Cluster, broker_id: int) -> dict[str, Any]:
    """The output of ``kafka-transactions.sh find-hanging`` for a broker, and the time of the request.

    The least age is as small as the tool allows: 0 minutes.
    """
    arguments = ["find-hanging", "--broker-id", str(broker_id), "--max-transaction-timeout", "0"]
    asked_at = now_ms()
    rows = _table(transactions(cluster, *arguments))
    return {
        "arguments": arguments,
        "asked_at_ms": asked_at,
        "answered_at_ms": now_ms(),
        "hanging": [
            {
                "topic": row["Topic"],
                "partition": int(row["Partition"]),
                "producer_id": int(row["ProducerId"]),
                "producer_epoch": int(row["ProducerEpoch"]),
                "coordinator_epoch": int(row["CoordinatorEpoch"]),
                "start_offset": int(row["StartOffset"]),
                "last_timestamp_ms": int(row["LastTimestamp"]),
            }
            for row in rows
        ],
    }


def _table(text: str) -> list[dict[str, str]]:
    head, *lines = [line.split() for line in text.splitlines() if line.strip()]
    return [dict(zip(head, line, strict=True)) for line in lines]


class JavaProducer:
    """A real Java producer (ProducerPerformance) in many short transactions; ``log`` is what it prints."""

    def __init__(self, cluster: Cluster, log: Path, transactional_id: str, payloads: Sequence[bytes]) -> None:
        self._cluster = cluster
        self._log = log
        self._transactional_id = transactional_id
        self._payloads = log.with_suffix(".payloads")
        self._payloads.write_bytes(b"\n".join(payloads))
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, topic: str, records: int, config: Sequence[str] = ()) -> None:
        """Begin to write, thirty records a second; ``config``: settings, as ``name=value``."""
        version = self._cluster.plan.version
        logging = client_logging(version, self._log.with_suffix(""), "INFO")
        options = ["--topic", topic, "--num-records", str(records), "--throughput", "30"]
        options += ["--payload-file", str(self._payloads), "--transaction-duration-ms", "200"]
        options += ["--transactional-id", self._transactional_id, "--producer-props"]
        options += [f"bootstrap.servers={self._cluster.bootstrap}", f"client.id={self._log.stem}", *config]
        with self._log.open("wb") as out:
            self._process = subprocess.Popen(
                java(version, "96m", logging, _PERFORMANCE, *options),
                stdout=out,
                stderr=subprocess.STDOUT,
            )

    def await_line(self, part: str) -> None:
        """Wait until it has printed a line with this in it."""
        deadline = time.monotonic() + _TIMEOUT_S
        while part not in self._log.read_text(errors="replace"):
            if time.monotonic() > deadline:
                self.stop()
                raise LabError(f"{self._log.stem} did not print {part!r}")
            time.sleep(0.1)

    def wait(self, fenced: bool = False) -> None:
        """Wait for its end, which is a success unless it is ``fenced``."""
        if self._process is None:
            return
        try:
            failed = self._process.wait(_TIMEOUT_S) != 0
        finally:
            self.stop()
        text = self._log.read_text(errors="replace")
        if failed != fenced:
            raise LabError(f"{_PERFORMANCE} ended, failed: {failed}: {text[-2000:]}")
        # the paths of the recording do not matter
        self._log.write_text(text.replace(str(self._log.parent), "/var/lib/kafka"))

    def stop(self) -> None:
        """End the process if it still runs."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()
