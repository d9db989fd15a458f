"""Which batches of a log survived, and which of its offsets are known: stretches without a hole."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fencepost.replay.unreadable import UnreadPiece

Longs = NDArray[np.int64]

UNKNOWN = -(2**63)
"""Stands for null in columns of integers: no offset, epoch, sequence or time is this number."""

COMPACTED = -1
"""The number of the stretch that begins where the log cleaner has been, with the state that it left."""

BATCH_COLUMNS = (
    "base_offset", "last_offset", "leader_epoch", "record_count", "max_timestamp_ms", "file", "position"
)  # fmt: skip
"""What a Log reads of ``bronze.batches``."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A piece of a log in which no offset is missing.

    Number 0 is the one that begins with the log itself, at offset 0. ``from_offset`` is the base offset of
    its first batch; ``to_offset`` the first offset after it that is missing, None when the log just ends;
    ``last_offset`` and ``last_ms`` belong to its last batch (``last_ms``: that batch's newest timestamp).
    ``first_ms`` is the newest timestamp of its first batch, ``newest_ms`` of all its batches.
    """

    number: int
    from_offset: int
    to_offset: int | None
    last_offset: int
    last_ms: int
    first_ms: int
    newest_ms: int


@dataclass(frozen=True, slots=True)
class Base:
    """What compaction left of a log's beginning: ``to`` is the last offset it went over, ``ms`` the newest
    timestamp below; None when no batch is left there.

    Together the batches below tell the state at ``to``, and nothing about how it came about.
    """

    to: int
    ms: int | None


@dataclass(frozen=True, slots=True)
class Term:
    """The batches that one leader wrote within one stretch: in each term one clock wrote the timestamps.

    ``begins`` is an offset; ``first_ms`` and ``last_ms`` are the newest timestamps of its first and last
    batch; ``led_by`` a broker id, None when not known.
    """

    stretch: int
    leader_epoch: int
    begins: int
    first_ms: int
    last_ms: int
    led_by: int | None


@dataclass(frozen=True, slots=True)
class Batches:
    """Headers of one log's batches as columns of one length, in any order (columns: BATCH_COLUMNS).

    ``file`` holds for each batch the rank of its file's name among ``files``.
    """

    base_offset: Longs
    last_offset: Longs
    leader_epoch: Longs
    record_count: Longs
    max_timestamp_ms: Longs
    file: Longs
    position: Longs
    files: tuple[str, ...]

    @classmethod
    def of(cls, rows: pa.Table) -> Batches:
        """From rows of ``bronze.batches``."""
        named = rows["file"].combine_chunks().dictionary_encode()
        if isinstance(named, pa.ChunkedArray):  # a table without rows has no chunk to combine
            named = pa.array([], pa.string()).dictionary_encode()
        names = named.dictionary.to_pylist()
        files = sorted(names)
        ranks = {name: rank for rank, name in enumerate(files)}
        rank = np.array([ranks[name] for name in names], dtype=np.int64)
        codes = named.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        columns = {name: longs(rows[name]) for name in BATCH_COLUMNS if name != "file"}
        return cls(**columns, file=rank[codes] if len(rank) else codes, files=tuple(files))

    def slice(self, begin: int, end: int) -> Batches:
        """Some that follow one another."""
        return Batches(**{name: getattr(self, name)[begin:end] for name in BATCH_COLUMNS}, files=self.files)

    def name_of_file(self, at: int) -> str:
        """The file that a batch is in."""
        return self.files[int(self.file[at])]


def longs(column: pa.ChunkedArray | pa.Array) -> Longs:
    """A column of integers without nulls."""
    return np.asarray(column.to_numpy(), dtype=np.int64)


def is_rising(values: Longs) -> bool:
    """Whether no value is less than the one before."""
    return bool((values[1:] >= values[:-1]).all())


class Log:
    """The batches of one log that survived elections, in offset order, each in its stretch.

    ``rows``: the place of each surviving batch among the batches given. ``stretch``: its stretch's number.
    ``based``: how many of the first batches compaction has been over (see ``base``).
    """

    def __init__(
        self,
        batches: Batches,
        *,
        damaged: Collection[tuple[int, int]] = (),
        cleaned_to: Iterable[int] = (),
        unread: Iterable[UnreadPiece] = (),
        whole_as_headers: bool = False,
    ) -> None:
        """Find what is known of a log.

        ``damaged`` are the (base offset, leader epoch) of batches with a record that cannot be decoded;
        ``cleaned_to`` the cleaner's checkpoints; ``unread`` pieces of this log's segments.
        ``whole_as_headers``: a header tells all there is to know of a batch, however many records it has
        kept (partitions of applications, whose payloads are never read); else a batch that has lost a record
        is a hole beside it.
        """
        self.rows = _survivors(batches)
        self.base_offset = batches.base_offset[self.rows]
        self.last_offset = batches.last_offset[self.rows]
        self.leader_epoch = batches.leader_epoch[self.rows]
        self.max_timestamp_ms = batches.max_timestamp_ms[self.rows]
        if whole_as_headers:
            whole = np.ones(len(self.rows), dtype=np.bool_)
        else:
            whole = batches.record_count[self.rows] == self.last_offset - self.base_offset + 1
            for base_offset, leader_epoch in damaged:
                at = self.find(base_offset, leader_epoch)
                if at is not None:
                    whole[at] = False
        gaps = self._gaps(whole)
        self.base, self.based = self._compacted(gaps, cleaned_to)
        self.stretch: Longs = np.cumsum(gaps) if self.base is None else np.full(len(gaps), COMPACTED)
        self.stretches = self._stretches(batches, unread)

    def __len__(self) -> int:
        return len(self.rows)

    def find(self, base_offset: int, leader_epoch: int) -> int | None:
        """The place in this log of a batch; None when it did not survive, or is not there."""
        at = int(np.searchsorted(self.base_offset, base_offset))
        if at == len(self) or self.base_offset[at] != base_offset or self.leader_epoch[at] != leader_epoch:
            return None
        return at

    def find_all(self, base_offsets: Longs, leader_epochs: Longs) -> Longs:
        """``find`` for many batches at once; -1 where there is none."""
        if not len(self):
            return np.full(len(base_offsets), -1, dtype=np.int64)
        at = np.minimum(np.searchsorted(self.base_offset, base_offsets), len(self) - 1)
        found = (self.base_offset[at] == base_offsets) & (self.leader_epoch[at] == leader_epochs)
        return np.where(found, at, -1)

    def terms(self, leaders: Mapping[int, int | None]) -> list[Term]:
        """The log cut where a stretch or a leader epoch begins, in offset order, less what is ``based``.

        ``leaders``: broker ids by leader epoch.
        """
        stretch, epoch = self.stretch[self.based :], self.leader_epoch[self.based :]
        if not len(stretch):
            return []
        begins = np.flatnonzero(
            np.concatenate([[True], (stretch[1:] != stretch[:-1]) | (epoch[1:] != epoch[:-1])])
        )
        ends = np.concatenate([begins[1:], [len(stretch)]]) - 1
        ms = self.max_timestamp_ms[self.based :]
        return [
            Term(
                int(stretch[first]),
                int(epoch[first]),
                int(self.base_offset[self.based + first]),
                int(ms[first]),
                int(ms[last]),
                leaders.get(int(epoch[first])),
            )
            for first, last in zip(begins, ends, strict=True)
        ]

    def _gaps(self, whole: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Whether an offset is missing right before each batch, or records of the batches beside."""
        if not len(self):
            return whole
        expected = np.concatenate([[0], np.maximum.accumulate(self.last_offset)[:-1] + 1])
        before = np.concatenate([[True], whole[:-1]])
        gaps: NDArray[np.bool_] = (self.base_offset > expected) | ~whole | ~before
        return gaps

    def _compacted(self, gaps: NDArray[np.bool_], cleaned_to: Iterable[int]) -> tuple[Base | None, int]:
        """One stretch where the log has gaps, but none above a checkpoint of the cleaner: the lowest such.

        A gap right before the checkpoint is one that compaction made.
        """
        if not gaps.any():
            return None, 0
        last_gap = int(self.base_offset[np.flatnonzero(gaps)[-1]])
        end = int(self.last_offset.max())
        for checkpoint in sorted(set(cleaned_to)):
            if checkpoint < last_gap:
                continue
            at = int(np.searchsorted(self.base_offset, checkpoint))
            is_end_of_batch = self.base_offset[at] == checkpoint if at < len(self) else end < checkpoint
            if is_end_of_batch:
                ms = int(self.max_timestamp_ms[:at].max()) if at else None
                return Base(checkpoint - 1, ms), at
        return None, 0

    def _stretches(self, batches: Batches, unread: Iterable[UnreadPiece]) -> tuple[Stretch, ...]:
        """The last stretch is open, unless what follows in its file, or in a later one, could not be read."""
        if not len(self):
            return ()
        begins = np.flatnonzero(np.concatenate([[True], self.stretch[1:] != self.stretch[:-1]]))
        ends = np.concatenate([begins[1:], [len(self)]])
        newest = self.rows[-1]
        file, position = batches.files[batches.file[newest]], int(batches.position[newest])
        found = []
        for first, end in zip(begins, ends, strict=True):
            last_offset = int(self.last_offset[first:end].max())
            is_open = end == len(self) and not any(
                (piece.file == file and piece.position > position) or piece.segment_from > last_offset
                for piece in unread
            )
            ms = self.max_timestamp_ms[first:end]
            found.append(
                Stretch(
                    int(self.stretch[first]),
                    int(self.base_offset[first]),
                    None if is_open else last_offset + 1,
                    last_offset,
                    int(ms[-1]),
                    int(ms[0]),
                    int(ms.max()),
                )
            )
        return tuple(found)


def _survivors(batches: Batches) -> Longs:
    """The batches that no later leader epoch wrote over, in offset order, one at each base offset.

    Where two leader epochs hold the same offsets the higher one won the election, and everything the lower
    one wrote from there on was truncated: in offset order the epoch never falls.
    """
    order: Longs = np.lexsort(
        (
            batches.position,
            batches.file,
            batches.max_timestamp_ms,
            batches.record_count,
            batches.last_offset,
            -batches.leader_epoch,
            batches.base_offset,
        )
    )
    if not len(order):
        return order
    epoch = batches.leader_epoch[order]
    order = order[epoch == np.maximum.accumulate(epoch)]
    base = batches.base_offset[order]
    first: Longs = order[np.concatenate([[True], base[1:] != base[:-1]])]
    return first


def by_log(rows: pa.Table, *keys: str) -> dict[tuple[Any, ...], pa.Table]:
    """Rows split by the columns that name their log, for example ``cluster``, ``topic``, ``partition``."""
    if not rows.num_rows:
        return {}
    place = np.zeros(rows.num_rows, dtype=np.int64)
    for name in keys:
        coded = rows[name].combine_chunks().dictionary_encode(null_encoding="encode")
        # numbers of numbers: of columns of many values no product passes 64 bits
        values = place * len(coded.dictionary) + longs(coded.indices)
        place = np.unique(values, return_inverse=True)[1] if values.any() else values
    _, first, count = np.unique(place, return_index=True, return_counts=True)
    named = rows.select(list(keys)).take(pa.array(first)).to_pydict().values()
    names = list(zip(*named, strict=True))
    if len(names) == 1:
        return {names[0]: rows}
    # one copy in the order of the logs, each a slice of it: a copy for each log takes many times as long
    ordered = rows if is_rising(place) else rows.take(pa.array(np.argsort(place, kind="stable")))
    in_order = ordered.combine_chunks()
    ends = np.cumsum(count)
    found = {name: in_order.slice(end - of, of) for name, end, of in zip(names, ends, count, strict=True)}
    return {names[at]: found[names[at]] for at in np.argsort(first)}
