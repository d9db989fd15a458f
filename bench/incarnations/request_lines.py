"""Lines of a request log about topics, as a broker writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson

FETCH, LIST, METADATA, COMMIT, OFFSETS, CREATE, DELETE, HEARTBEAT = (
    (1, "FETCH", 13), (2, "LIST_OFFSETS", 7), (3, "METADATA", 12), (8, "OFFSET_COMMIT", 9),
    (9, "OFFSET_FETCH", 9), (19, "CREATE_TOPICS", 7), (20, "DELETE_TOPICS", 6), (63, "BROKER_HEARTBEAT", 2),
)  # fmt: skip
"""API key, Kafka's name, version."""

TOOK_MS = 2


@dataclass
class Line:
    """One request; it was completed ``done_ms``."""

    broker_id: int
    api: tuple[int, str, int]
    correlation_id: int
    client_id: str
    connection: str
    done_ms: int
    host: str = ""
    request: str = "{}"
    response: str = "{}"

    def say(self, request: object, response: object) -> None:
        """The request and the answer, as JSON values."""
        self.request, self.response = compact(request), compact(response)

    def text(self) -> str:
        """The line of kafka.request.logger."""
        at, (key, name, version) = datetime.fromtimestamp(self.done_ms // 1000, UTC), self.api
        return (
            f"[{at:%Y-%m-%d %H:%M:%S},{self.done_ms % 1000:03}] DEBUG Completed request:"
            f'{{"isForwarded":false,"requestHeader":{{"requestApiKey":{key},"requestApiVersion":{version},'
            f'"correlationId":{self.correlation_id},"clientId":"{self.client_id}","requestApiKeyName":"{name}"}},'
            f'"request":{self.request},"response":{self.response},"connection":"{self.connection}",'
            f'"totalTimeMs":{TOOK_MS}.0,"requestQueueTimeMs":0.1,"localTimeMs":1.0,"remoteTimeMs":0.0,'
            '"throttleTimeMs":0,"responseQueueTimeMs":0.05,"sendTimeMs":0.1,"securityProtocol":"PLAINTEXT",'
            '"principal":"User:app","listener":"PLAINTEXT","clientInformation":{"softwareName":'
            '"apache-kafka-java","softwareVersion":"4.3.1"}} (kafka.request.logger)\n'
        )


def topics(key: str, of: str, partitions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One topic with its partitions, by ``name`` or by ``topicId``."""
    return [{key: of, "partitions": list(partitions)}]


def compact(value: object) -> str:
    """JSON as a broker logs it."""
    return orjson.dumps(value).decode()
