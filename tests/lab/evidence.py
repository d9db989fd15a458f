"""Compares a capture's ground truth with its request logs, without any code of the product."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from capture import COMMIT_APIS, request_lines
from truth import error_name

Key = tuple[str, int, int, str, int, int, int]
"""Client id, correlation id, api key, topic (name or id), partition, offset, epoch presented."""


def all_rows(capture: Path) -> list[dict[str, Any]]:
    """Every row of a capture's ground truth."""
    return [json.loads(line) for line in (capture / "ground_truth.jsonl").read_text().splitlines()]


def ground_truth(capture: Path) -> list[dict[str, Any]]:
    """The rows about commits, which are those without ``kind``."""
    return [row for row in all_rows(capture) if "kind" not in row]


def answers(capture: Path) -> dict[Key, list[str]]:
    """The errors that the request logs show for every partition of every commit."""
    found: dict[Key, list[str]] = {}
    for _, line in request_lines(capture):
        header, request = line["requestHeader"], line["request"]
        if header["requestApiKeyName"] not in COMMIT_APIS:
            continue
        epoch = request.get("generationIdOrMemberEpoch", request.get("generationId"))
        codes = {
            (topic.get("name") or topic["topicId"], partition["partitionIndex"]): partition["errorCode"]
            for topic in line["response"]["topics"]
            for partition in topic["partitions"]
        }
        for topic in request["topics"]:
            name = topic.get("name") or topic["topicId"]
            for partition in topic["partitions"]:
                index, offset = partition["partitionIndex"], partition["committedOffset"]
                who = (header["clientId"], header["correlationId"], header["requestApiKey"])
                error = error_name(codes[name, index])
                found.setdefault((*who, name, index, offset, epoch), []).append(error)
    return found


def disagreements(capture: Path) -> list[str]:
    """One sentence per hand-made commit whose line is missing, exists twice, or has another error."""
    seen, wrong = answers(capture), []
    for row in ground_truth(capture):
        by_name = row["api_version"] < (6 if row["api_key"] == 28 else 10)
        who = (row["client_id"], row["correlation_id"], row["api_key"])
        name = row["topic"] if by_name else row["topic_id"]
        key = (*who, name, row["partition"], row["committed_offset"], row["client_epoch"])
        if row["error"] is None and len(seen.get(key, ())) < 2:
            continue  # the connection broke before the answer: the request was lost, or its answer was
        if seen.get(key) != [row["error"]]:
            wrong.append(
                f"{row['case']} {key}: the driver was answered {row['error']}, logged {seen.get(key)}"
            )
    return wrong
