"""Which request wrote which record of a transactional id: requests matched with records.

A new instance and a bump that a client requested leave the same record, and so may an EndTxn and a fence:
only requests tell them apart.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Container, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from fencepost.protocols.producer_epoch.request_rows import BUSY, RequestRow
from fencepost.protocols.producer_epoch.request_targets import END, INIT
from fencepost.protocols.producer_epoch.transaction_log import EMPTY, PREPARE_COMMIT, TransactionRecord
from fencepost.replay.late_lines import LateLines
from fencepost.replay.requests import NONE


class Pair(NamedTuple):
    """An accepted request and a record that it may have written; ``sure`` if neither fits anything else."""

    request: RequestRow
    record: TransactionRecord
    sure: bool


def granted_pairs(
    inits: Iterable[RequestRow], records: Iterable[TransactionRecord], tolerance_ms: int | None
) -> list[Pair]:
    """InitProducerId requests that were granted, each with the record of the producer id and epoch that its
    answer returned. Without ``tolerance_ms`` times are not compared.
    """
    requests = (((each.returned_producer_id, each.returned_producer_epoch), each) for each in inits)
    written = (
        ((record.producer_id, record.producer_epoch), record) for record in records if record.status == EMPTY
    )
    if tolerance_ms is None:
        return pairs(requests, written, None)
    return pairs(
        requests,
        written,
        lambda each: (each.requested_ms - tolerance_ms, each.responded_ms + tolerance_ms),
    )


def late_lines_of(
    pairs_without_clock: Iterable[Pair], others: Container[int], tolerance_ms: int
) -> LateLines:
    """How late brokers' lines are, as pairs that were matched without comparing times show; without the
    brokers that have another clock (``others``).
    """
    of_broker: dict[int, list[tuple[int, int]]] = {}
    for request, record, _ in pairs_without_clock:
        if request.broker_id not in others:
            late_ms = request.requested_ms - record.timestamp_ms
            of_broker.setdefault(request.broker_id, []).append((request.responded_ms, late_ms))
    late_lines = LateLines(tolerance_ms)
    for broker_id, times in of_broker.items():
        late_lines.note(broker_id, *np.array(times, dtype=np.int64).T)
    return late_lines


def compared_times(pairs_without_clock: Iterable[Pair]) -> list[tuple[int, int, int, int]]:
    """The times (request_clocks) of requests and their records, matched without comparing times."""
    return [
        (request.broker_id, request.requested_ms, request.responded_ms, record.timestamp_ms)
        for request, record, _ in pairs_without_clock
    ]


Content = tuple[object, ...]
"""The values that a request and the record it wrote have in common."""


def pairs(
    requests: Iterable[tuple[Content, RequestRow]],
    written: Iterable[tuple[Content, TransactionRecord]],
    handled: Callable[[RequestRow], tuple[int, int]] | None,
) -> list[Pair]:
    """Accepted requests, each with the record that it wrote.

    A record fits a request if both have the same content and the record was written while the request was
    ``handled``: when it arrived, and when it was answered. Where several requests fit as many records, they
    are matched in order. Without ``handled`` times are not compared, and a request is matched only if no
    other has its content.
    """
    by_content: dict[Content, list[RequestRow]] = {}
    records: dict[Content, list[TransactionRecord]] = {}
    for content, each in requests:
        by_content.setdefault(content, []).append(each)
    for content, record in written:
        if content in by_content and not record.based:
            records.setdefault(content, []).append(record)
    pairs_found: list[Pair] = []
    for content, of_content in records.items():
        if len(of_content) == len(by_content[content]) == 1:
            # nearly all contents have one request and one record
            (each,), (record,) = by_content[content], of_content
            since, until = (record.timestamp_ms,) * 2 if handled is None else handled(each)
            if since <= record.timestamp_ms <= until:
                pairs_found.append(Pair(each, record, sure=True))
        elif handled is not None:
            pairs_found += _paired(_fitting(by_content[content], of_content, handled))
    return pairs_found


def _fitting(
    requests: Sequence[RequestRow],
    records: Sequence[TransactionRecord],
    handled: Callable[[RequestRow], tuple[int, int]],
) -> list[tuple[RequestRow, list[TransactionRecord]]]:
    """Each request with the records that were written while it was handled, in the order of the first
    record.
    """
    by_time = sorted(records, key=lambda record: (record.timestamp_ms, record.offset))
    times = [record.timestamp_ms for record in by_time]
    fitting = []
    for each in requests:
        since, until = handled(each)
        first, last = bisect_left(times, since), bisect_right(times, until)
        if first < last:
            fitting.append((each, sorted(by_time[first:last], key=lambda record: record.offset)))
    return sorted(fitting, key=lambda fit: (fit[1][0].offset, *fit[0].order))


def _paired(fitting: Sequence[tuple[RequestRow, list[TransactionRecord]]]) -> list[Pair]:
    requests_of_record: dict[int, int] = {}
    for _, records in fitting:
        for record in records:
            requests_of_record[record.offset] = requests_of_record.get(record.offset, 0) + 1
    in_order = sorted(requests_of_record)
    as_many = len(in_order) == len(fitting)
    pairs = []
    for number, (request, records) in enumerate(fitting):
        alone = len(records) == 1 and requests_of_record[records[0].offset] == 1
        sure = [record for record in records if alone or (as_many and in_order[number] == record.offset)]
        pairs += [Pair(request, record, bool(sure)) for record in sure or records]
    return pairs


class Enders:
    """The requests of one transactional id that may have ended its transactions."""

    def __init__(self, requests: Iterable[RequestRow], tolerance_ms: int) -> None:
        """``requests``: InitProducerId and EndTxn."""
        self._tolerance_ms = tolerance_ms
        self._requests = sorted(
            (
                each
                for each in requests
                if (each.api_key == END and each.error == NONE)
                or (each.api_key == INIT and each.error == BUSY)
            ),
            key=lambda each: each.order,
        )
        self._responded = [each.responded_ms for each in self._requests]
        # the earliest arrival among a request and those answered after it: the search stops by it
        self._arrived = [each.requested_ms for each in self._requests]
        for at in range(len(self._arrived) - 2, -1, -1):
            self._arrived[at] = min(self._arrived[at], self._arrived[at + 1])

    def of(
        self, record: TransactionRecord, presented_epoch: int | None
    ) -> tuple[RequestRow | None, RequestRow | None]:
        """The requests that may have made a Prepare record: an EndTxn, and an InitProducerId that aborted an
        open transaction; of several the one that was answered first.

        ``presented_epoch`` is the epoch of the record before, which an EndTxn presents; None if that is not
        known. An InitProducerId that presents a newer one came after this record, which was the first to have
        it.
        """
        ended = fence = None
        commits = record.status == PREPARE_COMMIT
        latest = record.timestamp_ms + self._tolerance_ms
        at = bisect_left(self._responded, record.timestamp_ms - self._tolerance_ms)
        while at < len(self._requests) and self._arrived[at] <= latest:
            each = self._requests[at]
            at += 1
            if each.requested_ms > latest:
                continue
            if each.api_key == INIT:
                if fence is None and not commits and not _is_newer(each, record, presented_epoch):
                    fence = each
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


def _is_newer(init: RequestRow, record: TransactionRecord, epoch: int | None) -> bool:
    """Whether a request presents a newer epoch of the record's producer id than ``epoch``."""
    return (
        epoch is not None
        and init.producer_id == record.producer_id
        and init.producer_epoch is not None
        and init.producer_epoch > epoch
    )
