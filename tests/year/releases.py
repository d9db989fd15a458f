"""How a release of the broker logs a request: which versions its clients use, and which fields these have.

As the captures ``upgraded-3.9.2``, ``incarnations-3.9.2`` and ``incarnations-4.3.1`` have them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import orjson
from request_lines import Line, compact


@dataclass(frozen=True)
class Release:
    """A release of brokers, with the clients of the same one."""

    name: str
    metadata_version: int
    versions: dict[str, int]


OLD = Release(
    "3.9.2", 21,
    {"FETCH": 17, "LIST_OFFSETS": 9, "METADATA": 12, "BROKER_HEARTBEAT": 1},
)  # fmt: skip
NEW = Release(
    "4.3.1", 30,
    {"FETCH": 18, "LIST_OFFSETS": 11, "METADATA": 13, "BROKER_HEARTBEAT": 2},
)  # fmt: skip


def as_of(release: Release, line: Line) -> str:
    """The line as a broker of this release writes it."""
    key, name, version = line.api
    request, response = orjson.loads(line.request), orjson.loads(line.response)
    if name in _FIELDS:
        request, response = _FIELDS[name](release is OLD, request, response)
    api = (key, name, release.versions.get(name, version))
    said = replace(line, api=api, request=compact(request), response=compact(response))
    return said.text().replace('"softwareVersion":"4.3.1"', f'"softwareVersion":"{release.name}"')


Fields = dict[str, Any]


def _fetch(old: bool, request: Fields, response: Fields) -> tuple[Fields, Fields]:
    request = {
        "maxWaitMs": 500, "minBytes": 1, "maxBytes": 52_428_800, "isolationLevel": 0, "sessionId": 0,
        "sessionEpoch": -1, **request, "forgottenTopicsData": [], "rackId": "",
    }  # fmt: skip
    if old:
        # written in the request of followers only
        del request["replicaState"]
    return request, {"throttleTimeMs": 0, "sessionId": 0, **response}


def _metadata(old: bool, request: Fields, response: Fields) -> tuple[Fields, Fields]:
    return request, response if old else {**response, "errorCode": 0}


def _list_offsets(old: bool, request: Fields, response: Fields) -> tuple[Fields, Fields]:
    return request if old else {**request, "timeoutMs": 30_000}, response


def _heartbeat(old: bool, request: Fields, response: Fields) -> tuple[Fields, Fields]:
    request = {"brokerEpoch": 3, **request, "wantFence": False, "wantShutDown": False}
    answer = {"throttleTimeMs": 0, **response, "isCaughtUp": True, "isFenced": False, "shouldShutDown": False}
    return request if old else {**request, "cordonedLogDirs": []}, answer


_FIELDS = {
    "FETCH": _fetch,
    "METADATA": _metadata,
    "LIST_OFFSETS": _list_offsets,
    "BROKER_HEARTBEAT": _heartbeat,
}
