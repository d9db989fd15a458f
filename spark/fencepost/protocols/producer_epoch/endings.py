"""Which requests that end a transaction, or add to one, wrote which records of a transactional id."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from fencepost.protocols.producer_epoch.causes import Content, Pair, pairs
from fencepost.protocols.producer_epoch.request_rows import BUSY, RequestRow
from fencepost.protocols.producer_epoch.request_targets import ADD_OFFSETS, ADD_PARTITIONS, END, INIT
from fencepost.protocols.producer_epoch.transaction_log import ONGOING, PREPARE_COMMIT, TransactionRecord
from fencepost.protocols.producer_epoch.transaction_metadata import Transition
from fencepost.replay.requests import NONE


def ended_pairs(
    asked: Sequence[RequestRow], transitions: Iterable[Transition], tolerance_ms: int
) -> list[Pair]:
    """EndTxn requests that were accepted, each with the Prepare record that it surely wrote.

    A record that the coordinator may have written on its own is nobody's: an abort at that epoch which comes
    in that moment may have met it already.
    """
    ends = (each for each in asked if each.api_key == END and each.error == NONE)
    fences = [each for each in asked if each.api_key == INIT and each.error == BUSY]
    sent = (((each.producer_id, each.producer_epoch, each.result), each) for each in ends)
    written = (
        (_ended(each.record), each.record)
        for each in transitions
        if each.record.prepares and not _may_be_a_fence(each.record, fences, tolerance_ms)
    )
    return [pair for pair in pairs(sent, written, tolerance_ms) if pair.sure]


def added_pairs(
    asked: Iterable[RequestRow], transitions: Iterable[Transition], tolerance_ms: int
) -> list[Pair]:
    """AddPartitionsToTxn and AddOffsetsToTxn requests that were accepted, each with the Ongoing record that
    it surely wrote.

    What was added already, and what is only verified, is accepted without a record.
    """
    sent = (
        ((each.producer_id, each.producer_epoch, f"{each.topic}:{each.partition}"), each)
        for each in asked
        if each.api_key in (ADD_PARTITIONS, ADD_OFFSETS) and each.error == NONE and not each.verify_only
    )
    return [pair for pair in pairs(sent, _added(transitions), tolerance_ms) if pair.sure]


def _ended(record: TransactionRecord) -> Content:
    """What the EndTxn said that wrote a Prepare record: under transaction version 2 the epoch before."""
    epoch = record.producer_epoch
    moved = epoch is not None and record.transaction_version >= 2
    said = epoch - 1 if moved and epoch is not None else epoch
    return record.producer_id, said, "COMMIT" if record.status == PREPARE_COMMIT else "ABORT"


def _may_be_a_fence(record: TransactionRecord, fences: Iterable[RequestRow], tolerance_ms: int) -> bool:
    """A timeout, or an InitProducerId that finds the transaction open, aborts it at the epoch of an EndTxn.

    Before transaction version 2 an EndTxn leaves the epoch where it is, and a fence does not.
    """
    if record.status == PREPARE_COMMIT or record.transaction_version < 2:
        return False
    lasted_ms = record.timestamp_ms - (record.started_ms or record.timestamp_ms)
    if record.partitions and lasted_ms >= (record.timeout_ms or 0):
        return True
    return any(
        each.requested_ms - tolerance_ms <= record.timestamp_ms <= each.responded_ms + tolerance_ms
        for each in fences
    )


def _added(transitions: Iterable[Transition]) -> Iterator[tuple[Content, TransactionRecord]]:
    """Each partition that an Ongoing record has and the one before has not."""
    for each in transitions:
        record, was = each.record, each.was
        if record.status != ONGOING or each.hidden:
            continue
        before = was.partitions if was is not None and was.status == ONGOING else ()
        for name in set(record.partitions) - set(before):
            yield (record.producer_id, record.producer_epoch, name), record
