"""Fencings as the coordinator's log shows them: rows of account.FENCING, which the last step completes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from fencepost.protocols.producer_epoch.fencings import UNASSIGNED_EPOCH, Fencing
from fencepost.protocols.producer_epoch.refusals import Refusal, is_brokers
from fencepost.protocols.producer_epoch.transaction_metadata import END_TXN
from fencepost.protocols.producer_epoch.transactions import Transaction
from fencepost.replay.columns import Rows
from fencepost.replay.logs import Log


class OpenTransactions:
    """The transactions of one transactional id, which finds those that were open at an offset of its log."""

    def __init__(self, transactions: Iterable[Transaction], log: Log | None) -> None:
        self._open = {each.number for each in log.stretches if each.to_offset is None} if log else set()
        self._ended: dict[tuple[int | None, int | None], list[Transaction]] = {}
        self._unended: dict[tuple[int | None, int | None], list[Transaction]] = {}
        for each in transactions:
            kind = self._unended if each.prepare is None else self._ended
            kind.setdefault((each.start.producer_id, each.producer_epoch), []).append(each)

    def at(self, producer_id: int | None, epoch: int | None, offset: int) -> list[dict[str, str | None]]:
        """The partitions of the transactions of this epoch that were open when the record at ``offset`` was
        written, each with the outcome of its transaction.
        """
        key = (producer_id, epoch)
        ended = self._ended.get(key, [])
        at = bisect_left(ended, offset, key=lambda each: each.start.offset)
        open_then = [each for each in self._unended.get(key, []) if each.start.offset < offset]
        # within one epoch a transaction begins only when the one before it has been prepared
        open_then += [
            each for each in ended[max(at - 1, 0) : at] if each.prepare and each.prepare.offset >= offset
        ]
        return [
            {"name": name, "outcome": each.outcome(each.stretch in self._open)}
            for each in sorted(open_then, key=lambda each: each.start.offset)
            for name in each.newest.partitions
        ]


def add_fencing(rows: Rows, cluster: str, fencing: Fencing, open_transactions: OpenTransactions) -> None:
    """Add a fencing of a transactional producer to rows of account.FENCING."""
    request, now = fencing.refusal.request, fencing.now
    # behind a hole a record may not be the first after the epoch: then it is not known who wrote that
    fence = None if fencing.fence is None or fencing.fence.hidden else fencing.fence
    fencing_request = None if fence is None else fence.request
    in_flight: list[dict[str, str | None]] | None = [] if fencing.unassigned else None
    if fence is not None:
        open_then = open_transactions.at(fencing.producer_id, fencing.victim_epoch, fence.record.offset)
        # a producer that ended its transaction itself had no open one
        if fence.cause != END_TXN:
            in_flight = open_then
        elif fencing_request is not None and not is_brokers(request):
            in_flight = [] if fencing_request.client_id == request.client_id else open_then
    fenced_ms = None if fence is None else fence.record.timestamp_ms
    if fenced_ms is not None and fenced_ms > request.responded_ms:
        # it came before, so the coordinator's clock is ahead of that of the broker that answered
        fenced_ms = None
    rows.add(
        cluster,
        fencing.producer_id,
        request.request_id,
        request.transactional_id,
        fencing.victim_epoch,
        None if now is None else now.record.producer_id,
        None if now is None else now.record.producer_epoch,
        request.client_id,
        request.connection,
        request.api_name,
        request.error,
        request.responded_ms,
        UNASSIGNED_EPOCH if fencing.unassigned else None if fence is None else fence.told_cause,
        None if fencing_request is None else fencing_request.client_id,
        None if fencing_request is None else fencing_request.connection,
        None if fence is None else fence.record.offset,
        fenced_ms,
        None if fence is None else fencing.caused_ms,
        in_flight,
        request.topic,
        request.partition,
        request.file,
        request.position,
    )


def add_idempotent(rows: Rows, cluster: str, refusal: Refusal) -> None:
    """Add a refusal of a producer without a transactional id, which only bumps its epoch itself.

    Its request names neither producer id nor epoch: the id is the one that its connection was granted; the
    current epoch is the newest in the partition, which the last step knows.
    """
    request = refusal.request
    producer_id = refusal.producer_id
    rows.add(
        *(cluster, producer_id, request.request_id, None, None, producer_id, None),
        *(request.client_id, request.connection, request.api_name, request.error, request.responded_ms),
        *(None, None, None, None, None, None, None),
        *(request.topic, request.partition, request.file, request.position),
    )
