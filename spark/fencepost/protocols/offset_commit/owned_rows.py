"""The rows of silver that say what a member owns, each while the same is so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fencepost.protocols.offset_commit.members import Member, Tenure
from fencepost.replay.group_coordinator.records import CLASSIC_METADATA, Owned
from fencepost.replay.histories import Interval, Point, interval


class OwnedRow(NamedTuple):
    """What a row says when it begins: ``owned`` by a member at this epoch, without a break since there."""

    begin: Point
    owned: Owned
    member_epoch: int
    owned_since: int


Ended = tuple[OwnedRow, int, Interval]
"""A row, the member's epoch at its end, and from when to when it is true."""


class OwnedRows:
    """The rows of one member that are not over.

    Each record of the member begins all of them anew. Only from one generation of a classic group to the next
    a row goes on, as long as the member keeps the partition: the next record gives a thousand members that
    stay as they are another epoch each, and nothing else. Both epochs of a row rise alike then.
    """

    def __init__(self) -> None:
        self._open: dict[str, OwnedRow] = {}
        self._at: Point | None = None
        self._is_classic = False
        self._epoch = self._epoch_before = 0

    def take(self, member: Member) -> list[Ended]:
        """The rows that end with the member's newest record, which was replayed."""
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
        """All rows end; None: they are true as far as the log goes."""
        return self._end(list(self._open), at)

    def _end(self, keys: Sequence[str], at: Point | None) -> list[Ended]:
        # what a record says that another one of its batch takes back was never so
        was_so = at is None or self._at is None or self._at.position < at.position
        epoch = self._epoch if was_so else self._epoch_before
        rows = map(self._open.pop, keys)
        return [(row, epoch, during) for row in rows if (during := interval(row.begin, at)) is not None]


def _continues(row: OwnedRow, tenure: Tenure, at: Point) -> bool:
    return row.begin.position < at.position and row.owned_since == tenure.since_position
