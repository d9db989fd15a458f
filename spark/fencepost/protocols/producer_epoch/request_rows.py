"""Rows of ``silver.producer_requests`` as objects, for the replay of coordinators."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.producer_epoch.arrow import milliseconds
from fencepost.protocols.producer_epoch.request_targets import (
    ADD_OFFSETS,
    ADD_PARTITIONS,
    COMMIT,
    END,
    INIT,
    PRODUCE,
)
from fencepost.replay.requests import NONE

STALE_END, STALE_END_FROM = "INVALID_TXN_STATE", 5
"""The error of EndTxn, from transaction version 2 on, if another request ended the transaction of the epoch,
and the first version of EndTxn that has it: an older one compares epochs before anything else.
"""

OF_EPOCH = ("PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH")
FENCED = (*OF_EPOCH, "INVALID_PRODUCER_ID_MAPPING")
"""The errors which mean that the producer epoch, or producer id, is no longer current."""

BUSY = "CONCURRENT_TRANSACTIONS"

FENCIBLE = (PRODUCE, INIT, ADD_PARTITIONS, END, COMMIT, ADD_OFFSETS)
"""The APIs whose refusal is a fencing."""

COORDINATED = (INIT, END, ADD_PARTITIONS, ADD_OFFSETS)
"""The APIs that coordinators answer."""

COLUMNS = (
    "request_id", "broker_id", "api_key", "api_name", "api_version", "correlation_id", "client_id",
    "connection", "transactional_id", "producer_id", "producer_epoch", "topic", "partition",
    "transaction_timeout_ms", "verify_only", "result", "returned_producer_id", "returned_producer_epoch",
    "error", "file", "position",
)  # fmt: skip


class RequestRow(NamedTuple):
    """One row of ``silver.producer_requests``; times in milliseconds of the broker's clock."""

    request_id: str
    broker_id: int
    api_key: int
    api_name: str
    api_version: int
    correlation_id: int
    client_id: str | None
    connection: str | None
    transactional_id: str | None
    producer_id: int | None
    producer_epoch: int | None
    topic: str | None
    partition: int | None
    transaction_timeout_ms: int | None
    verify_only: bool | None
    result: str | None
    returned_producer_id: int | None
    returned_producer_epoch: int | None
    error: str | None
    file: str
    position: int
    requested_ms: int
    responded_ms: int

    @property
    def order(self) -> tuple[int, str, int, str]:
        """The sort key of requests: the time of the answer, and within a millisecond the order of the log."""
        return (self.responded_ms, self.file, self.position, self.request_id)

    @property
    def moves_no_epoch(self) -> bool:
        """Whether it is an EndTxn of a version in which the end of a transaction does not bump the epoch."""
        return self.api_key == END and self.api_version < STALE_END_FROM

    @property
    def is_stale_end(self) -> bool:
        """Whether it is an EndTxn that was answered STALE_END, the error of one whose epoch is over."""
        of_end = self.api_key == END and self.api_version >= STALE_END_FROM
        return of_end and self.error == STALE_END


def is_refusal(rows: pa.Table) -> pa.Array:
    """Which rows of ``silver.producer_requests`` were refused because their epoch is, or may be, over."""
    fenced = pc.is_in(rows["error"], pa.array(FENCED))
    ends = pc.and_(pc.equal(rows["api_key"], END), pc.greater_equal(rows["api_version"], STALE_END_FROM))
    stale = pc.and_(ends, pc.equal(rows["error"], STALE_END))
    of_producer = pc.is_in(rows["api_key"], pa.array(FENCIBLE, pa.int32()))
    return pc.and_(pc.fill_null(pc.or_(fenced, stale), False), of_producer)


def concerns_coordinators(rows: pa.Table) -> pa.Array:
    """Which rows of ``silver.producer_requests`` the replay of coordinators reads: requests that coordinators
    answer, and all refusals.
    """
    of_coordinator = pc.is_in(rows["api_key"], pa.array(COORDINATED, pa.int32()))
    return pc.or_(of_coordinator, is_refusal(rows))


def read_request_rows(rows: pa.Table) -> list[RequestRow]:
    """Rows of ``silver.producer_requests`` as objects, in the order of answers."""
    columns = [rows[name].to_pylist() for name in COLUMNS]
    times = [milliseconds(rows[name]).tolist() for name in ("requested_at", "responded_at")]
    requests = [RequestRow(*values) for values in zip(*columns, *times, strict=True)]
    return sorted(requests, key=lambda request: (*request.order, request.topic or "", request.partition or 0))


def granted_inits(requests: Iterable[RequestRow]) -> list[RequestRow]:
    """The InitProducerId requests among these that were granted."""
    return [each for each in requests if each.api_key == INIT and each.error == NONE]


def giving_answers(requests: Iterable[RequestRow]) -> list[RequestRow]:
    """The requests among these whose answers gave a producer id and epoch: InitProducerId, and EndTxn in
    transaction version 2.
    """
    asked = (each for each in requests if each.api_key in (INIT, END) and each.error == NONE)
    return [each for each in asked if each.returned_producer_id not in (None, -1)]
