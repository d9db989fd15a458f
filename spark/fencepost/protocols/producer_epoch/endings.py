"""Which EndTxn, AddPartitionsToTxn and AddOffsetsToTxn requests wrote which records of a transactional id."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from fencepost.protocols.producer_epoch.causes import Content, Pair, pairs
from fencepost.protocols.producer_epoch.request_rows import BUSY, RequestRow
from fencepost.protocols.producer_epoch.request_targets import ADD_OFFSETS, ADD_PARTITIONS, END, INIT
from fencepost.protocols.producer_epoch.transaction_log import ONGOING, PREPARE_COMMIT, TransactionRecord
from fencepost.protocols.producer_epoch.transaction_metadata import Transition
from fencepost.replay.late_lines import LateLines
from fencepost.replay.requests import NONE


def committed_without_clock(
    requests: Iterable[RequestRow], records: Iterable[TransactionRecord]
) -> list[Pair]:
    """EndTxn requests that committed, each with the record that has its content, without comparing times:
    from transaction version 2 on, in which each of them presents another epoch. An abort may have been the
    coordinator's own.
    """
    written = (
        (presented_by_end(record), record)
        for record in records
        if record.status == PREPARE_COMMIT and record.transaction_version >= 2
    )
    return pairs(_requested_ends(requests), written, None)


def _requested_ends(requests: Iterable[RequestRow]) -> Iterator[tuple[Content, RequestRow]]:
    """The EndTxn requests that were accepted, each with its content."""
    for each in requests:
        if each.api_key == END and each.error == NONE:
            yield (each.producer_id, each.producer_epoch, each.result), each


def presented_by_end(record: TransactionRecord) -> Content:
    """The content of the EndTxn that wrote a Prepare record. In transaction version 2 it presented the epoch
    before.
    """
    epoch = record.producer_epoch
    moved = epoch is not None and record.transaction_version >= 2
    presented = epoch - 1 if moved and epoch is not None else epoch
    return record.producer_id, presented, "COMMIT" if record.status == PREPARE_COMMIT else "ABORT"


def ended_pairs(
    requests: Sequence[RequestRow],
    transitions: Iterable[Transition],
    tolerance_ms: int,
    late_lines: LateLines,
) -> list[Pair]:
    """EndTxn requests that were accepted, each with the Prepare record that it surely wrote.

    A record that the coordinator may have written by itself is matched with none: an EndTxn at the same
    moment may have been accepted because that record already ended the transaction. So may one that arrived
    after the record, if the line of the first one is missing.
    """
    fences = [each for each in requests if each.api_key == INIT and each.error == BUSY]
    written = (
        (presented_by_end(each.record), each.record)
        for each in transitions
        if each.record.prepares and not _may_be_a_fence(each.record, fences, tolerance_ms)
    )
    return [pair for pair in pairs(_requested_ends(requests), written, _handled(late_lines)) if pair.sure]


def added_pairs(
    requests: Iterable[RequestRow], transitions: Iterable[Transition], late_lines: LateLines
) -> list[Pair]:
    """AddPartitionsToTxn and AddOffsetsToTxn requests that were accepted, each with the Ongoing record that
    it surely wrote.

    A partition that is in the transaction already, or is only verified, is accepted without a record: so one
    that arrived after the record did not write it, though the line of the one that did may be missing.
    """
    requested = (
        ((each.producer_id, each.producer_epoch, f"{each.topic}:{each.partition}"), each)
        for each in requests
        if each.api_key in (ADD_PARTITIONS, ADD_OFFSETS) and each.error == NONE and not each.verify_only
    )
    return [pair for pair in pairs(requested, _added(transitions), _handled(late_lines)) if pair.sure]


def _handled(late_lines: LateLines) -> Callable[[RequestRow], tuple[int, int]]:
    """When a request arrived, by the tolerance or less, if other lines of that time show that lines are less
    late, and when it was answered: a line is never written before.
    """

    def handled(request: RequestRow) -> tuple[int, int]:
        late_ms = late_lines.shown_at(request.broker_id, request.responded_ms)
        return request.requested_ms - min(late_ms, late_lines.tolerance_ms), request.responded_ms

    return handled


def _may_be_a_fence(record: TransactionRecord, fences: Iterable[RequestRow], tolerance_ms: int) -> bool:
    """Whether a timeout, or an InitProducerId that found the transaction open, may have written a Prepare
    record.

    Only from transaction version 2 on does an EndTxn bump the epoch as such an abort does.
    """
    if record.status == PREPARE_COMMIT or record.transaction_version < 2:
        return False
    lasted_ms = record.timestamp_ms - (record.started_ms or record.timestamp_ms)
    if record.partitions and lasted_ms >= (record.lasts_at_most_ms or 0):
        return True
    return any(
        each.requested_ms - tolerance_ms <= record.timestamp_ms <= each.responded_ms + tolerance_ms
        for each in fences
    )


def _added(transitions: Iterable[Transition]) -> Iterator[tuple[Content, TransactionRecord]]:
    """Each partition that an Ongoing record adds, with the record."""
    for each in transitions:
        record, previous = each.record, each.previous
        if record.status != ONGOING or each.hidden:
            continue
        before = previous.partitions if previous is not None and previous.status == ONGOING else ()
        for name in set(record.partitions) - set(before):
            yield (record.producer_id, record.producer_epoch, name), record
