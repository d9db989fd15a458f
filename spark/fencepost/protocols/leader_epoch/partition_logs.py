"""Leader epochs of partitions' own logs: what batches carry.

An epoch has one leader, who appends behind the end of its log: so the lowest batch of an epoch, on whatever
replica, is where the epoch begins. What a deposed leader has there of older epochs, its followers never had,
or cut off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from fencepost.protocols.leader_epoch.handed_down_batches import hand_down_batches
from fencepost.protocols.leader_epoch.log_batches import LogBatches
from fencepost.protocols.leader_epoch.truncations import Truncation
from fencepost.replay.keys import OFFSETS_TOPIC, TRANSACTIONS_TOPIC, topic_key
from fencepost.replay.logs import UNKNOWN, Log, Longs
from fencepost.replay.unreadable import UnreadPiece

_COORDINATORS = (OFFSETS_TOPIC, TRANSACTIONS_TOPIC)


@dataclass(frozen=True, slots=True)
class LogPlace:
    """Which log it is: a partition of an incarnation, ``topic_id`` None where no evidence has it."""

    cluster: str
    topic: str
    topic_id: str | None
    partition: int

    @property
    def key(self) -> str:
        """Its ``partition_key``."""
        key = topic_key(self.topic_id, self.topic, self.partition)
        assert key is not None
        return key

    @property
    def about(self) -> tuple[str, str, str, str | None, int, str]:
        """The first columns of every row about it, from ``cluster`` to ``partition_key``."""
        prefix = "" if self.topic_id is None else f"{self.topic_id}:"
        log = f"{prefix}{self.topic}-{self.partition}"
        return (self.cluster, log, self.topic, self.topic_id, self.partition, self.key)


@dataclass(frozen=True, slots=True)
class Run:
    """Batches of one leader epoch without another between them, as they survived elections."""

    leader_epoch: int
    begins: int
    ends: int  # exclusive
    ms: int
    batches: int | None  # null where that is not known
    first: int  # the place of its first batch among the rows given


@dataclass(frozen=True, slots=True)
class LostOffsets:
    """Offsets of older epochs that a leader epoch wrote over."""

    begins: int
    ends: int  # exclusive
    leader_epoch: int
    brokers: tuple[int, ...]


class PartitionLog:
    """One partition's batches, of all replicas together."""

    def __init__(
        self,
        place: LogPlace,
        batches: LogBatches,
        cleaned_to: tuple[int, ...],
        unread: list[UnreadPiece],
        consumed_to: Mapping[tuple[int, str], int],
    ) -> None:
        """``consumed_to``: how far (broker, file) was last read."""
        self.place, self._batches = place, batches
        given = self._headers = batches.headers
        self.epoch = given.leader_epoch
        self.base, self.last = given.base_offset, given.last_offset
        self.ms = given.max_timestamp_ms
        self.broker, self._size = batches.broker, batches.size
        self._position, self._file = given.position, given.file
        self._dated = (batches.is_dated != 0) | (place.topic in _COORDINATORS)
        self._fell = self._fallen(consumed_to)
        # a batch that lies behind a newer one on one replica's own disk was not cut off: it survived
        survived = replace(given, leader_epoch=self._raised(self._fell)) if len(self._fell) else given
        self.log = Log(survived, cleaned_to=cleaned_to, unread=unread, whole_as_headers=True)

    def runs(self) -> list[Run]:
        """The log cut where the leader epoch changes, or a stretch begins."""
        at = self.log.rows
        if not len(at):
            return []
        epoch, stretch = self.epoch[at], self.log.stretch
        begins = np.flatnonzero(
            np.concatenate([[True], (epoch[1:] != epoch[:-1]) | (stretch[1:] != stretch[:-1])])
        )
        ends = np.concatenate([begins[1:], [len(at)]])
        return [
            Run(
                int(epoch[first]),
                int(self.base[at[first]]),
                int(self.last[at[first:end]].max()) + 1,
                int(self.ms[at[first]]),
                self._count(at[first:end]),
                int(at[first]),
            )
            for first, end in zip(begins, ends, strict=True)
        ]

    def handed_down(self) -> pa.Table:
        """Rows of HANDED_BATCHES: what the next chapter is told of the log."""
        survived = np.zeros(len(self.epoch), dtype=np.bool_)
        survived[self.log.rows] = True
        return hand_down_batches(self._batches.rows, survived, by_file=len(self._fell) > 0)

    def first_offsets(self) -> dict[int, int]:
        """The lowest offset of each epoch that any replica has a batch of."""
        found: dict[int, int] = {}
        for epoch in np.unique(self.epoch).tolist():
            found[epoch] = int(self.base[self.epoch == epoch].min())
        return found

    def begins_exactly(self, epoch: int, offset: int) -> bool:
        """Whether the epoch's first batch cannot lie below its lowest known one, at ``offset``.

        So it is where the same replica's log has a batch of an older epoch right before it.
        """
        if offset == 0:
            return True
        here = np.flatnonzero((self.base == offset) & (self.epoch == epoch))
        before = np.flatnonzero((self.last == offset - 1) & (self.epoch < epoch))
        return any(
            self.broker[one] == self.broker[other] and self._folder(one) == self._folder(other)
            for one in here.tolist()
            for other in before.tolist()
        )

    def lost(self, cut: Sequence[Truncation] = ()) -> dict[int, LostOffsets]:
        """By leader epoch, what it wrote over: batches of older epochs at or behind its first one.

        ``cut`` is what replicas had of it and gave up: the batches may be on no disk any more.
        """
        runs = self.runs()
        begins = {run.leader_epoch: run.begins for run in reversed(runs)}
        gone = np.ones(len(self.epoch), dtype=np.bool_)
        gone[self.log.rows] = False
        pieces = [
            (int(self.base[at]), int(self.last[at]) + 1, int(self.epoch[at]), int(self.broker[at]))
            for at in np.flatnonzero(gone).tolist()
        ]
        pieces += [(each.begins, each.ends, each.leader_epoch, each.replica) for each in cut]
        found: dict[int, list[tuple[int, int, int, int]]] = {}
        for piece in pieces:
            over = [epoch for epoch, begin in begins.items() if epoch > piece[2] and begin < piece[1]]
            if over:
                found.setdefault(min(over), []).append(piece)
        return {
            epoch: LostOffsets(
                max(begins[epoch], min(piece[0] for piece in of)),
                max(piece[1] for piece in of),
                max(piece[2] for piece in of),
                tuple(sorted({piece[3] for piece in of})),
            )
            for epoch, of in found.items()
        }

    def end_offset(self) -> int | None:
        """The first offset behind the log; None where batches behind what is known cannot be read."""
        stretches = self.log.stretches
        return stretches[-1].last_offset + 1 if stretches and stretches[-1].to_offset is None else None

    def clock(self) -> Longs:
        """The time of each batch that survived, as a broker's clock has it; UNKNOWN where a client set it."""
        dated = self._dated[self.log.rows]
        return np.where(dated, self.ms[self.log.rows], UNKNOWN)

    def dated_ms(self, run: Run) -> int | None:
        """When a broker appended the first batch of a run; None where a client set its time."""
        return run.ms if self._dated[run.first] else None

    def stretch_of(self, run: Run) -> int:
        """The number of the stretch that a run lies in."""
        return int(self.log.stretch[np.searchsorted(self.log.base_offset, run.begins)])

    def provenance(self, run: Run) -> tuple[int, str, int]:
        """Broker, file and byte of a run's first batch."""
        return (
            int(self.broker[run.first]),
            self._headers.name_of_file(run.first),
            int(self._position[run.first]),
        )

    def _count(self, at: Longs) -> int | None:
        """How many batches some rows stand for."""
        counts = self._batches.stands_for[at]
        return None if (counts == UNKNOWN).any() else int(counts.sum())

    def _folder(self, at: int) -> str:
        return self._headers.name_of_file(at).rpartition("/")[0]

    def _fallen(self, consumed_to: Mapping[tuple[int, str], int]) -> Longs:
        """Batches that one replica's file has right behind one of a newer epoch.

        What was cut off and written anew looks the same while both are in bronze: so the file must still
        reach over the batch, and nothing newer have its offsets.
        """
        order = np.lexsort((self._position, self._file, self.broker))
        one, other = order[:-1], order[1:]
        follows = (
            (self.broker[one] == self.broker[other])
            & (self._file[one] == self._file[other])
            & (self._position[one] + self._size[one] == self._position[other])
            & (self.last[one] < self.base[other])
            & (self.epoch[one] > self.epoch[other])
        )
        found = []
        for at in other[follows].tolist():
            known_to = consumed_to.get((int(self.broker[at]), self._headers.name_of_file(at)), 0)
            over = (self.base <= self.last[at]) & (self.last >= self.base[at]) & (self.epoch > self.epoch[at])
            if known_to >= self._position[at] + self._size[at] and not over.any():
                found.append(at)
        return np.array(found, dtype=np.int64)

    def _raised(self, fallen: Longs) -> Longs:
        """The epochs, those of fallen batches and of what follows them as high as before them."""
        epoch = self.epoch.copy()
        for at in fallen.tolist():
            same = (self._file == self._file[at]) & (self.broker == self.broker[at])
            before = same & (self._position < self._position[at])
            behind = same & (self._position >= self._position[at])
            epoch[behind] = np.maximum(epoch[behind], epoch[before].max())
        return epoch
