"""Which Produce or TxnOffsetCommit a leader verified a transaction for (KIP-890).

Before its partition opens a transaction, a leader asks the coordinator whether the partition is part of it
(AddPartitionsToTxn, verify-only), and answers the request afterwards. So whatever the producer's connection
was answered before that request comes before the verification, and what it asked next comes after. This is
told only where leader and coordinator are one broker: times of two are not compared.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.producer_epoch.arrow import Longs, Piece, nullable
from fencepost.protocols.producer_epoch.order_of_lines import turn
from fencepost.protocols.producer_epoch.refusals import BROKERS_OWN
from fencepost.protocols.producer_epoch.request_rows import RequestRow, is_refusal
from fencepost.protocols.producer_epoch.request_targets import ADD_PARTITIONS, COMMIT, PRODUCE
from fencepost.protocols.producer_epoch.tables import PRODUCER_REQUESTS
from fencepost.replay.requests import NONE
from fencepost.tables import Table

BEGAN = Table(
    "began",
    "The Produce requests that began a transaction in their partition: silver.producer_requests, with the "
    "producer id and epoch of the batch.",
    PRODUCER_REQUESTS.columns,
    PRODUCER_REQUESTS.key,
)

VERIFIED = pa.schema([("cluster", pa.string()), ("transactional_id", pa.string())])
"""Transactional ids of which a transaction was verified."""

Addition = tuple[str, str | None, int | None]
"""What a row of AddPartitionsToTxn is about: request id, topic and partition."""

Waiting = tuple[RequestRow, RequestRow]
"""The first and the last of the requests of one connection of which one waited for a verification."""


def verified(requests: pa.Table) -> pa.Table:
    """VERIFIED of rows of ``silver.producer_requests``."""
    asked = pc.and_(
        pc.equal(requests["api_key"], ADD_PARTITIONS), pc.fill_null(requests["verify_only"], False)
    )
    granted = requests.filter(pc.and_(asked, pc.fill_null(pc.equal(requests["error"], NONE), False)))
    return granted.group_by(VERIFIED.names).aggregate([]).select(VERIFIED.names)


def answered_to(answers: pa.Table, ids: pa.Table) -> pa.Table:
    """The rows of ``silver.producer_requests`` that are of some transactional ids (``ids``: VERIFIED)."""
    chosen = pa.array(np.zeros(answers.num_rows, dtype=np.bool_))
    for cluster in ids["cluster"].unique().to_pylist():
        own = ids.filter(pc.equal(ids["cluster"], cluster))["transactional_id"].combine_chunks()
        of_them = pc.and_(pc.equal(answers["cluster"], cluster), pc.is_in(answers["transactional_id"], own))
        chosen = pc.or_(chosen, of_them)
    return answers.filter(chosen)


def committed(requests: pa.Table, ids: pa.Table) -> pa.Table:
    """The TxnOffsetCommits of some transactional ids (``ids``: VERIFIED) that are not refusals, which
    coordinators are told of anyway: rows of ``silver.producer_requests``.
    """
    chosen = pc.and_not(pc.equal(requests["api_key"], COMMIT), is_refusal(requests))
    return answered_to(requests.filter(chosen), ids)


class BegunTransactions:
    """The transactions of one partition, each with the Produce request that began it."""

    def __init__(self, answers: Piece | None) -> None:
        """``answers``: ``row`` and ``base_offset`` of the partition's answered Produce requests."""
        self._answers = answers
        self._held: list[Sequence[Longs]] = []

    def add(self, held: Mapping[str, Any]) -> None:
        """Take transactions (account.HELD)."""
        if self._answers is not None:
            names = ("producer_id", "first_offset", "producer_epoch")
            self._held.append([np.asarray(held[name], dtype=np.int64) for name in names])

    def columns(self) -> tuple[Longs, Longs, Longs]:
        """Rows of answers, producer ids and epochs.

        A transaction is left out when the Produce of the one before or after it is not there, or was answered
        twice: its verification might be taken for this one's.
        """
        none = np.empty(0, dtype=np.int64)
        if self._answers is None or not self._held:
            return none, none, none
        ids, offsets, epochs = (np.concatenate(columns) for columns in zip(*self._held, strict=True))
        order = np.lexsort((offsets, ids))
        ids, offsets, epochs = ids[order], offsets[order], epochs[order]
        known, first, times = np.unique(self._answers["base_offset"], return_index=True, return_counts=True)
        at = np.minimum(np.searchsorted(known, offsets), len(known) - 1)
        told = (known[at] == offsets) & (times[at] == 1)
        alike = ids[1:] == ids[:-1]
        whole = told.copy()
        whole[1:] &= told[:-1] | ~alike
        whole[:-1] &= told[1:] | ~alike
        return self._answers["row"][first[at[whole]]], ids[whole], epochs[whole]


def began(answers: pa.Table, rows: Longs, ids: Longs, epochs: Longs) -> pa.Table:
    """BEGAN of rows of ``silver.producer_requests``."""
    found = answers.take(pa.array(rows))
    given = {name: found[name] for name in found.schema.names}
    given["producer_id"], given["producer_epoch"] = nullable(ids, pa.int64()), nullable(epochs, pa.int32())
    return pa.table([given[field.name] for field in BEGAN.arrow_schema], schema=BEGAN.arrow_schema)


def verified_during(asked: Iterable[RequestRow], tolerance_ms: int) -> dict[Addition, Waiting]:
    """The requests (BEGAN and ``committed`` among ``asked``) that verifications of a transactional id were
    made for.
    """
    asking: dict[tuple[Any, ...], list[RequestRow]] = {}
    waiting: dict[int, dict[tuple[Any, ...], list[RequestRow]]] = {PRODUCE: {}, COMMIT: {}}
    for each in asked:
        content = (each.broker_id, each.topic, each.partition, each.producer_id, each.producer_epoch)
        if each.api_key in waiting and each.producer_id is not None:
            waiting[each.api_key].setdefault(content, []).append(each)
        elif each.verify_only and each.error == NONE and each.client_id == f"{BROKERS_OWN}{each.broker_id}":
            asking.setdefault(content, []).append(each)
    found: dict[Addition, Waiting] = {}
    for content, verifications in asking.items():
        if content in waiting[PRODUCE]:
            found.update(_during_produce(waiting[PRODUCE][content], verifications, tolerance_ms))
        elif content in waiting[COMMIT]:
            found.update(_during_commits(waiting[COMMIT][content], verifications, tolerance_ms))
    return found


def _during_produce(
    produced: Iterable[RequestRow], asking: Iterable[RequestRow], tolerance_ms: int
) -> Iterator[tuple[Addition, Waiting]]:
    """Where several come so close that the times of their lines do not tell which is whose, as many
    verifications as requests are taken in order.
    """
    for together, verifications in _close(produced, asking, tolerance_ms):
        if len(together) == len(verifications):
            for request, each in zip(together, verifications, strict=True):
                yield _addition(each), (request, request)


def _during_commits(
    commits: Iterable[RequestRow], asking: Iterable[RequestRow], tolerance_ms: int
) -> Iterator[tuple[Addition, Waiting]]:
    """Of a transaction's commits the first is verified, and nothing logged tells it from the others. So all
    are taken that may have waited meanwhile, if one of them certainly did, and they are of one connection.
    One that was refused may have come before its transaction had the partition: with it nothing is told.
    """
    connections: dict[str | None, list[RequestRow]] = {}
    for each in sorted(commits, key=turn):
        connections.setdefault(each.connection, []).append(each)
    for each in asking:
        of_each = [_meanwhile(own, each, tolerance_ms) for own in connections.values()]
        meanwhile = [commit for own in of_each for commit in own]
        of_one = sum(map(bool, of_each)) == 1 and all(commit.error == NONE for commit in meanwhile)
        if of_one and any(_covers(commit, each) for commit in meanwhile):
            yield _addition(each), (meanwhile[0], meanwhile[-1])


def _meanwhile(commits: Sequence[RequestRow], asked: RequestRow, tolerance_ms: int) -> Sequence[RequestRow]:
    """Which requests of one connection, in order, may have waited for the answer to another."""
    first = bisect_left(commits, asked.responded_ms - tolerance_ms, key=lambda each: each.responded_ms)
    last = bisect_right(commits, asked.requested_ms + tolerance_ms, key=lambda each: each.requested_ms)
    return commits[first:last]


def _covers(waiting: RequestRow, asked: RequestRow) -> bool:
    return waiting.requested_ms <= asked.requested_ms and asked.responded_ms <= waiting.responded_ms


def _addition(asked: RequestRow) -> Addition:
    return asked.request_id, asked.topic, asked.partition


def _close(
    produced: Iterable[RequestRow], asking: Iterable[RequestRow], tolerance_ms: int
) -> Iterator[tuple[list[RequestRow], list[RequestRow]]]:
    """Requests that overlap in time, by as much as lines may be late, with the verifications meanwhile."""
    together: list[tuple[int, list[RequestRow]]] = []
    until_ms = 0
    for each in sorted(produced, key=lambda each: (each.requested_ms, each.order)):
        since_ms = each.requested_ms - tolerance_ms
        if not together or since_ms > until_ms:
            together.append((since_ms, []))
            until_ms = since_ms
        together[-1][1].append(each)
        until_ms = max(until_ms, each.responded_ms + tolerance_ms)
    verifications = sorted(asking, key=lambda each: (each.requested_ms, each.order))
    at = 0
    for since_ms, requests in together:
        until_ms = max(each.responded_ms for each in requests) + tolerance_ms
        meanwhile = []
        while at < len(verifications) and verifications[at].requested_ms <= until_ms:
            if verifications[at].requested_ms >= since_ms:
                meanwhile.append(verifications[at])
            at += 1
        yield requests, meanwhile
