"""The settings that a broker logs when it starts: few of them, and never a secret."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from fencepost.capture.plan import Source
from fencepost.capture.readers import read_all
from fencepost.capture.rows import OUTCOME
from fencepost.capture.server_logs import SETTINGS_LOG

VALUES = (
    "KafkaConfig values: \n"
    "\tadvertised.listeners = [PLAINTEXT://127.0.0.1:35543]\n"
    "\tgroup.consumer.session.timeout.ms = 6000\n"
    "\tlistener.name.internal.sasl.jaas.config = hunter2\n"
    "\tproducer.id.expiration.ms = 40000\n"
    "\tssl.keystore.password = [hidden]\n"
)
KEPT = {"group.consumer.session.timeout.ms": "6000", "producer.id.expiration.ms": "40000"}
AT_MS = 1_795_889_899_208
PLAIN = (
    "[2026-11-28 18:18:19,203] INFO AbstractConfig values: \n\tproducer.id.expiration.ms = 7\n"
    " (org.apache.kafka.common.config.AbstractConfig)\n"
    f"[2026-11-28 18:18:19,208] INFO {VALUES} (kafka.server.KafkaConfig)\n"
    "[2026-11-28 18:18:19,300] INFO Kafka Server started (kafka.server.KafkaRaftServer)\n"
)


def _read(file: Path, text: str, start: int = 0) -> tuple[list[dict[str, Any]], int]:
    file.write_text(text)
    source = Source("c", 1, SETTINGS_LOG, str(file), start, file.stat().st_size, timezone="UTC")
    found, upto = [], start
    for table, batch in read_all([source]):
        rows = pa.Table.from_batches([batch]).to_pylist()
        if table is OUTCOME:
            upto = max(each["consumed_to"] for each in rows)
        else:
            found += rows
    return found, upto


def test_a_broker_logs_its_settings(tmp_path: Path) -> None:
    ((row,), _) = _read(tmp_path / "server.log", PLAIN)
    assert (row["broker_id"], row["logged_at_ms"], json.loads(row["settings"])) == (1, AT_MS, KEPT)
    assert "hunter2" not in str(row)


def test_a_broker_logs_its_settings_as_json(tmp_path: Path) -> None:
    line = {
        "@timestamp": "2026-11-28T18:18:19.208Z",
        "level": "INFO",
        "message": VALUES,
        "logger_name": "kafka.server.KafkaConfig",
    }
    ((row,), _) = _read(tmp_path / "server.log", json.dumps(line) + "\n")
    assert (row["logged_at_ms"], json.loads(row["settings"])) == (AT_MS, KEPT)


def test_wherever_the_log_was_cut_the_settings_are_read_once_and_whole(tmp_path: Path) -> None:
    file = tmp_path / "server.log"
    for cut in range(1, len(PLAIN)):
        before, upto = _read(file, PLAIN[:cut])
        after, _ = _read(file, PLAIN, upto)
        assert [json.loads(each["settings"]) for each in before + after] == [KEPT], cut


def test_settings_of_another_kind_are_no_row(tmp_path: Path) -> None:
    text = "[2026-11-28 18:18:19,208] INFO KafkaConfig values: \n\tnode.id = 1\n (kafka.server.KafkaConfig)\n"
    assert _read(tmp_path / "server.log", text)[0] == []
