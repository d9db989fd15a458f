"""Compares ground truth about leader epochs and incarnations with logs, without any code of the product."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from capture import request_lines
from evidence import all_rows
from record_batch import batch_heads
from truth import error_name

Row = dict[str, Any]
Place = tuple[str, int]
Told = tuple[str, int, str | None, int]
"""Topic, partition, topic id and leader epoch of a Metadata answer; older versions have no id, or neither."""
_FOLDER = re.compile(r"(?P<topic>.+)-(?P<partition>\d+)(\.[0-9a-f]{32}-(?P<state>delete|stray))?")


def rows(capture: Path, kind: str) -> list[Row]:
    """The rows of one kind."""
    return [row for row in all_rows(capture) if row.get("kind") == kind]


def disagreements(capture: Path) -> list[str]:
    """One sentence per hand-made request whose line is missing, exists twice, or has other errors."""
    logged: dict[tuple[str, int, int], list[set[str]]] = {}
    for _, line in request_lines(capture):
        header = line["requestHeader"]
        key = (header["clientId"], header["correlationId"], header["requestApiKey"])
        if line["isForwarded"]:  # the controller's line for a request that a broker also logged
            continue
        logged.setdefault(key, []).append(set(_errors(line["response"])))
    told: dict[tuple[str, int, int], set[str | None]] = {}
    for row in rows(capture, "request"):
        key = (row["client_id"], row["correlation_id"], row["api_key"])
        told.setdefault(key, set()).add(row["error"])
    return [
        f"{key}: the driver was answered {errors}, logged {logged.get(key)}"
        for key, errors in told.items()
        # without an answer, the request or its answer was lost
        if errors != {None} and [found - {"NONE"} for found in logged.get(key, [])] != [errors - {"NONE"}]
    ]


def _errors(answer: Any) -> Iterator[str]:
    if isinstance(answer, dict):
        for name, value in answer.items():
            if name == "errorCode":
                yield error_name(value)
            else:
                yield from _errors(value)
    elif isinstance(answer, list):
        for value in answer:
            yield from _errors(value)


def metadata_told(capture: Path) -> dict[tuple[str, int], set[Told]]:
    """What logged Metadata answers say of partitions, by request."""
    return {
        (line["requestHeader"]["clientId"], line["requestHeader"]["correlationId"]): {
            (topic["name"], p["partitionIndex"], topic.get("topicId"), p.get("leaderEpoch", -1))
            for topic in line["response"]["topics"]
            for p in topic["partitions"]
        }
        for _, line in request_lines(capture)
        if line["requestHeader"]["requestApiKeyName"] in ("METADATA", "DESCRIBE_TOPIC_PARTITIONS")
    }


def folders(capture: Path) -> set[tuple[int, str, int, str, str]]:
    """Broker, topic, partition, topic id and state (``live``, ``delete``, ``stray``) of every folder."""
    found = set()
    for text in capture.glob("broker-*/log_dir/*/partition.metadata"):
        name = _FOLDER.fullmatch(text.parent.name)
        assert name, text
        topic_id = re.search(r"topic_id: (\S+)", text.read_text())
        assert topic_id, text
        broker_id = int(text.parts[-4].removeprefix("broker-"))
        place = (name["topic"], int(name["partition"]))
        found.add((broker_id, *place, topic_id[1], name["state"] or "live"))
    return found


def heads(capture: Path, broker_id: int, place: Place) -> list[tuple[int, int, int]]:
    """First offset, last offset and leader epoch of every batch of a partition on one broker."""
    folder = capture / f"broker-{broker_id}" / "log_dir" / f"{place[0]}-{place[1]}"
    return [head for log in sorted(folder.glob("*.log")) for head in batch_heads(log.read_bytes())]


def checkpoint(capture: Path, broker_id: int, place: Place) -> list[tuple[int, int]]:
    """Leader epochs and their first offsets as a broker's ``leader-epoch-checkpoint`` has them."""
    folder = capture / f"broker-{broker_id}" / "log_dir" / f"{place[0]}-{place[1]}"
    lines = (folder / "leader-epoch-checkpoint").read_text().splitlines()
    return [(int(epoch), int(offset)) for epoch, offset in (line.split() for line in lines[2:])]


def agrees(entries: list[tuple[int, int]], found: list[tuple[int, int, int]]) -> bool:
    """Whether a checkpoint is that of the batches; a leader that wrote nothing yet has an entry, too."""
    first: dict[int, int] = {}
    for base, _, epoch in found:
        first.setdefault(epoch, base)
    end = found[-1][1] + 1 if found else 0
    by_batches, more = entries[: len(first)], entries[len(first) :]
    return by_batches == list(first.items()) and all(offset == end for _, offset in more) and len(more) < 2
