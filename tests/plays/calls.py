"""Requests of players by Kafka's schemas: to the broker that must answer, repeated, and kept as facts."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from typing import Any

from brokers import LabError
from cluster import Cluster
from messages import WireError
from truth import ERRORS, now_ms
from wire import Connection

Fact = dict[str, Any]
Answer = dict[str, Any]

ANY: tuple[str, ...] = ("any",)
"""To whichever broker is up."""

NOT_YET = frozenset({14, 15, 16})
CONCURRENT = frozenset({51})
_MOVED = {3, 5, 6, 15, 16, 74}  # ask again who leads
_UNTOLD = ("TopicData", "Protocols", "Assignments", "TopicPartitions", "Topology")  # no oracle needs them
_PAUSE_S = 0.1
_TRIES, _TRIES_CONCURRENT = 50, 12  # a transaction with a deleted topic may complete after minutes
_TRIES_TIRED = 3  # while coordinators do not come back


class Calls:
    """The connections of every client, and the facts: each request with its answer, each event of the stage.

    The correlation ids of a client go on over all its connections, so client and id name one request.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.facts: list[Fact] = []
        self.step: tuple[int, str | None] = (-1, None)
        self.paused: set[int] = set()
        self._connections: dict[tuple[str, int], Connection] = {}
        self._numbers: dict[str, Iterator[int]] = {}
        self._homes: dict[tuple[Any, ...], int] = {}
        self._tired: set[str] = set()

    def fact(self, event: str, **told: Any) -> None:
        """Note what happened."""
        self.facts.append(
            {"ts_ms": now_ms(), "event": event, "step": self.step[0], "play": self.step[1], **told}
        )

    def call(
        self,
        client: str,
        api: str,
        version: int,
        message: dict[str, Any],
        to: tuple[Any, ...] = ANY,
        *,
        retry: frozenset[int] = NOT_YET,
        **knows: Any,
    ) -> Answer | None:
        """The answer, or None if the connection broke; repeated while an error is in ``retry``."""
        patience = _TRIES_TIRED if to[0] in self._tired else _TRIES
        tries = 0
        while True:
            tries += 1
            answer = self._once(client, api, version, message, to, **knows)
            found = set(codes(answer or {}))
            if answer is None or _MOVED & found:
                self._homes.pop(to, None)
            if not retry & found:
                self._tired.discard(to[0])
                return answer
            if tries >= (_TRIES_CONCURRENT if CONCURRENT & found else patience):
                self._tired |= {to[0]} if NOT_YET & found else set()
                return answer
            time.sleep(_PAUSE_S)

    def _once(
        self, client: str, api: str, version: int, message: dict[str, Any], to: tuple[Any, ...], **knows: Any
    ) -> Answer | None:
        sent = now_ms()
        broker = self.home(to)
        try:
            connection = self.connection(client, broker)
            number = connection.send(api, version, message)
            answer = connection.receive()
        except (OSError, WireError) as error:
            self.lost(client, broker, api, error)
            return None
        self.account(client, api, version, message, answer, sent=(sent, number), **knows)
        return answer

    def account(
        self,
        client: str,
        api: str,
        version: int,
        message: dict[str, Any],
        answer: Answer,
        *,
        sent: tuple[int, int],
        **knows: Any,
    ) -> None:
        """Note an answered request; ``sent`` is when it was sent and its correlation id."""
        asked = {name: value for name, value in message.items() if name not in _UNTOLD}
        told = {
            name: value
            for name, value in answer.items()
            if isinstance(value, int | str) and name != "ThrottleTimeMs"
        }
        errors = [ERRORS.get(code, str(code)) for code in codes(answer)]
        if api == "Produce":
            told["BaseOffset"] = answer["Responses"][0]["PartitionResponses"][0]["BaseOffset"]
        known = {
            "sent_ms": sent[0],
            "client": client,
            "correlation_id": sent[1],
            "api": api,
            "version": version,
        }
        self.fact("request", **known, request=asked, errors=errors, answer=told, **knows)

    def lost(self, client: str, broker: int, api: str, error: Exception) -> None:
        """Note that a connection broke."""
        self.drop(client, broker)
        self.fact("lost", client=client, api=api, why=repr(error)[:120])

    def connection(self, client: str, broker: int) -> Connection:
        """The client's connection to a broker. Raises ``OSError``."""
        if (client, broker) not in self._connections:
            ids = self._numbers.setdefault(client, itertools.count(1))
            made = self.cluster.connect(client, broker, ids)
            made.introduce("apache-kafka-java", self.cluster.plan.version)
            self._connections[client, broker] = made
        return self._connections[client, broker]

    def drop(self, client: str | None = None, broker: int | None = None) -> None:
        """Close the connections of a client, or to a broker, or all."""
        for one, to in list(self._connections):
            if client in (None, one) and broker in (None, to):
                self._connections.pop((one, to)).close()

    def forget_homes(self) -> None:
        """Leaders and coordinators have moved."""
        self._homes.clear()

    def home(self, to: tuple[Any, ...]) -> int:
        """The broker that leads a partition or coordinates a group or id: ``("partition", topic, p)``,
        ``("group", id)``, ``("transaction", id)``, ``("broker", id)``."""
        if len(self.cluster.brokers) == 1:
            return 1
        if to[0] == "broker":
            return int(to[1])
        up = [b.broker_id for b in self.cluster.running() if b.broker_id not in self.paused] or [1]
        if to == ANY:
            return up[0]
        if to not in self._homes or self._homes[to] not in up:
            self._homes[to] = self._find(to, up[0])
        return self._homes[to]

    def _find(self, to: tuple[Any, ...], through: int) -> int:
        """Where there is no leader or coordinator, the broker that was asked: its answer will say so."""
        finder = self.cluster.connect("lab-finder", through)
        try:
            if to[0] == "partition":
                (topic,) = finder.call("Metadata", 12, {"Topics": [{"Name": to[1]}]})["Topics"]
                found = [p["LeaderId"] for p in topic["Partitions"] if p["PartitionIndex"] == to[2]]
            else:
                asked = {"KeyType": int(to[0] == "transaction"), "CoordinatorKeys": [to[1]]}
                found = [c["NodeId"] for c in finder.call("FindCoordinator", 4, asked)["Coordinators"]]
        except (OSError, WireError, LabError):
            found = []
        finally:
            finder.close()
        return next((broker for broker in found if broker > 0), through)


def codes(answer: Any) -> list[int]:
    """Every error code in an answer."""
    if isinstance(answer, dict):
        own = [value for name, value in answer.items() if name.endswith("ErrorCode")]
        inner = [value for name, value in answer.items() if not name.endswith("ErrorCode")]
        return own + [code for value in inner for code in codes(value)]
    return [code for value in answer for code in codes(value)] if isinstance(answer, list) else []


def succeeded(answer: Answer | None) -> bool:
    """Whether there is an answer, and no error in it."""
    return answer is not None and not any(codes(answer))
