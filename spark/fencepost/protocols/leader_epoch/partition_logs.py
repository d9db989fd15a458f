"""Leader epochs in partitions' own logs, as their batches carry them.

An epoch has one leader, which appends to the end of its log. So the epoch begins at its lowest batch on any
replica. Batches of older epochs that a deposed leader has from there on were lost: its followers never had
them, or truncated them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from fencepost.protocols.leader_epoch.acknowledged import Acknowledged
from fencepost.protocols.leader_epoch.captured_files import CapturedFiles
from fencepost.protocols.leader_epoch.known_batches import summed_up
from fencepost.protocols.leader_epoch.log_batches import LogBatches
from fencepost.protocols.leader_epoch.truncations import Truncation
from fencepost.replay.keys import OFFSETS_TOPIC, TRANSACTIONS_TOPIC, topic_key
from fencepost.replay.logs import UNKNOWN, Log, Longs
from fencepost.replay.unreadable import UnreadPiece

_COORDINATORS = (OFFSETS_TOPIC, TRANSACTIONS_TOPIC)


@dataclass(frozen=True, slots=True)
class LogPlace:
    """Identifies a log: a partition of an incarnation; ``topic_id`` is None where no evidence has it."""

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
    """Batches of one leader epoch that follow one another, as they survived elections."""

    leader_epoch: int
    begins: int
    ends: int  # exclusive
    ms: int
    batches: int | None  # null where that is not known
    first: int  # the place of its first batch among the rows given


@dataclass(frozen=True, slots=True)
class LostOffsets:
    """Offsets of older epochs that a leader epoch overwrote. ``leader_epoch``: the newest of the older ones;
    ``brokers``: the replicas that had them.
    """

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
        files: CapturedFiles,
    ) -> None:
        """``cleaned_to``: the offsets to which compaction had come; ``unread``: pieces of segments that
        could not be read; ``files``: those of the log's cluster.
        """
        self.place, self._batches = place, batches
        self._files, self._is_read = files, not unread
        headers = self._headers = batches.headers
        self.epoch = headers.leader_epoch
        self.base, self.last = headers.base_offset, headers.last_offset
        self.ms = headers.max_timestamp_ms
        self.broker, self._size = batches.broker, batches.size
        self._position, self._file = headers.position, headers.file
        self._dated = (batches.is_dated != 0) | (place.topic in _COORDINATORS)
        self._fell = self._fallen(files.consumed_to)
        # a batch that lies behind one of a newer epoch in a replica's own file was not truncated: it survived
        survived = replace(headers, leader_epoch=self._raised(self._fell)) if len(self._fell) else headers
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

    def dump(self) -> pa.Table:
        """Its batches as few rows of KNOWN_BATCHES."""
        survived = np.zeros(len(self.epoch), dtype=np.bool_)
        survived[self.log.rows] = True
        return summed_up(self._batches.rows, survived, by_file=len(self._fell) > 0)

    def first_offsets(self) -> dict[int, int]:
        """The lowest offset of each epoch that any replica has a batch of."""
        by_epoch: dict[int, int] = {}
        for epoch in np.unique(self.epoch).tolist():
            by_epoch[epoch] = int(self.base[self.epoch == epoch].min())
        return by_epoch

    def begins_exactly(self, epoch: int, offset: int) -> bool:
        """Whether no batch of the epoch can lie below its lowest known one, at ``offset``.

        That is certain where the log of the same replica has a batch of an older epoch right before it.
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
        """By leader epoch, the offsets that it overwrote: batches of older epochs at or behind its first
        batch.

        ``cut``: what replicas truncated; no disk may have these batches any more.
        """
        runs = self.runs()
        begins = {run.leader_epoch: run.begins for run in reversed(runs)}
        is_lost = np.ones(len(self.epoch), dtype=np.bool_)
        is_lost[self.log.rows] = False
        pieces = [
            (int(self.base[at]), int(self.last[at]) + 1, int(self.epoch[at]), int(self.broker[at]))
            for at in np.flatnonzero(is_lost).tolist()
        ]
        pieces += [(each.begins, each.ends, each.leader_epoch, each.replica) for each in cut]
        lost_pieces: dict[int, list[tuple[int, int, int, int]]] = {}
        for piece in pieces:
            over = [epoch for epoch, begin in begins.items() if epoch > piece[2] and begin < piece[1]]
            if over:
                lost_pieces.setdefault(min(over), []).append(piece)
        return {
            epoch: LostOffsets(
                max(begins[epoch], min(piece[0] for piece in of)),
                max(piece[1] for piece in of),
                max(piece[2] for piece in of),
                tuple(sorted({piece[3] for piece in of})),
            )
            for epoch, of in lost_pieces.items()
        }

    def end_offset(self) -> int | None:
        """The first offset behind the log; None where batches at the end of the log cannot be read."""
        stretches = self.log.stretches
        return stretches[-1].last_offset + 1 if stretches and stretches[-1].to_offset is None else None

    def is_unbroken(self) -> bool:
        """Whether no batch is missing between its first and its last one."""
        return len(self.log.stretches) <= 1

    def end_in(self, broker_id: int, folder: str) -> int | None:
        """The first offset behind the log as a replica has it in a folder; None where that is not known."""
        if len(self.epoch):
            return self.end_offset()
        folder_of = (broker_id, folder, self.place.topic_id or "")
        return self._files.ends[folder_of] if self._is_read and folder_of in self._files.empty else None

    def has_none_below(self, offset: int) -> bool:
        """Whether only the cleaner can have removed batches below the lowest one, at ``offset``."""
        base = self.log.base
        return base is not None and offset - 1 <= base.to

    def has_all(self, answers: Sequence[Acknowledged], leader: int, begin: int | None) -> bool:
        """Whether the log of ``leader`` certainly has all records that it acknowledged before it led again.
        ``begin``: the offset of the first batch that was written since; None if there is none.

        The answer about the last batch before ``begin`` shows that the request log goes so far. If an offset
        from ``begin`` on was acknowledged twice, two different batches may have had it.
        """
        if begin is None:
            begin = self._files.end_of(leader, self.place.topic, self.place.topic_id, self.place.partition)
        if begin is None:
            return False
        told = np.concatenate([[], *(each.offset for each in answers)])
        by_leader = np.concatenate([[], *(each.offset[each.broker == leader] for each in answers)])
        at = self.log.rows
        written = self.base[at][self._batches.is_control[at] == 0]
        last = written[written < begin][-1:]
        again = np.unique(told[told >= begin], return_counts=True)[1]
        is_told = len(last) > 0 and bool(np.isin(last, by_leader).all())
        return is_told and bool(np.isin(told, written).all() and (again == 1).all())

    def clock(self) -> Longs:
        """The time of each batch that survived, by a broker's clock; UNKNOWN where a client set it."""
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
        """How many batches the rows at these indexes stand for; None where that is not known."""
        counts = self._batches.stands_for[at]
        return None if (counts == UNKNOWN).any() else int(counts.sum())

    def _folder(self, at: int) -> str:
        return self._headers.name_of_file(at).rpartition("/")[0]

    def _fallen(self, consumed_to: Mapping[tuple[int, str], int]) -> Longs:
        """The indexes of batches that lie right behind one of a newer epoch in the file of one replica.

        A batch that was truncated looks the same while bronze has it and what was written in its place. So
        the file must still be long enough to have the batch, and no newer batch may have its offsets.
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
        fallen = []
        for at in other[follows].tolist():
            known_to = consumed_to.get((int(self.broker[at]), self._headers.name_of_file(at)), 0)
            over = (self.base <= self.last[at]) & (self.last >= self.base[at]) & (self.epoch > self.epoch[at])
            if known_to >= self._position[at] + self._size[at] and not over.any():
                fallen.append(at)
        return np.array(fallen, dtype=np.int64)

    def _raised(self, fallen: Longs) -> Longs:
        """The epochs of all batches, in which those of fallen batches and of what follows them in the file
        are raised to the highest one before them.
        """
        epoch = self.epoch.copy()
        for at in fallen.tolist():
            same_file = (self._file == self._file[at]) & (self.broker == self.broker[at])
            before = same_file & (self._position < self._position[at])
            behind = same_file & (self._position >= self._position[at])
            epoch[behind] = np.maximum(epoch[behind], epoch[before].max())
        return epoch
