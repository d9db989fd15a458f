"""What a chapter knows of a partition's log where the evidence of the next one begins.

Kafka's own form of it is a ``.snapshot``: the state of every producer at an offset. A rebuild goes on from
more: open transactions with what they held so far, and how far back nothing of the log is missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fencepost.protocols.producer_epoch.arrow import UNKNOWN, Longs, Piece
from fencepost.protocols.producer_epoch.producer_state import NONE, Entries, States, Transactions

ROW = (
    "producer_id", "stretch", "kind", "transactional", "epoch", "first_sequence", "last_sequence",
    "base_offset", "last_offset", "opens", "coordinator_epoch", "records", "timestamp_ms", "newest_offset",
    "marker_type", "row",
)  # fmt: skip
"""The columns of a row to append (PartitionLog)."""

ANSWERED = ("answered_ms", "written_by_ms", "answered_by")
"""What answers tell of the first batch of a transaction (PartitionLog.answered)."""

BUMPED = (
    "producer_id", "producer_epoch", "highest_epoch", "newest_ms", "is_untold",
    "has_bump", "bump_epoch", "previous_epoch", "first_offset", "last_offset", "batches", "records",
    "written_twice", "batches_again", "records_again", "again_offset", "original_offset", "first_ms",
    "newest_before_ms",
)  # fmt: skip
"""Of each producer without a transactional id: its newest and its highest epoch, its newest time, whether
any of its batches may be hidden; and its last bump (local_bumps.LocalBump), if ``has_bump`` is not 0: 1 while
it writes with that epoch, OVER when a batch of an earlier one came after.
"""

OVER = 2
"""In ``has_bump``."""


@dataclass(frozen=True)
class Carried:
    """What the next slice goes on from: a snapshot of the ProducerStateManager, as it were.

    ``rows`` are the newest row of each producer (the first ``producers`` of them) and the first row of each
    open transaction; ``states`` belong to the rows, ``entries`` to the producers, in this order.
    """

    producers: int
    rows: Piece
    states: States
    entries: Entries
    transactions: Transactions


@dataclass(frozen=True)
class HandedDownStretch:
    """The stretch of a log that a cut is in: ``from_offset`` to ``to_offset``, which is not part of it.

    ``is_whole``: it begins with the log; ``is_complete``: with all that the leader knew; ``is_broken``: a
    hole lies before it. ``has_producers`` is about all of the log. ``dated_ms`` is the newest time by a
    broker's clock; the first and the last batch may have it (``first_dated``, ``last_dated``).
    """

    from_offset: int
    to_offset: int
    leader_epoch: int
    is_whole: int
    is_complete: int
    is_broken: int
    has_producers: int
    first_ms: int
    first_dated: int
    last_ms: int
    last_dated: int
    dated_ms: int

    def batches(self, file: int) -> list[dict[str, int]]:
        """Headers that stand for it: with its first time, its newest and its last."""
        last = self.to_offset - 1
        newest = self.dated_ms if self.dated_ms != UNKNOWN else self.first_ms
        parts = [
            (self.from_offset, self.from_offset, self.first_ms, self.first_dated),
            (self.from_offset + 1, last - 1, newest, int(self.dated_ms != UNKNOWN)),
            (last, last, self.last_ms, self.last_dated),
        ]
        if last == self.from_offset:
            parts = parts[2:]
        return [
            {
                "base_offset": begin,
                "last_offset": end,
                "leader_epoch": self.leader_epoch,
                "max_timestamp_ms": ms,
                "file": file,
                "is_control": dated,
            }
            for begin, end, ms, dated in parts
            if begin <= end
        ]


_STRETCH = tuple(HandedDownStretch.__dataclass_fields__)


@dataclass(frozen=True)
class HandedDownLog:
    """A log before its cut. ``answered``: ANSWERED of each open transaction; ``bumped``: BUMPED."""

    stretch: HandedDownStretch
    carried: Carried | None
    answered: Piece
    bumped: Piece

    def packed(self) -> bytes:
        """As numbers of 64 bits: how many of each, and then column by column."""
        stretch = [getattr(self.stretch, name) for name in _STRETCH]
        carried = self.carried
        counts = [
            NONE if carried is None else carried.producers,
            0 if carried is None else len(carried.transactions.first_row),
            len(self.bumped["producer_id"]),
        ]
        parts: list[Longs] = [np.array([*stretch, *counts], dtype=np.int64)]
        if carried is not None:
            parts += [carried.rows[name] for name in ROW]
            parts += [*carried.states, *carried.entries, *carried.transactions]
            parts += [self.answered[name] for name in ANSWERED]
        parts += [self.bumped[name] for name in BUMPED]
        return np.concatenate([part.astype("<i8") for part in parts]).tobytes()

    @classmethod
    def unpacked(cls, state: bytes) -> HandedDownLog:
        """What ``packed`` gave."""
        numbers: Longs = np.frombuffer(state, dtype="<i8").astype(np.int64)
        at = len(_STRETCH)
        stretch = HandedDownStretch(*numbers[:at].tolist())
        producers, transactions, bumped = numbers[at : at + 3].tolist()
        rest = _Columns(numbers, at + 3)
        carried, answered = None, rest.named(ANSWERED, 0)
        if producers != NONE:
            rows = producers + transactions
            carried = Carried(
                producers,
                rest.named(ROW, rows),
                States(*rest.take(len(States._fields), rows)),
                Entries(*rest.take(len(Entries._fields), producers)),
                Transactions(*rest.take(len(Transactions._fields), transactions)),
            )
            answered = rest.named(ANSWERED, transactions)
        return cls(stretch, carried, answered, rest.named(BUMPED, bumped))


class _Columns:
    def __init__(self, numbers: Longs, at: int) -> None:
        self._numbers, self._at = numbers, at

    def take(self, columns: int, rows: int) -> list[Longs]:
        end = self._at + columns * rows
        found = self._numbers[self._at : end].reshape(columns, rows)
        self._at = end
        return [column.copy() for column in found]

    def named(self, names: Sequence[str], rows: int) -> Piece:
        return dict(zip(names, self.take(len(names), rows), strict=True))


def handed_down_logs(rows: pa.Table | None) -> Mapping[tuple[str, str, int, str | None], HandedDownLog]:
    """By cluster, topic, partition and topic id, from rows of PARTITION_LOGS."""
    if rows is None:
        return {}
    columns = ("cluster", "topic", "partition", "topic_id", "state")
    return {
        (cluster, topic, partition, topic_id): HandedDownLog.unpacked(state)
        for cluster, topic, partition, topic_id, state in zip(
            *(rows[name].to_pylist() for name in columns), strict=True
        )
    }


def following(batches: Piece, before: HandedDownLog | None, files: int) -> Piece:
    """A log's batches behind its cut, and what stands for those before it.

    ``files``: how many names there are; the place behind them is that of no file.
    """
    if before is None:
        return batches
    stretch = before.stretch
    behind = batches["base_offset"] >= stretch.to_offset
    standing = stretch.batches(files)
    none = {"base_timestamp_ms": UNKNOWN, "crc": UNKNOWN}
    return {
        name: np.concatenate(
            [
                np.array(
                    [each.get(name, none.get(name, _OF_NONE.get(name, 0))) for each in standing], np.int64
                ),
                column[behind],
            ]
        )
        for name, column in batches.items()
    }


_OF_NONE = {"producer_id": NONE, "producer_epoch": NONE, "base_sequence": NONE, "broker_id": NONE}
