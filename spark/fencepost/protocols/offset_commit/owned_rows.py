"""The rows of silver that say what a member owns: each holds as long as nothing in it changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fencepost.protocols.offset_commit.members import Member, Tenure
from fencepost.replay.group_coordinator.records import CLASSIC_METADATA, Owned
from fencepost.replay.histories import Interval, Point, interval


class OwnedRow(NamedTuple):
    """An open row: the partition ``owned`` by a member that had ``member_epoch`` at ``begin``, and has owned
    it without a break since position ``owned_since``.
    """

    begin: Point
    owned: Owned
    member_epoch: int
    owned_since: int


Ended = tuple[OwnedRow, int, Interval]
"""A row, the member's epoch at its end, and the interval in which it holds."""


class OwnedRows:
    """The open rows of one member.

    Each record of the member ends all of them and begins new ones. In a classic group, however, a row
    continues from one generation to the next as long as the member keeps the partition: otherwise each
    generation would give every member of a thousand new rows, in which only the epoch differs.
    """

    def __init__(self) -> None:
        self._open: dict[str, OwnedRow] = {}
        self._at: Point | None = None
        self._is_classic = False
        self._epoch = self._epoch_before = 0

    def take(self, member: Member) -> list[Ended]:
        """Take over the member's newest record, which was replayed. Returns the rows that it ends."""
        step = member.newest
        now: Mapping[str, Owned] = {} if member.is_away else member.owned
        goes_on = self._is_classic and step.record_type == CLASSIC_METADATA
        over = [
            key
            for key, row in self._open.items()
            if not (goes_on and key in now and _continues(row, member.tenures[key], step.at))
        ]
        ended = self._end(over, step.at)
        if self._at is None or self._at.position < step.at.position:
            self._epoch_before = self._epoch
        self._at, self._epoch = step.at, step.member_epoch
        self._is_classic = step.record_type == CLASSIC_METADATA
        for key, owned in now.items():
            if key not in self._open:
                since = member.tenures[key].since_position
                self._open[key] = OwnedRow(step.at, owned, step.member_epoch, since)
        return ended

    def end(self, at: Point | None) -> list[Ended]:
        """End all rows at ``at``; None: they hold up to the end of the log."""
        return self._end(list(self._open), at)

    def _end(self, keys: Sequence[str], at: Point | None) -> list[Ended]:
        # a state that a later record of the same batch replaces was never observable
        was_observable = at is None or self._at is None or self._at.position < at.position
        epoch = self._epoch if was_observable else self._epoch_before
        rows = map(self._open.pop, keys)
        return [(row, epoch, during) for row in rows if (during := interval(row.begin, at)) is not None]


def _continues(row: OwnedRow, tenure: Tenure, at: Point) -> bool:
    return row.begin.position < at.position and row.owned_since == tenure.since_position
