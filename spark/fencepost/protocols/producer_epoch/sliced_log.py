"""A partition's log in slices of bounded size."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fencepost.protocols.producer_epoch.arrow import UNKNOWN, Piece
from fencepost.protocols.producer_epoch.log_state import ANSWERED, NOBODY, KnownStretch, LogState, empty
from fencepost.protocols.producer_epoch.partition_log import PartitionEvidence, PartitionLog
from fencepost.protocols.producer_epoch.partition_slice import PartitionSlice
from fencepost.protocols.producer_epoch.producer_state import NONE

SLICE_ROWS = 200_000
"""How many batches of producers are replayed at a time: some 100 MB."""


class SlicedLog(PartitionLog):
    """The log of one partition. Its slices are taken in order, each once."""

    def __init__(self, evidence: PartitionEvidence, slice_rows: int = SLICE_ROWS) -> None:
        super().__init__(evidence)
        self._slice_rows = slice_rows
        self._dumped = NOBODY

    def slices(self) -> Iterator[PartitionSlice]:
        """The log in pieces, each with the state of every producer after each of its batches and markers.

        A slice starts from the state that the one before it ended with, so that the rows do not depend on
        where the log is divided.
        """
        carried, starts = self.evidence.state.carried, self._starts
        if not len(self._producer_batches) and not len(starts["stretch"]) and not carried.producers:
            # most partitions of a large cluster have no producer that numbers its batches
            return
        for begin, end, is_dumped in self._bounds():
            last = end == len(self._producer_batches) and not is_dumped
            rows: Piece = self._rows(self._producer_batches[begin:end])
            # entries of snapshots come before the first batch of their stretch
            is_in_slice = np.ones(len(starts["stretch"]), dtype=np.bool_)
            if not last:
                is_in_slice = starts["stretch"] <= (rows["stretch"][-1] if end > begin else NONE)
            if is_dumped:
                assert self.dump_offset is not None
                is_in_slice |= self._stretches.begins[starts["stretch"]] < self.dump_offset
            rows = _starts_first({name: column[is_in_slice] for name, column in starts.items()}, rows)
            starts = {name: column[~is_in_slice] for name, column in starts.items()}
            if last or len(rows["stretch"]):
                piece = PartitionSlice(self, rows, self._stretches, carried, is_last=last)
                yield piece
                carried = piece.carried
            if is_dumped:
                self._dumped = carried

    def _bounds(self) -> Iterator[tuple[int, int, bool]]:
        """Where each slice begins and ends among the batches of producers, and whether the state is dumped
        there.
        """
        end = len(self._producer_batches)
        dumped = []
        if self.dump_offset is not None:
            dumped.append(
                int(np.searchsorted(self.log.base_offset[self._producer_batches], self.dump_offset))
            )
        begin = 0
        for to in sorted({*range(self._slice_rows, end, self._slice_rows), end, *dumped}):
            yield begin, to, to in dumped
            begin = to
        if end in dumped:
            yield end, end, False

    def state_at(self, offset: int, bumped: Piece) -> LogState | None:
        """The state of this log at ``dump_offset``, None if nothing is before; all slices must have been
        taken. ``bumped``: local_bumps.bumped.
        """
        before = np.flatnonzero(self.log.base_offset < offset)
        if not len(before):
            return None
        newest = before[-1]
        number = int(self.log.stretch[newest] - self.log.stretch[0])
        within = before[self.log.stretch[before] == self.log.stretch[newest]]
        ms, dated = self.log.max_timestamp_ms[within], self.dated[within]
        stretch = KnownStretch(
            from_offset=int(self.log.base_offset[within[0]]),
            to_offset=int(self.log.last_offset[within].max()) + 1,
            leader_epoch=int(self.log.leader_epoch[newest]),
            is_whole=int(self.log.stretch[newest] == 0),
            is_complete=int(self._stretches.complete[number]),
            is_broken=int(number > 0) | self._known.is_broken,
            has_producers=int((self._producer_batches < len(before)).any()) | self._known.has_producers,
            first_ms=int(ms[0]),
            first_dated=int(dated[0] != UNKNOWN),
            last_ms=int(ms[-1]),
            last_dated=int(dated[-1] != UNKNOWN),
            dated_ms=int(dated.max()),
        )
        carried = self._dumped
        if not (carried.entries.stretch == number).all():
            return LogState(stretch, NOBODY, empty(ANSWERED), bumped)
        carried.rows["stretch"][:] = 0
        carried.rows["row"][:] = NONE
        carried.entries.stretch[:] = 0
        return LogState(stretch, carried, self.answer_times.of(carried.transactions.first_offset), bumped)


def _starts_first(starts: Piece, rows: Piece) -> Piece:
    """The rows of both, ordered by stretch; within a stretch ``starts`` come first."""
    if not len(starts["stretch"]):
        return rows
    both = {name: np.concatenate([starts[name], column]) for name, column in rows.items()}
    order = np.argsort(both["stretch"], kind="stable")
    return {name: column[order] for name, column in both.items()}
