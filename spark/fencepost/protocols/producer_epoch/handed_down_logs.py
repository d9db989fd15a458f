"""What a chapter hands down of a partition's log, at the offset where the next chapter's evidence begins.

Kafka's own form of that is a ``.snapshot``: the state of every producer at an offset. A rebuild needs more:
the batches and records of open transactions so far, and how far back no part of the log is missing.
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
"""The columns of a row that is appended (PartitionLog)."""

ANSWERED = ("answered_ms", "written_by_ms", "answered_by")
"""The columns from answers to the Produce of a transaction's first batch (PartitionLog.answer_times)."""

BUMPED = (
    "producer_id", "producer_epoch", "highest_epoch", "newest_ms", "is_untold",
    "has_bump", "bump_epoch", "previous_epoch", "first_offset", "last_offset", "batches", "records",
    "written_twice", "batches_again", "records_again", "again_offset", "original_offset", "first_ms",
    "newest_before_ms",
)  # fmt: skip
"""For each producer without a transactional id: its newest and its highest epoch, its newest time, whether a
batch may have records of one that is not known (``is_untold``), and its last bump (local_bumps.LocalBump).
``has_bump`` is 0 without a bump, 1 while the producer writes with that epoch, and OVER if a batch of an
earlier epoch followed.
"""

OVER = 2
"""A value of ``has_bump``."""


@dataclass(frozen=True)
class Carried:
    """The state that the next slice starts from, like a snapshot of the ProducerStateManager.

    ``rows`` are the newest row of each producer (the first ``producers`` rows), then the first row of each
    open transaction; ``states`` has a state for each row, ``entries`` one for each producer, in the same
    order.
    """

    producers: int
    rows: Piece
    states: States
    entries: Entries
    transactions: Transactions


@dataclass(frozen=True)
class HandedDownStretch:
    """The stretch of a log in which a cut lies, from ``from_offset`` to ``to_offset`` (exclusive).

    ``is_whole``: whether it begins with the log; ``is_complete``: whether it begins with the whole state of
    the leader; ``is_broken``: whether a hole lies before it. ``has_producers`` is about the whole log.
    ``dated_ms`` is the newest time by a broker's clock; ``first_dated``, ``last_dated``: whether the times
    of the first and the last batch are of a broker's clock.
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
        """Headers that stand for it: with its first, its newest and its last time."""
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
    """The state of a log at its cut. ``answered``: ANSWERED of each open transaction; ``bumped``: BUMPED."""

    stretch: HandedDownStretch
    carried: Carried | None
    answered: Piece
    bumped: Piece

    def packed(self) -> bytes:
        """As numbers of 64 bits: first the counts, then column by column."""
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
        """The opposite of ``packed``."""
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
        columns_taken = self._numbers[self._at : end].reshape(columns, rows)
        self._at = end
        return [column.copy() for column in columns_taken]

    def named(self, names: Sequence[str], rows: int) -> Piece:
        return dict(zip(names, self.take(len(names), rows), strict=True))


def handed_down_logs(rows: pa.Table | None) -> Mapping[tuple[str, str, int, str | None], HandedDownLog]:
    """The logs in rows of PARTITION_LOGS, by cluster, topic, partition and topic id."""
    if rows is None:
        return {}
    columns = ("cluster", "topic", "partition", "topic_id", "state")
    return {
        (cluster, topic, partition, topic_id): HandedDownLog.unpacked(state)
        for cluster, topic, partition, topic_id, state in zip(
            *(rows[name].to_pylist() for name in columns), strict=True
        )
    }


def with_stand_ins(batches: Piece, before: HandedDownLog | None, files: int) -> Piece:
    """The batches of a log behind its cut, after headers that stand for what was before.

    ``files``: the number of names of files; the place after them stands for no file.
    """
    if before is None:
        return batches
    stretch = before.stretch
    behind = batches["base_offset"] >= stretch.to_offset
    stand_ins = stretch.batches(files)
    not_known = {"base_timestamp_ms": UNKNOWN, "crc": UNKNOWN}
    return {
        name: np.concatenate(
            [
                np.array(
                    [each.get(name, not_known.get(name, _NO_PRODUCER.get(name, 0))) for each in stand_ins],
                    np.int64,
                ),
                column[behind],
            ]
        )
        for name, column in batches.items()
    }


_NO_PRODUCER = {"producer_id": NONE, "producer_epoch": NONE, "base_sequence": NONE, "broker_id": NONE}
