"""Kafka's own command-line tools against the cluster of a recording."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from brokers import LabError, jars, java
from cluster import Cluster
from truth import now_ms

_TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"
_PERFORMANCE = "org.apache.kafka.tools.ProducerPerformance"
_TIMEOUT_S = 90

_LOG4J2 = """<?xml version="1.0" encoding="UTF-8"?>
<Configuration status="ERROR">
  <Appenders>
    <Console name="out"><PatternLayout pattern="[%d] %p %m (%c)%n"/></Console>
  </Appenders>
  <Loggers>
    <Root level="INFO"><AppenderRef ref="out"/></Root>
    <Logger name="org.apache.kafka.common.config.AbstractConfig" level="WARN"/>
  </Loggers>
</Configuration>
"""
_LOG4J1 = """log4j.rootLogger=INFO, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=[%d] %p %m (%c)%n
log4j.logger.org.apache.kafka.common.config.AbstractConfig=WARN
"""


def transactions(cluster: Cluster, *arguments: str) -> str:
    """What ``kafka-transactions.sh`` prints."""
    command = java(
        cluster.plan.version, "96m", _TRANSACTIONS, "--bootstrap-server", cluster.bootstrap, *arguments
    )
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S)
    if done.returncode:
        raise LabError(f"kafka-transactions.sh {' '.join(arguments)}: {done.stdout}{done.stderr}")
    return done.stdout


def find_hanging(cluster: Cluster, broker_id: int) -> dict[str, Any]:
    """What ``kafka-transactions.sh find-hanging`` finds on a broker, and when it was asked.

    Of its conditions the age is made as small as the tool takes it: no minute.
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

    def start(self, topic: str, records: int) -> None:
        """Begin to write, thirty records a second."""
        version = self._cluster.plan.version
        if any(jars(version).glob("reload4j-*.jar")):
            config, option, text = self._log.with_suffix(".log4j"), "-Dlog4j.configuration=file:", _LOG4J1
        else:
            config, option, text = self._log.with_suffix(".xml"), "-Dlog4j2.configurationFile=", _LOG4J2
        config.write_text(text)
        options = ["--topic", topic, "--num-records", str(records), "--throughput", "30"]
        options += ["--payload-file", str(self._payloads), "--transaction-duration-ms", "200"]
        options += ["--transactional-id", self._transactional_id, "--producer-props"]
        options += [f"bootstrap.servers={self._cluster.bootstrap}", f"client.id={self._log.stem}"]
        with self._log.open("wb") as out:
            self._process = subprocess.Popen(
                java(version, "96m", f"{option}{config}", _PERFORMANCE, *options),
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
        """Wait for its end, which is a good one unless it is ``fenced``."""
        if self._process is None:
            return
        try:
            failed = self._process.wait(_TIMEOUT_S) != 0
        finally:
            self.stop()
        text = self._log.read_text(errors="replace")
        if failed != fenced:
            raise LabError(f"{_PERFORMANCE} ended, failed: {failed}: {text[-2000:]}")
        # where the recording ran is of no interest
        self._log.write_text(text.replace(str(self._log.parent), "/var/lib/kafka"))

    def stop(self) -> None:
        """End the process if it still runs."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()
