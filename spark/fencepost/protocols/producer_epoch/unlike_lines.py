"""Finds brokers whose lines about transactions do not belong to the records of the coordinator's log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from fencepost.protocols.producer_epoch.causes import Content
from fencepost.protocols.producer_epoch.endings import presented_by_end
from fencepost.protocols.producer_epoch.request_rows import RequestRow
from fencepost.protocols.producer_epoch.request_targets import ADD_PARTITIONS, END, INIT
from fencepost.protocols.producer_epoch.transaction_log import EMPTY, TransactionRecord
from fencepost.replay.requests import NONE

_NOTHING = (None, -1)


def recorded_requests(
    requests: Iterable[RequestRow], records: Iterable[TransactionRecord]
) -> Iterator[tuple[RequestRow, bool]]:
    """The accepted requests of a transactional id, in order, and whether a record has what each wrote;
    ``requests``: those that the log shows.

    Each InitProducerId and EndTxn wrote a record of its own, unless the same one came just before it. A
    partition that is in the transaction already is added without a record.
    """
    written = Counter(content for record in records for content in _contents(record))
    before = None
    for each in requests:
        if each.error == NONE and each.api_key in (INIT, END, ADD_PARTITIONS):
            content = _content(each)
            if content != before:
                yield each, written[content] > 0 and not _is_half(each)
                written[content] -= each.api_key != ADD_PARTITIONS
            before = content


def unrecorded(
    requests: Iterable[RequestRow], records: Iterable[TransactionRecord], after_ms: int
) -> Iterator[RequestRow]:
    """The accepted requests of a transactional id of which no record has what they wrote, up to ``after_ms``
    after the answer.
    """
    first_ms: dict[Content, int] = {}
    for content, ms in ((each, record.timestamp_ms) for record in records for each in _contents(record)):
        first_ms[content] = min(ms, first_ms.get(content, ms))
    for each in requests:
        if each.error == NONE and each.api_key in (INIT, END, ADD_PARTITIONS):
            written_ms = first_ms.get(_content(each))
            if written_ms is None or written_ms > each.responded_ms + after_ms:
                yield each


def _is_half(request: RequestRow) -> bool:
    """Whether it presents a producer id without an epoch or the reverse, which no coordinator accepts."""
    return (request.producer_id in _NOTHING) != (request.producer_epoch in _NOTHING)


def _content(request: RequestRow) -> Content:
    if request.api_key == INIT:
        return request.returned_producer_id, request.returned_producer_epoch
    of_producer = (request.producer_id, request.producer_epoch)
    added = f"{request.topic}:{request.partition}"
    return (*of_producer, request.result if request.api_key == END else added)


def _contents(record: TransactionRecord) -> Iterator[Content]:
    """The contents of the requests that may have written a record."""
    if record.status == EMPTY:
        yield record.producer_id, record.producer_epoch
    if record.prepares:
        yield presented_by_end(record)
    for name in record.partitions:
        yield record.producer_id, record.producer_epoch, name
