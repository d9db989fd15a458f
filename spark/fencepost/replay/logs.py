"""The batches of a log that survived elections, and its stretches: parts in which no offset is missing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fencepost.engines.key_hashes import numbered
from fencepost.replay.unreadable import UnreadPiece

Longs = NDArray[np.int64]

UNKNOWN = -(2**63)
"""Stands for null in columns of integers. No offset, epoch, sequence or time has this value."""

COMPACTED = -1
"""The number of a stretch that begins with the state that the log cleaner left."""

BATCH_COLUMNS = (
    "base_offset", "last_offset", "leader_epoch", "record_count", "max_timestamp_ms", "file", "position"
)  # fmt: skip
"""The columns of ``bronze.batches`` that a Log reads."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a log in which no offset is missing.

    Number 0 is the one that begins with the log itself, at offset 0. ``from_offset`` is the base offset of
    its first batch; ``to_offset`` is the first missing offset after it, None if the log ends there.
    ``last_offset`` is that of its last batch. ``first_ms``, ``last_ms`` and ``newest_ms`` are the newest
    timestamps of its first batch, its last batch and all its batches.
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
    """The compacted beginning of a log: ``to`` is the last compacted offset, ``ms`` the newest timestamp up
    to there, None if no batch is left.

    The batches up to ``to`` give the state there, but not how it came about.
    """

    to: int
    ms: int | None


@dataclass(frozen=True, slots=True)
class Term:
    """The batches that one leader wrote within one stretch. One clock dated all of them.

    ``begins`` is an offset; ``first_ms`` and ``last_ms`` are the newest timestamps of its first and last
    batch; ``led_by`` is the leader's broker id, None if not known.
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
        """The batches from ``begin`` up to ``end``, without it."""
        return Batches(**{name: getattr(self, name)[begin:end] for name in BATCH_COLUMNS}, files=self.files)

    def name_of_file(self, at: int) -> str:
        """The name of the file that has a batch."""
        return self.files[int(self.file[at])]


def longs(column: pa.ChunkedArray | pa.Array) -> Longs:
    """A column of integers without nulls."""
    return np.asarray(column.to_numpy(), dtype=np.int64)


def is_rising(values: Longs) -> bool:
    """Whether no value is less than the one before."""
    return bool((values[1:] >= values[:-1]).all())


class Log:
    """The batches of one log that survived elections, in offset order, each in its stretch.

    ``rows``: the place of each surviving batch among all batches. ``stretch``: the number of its stretch.
    ``based``: how many batches at the beginning are compacted (see ``base``). ``contradicted``: the base that
    ``without_base`` has left out.
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
        """Find the surviving batches and the stretches.

        ``damaged``: (base offset, leader epoch) of batches with a record that cannot be decoded;
        ``cleaned_to``: the log cleaner's checkpoints; ``unread``: pieces of this log's segments that could
        not be read. ``whole_as_headers``: a batch counts as whole however many records it has kept, because
        only headers are read (partitions of applications); otherwise a batch that has lost a record counts
        as a hole.
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
        unread = list(unread)
        hidden = [offset - 1 for offset, epoch in damaged if self.find(offset, epoch) is not None]
        certain_to = min([*hidden, *(each.segment_from for each in unread)], default=None)
        self.base, self.based = self._compacted(gaps, cleaned_to, certain_to)
        self.contradicted: Base | None = None
        self._of = (batches, gaps, unread)
        self._divide()

    def _divide(self) -> None:
        batches, gaps, unread = self._of
        self.stretch: Longs = np.cumsum(gaps) if self.base is None else np.full(len(gaps), COMPACTED)
        self.stretches = self._stretches(batches, unread)

    def without_base(self) -> Log:
        """The same log, if what compaction left of its beginning tells no state: as after a hole."""
        log = copy(self)
        log.base, log.based, log.contradicted = None, 0, self.base
        log._divide()
        return log

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def newest_ms(self) -> int | None:
        """The time of the newest batch, in ms; None without a batch."""
        return int(self.max_timestamp_ms[self.last_offset.argmax()]) if len(self) else None

    def find(self, base_offset: int, leader_epoch: int) -> int | None:
        """The place of a batch in this log; None if it did not survive or is missing."""
        at = int(np.searchsorted(self.base_offset, base_offset))
        if at == len(self) or self.base_offset[at] != base_offset or self.leader_epoch[at] != leader_epoch:
            return None
        return at

    def find_all(self, base_offsets: Longs, leader_epochs: Longs) -> Longs:
        """``find`` for many batches at once; -1 instead of None."""
        if not len(self):
            return np.full(len(base_offsets), -1, dtype=np.int64)
        at = np.minimum(np.searchsorted(self.base_offset, base_offsets), len(self) - 1)
        found = (self.base_offset[at] == base_offsets) & (self.leader_epoch[at] == leader_epochs)
        return np.where(found, at, -1)

    def terms(self, leaders: Mapping[int, int | None]) -> list[Term]:
        """The terms of the log, in offset order, without the compacted beginning (``based``): a new one
        begins with each stretch and each leader epoch.

        ``leaders``: leader epoch -> broker id.
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
        """For each batch whether an offset is missing right before it, or a record in it or the
        one before.
        """
        if not len(self):
            return whole
        expected = np.concatenate([[0], np.maximum.accumulate(self.last_offset)[:-1] + 1])
        before = np.concatenate([[True], whole[:-1]])
        gaps: NDArray[np.bool_] = (self.base_offset > expected) | ~whole | ~before
        return gaps

    def _compacted(
        self, gaps: NDArray[np.bool_], cleaned_to: Iterable[int], certain_to: int | None
    ) -> tuple[Base | None, int]:
        """The compacted beginning, if the log has gaps but none above some checkpoint of the cleaner: up to
        the lowest such checkpoint. Also how many batches it has.

        A gap right before the checkpoint was made by compaction. Only up to ``certain_to`` (None: to the
        end) no gap is a record that compaction has left and that could not be read.
        """
        if not gaps.any():
            return None, 0
        last_gap = int(self.base_offset[np.flatnonzero(gaps)[-1]])
        end = int(self.last_offset.max())
        for checkpoint in sorted(set(cleaned_to)):
            if checkpoint < last_gap:
                continue
            if certain_to is not None and certain_to < checkpoint:
                break
            at = int(np.searchsorted(self.base_offset, checkpoint))
            is_end_of_batch = self.base_offset[at] == checkpoint if at < len(self) else end < checkpoint
            if is_end_of_batch:
                ms = int(self.max_timestamp_ms[:at].max()) if at else None
                return Base(checkpoint - 1, ms), at
        return None, 0

    def _stretches(self, batches: Batches, unread: Sequence[UnreadPiece]) -> tuple[Stretch, ...]:
        """The stretches. The last one is open, unless a later piece of its file, or of a later file, could
        not be read.
        """
        if not len(self):
            return ()
        begins = np.flatnonzero(np.concatenate([[True], self.stretch[1:] != self.stretch[:-1]]))
        ends = np.concatenate([begins[1:], [len(self)]])
        newest = self.rows[-1]
        file, position = batches.files[batches.file[newest]], int(batches.position[newest])
        stretches = []
        for first, end in zip(begins, ends, strict=True):
            last_offset = int(self.last_offset[first:end].max())
            is_open = end == len(self) and not any(
                (piece.file == file and piece.position > position) or piece.segment_from > last_offset
                for piece in unread
            )
            ms = self.max_timestamp_ms[first:end]
            stretches.append(
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
        return tuple(stretches)


def _survivors(batches: Batches) -> Longs:
    """The batches that no later leader epoch overwrote, in offset order, one at each base offset.

    If two leader epochs have the same offsets, the higher one won the election, and everything that the lower
    one wrote from there on was truncated. So in offset order the epoch never falls.
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


def named_by(rows: pa.Table, at: Longs, *keys: str) -> list[tuple[Any, ...]]:
    """The values in these columns of the rows at some places."""
    return list(zip(*rows.select(list(keys)).take(pa.array(at)).to_pydict().values(), strict=True))


def by_log(rows: pa.Table, *keys: str) -> dict[tuple[Any, ...], pa.Table]:
    """Rows split by the columns that name their log, for example ``cluster``, ``topic``, ``partition``."""
    if not rows.num_rows:
        return {}
    place = numbered(rows.select(list(keys)))
    _, first, count = np.unique(place, return_index=True, return_counts=True)
    names = named_by(rows, first, *keys)
    if len(names) == 1:
        return {names[0]: rows}
    # one copy in the order of the logs, of which each log is a slice: a copy per log takes many times as long
    ordered = rows if is_rising(place) else rows.take(pa.array(np.argsort(place, kind="stable")))
    in_order = ordered.combine_chunks()
    ends = np.cumsum(count)
    logs = {name: in_order.slice(end - of, of) for name, end, of in zip(names, ends, count, strict=True)}
    return {names[at]: logs[names[at]] for at in np.argsort(first)}
