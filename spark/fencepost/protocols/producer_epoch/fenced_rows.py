"""Fencings as the coordinator's log tells them: rows of account.FENCED, which the last step completes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from fencepost.protocols.producer_epoch.arrow import Rows
from fencepost.protocols.producer_epoch.fencings import Fencing
from fencepost.protocols.producer_epoch.refusals import Refusal
from fencepost.protocols.producer_epoch.transaction_metadata import END_TXN
from fencepost.protocols.producer_epoch.transactions import Transaction
from fencepost.replay.logs import Log


class OpenTransactions:
    """The transactions of one transactional id, to be asked what was in flight at an offset of its log."""

    def __init__(self, found: Iterable[Transaction], log: Log | None) -> None:
        self._open = {each.number for each in log.stretches if each.to_offset is None} if log else set()
        self._ended: dict[tuple[int | None, int | None], list[Transaction]] = {}
        self._unended: dict[tuple[int | None, int | None], list[Transaction]] = {}
        for each in found:
            kind = self._unended if each.prepare is None else self._ended
            kind.setdefault((each.start.producer_id, each.producer_epoch), []).append(each)

    def at(self, producer_id: int | None, epoch: int | None, offset: int) -> list[dict[str, str | None]]:
        """The partitions of the transactions that were open with this epoch when this record was written."""
        key = (producer_id, epoch)
        ended = self._ended.get(key, [])
        at = bisect_left(ended, offset, key=lambda each: each.start.offset)
        flying = [each for each in self._unended.get(key, []) if each.start.offset < offset]
        # within one epoch a transaction begins when the one before it has been prepared
        flying += [
            each for each in ended[max(at - 1, 0) : at] if each.prepare and each.prepare.offset >= offset
        ]
        return [
            {"name": name, "outcome": each.outcome(each.stretch in self._open)}
            for each in sorted(flying, key=lambda each: each.start.offset)
            for name in each.newest.partitions
        ]


def add_fencing(rows: Rows, cluster: str, fencing: Fencing, flying: OpenTransactions) -> None:
    """Add a fencing of a transactional producer to rows of account.FENCED."""
    asked, now = fencing.refusal.asked, fencing.now
    # behind a hole a record is not known to be the first past the epoch: nothing tells who wrote that
    fence = None if fencing.fence is None or fencing.fence.hidden else fencing.fence
    by = None if fence is None else fence.by
    in_flight: list[dict[str, str | None]] | None = None
    if fence is not None:
        # a producer that ended its transaction itself had none open
        own, at = fence.cause == END_TXN, fence.record.offset
        in_flight = [] if own else flying.at(fencing.producer_id, fencing.victim_epoch, at)
    rows.add(
        cluster,
        fencing.producer_id,
        asked.request_id,
        asked.transactional_id,
        fencing.victim_epoch,
        None if now is None else now.record.producer_id,
        None if now is None else now.record.producer_epoch,
        asked.client_id,
        asked.connection,
        asked.api_name,
        asked.error,
        asked.responded_ms,
        None if fence is None else fence.cause,
        None if by is None else by.client_id,
        None if by is None else by.connection,
        None if fence is None else fence.record.offset,
        None if fence is None else fence.record.timestamp_ms,
        in_flight,
        asked.topic,
        asked.partition,
        asked.file,
        asked.position,
    )


def add_idempotent(rows: Rows, cluster: str, refusal: Refusal) -> None:
    """Add a refusal of a producer without a transactional id: only it itself moves its epoch.

    Its request names neither producer nor epoch: the producer is the one that the connection was granted; the
    current epoch is the newest in the partition, which the last step knows.
    """
    asked = refusal.asked
    producer_id = refusal.producer_id
    rows.add(
        *(cluster, producer_id, asked.request_id, None, None, producer_id, None),
        *(asked.client_id, asked.connection, asked.api_name, asked.error, asked.responded_ms),
        *(None, None, None, None, None, None),
        *(asked.topic, asked.partition, asked.file, asked.position),
    )
