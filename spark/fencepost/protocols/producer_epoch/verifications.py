"""Which Produce or TxnOffsetCommit a leader verified a transaction for (KIP-890).

Before its partition opens a transaction, a leader asks the coordinator whether the partition is part of it
(AddPartitionsToTxn, verify-only), and answers the producer's request afterwards. So earlier requests on the
producer's connection were answered before the verification, and later requests arrived after it. This can be
seen only where leader and coordinator are one broker: times of two brokers are not compared.
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
    "The Produce requests that opened a transaction in their partition: silver.producer_requests, with the "
    "producer id and epoch of the batch.",
    PRODUCER_REQUESTS.columns,
    PRODUCER_REQUESTS.key,
)

VERIFIED = pa.schema([("cluster", pa.string()), ("transactional_id", pa.string())])
"""Transactional ids that had a transaction verified."""

Addition = tuple[str, str | None, int | None]
"""The key of one partition in an AddPartitionsToTxn: request id, topic and partition."""

Waiting = tuple[RequestRow, RequestRow]
"""The first and the last of the requests of one connection, one of which waited for a verification."""


def verified(requests: pa.Table) -> pa.Table:
    """VERIFIED of rows of ``silver.producer_requests``."""
    is_verification = pc.and_(
        pc.equal(requests["api_key"], ADD_PARTITIONS), pc.fill_null(requests["verify_only"], False)
    )
    granted = requests.filter(
        pc.and_(is_verification, pc.fill_null(pc.equal(requests["error"], NONE), False))
    )
    return granted.group_by(VERIFIED.names).aggregate([]).select(VERIFIED.names)


def of_transactional_ids(answers: pa.Table, ids: pa.Table) -> pa.Table:
    """The rows of ``silver.producer_requests`` of some transactional ids (``ids``: VERIFIED)."""
    chosen = pa.array(np.zeros(answers.num_rows, dtype=np.bool_))
    for cluster in ids["cluster"].unique().to_pylist():
        own = ids.filter(pc.equal(ids["cluster"], cluster))["transactional_id"].combine_chunks()
        of_them = pc.and_(pc.equal(answers["cluster"], cluster), pc.is_in(answers["transactional_id"], own))
        chosen = pc.or_(chosen, of_them)
    return answers.filter(chosen)


def committed(requests: pa.Table, ids: pa.Table) -> pa.Table:
    """The TxnOffsetCommits of some transactional ids (``ids``: VERIFIED), rows of
    ``silver.producer_requests``.

    Refusals are left out: concerns_coordinators has them.
    """
    chosen = pc.and_not(pc.equal(requests["api_key"], COMMIT), is_refusal(requests))
    return of_transactional_ids(requests.filter(chosen), ids)


class BegunTransactions:
    """The transactions of one partition, each with the Produce request that opened it."""

    def __init__(self, answers: Piece | None) -> None:
        """``answers``: ``row`` and ``base_offset`` of the partition's answered Produce requests."""
        self._answers = answers
        self._transactions: list[Sequence[Longs]] = []

    def add(self, transactions: Mapping[str, Any]) -> None:
        """Add transactions (account.PARTITION_TRANSACTION)."""
        if self._answers is not None:
            names = ("producer_id", "first_offset", "producer_epoch")
            self._transactions.append([np.asarray(transactions[name], dtype=np.int64) for name in names])

    def columns(self) -> tuple[Longs, Longs, Longs]:
        """Rows of answers, producer ids and epochs.

        A transaction is left out if the Produce of the one before or after it is missing or was answered
        twice: the verification of that one might be taken for its own.
        """
        none = np.empty(0, dtype=np.int64)
        if self._answers is None or not self._transactions:
            return none, none, none
        ids, offsets, epochs = (np.concatenate(columns) for columns in zip(*self._transactions, strict=True))
        order = np.lexsort((offsets, ids))
        ids, offsets, epochs = ids[order], offsets[order], epochs[order]
        answered_offsets, first, times = np.unique(
            self._answers["base_offset"], return_index=True, return_counts=True
        )
        at = np.minimum(np.searchsorted(answered_offsets, offsets), len(answered_offsets) - 1)
        is_answered_once = (answered_offsets[at] == offsets) & (times[at] == 1)
        alike = ids[1:] == ids[:-1]
        whole = is_answered_once.copy()
        whole[1:] &= is_answered_once[:-1] | ~alike
        whole[:-1] &= is_answered_once[1:] | ~alike
        return self._answers["row"][first[at[whole]]], ids[whole], epochs[whole]


def began(answers: pa.Table, rows: Longs, ids: Longs, epochs: Longs) -> pa.Table:
    """BEGAN of rows of ``silver.producer_requests``."""
    found = answers.take(pa.array(rows))
    columns = {name: found[name] for name in found.schema.names}
    columns["producer_id"], columns["producer_epoch"] = (
        nullable(ids, pa.int64()),
        nullable(epochs, pa.int32()),
    )
    return pa.table([columns[field.name] for field in BEGAN.arrow_schema], schema=BEGAN.arrow_schema)


def verified_during(requests: Iterable[RequestRow], tolerance_ms: int) -> dict[Addition, Waiting]:
    """The requests (BEGAN and ``committed`` among ``requests``) for which a transactional id was verified."""
    verifications_by_content: dict[tuple[Any, ...], list[RequestRow]] = {}
    waiting: dict[int, dict[tuple[Any, ...], list[RequestRow]]] = {PRODUCE: {}, COMMIT: {}}
    for each in requests:
        content = (each.broker_id, each.topic, each.partition, each.producer_id, each.producer_epoch)
        if each.api_key in waiting and each.producer_id is not None:
            waiting[each.api_key].setdefault(content, []).append(each)
        elif each.verify_only and each.error == NONE and each.client_id == f"{BROKERS_OWN}{each.broker_id}":
            verifications_by_content.setdefault(content, []).append(each)
    waiting_requests: dict[Addition, Waiting] = {}
    for content, verifications in verifications_by_content.items():
        if content in waiting[PRODUCE]:
            waiting_requests.update(_during_produce(waiting[PRODUCE][content], verifications, tolerance_ms))
        elif content in waiting[COMMIT]:
            waiting_requests.update(_during_commits(waiting[COMMIT][content], verifications, tolerance_ms))
    return waiting_requests


def _during_produce(
    produced: Iterable[RequestRow], verifications: Iterable[RequestRow], tolerance_ms: int
) -> Iterator[tuple[Addition, Waiting]]:
    """Each verification with the Produce that waited for it.

    Where several come so close together that the times of their lines do not tell which belong together, they
    are matched in order if there are as many verifications as requests.
    """
    for together, of_these in _close(produced, verifications, tolerance_ms):
        if len(together) == len(of_these):
            for request, each in zip(together, of_these, strict=True):
                yield _addition(each), (request, request)


def _during_commits(
    commits: Iterable[RequestRow], verifications: Iterable[RequestRow], tolerance_ms: int
) -> Iterator[tuple[Addition, Waiting]]:
    """Each verification with the TxnOffsetCommits that may have waited for it.

    Only a transaction's first commit is verified, and the log does not tell which that is. So all commits
    are taken that may have waited, if one of them certainly did and all are of one connection. A refused
    commit may have come before the partition was added to the transaction: if there is one, nothing is
    known.
    """
    connections: dict[str | None, list[RequestRow]] = {}
    for each in sorted(commits, key=turn):
        connections.setdefault(each.connection, []).append(each)
    for each in verifications:
        of_each = [_meanwhile(own, each, tolerance_ms) for own in connections.values()]
        meanwhile = [commit for own in of_each for commit in own]
        of_one = sum(map(bool, of_each)) == 1 and all(commit.error == NONE for commit in meanwhile)
        if of_one and any(_covers(commit, each) for commit in meanwhile):
            yield _addition(each), (meanwhile[0], meanwhile[-1])


def _meanwhile(commits: Sequence[RequestRow], request: RequestRow, tolerance_ms: int) -> Sequence[RequestRow]:
    """The requests of one connection, in order, that may have been waiting when another was answered."""
    first = bisect_left(commits, request.responded_ms - tolerance_ms, key=lambda each: each.responded_ms)
    last = bisect_right(commits, request.requested_ms + tolerance_ms, key=lambda each: each.requested_ms)
    return commits[first:last]


def _covers(waiting: RequestRow, request: RequestRow) -> bool:
    return waiting.requested_ms <= request.requested_ms and request.responded_ms <= waiting.responded_ms


def _addition(request: RequestRow) -> Addition:
    return request.request_id, request.topic, request.partition


def _close(
    produced: Iterable[RequestRow], verifications: Iterable[RequestRow], tolerance_ms: int
) -> Iterator[tuple[list[RequestRow], list[RequestRow]]]:
    """Groups of requests that overlap in time, or may (lines may be late), each with the verifications in
    that time.
    """
    together: list[tuple[int, list[RequestRow]]] = []
    until_ms = 0
    for each in sorted(produced, key=lambda each: (each.requested_ms, each.order)):
        since_ms = each.requested_ms - tolerance_ms
        if not together or since_ms > until_ms:
            together.append((since_ms, []))
            until_ms = since_ms
        together[-1][1].append(each)
        until_ms = max(until_ms, each.responded_ms + tolerance_ms)
    in_order = sorted(verifications, key=lambda each: (each.requested_ms, each.order))
    at = 0
    for since_ms, requests in together:
        until_ms = max(each.responded_ms for each in requests) + tolerance_ms
        meanwhile = []
        while at < len(in_order) and in_order[at].requested_ms <= until_ms:
            if in_order[at].requested_ms >= since_ms:
                meanwhile.append(in_order[at])
            at += 1
        yield requests, meanwhile
