"""A partition's log in slices of bounded size."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fencepost.protocols.producer_epoch.arrow import UNKNOWN, Piece
from fencepost.protocols.producer_epoch.handed_down_logs import (
    ANSWERED,
    Carried,
    HandedDownLog,
    HandedDownStretch,
)
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
        self._at_cut: Carried | None = None

    def slices(self) -> Iterator[PartitionSlice]:
        """The log in pieces, each with the state of every producer after each of its batches and markers.

        A slice starts from the state that the one before it ended with, so that the rows do not depend on
        where the log is divided.
        """
        carried = None if self._handed_down is None else self._handed_down.carried
        starts = self._starts
        if not len(self._producer_batches) and not len(starts["stretch"]) and carried is None:
            # most partitions of a large cluster have no producer that numbers its batches
            return
        for begin, end, is_cut in self._bounds():
            last = end == len(self._producer_batches) and not is_cut
            rows: Piece = self._rows(self._producer_batches[begin:end])
            # entries of snapshots come before the first batch of their stretch
            is_in_slice = np.ones(len(starts["stretch"]), dtype=np.bool_)
            if not last:
                is_in_slice = starts["stretch"] <= (rows["stretch"][-1] if end > begin else NONE)
            if is_cut:
                assert self.cut is not None
                is_in_slice |= self._stretches.begins[starts["stretch"]] < self.cut
            rows = _starts_first({name: column[is_in_slice] for name, column in starts.items()}, rows)
            starts = {name: column[~is_in_slice] for name, column in starts.items()}
            if last or len(rows["stretch"]):
                piece = PartitionSlice(self, rows, self._stretches, carried, is_last=last)
                yield piece
                carried = piece.carried
            if is_cut:
                self._at_cut = carried

    def _bounds(self) -> Iterator[tuple[int, int, bool]]:
        """Where each slice begins and ends among the batches of producers, and whether it ends at the cut."""
        end = len(self._producer_batches)
        cut = None
        if self.cut is not None:
            cut = int(np.searchsorted(self.log.base_offset[self._producer_batches], self.cut))
        begin = 0
        for to in sorted(
            {*range(self._slice_rows, end, self._slice_rows), end, *(() if cut is None else (cut,))}
        ):
            yield begin, to, to == cut
            begin = to
        if cut == end:
            yield end, end, False

    def at_cut(self, bumped: Piece) -> HandedDownLog | None:
        """What the next chapter must know of this log; all slices must have been taken. ``bumped``:
        local_bumps.bumped.
        """
        before = np.flatnonzero(self.log.base_offset < (NONE if self.cut is None else self.cut))
        if not len(before):
            return None
        (newest,) = before[-1:]
        number = int(self.log.stretch[newest] - self.log.stretch[0])
        within = before[self.log.stretch[before] == self.log.stretch[newest]]
        ms, dated = self.log.max_timestamp_ms[within], self.dated[within]
        before_stretch = None if self._handed_down is None else self._handed_down.stretch
        stretch = HandedDownStretch(
            from_offset=int(self.log.base_offset[within[0]]),
            to_offset=int(self.log.last_offset[within].max()) + 1,
            leader_epoch=int(self.log.leader_epoch[newest]),
            is_whole=int(self.log.stretch[newest] == 0),
            is_complete=int(self._stretches.complete[number]),
            is_broken=int(number > 0 or (before_stretch is not None and before_stretch.is_broken == 1)),
            has_producers=int(
                bool((self._producer_batches < len(before)).any())
                or (before_stretch is not None and before_stretch.has_producers)
            ),
            first_ms=int(ms[0]),
            first_dated=int(dated[0] != UNKNOWN),
            last_ms=int(ms[-1]),
            last_dated=int(dated[-1] != UNKNOWN),
            dated_ms=int(dated.max()),
        )
        carried = self._at_cut
        answered: Piece = {name: np.empty(0, dtype=np.int64) for name in ANSWERED}
        if carried is not None and (carried.entries.stretch == number).all():
            carried.rows["stretch"][:] = 0
            carried.rows["row"][:] = NONE
            carried.entries.stretch[:] = 0
            answered = self.answer_times.of(carried.transactions.first_offset)
        else:
            carried = None
        return HandedDownLog(stretch, carried, answered, bumped)


def _starts_first(starts: Piece, rows: Piece) -> Piece:
    """The rows of both, ordered by stretch; within a stretch ``starts`` come first."""
    if not len(starts["stretch"]):
        return rows
    both = {name: np.concatenate([starts[name], column]) for name, column in rows.items()}
    order = np.argsort(both["stretch"], kind="stable")
    return {name: column[order] for name, column in both.items()}
