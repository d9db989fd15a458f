"""Requests about producer epochs and transactions, sent by hand: each with its row of ground truth."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from brokers import LabError, Plan
from cluster import Cluster
from commits import release
from epochs import Epochs, Identity
from messages import Message, WireError
from truth import GroundTruth, error_name, now_ms
from wire import Connection

APIS = {
    "Produce": (0, "PRODUCE"),
    "InitProducerId": (22, "INIT_PRODUCER_ID"),
    "AddPartitionsToTxn": (24, "ADD_PARTITIONS_TO_TXN"),
    "AddOffsetsToTxn": (25, "ADD_OFFSETS_TO_TXN"),
    "EndTxn": (26, "END_TXN"),
    "WriteTxnMarkers": (27, "WRITE_TXN_MARKERS"),
    "TxnOffsetCommit": (28, "TXN_OFFSET_COMMIT"),
}
"""The requests that are sent here: name in the schemas -> api key, name in the request log."""

PAYLOAD = "PAYLOAD-MUST-NOT-BE-READ"
"""The begin of every written value: no table of an audit may contain it."""

_ROW = dict.fromkeys(
    (
        *("kind", "case", "step", "transactional_id", "instance", "client_id", "correlation_id"),
        *("api", "api_key", "api_version", "producer_id", "producer_epoch", "topic", "partition"),
        *("records", "first_sequence", "last_sequence", "group_id", "committed_offset", "committed"),
        *("sent_at_ms", "answered_at_ms", "error", "returned_producer_id", "returned_producer_epoch"),
        *("base_offset", "victim", "cause", "current_producer_id", "current_epoch", "in_flight"),
    )
)
# 3 UNKNOWN_TOPIC_OR_PARTITION, 6 NOT_LEADER_OR_FOLLOWER, 14 to 16 no coordinator (yet), 51 pending
_MOVED = {6, 14, 15, 16}
_TRANSIENT = {3, 51, *_MOVED}
_PATIENCE_S = 40.0


@dataclass(frozen=True)
class Dialect:
    """The API versions of a client that uses this level of ``transaction.version``.

    ``produce`` and ``plain`` are the versions of Produce with and without transaction; from 13 on it
    identifies topics.
    """

    transaction_version: int
    produce: int
    plain: int
    end_txn: int
    offsets: int

    @property
    def adds_partitions(self) -> bool:
        """Whether the client, and not the broker, adds partitions to the transaction."""
        return self.transaction_version < 2


def dialect(plan: Plan) -> Dialect:
    """The versions of the brokers' own clients."""
    kafka = release(plan.version)
    if kafka < (4,):
        return Dialect(0, 11, 11, 4, 4)
    newest = 13 if kafka >= (4, 1) else 12
    levels = dict(feature.split("=") for feature in plan.features)
    level = int(levels.get("transaction.version", 2))
    return Dialect(level, newest, newest, 5, 5) if level >= 2 else Dialect(level, 11, newest, 4, 4)


def older(spoken: Dialect) -> Dialect:
    """The versions of a client without transaction version 2."""
    return Dialect(min(1, spoken.transaction_version), 11, 11, 4, 4)


@dataclass
class Workbench:
    """What every hand-made producer needs."""

    cluster: Cluster
    truth: GroundTruth
    epochs: Epochs
    dialect: Dialect
    payloads: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    homes: dict[Any, int] = field(default_factory=dict)

    def coordinator(self, key: str, transaction: bool = False) -> int:
        """The broker that coordinates a group or transactional id; asked for once."""
        if (key, transaction) not in self.homes:
            self.homes[key, transaction] = self.cluster.coordinator(key, transaction)
        return self.homes[key, transaction]

    def leader(self, topic: str, partition: int) -> int:
        """The broker that leads a partition; asked for once."""
        if (topic, partition) not in self.homes:
            self.homes[topic, partition] = self.cluster.leader(topic, partition)
        return self.homes[topic, partition]

    def values(self, records: int) -> list[bytes]:
        """Payloads that no other record has."""
        return [f"{PAYLOAD}-{next(self.payloads)}".encode() for _ in range(records)]


@dataclass
class Request:
    """One request: ``rows`` are the fields of ground truth of each of its rows, ``errors`` reads its answers.

    ``answered`` adds the content of the answer to the rows, and to the driver's account, before they are
    written.
    """

    step: str
    api: str
    version: int
    message: Message
    broker: Callable[[], int]
    rows: list[dict[str, Any]]
    errors: Callable[[Message], list[int]]
    answered: Callable[[Message, list[dict[str, Any]]], None] | None = None


class Client:
    """One client with a connection to each broker it needs; its correlation ids continue over all of them."""

    def __init__(self, bench: Workbench, case: str, client_id: str) -> None:
        self.bench = bench
        self.case = case
        self.client_id = client_id
        self._ids = itertools.count(1)
        self._connections: dict[int, Connection] = {}

    def connection(self, broker_id: int) -> Connection:
        """The connection to a broker, opened at the first use."""
        if broker_id not in self._connections:
            self._connections[broker_id] = self.bench.cluster.connect(self.client_id, broker_id, self._ids)
        return self._connections[broker_id]

    def close(self) -> None:
        """Close every connection."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def leave(self, broker_id: int) -> None:
        """Drop the connection to a lost broker."""
        if broker_id in self._connections:
            self._connections.pop(broker_id).close()

    def send(self, request: Request, key: str, presented: Identity, again: bool = True) -> list[str]:
        """Send, and repeat it ``again`` while the answer is retriable; the errors of the last answer, by
        row.
        """
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            codes = self._attempt(request, key, presented)
            patient = codes is None or _TRANSIENT & set(codes)
            if codes is None or _MOVED & set(codes):
                self.bench.homes.clear()
            if codes is not None and not (patient and again):
                return [error_name(code) for code in codes]
            if time.monotonic() > deadline:
                raise LabError(f"{self.case}: {request.api} of {key!r} is answered {codes} for too long")
            time.sleep(0.05)

    def _attempt(self, request: Request, key: str, presented: Identity) -> list[int] | None:
        api_key, name = APIS[request.api]
        broker_id = request.broker()
        sent_at = now_ms()
        told: dict[str, Any] = {**_ROW, "kind": "producer", "case": self.case, "step": request.step}
        told |= {"api": name, "api_key": api_key, "api_version": request.version, "sent_at_ms": sent_at}
        told |= {"client_id": self.client_id, "producer_id": presented[0], "producer_epoch": presented[1]}
        rows = [{**told, **row} for row in request.rows]
        try:
            connection = self.connection(broker_id)
            correlation_id = connection.send(request.api, request.version, request.message)
            for row in rows:
                row["correlation_id"] = correlation_id
            answer = connection.receive()
        except (OSError, WireError):
            self.leave(broker_id)
            self._write(rows, key, presented)
            return None
        codes = request.errors(answer)
        for row, code in zip(rows, codes, strict=True):
            row |= {"answered_at_ms": now_ms(), "error": error_name(code)}
        if request.answered and not any(codes):
            request.answered(answer, rows)
        self._write(rows, key, presented)
        return codes

    def _write(self, rows: list[dict[str, Any]], key: str, presented: Identity) -> None:
        for row in rows:
            row.update(self.bench.epochs.verdict(key, presented, row["error"]))
            self.bench.truth.add(row)


def note(
    bench: Workbench, case: str, api: str, fields: dict[str, Any], returned: Identity | None = None
) -> None:
    """A row for a change that was not requested over the wire: without client id, correlation id
    and times.
    """
    api_key, name = APIS[api]
    told: dict[str, Any] = {**_ROW, "kind": "producer", "case": case, **fields}
    told |= {"api": name, "api_key": api_key, "error": "NONE"}
    if returned:
        told |= dict(zip(("returned_producer_id", "returned_producer_epoch"), returned, strict=True))
    bench.truth.add({**told, **bench.epochs.verdict(fields["transactional_id"], (-1, -1), "NONE")})


def produce_errors(answer: Message) -> list[int]:
    """The errors of a response to Produce, one per partition."""
    return [p["ErrorCode"] for t in answer["Responses"] for p in t["PartitionResponses"]]


def top_level(answer: Message) -> list[int]:
    """The only error of a response that has one."""
    return [answer["ErrorCode"]]
