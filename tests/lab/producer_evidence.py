"""Compares ground truth about producers with request logs and segments, without any code of the product."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from capture import request_lines
from evidence import all_rows
from truth import error_name

Row = dict[str, Any]
_HEAD = struct.Struct(">qiibIhiqqqhii")
_TRANSACTIONAL, _CONTROL = 0x10, 0x20


def rows(capture: Path, kind: str) -> list[Row]:
    """The rows of one kind."""
    return [row for row in all_rows(capture) if row.get("kind") == kind]


def _codes(api: str, answer: Row) -> list[int]:
    """The errors in a logged response, in the order of its partitions."""
    if api == "PRODUCE":
        return [p["errorCode"] for t in answer["responses"] for p in t["partitionResponses"]]
    if api == "TXN_OFFSET_COMMIT":
        return [p["errorCode"] for t in answer["topics"] for p in t["partitions"]]
    if api == "WRITE_TXN_MARKERS":
        return [p["errorCode"] for m in answer["markers"] for t in m["topics"] for p in t["partitions"]]
    if api == "ADD_PARTITIONS_TO_TXN":
        found = answer["resultsByTopicV3AndBelow"]
        return [p["partitionErrorCode"] for t in found for p in t["resultsByPartition"]]
    return [answer["errorCode"]]


def disagreements(capture: Path) -> list[str]:
    """One sentence per hand-made request whose line is missing, exists twice, or has another error."""
    logged: dict[tuple[str, int, str], list[list[str]]] = {}
    made = {
        (row["client_id"], row["correlation_id"], row["api"])
        for row in rows(capture, "producer")
        if row["correlation_id"] is not None
    }
    for _, line in request_lines(capture):
        header = line["requestHeader"]
        key = (header["clientId"], header["correlationId"], header["requestApiKeyName"])
        if key in made:
            errors = [error_name(code) for code in _codes(key[2], line["response"])]
            logged.setdefault(key, []).append(errors)
    told: dict[tuple[str, int, str], list[str | None]] = {}
    for row in rows(capture, "producer"):
        if row["correlation_id"] is not None:
            key = (row["client_id"], row["correlation_id"], row["api"])
            told.setdefault(key, []).append(row["error"])
    return [
        f"{key}: the driver was answered {errors}, logged {logged.get(key)}"
        for key, errors in told.items()
        # without an answer, the request or its answer was lost
        if errors != [None] * len(errors) and logged.get(key) != [errors]
    ]


def batches(capture: Path, topic: str, partition: int) -> Iterator[Row]:
    """Header and records' bytes of every batch of a partition, of the broker with most of them."""
    folders = capture.glob(f"broker-*/log_dir/{topic}-{partition}")
    folder = max(folders, key=lambda f: sum(log.stat().st_size for log in f.glob("*.log")))
    for log in sorted(folder.glob("*.log")):
        data, position = log.read_bytes(), 0
        while position + _HEAD.size <= len(data):
            head = _HEAD.unpack_from(data, position)
            base, size, attributes, last = head[0], head[1], head[5], head[6]
            yield {
                "base_offset": base,
                "last_offset": base + last,
                "control": bool(attributes & _CONTROL),
                "transactional": bool(attributes & _TRANSACTIONAL),
                "producer_id": head[9],
                "producer_epoch": head[10],
                "base_sequence": head[11],
                "records": data[position + _HEAD.size : position + 12 + size],
            }
            position += 12 + size


def missing_batches(capture: Path) -> list[str]:
    """One sentence per accepted Produce whose batch is not in the segments, as it was sent."""
    wrong, known = [], {}
    for row in rows(capture, "producer"):
        if row["api"] != "PRODUCE" or row["error"] != "NONE":
            continue
        place = (row["topic"], row["partition"])
        if place not in known:
            known[place] = {batch["base_offset"]: batch for batch in batches(capture, *place)}
        batch = known[place].get(row["base_offset"], {})
        wanted = (row["producer_id"], row["producer_epoch"], row["first_sequence"])
        if (batch.get("producer_id"), batch.get("producer_epoch"), batch.get("base_sequence")) != wanted:
            wrong.append(f"{row['case']} {place} {row['base_offset']}: {wanted} sent, found {batch}")
    return wrong


def open_transactions(capture: Path) -> set[tuple[str, int, int, int]]:
    """Topic, partition, producer id and first offset of each transaction that has no marker after it."""
    found = set()
    for folder in capture.glob("broker-*/log_dir/*-*/"):
        topic, _, partition = folder.name.rpartition("-")
        if topic.startswith("__"):
            continue
        first: dict[int, int] = {}
        for batch in batches(capture, topic, int(partition)):
            if batch["control"]:
                first.pop(batch["producer_id"], None)
            elif batch["base_sequence"] >= 0 and batch["transactional"]:
                first.setdefault(batch["producer_id"], batch["base_offset"])
        found |= {(topic, int(partition), producer, offset) for producer, offset in first.items()}
    return found


def oracle(said: list[Row]) -> set[tuple[str, int, int, int]]:
    """The same from the output of ``kafka-transactions.sh find-hanging``."""
    return {
        (row["topic"], row["partition"], row["producer_id"], row["start_offset"])
        for asked in said
        for row in asked["hanging"]
    }


def epochs_in_client_log(text: str) -> list[tuple[int, int]]:
    """The producer ids and epochs that a Java producer has logged."""
    return [
        (int(pid), int(epoch)) for pid, epoch in re.findall(r"ProducerId set to (\d+) with epoch (\d+)", text)
    ]
