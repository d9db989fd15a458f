"""Compares ground truth about rebalances with logs, without any code of the product."""

from __future__ import annotations

import base64
import gzip
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from brokers import jars
from capture import request_lines
from group_requests import read_assignment, read_subscription
from truth import Partition

_STABILIZED = re.compile(r"Stabilized group (\S+) generation (\d+)")
Where = tuple[str, int]
"""A group and one of its generations."""


def stabilized(capture: Path) -> set[Where]:
    """The generations that had all their members, from the coordinator's log."""
    found = set()
    for log in capture.glob("broker-*/server.log*"):
        with gzip.open(log, "rt") if log.suffix == ".gz" else log.open() as lines:
            found |= {(m[1], int(m[2])) for line in lines if (m := _STABILIZED.search(line))}
    return found


def logged_assignments(capture: Path) -> dict[Where, dict[str, frozenset[Partition]] | None]:
    """The assignments in the leaders' accepted SyncGroups; None if the protocol type is not consumer."""
    found: dict[Where, dict[str, frozenset[Partition]] | None] = {}
    for request, response in _accepted(capture, "SYNC_GROUP"):
        if request["assignments"] or request["protocolType"] != "consumer":
            found[request["groupId"], request["generationId"]] = (
                {
                    a["memberId"]: read_assignment(_jar(capture), base64.b64decode(a["assignment"]))
                    for a in request["assignments"]
                }
                if response["protocolType"] == "consumer"
                else None
            )
    return found


def joins(capture: Path) -> dict[tuple[str, str], list[tuple[int, frozenset[Partition]]]]:
    """By group and member, for readable subscriptions: generations and the claims for them."""
    found: dict[tuple[str, str], list[tuple[int, frozenset[Partition]]]] = {}
    for request, response in _accepted(capture, "JOIN_GROUP"):
        chosen = {p["name"]: p["metadata"] for p in request["protocols"]}.get(response["protocolName"])
        try:
            said = read_subscription(_jar(capture), base64.b64decode(chosen or ""))["claims"]
        except Exception:  # whatever nobody can read
            continue
        who = (request["groupId"], response["memberId"])
        found.setdefault(who, []).append((response["generationId"], said))
    return found


def _accepted(capture: Path, api: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    for _, line in request_lines(capture):
        if line["requestHeader"]["requestApiKeyName"] == api and line["response"]["errorCode"] == 0:
            yield line["request"], line["response"]


def _jar(capture: Path) -> Path:
    return next(jars("4.3.1").glob("kafka-clients-*.jar"))
