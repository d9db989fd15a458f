"""The indexes of aborted transactions that the replicas of one partition keep beside their segments."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection
from typing import NamedTuple

from fencepost.protocols.producer_epoch.arrow import UNKNOWN, Piece

ENTRY = ("broker_id", "segment_offset", "producer_id", "first_offset", "last_offset", "is_whole")
"""What is read of an entry of a ``.txnindex`` file. ``last_offset`` is the offset of the marker;
``is_whole``: no part of the file was set aside.
"""


class AbortedTransaction(NamedTuple):
    """A transaction and its marker.

    ``segment``: the broker, and the first offset, of the segment in which the marker was read. ``is_known``:
    no hole hides where it begins or ends; ``is_settled``: the log goes on behind it, so that its entry was
    written.
    """

    producer_id: int
    first_offset: int
    marker_offset: int
    segment: tuple[int, int | None]
    is_known: bool
    is_settled: bool


class TransactionIndexes:
    """What each replica's indexes have: org.apache.kafka.storage.internals.log.TransactionIndex.

    ``entries``: ENTRY of all replicas. ``aborts``: producer id and offset of the ABORT markers in the log.
    ``cleaned``: the brokers whose log cleaner was there. It drops entries of transactions whose records are
    gone, so that these brokers' indexes do not tell what is missing.
    """

    def __init__(self, entries: Piece, aborts: Collection[tuple[int, int]], cleaned: Collection[int]) -> None:
        self._found: set[tuple[int, int]] = set()
        self._segments: dict[tuple[int, int], set[tuple[int, int]]] = defaultdict(set)
        self._reached: dict[tuple[int, int], int] = defaultdict(lambda: UNKNOWN)
        damaged = set()
        for broker_id, segment, producer_id, first, last, whole in zip(
            *(entries[name].tolist() for name in ENTRY), strict=True
        ):
            place = broker_id, segment
            self._found.add((producer_id, first))
            self._segments[place].add((producer_id, first))
            # an entry that was cut off later tells nothing
            if (producer_id, last) in aborts:
                self._reached[place] = max(self._reached[place], last)
            if not whole:
                damaged.add(place)
        for place in [each for each in self._segments if each in damaged or each[0] in cleaned]:
            del self._segments[place]
        self._offsets: dict[int, list[int]] = defaultdict(list)
        for broker_id, segment in sorted(self._segments):
            self._offsets[broker_id].append(segment)

    def has(self, transaction: AbortedTransaction) -> tuple[int, int]:
        """1 if the transaction is there, 0 if a replica lacks it, and that replica's broker; else UNKNOWN."""
        lacking = self._lacking(transaction)
        if lacking is not None:
            return 0, lacking
        if (transaction.producer_id, transaction.first_offset) in self._found:
            return 1, UNKNOWN
        if transaction.is_known and transaction.is_settled and transaction.segment in self._segments:
            return 0, transaction.segment[0]
        return UNKNOWN, UNKNOWN

    def _lacking(self, transaction: AbortedTransaction) -> int | None:
        """A broker whose index of a segment that has all of the transaction goes on behind it without it."""
        if not transaction.is_known:
            return None
        for broker_id, offsets in self._offsets.items():
            at = bisect_right(offsets, transaction.first_offset) - 1
            place = broker_id, offsets[at]
            if (
                at >= 0
                and self._reached[place] > transaction.marker_offset
                and (transaction.producer_id, transaction.first_offset) not in self._segments[place]
            ):
                return broker_id
        return None
