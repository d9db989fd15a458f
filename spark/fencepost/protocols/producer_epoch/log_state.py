"""The state of a partition's log at an offset. Its replay goes on from there.

Kafka's own form of that is a ``.snapshot``: the state of every producer at an offset. A rebuild needs more:
the batches and records of open transactions so far, and how far back no part of the log is missing.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fencepost.protocols.producer_epoch.arrow import UNKNOWN, Piece
from fencepost.protocols.producer_epoch.producer_state import NONE, Entries, States, Transactions

ROW = (
    "producer_id", "stretch", "kind", "transactional", "epoch", "first_sequence", "last_sequence",
    "base_offset", "last_offset", "opens", "coordinator_epoch", "records", "timestamp_ms", "newest_offset",
    "marker_type", "row",
)  # fmt: skip
"""The columns of a row that is appended (PartitionLog)."""

ANSWERED = ("answered_ms", "written_by_ms", "answered_by")
"""The columns from answers to the Produce of a transaction's first batch (PartitionLog.answer_times)."""

OVER = 2
"""A value of Written.has_bump."""


class LocalBump(NamedTuple):
    """The columns of ``silver.local_bumps`` after ``producer_id``, UNKNOWN for null; then the time of its
    first batch, and the newest time before.
    """

    bump_epoch: int = UNKNOWN
    previous_epoch: int = UNKNOWN
    first_offset: int = UNKNOWN
    last_offset: int = UNKNOWN
    batches: int = 0
    records: int = 0
    written_twice: int = UNKNOWN
    batches_again: int = 0
    records_again: int = 0
    again_offset: int = UNKNOWN
    original_offset: int = UNKNOWN
    first_ms: int = UNKNOWN
    newest_before_ms: int = UNKNOWN


class Written(NamedTuple):
    """What a producer without a transactional id has written: its newest and its highest epoch, its newest
    time, whether a batch may have records of one that is not known (``is_untold``), and its last bump.
    ``has_bump`` is 0 without a bump, 1 while the producer writes with that epoch, and OVER if a batch of an
    earlier epoch followed.
    """

    producer_id: int = UNKNOWN
    producer_epoch: int = UNKNOWN
    highest_epoch: int = UNKNOWN
    newest_ms: int = UNKNOWN
    is_untold: int = 0
    has_bump: int = 0
    bump: LocalBump = LocalBump()


BUMPED = (*Written._fields[:-1], *LocalBump._fields)
"""Written as columns."""


def empty(names: Collection[str]) -> Piece:
    """Columns without rows."""
    return {name: np.empty(0, dtype=np.int64) for name in names}


@dataclass(frozen=True)
class Carried:
    """The state of the producers, from which the next slice starts, like a snapshot of the
    ProducerStateManager.

    ``rows`` are the newest row of each producer, then the first row of each open transaction; ``states`` has
    a state for each row, ``entries`` one for each producer, in the same order.
    """

    rows: Piece
    states: States
    entries: Entries
    transactions: Transactions

    @property
    def producers(self) -> int:
        """How many there are."""
        return len(self.entries.stretch)


NOBODY = Carried(
    empty(ROW),
    States(**empty(States._fields)),
    Entries(**empty(Entries._fields)),
    Transactions(**empty(Transactions._fields)),
)


class KnownStretch(NamedTuple):
    """The stretch of a log that ends at the offset, from ``from_offset`` to ``to_offset`` (exclusive); by
    default nothing.

    ``is_whole``: whether it begins with the log; ``is_complete``: whether it begins with the whole state of
    the leader; ``is_broken``: whether a hole lies before it. ``has_producers`` is about the whole log.
    ``dated_ms`` is the newest time by a broker's clock; ``first_dated``, ``last_dated``: whether the times
    of the first and the last batch are of a broker's clock.
    """

    from_offset: int = 0
    to_offset: int = 0
    leader_epoch: int = 0
    is_whole: int = 0
    is_complete: int = 0
    is_broken: int = 0
    has_producers: int = 0
    first_ms: int = UNKNOWN
    first_dated: int = 0
    last_ms: int = UNKNOWN
    last_dated: int = 0
    dated_ms: int = UNKNOWN

    def before(self, batches: Piece, file: int) -> Piece:
        """The batches of a log from ``to_offset`` on, after headers that stand for the stretch, with its
        first, its newest and its last time. ``file``: their place among the names of files.
        """
        if not self.to_offset:
            return batches
        begin, last = self.from_offset, self.to_offset - 1
        newest_ms = self.dated_ms if self.dated_ms != UNKNOWN else self.first_ms
        parts = [
            (begin, begin if begin < last else NONE, self.first_ms, self.first_dated),
            (begin + 1, last - 1, newest_ms, int(self.dated_ms != UNKNOWN)),
            (last, last, self.last_ms, self.last_dated),
        ]
        names = ("base_offset", "last_offset", "max_timestamp_ms", "is_control")
        of_all = {**_NO_PRODUCER, "leader_epoch": self.leader_epoch, "file": file}
        stand_ins = [
            {**of_all, **dict(zip(names, part, strict=True))} for part in parts if part[0] <= part[1]
        ]
        behind = batches["base_offset"] >= self.to_offset
        return {
            name: np.concatenate([[each.get(name, 0) for each in stand_ins], column[behind]]).astype(np.int64)
            for name, column in batches.items()
        }


_NO_PRODUCER = {
    "producer_id": NONE, "producer_epoch": NONE, "base_sequence": NONE, "broker_id": NONE,
    "base_timestamp_ms": UNKNOWN, "crc": UNKNOWN,
}  # fmt: skip


@dataclass(frozen=True)
class LogState:
    """The state of a log at an offset; by default that of a log of which nothing is known. ``answered``:
    ANSWERED of each open transaction; ``bumped``: BUMPED.
    """

    stretch: KnownStretch
    carried: Carried
    answered: Piece
    bumped: Piece


UNKNOWN_LOG = LogState(KnownStretch(), NOBODY, empty(ANSWERED), empty(BUMPED))
