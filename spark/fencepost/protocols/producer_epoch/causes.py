"""Which request wrote which record of a transactional id: what was asked against what was logged.

Only requests tell a new instance from a client's own bump, and an EndTxn from a fence, where both leave the
same record.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from fencepost.protocols.producer_epoch.request_rows import BUSY, RequestRow
from fencepost.protocols.producer_epoch.request_targets import END, INIT
from fencepost.protocols.producer_epoch.transaction_log import EMPTY, PREPARE_COMMIT, TransactionRecord
from fencepost.replay.request_clocks import brokers_with_another_clock
from fencepost.replay.requests import NONE


class Pair(NamedTuple):
    """An accepted request and a record it may have written, ``sure`` when both fit nothing else."""

    asked: RequestRow
    record: TransactionRecord
    sure: bool


def granted_pairs(
    inits: Iterable[RequestRow], records: Iterable[TransactionRecord], tolerance_ms: int | None
) -> list[Pair]:
    """InitProducerId requests that were granted, each with the record that it wrote: the one it answers.

    ``tolerance_ms`` as for ``pairs``.
    """
    asked = (((each.returned_producer_id, each.returned_producer_epoch), each) for each in inits)
    written = (
        ((record.producer_id, record.producer_epoch), record) for record in records if record.status == EMPTY
    )
    return pairs(asked, written, tolerance_ms)


def other_clocks(of_all_times: Iterable[Pair], tolerance_ms: int) -> frozenset[int]:
    """The brokers whose lines show another clock than their records, by pairs that no clock made."""
    times = [
        (each.asked.broker_id, each.asked.requested_ms, each.asked.responded_ms, each.record.timestamp_ms)
        for each in of_all_times
    ]
    if not times:
        return frozenset()
    return brokers_with_another_clock(*np.array(times, dtype=np.int64).T, tolerance_ms=tolerance_ms)


Content = tuple[object, ...]
"""What a request and the record it wrote have in common."""


def pairs(
    asked: Iterable[tuple[Content, RequestRow]],
    written: Iterable[tuple[Content, TransactionRecord]],
    tolerance_ms: int | None,
) -> list[Pair]:
    """Accepted requests, each with the record it wrote.

    A record fits when it has the request's content and was written between arrival and answer. Requests that
    compete for as many records take them in order. Without ``tolerance_ms`` no clock is asked, which leaves
    those that are alone with their content.
    """
    requests: dict[Content, list[RequestRow]] = {}
    records: dict[Content, list[TransactionRecord]] = {}
    for content, each in asked:
        requests.setdefault(content, []).append(each)
    for content, record in written:
        if content in requests and not record.based:
            records.setdefault(content, []).append(record)
    found: list[Pair] = []
    for content, of_content in records.items():
        if len(of_content) == len(requests[content]) == 1:
            # nearly all are alone
            (each,), (record,) = requests[content], of_content
            if tolerance_ms is None or (
                each.requested_ms - tolerance_ms <= record.timestamp_ms <= each.responded_ms + tolerance_ms
            ):
                found.append(Pair(each, record, sure=True))
        elif tolerance_ms is not None:
            found += _paired(_fitting(requests[content], of_content, tolerance_ms))
    return found


def _fitting(
    asked: Sequence[RequestRow], records: Sequence[TransactionRecord], tolerance_ms: int
) -> list[tuple[RequestRow, list[TransactionRecord]]]:
    """Each request with the records written meanwhile, in the order of the first of them."""
    by_time = sorted(records, key=lambda record: (record.timestamp_ms, record.offset))
    times = [record.timestamp_ms for record in by_time]
    found = []
    for each in asked:
        first = bisect_left(times, each.requested_ms - tolerance_ms)
        last = bisect_right(times, each.responded_ms + tolerance_ms)
        if first < last:
            found.append((each, sorted(by_time[first:last], key=lambda record: record.offset)))
    return sorted(found, key=lambda fit: (fit[1][0].offset, *fit[0].order))


def _paired(fitting: Sequence[tuple[RequestRow, list[TransactionRecord]]]) -> list[Pair]:
    claims: dict[int, int] = {}
    for _, records in fitting:
        for record in records:
            claims[record.offset] = claims.get(record.offset, 0) + 1
    in_order = sorted(claims)
    as_many = len(in_order) == len(fitting)
    pairs = []
    for number, (asked, records) in enumerate(fitting):
        alone = len(records) == 1 and claims[records[0].offset] == 1
        sure = [record for record in records if alone or (as_many and in_order[number] == record.offset)]
        pairs += [Pair(asked, record, bool(sure)) for record in sure or records]
    return pairs


class Enders:
    """The requests of one transactional id that may have ended its transactions."""

    def __init__(self, asked: Iterable[RequestRow], tolerance_ms: int) -> None:
        """From InitProducerId and EndTxn requests."""
        self._tolerance_ms = tolerance_ms
        self._asked = sorted(
            (
                each
                for each in asked
                if (each.api_key == END and each.error == NONE)
                or (each.api_key == INIT and each.error == BUSY)
            ),
            key=lambda each: each.order,
        )
        self._responded = [each.responded_ms for each in self._asked]
        # the earliest arrival among a request and those answered after it: where to stop looking
        self._arrived = [each.requested_ms for each in self._asked]
        for at in range(len(self._arrived) - 2, -1, -1):
            self._arrived[at] = min(self._arrived[at], self._arrived[at + 1])

    def of(
        self, record: TransactionRecord, presented_epoch: int | None
    ) -> tuple[RequestRow | None, RequestRow | None]:
        """What made a Prepare record: the EndTxn, and an InitProducerId that found the transaction open.

        The first that was answered, where several were. ``presented_epoch`` is the epoch of the record
        before, which an EndTxn presents; None where that is not known.
        """
        ended = fence = None
        commits = record.status == PREPARE_COMMIT
        latest = record.timestamp_ms + self._tolerance_ms
        at = bisect_left(self._responded, record.timestamp_ms - self._tolerance_ms)
        while at < len(self._asked) and self._arrived[at] <= latest:
            each = self._asked[at]
            at += 1
            if each.requested_ms > latest:
                continue
            if each.api_key == INIT:
                fence = fence or (None if commits else each)
            elif (
                ended is None
                and (each.result == "COMMIT") == commits
                and each.producer_id == record.producer_id
                and presented_epoch in (None, each.producer_epoch)
            ):
                ended = each
            if ended and (fence or commits):
                break
        return ended, fence
