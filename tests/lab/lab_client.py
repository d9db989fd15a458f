"""A hand-made client with a row of ground truth for each request, also for requests without an answer yet."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from brokers import LabError
from cluster import Cluster
from messages import WireError, api
from partition_requests import Ask, Row
from producer_requests import PAYLOAD
from truth import GroundTruth, now_ms
from wire import Connection

_PATIENCE_S = 30.0


@dataclass
class Posted:
    """A request that was sent, and has not been answered yet."""

    ask: Ask
    broker_id: int
    correlation_id: int
    connection: Connection
    sent_at_ms: int
    case: str


@dataclass
class LabClient:
    """One client with a connection to each broker it asks; its correlation ids continue over all of
    them.

    This is how a Java client counts: with ``java`` it identifies itself as one, and begins each connection
    as one.
    """

    cluster: Cluster
    truth: GroundTruth
    client_id: str
    case: str
    java: bool = False
    _ids: Iterator[int] = field(init=False, repr=False)
    _values: Iterator[int] = field(default_factory=lambda: itertools.count(1), repr=False)
    _connections: dict[tuple[int, bool], Connection] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self._ids = itertools.count(0 if self.java else 1)

    def ask(self, broker_id: int, ask: Ask, controller: bool = False) -> list[Row]:
        """Send a request, to the broker or to its ``controller`` listener, and wait; its rows."""
        return self.collect(self.post(broker_id, ask, controller))

    def must(self, broker_id: int, ask: Ask) -> list[Row]:
        """The same for a request that must succeed; it is repeated while a leader is elected."""
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            rows = self.ask(broker_id, ask)
            if all(row["error"] == "NONE" for row in rows):
                return rows
            if time.monotonic() > deadline:
                raise LabError(f"{self.case}: {ask.api} of {self.client_id}: {rows}")
            time.sleep(0.2)

    def post(self, broker_id: int, ask: Ask, controller: bool = False) -> Posted:
        """Send a request without waiting: the broker may be paused."""
        connection = self._connection(broker_id, controller)
        sent_at = now_ms()
        correlation_id = connection.send(ask.api, ask.version, ask.message)
        return Posted(ask, broker_id, correlation_id, connection, sent_at, self.case)

    def collect(self, posted: Posted, unless: str | None = None) -> list[Row]:
        """The answer's rows, which are added to the ground truth ``unless`` they have this error. Without an
        answer one row without an error.
        """
        ask = posted.ask
        told: Row = {
            "kind": "request",
            "case": posted.case,
            "client_id": self.client_id,
            "correlation_id": posted.correlation_id,
            "api": ask.api,
            "api_key": api(self.cluster.clients_jar, ask.api).request.api_key,
            "api_version": ask.version,
            "broker_id": posted.broker_id,
            "sent_at_ms": posted.sent_at_ms,
        }
        try:
            rows = ask.read(posted.connection.receive())
        except (OSError, WireError):
            self.leave(posted.broker_id)
            rows = [
                {"topic": None, "partition": None, "topic_id": None, "asked": {}, "told": {}, "error": None}
            ]
        rows = [{**told, "answered_at_ms": now_ms(), **row} for row in rows]
        for row in rows:
            if row["error"] != unless:
                self.truth.add(row)
        return rows

    def values(self, records: int) -> list[bytes]:
        """Payloads that no other record has."""
        return [f"{PAYLOAD}-{self.client_id}-{next(self._values)}".encode() for _ in range(records)]

    def leave(self, broker_id: int) -> None:
        """Drop the connections to a lost broker."""
        for place in [place for place in self._connections if place[0] == broker_id]:
            self._connections.pop(place).close()

    def close(self) -> None:
        """Close every connection."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def _connection(self, broker_id: int, controller: bool) -> Connection:
        place = (broker_id, controller)
        if place not in self._connections:
            made = self.cluster.connect(self.client_id, broker_id, self._ids, controller)
            if self.java:
                made.introduce("apache-kafka-java", self.cluster.plan.version)
            self._connections[place] = made
        return self._connections[place]


def note(truth: GroundTruth, kind: str, **fields: Any) -> None:
    """A row that is not about a request."""
    truth.add({"kind": kind, **fields})
