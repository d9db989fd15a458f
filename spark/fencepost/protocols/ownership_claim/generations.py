"""The generations of a classic group as its log has them: when each was the newest, and what came before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fencepost.protocols.ownership_claim.records import GenerationRecord
from fencepost.replay.group_coordinator.conversions import Endings, batches_of
from fencepost.replay.group_coordinator.lives import Lives
from fencepost.replay.group_coordinator.records import GroupRecord
from fencepost.replay.histories import Interval, Point, interval
from fencepost.replay.logs import Stretch


@dataclass(slots=True, eq=False)
class Generation:
    """A record of a classic group, true from ``begin`` to ``end`` (None: it is the newest there is).

    ``number``: its place among the group's records, from 0, whatever lies between.
    ``before`` is the record before it, ``first`` that there is none: the group begins with this one. Neither
    is so after a hole, or where the group was of another kind before. ``lost``: a hole hides what came next.
    """

    number: int
    record: GenerationRecord
    life: int
    begin: Point
    end: Point | None = None
    before: Generation | None = None
    first: bool = False
    lost: bool = False

    @property
    def generation(self) -> int:
        """Kafka's number of it."""
        return self.record.epoch or 0

    @property
    def first_record(self) -> int:
        """The number of the record that has its assignment; one that has it again is of a replaced member."""
        first = self
        while first.before is not None and first.before.generation == first.generation:
            first = first.before
        return first.number

    @property
    def previous(self) -> int | None:
        """The number of the record before; -1 for the group's first, None when not known."""
        if self.first:
            return -1
        return None if self.before is None else self.before.generation

    @property
    def during(self) -> Interval | None:
        """From where to where it was the newest."""
        return interval(self.begin, self.end)


class Pieces:
    """The lives of a group as pieces of the log: (life, wholly known, from where to where)."""

    def __init__(self) -> None:
        self.found: list[tuple[int, bool, Interval]] = []

    def coverage(self, group_id: str, life: int, during: Interval, *, covered: bool) -> None:
        """A piece of a life that is completely known, or one that is not."""
        self.found.append((life, covered, during))


def replay(
    group_id: str, records: Sequence[GroupRecord], stretches: Mapping[int, Stretch]
) -> tuple[list[Generation], Pieces]:
    """The generations of a group, in the order of its log, and the group's lives."""
    group, pieces, endings = Lives[Pieces](group_id, stretches), Pieces(), Endings()
    found: list[Generation] = []
    newest: Generation | None = None
    for batch in batches_of(records):
        stretch = batch[0].stretch
        if newest is not None and newest.record.stretch != stretch:
            _close(newest, stretches)
            newest = None
        begins = not group.alive
        for record, ends in zip(batch, endings.of(batch), strict=True):
            begins = begins or not group.alive
            group.enter(record, pieces)
            group.leave(record, pieces, ends=ends)
        at = Point(batch[-1].last_offset, batch[-1].timestamp_ms)
        written = [each for each in batch if isinstance(each, GenerationRecord) and not each.tombstone]
        is_classic = group.alive and group.group_type == "classic"
        if newest is not None and (written or not is_classic or group.life != newest.life):
            newest.end = at
        if written and is_classic:
            before = newest if newest is not None and newest.life == group.life else None
            first = begins and not written[-1].based and group.is_known(stretch)
            newest = Generation(len(found), written[-1], group.life, at, None, before, first)
            found.append(newest)
        elif not is_classic:
            newest = None
    if newest is not None:
        _close(newest, stretches)
    group.finish(pieces)
    return found, pieces


def _close(newest: Generation, stretches: Mapping[int, Stretch]) -> None:
    """Its stretch of the log is at its end: there the log ends, or a hole begins."""
    stretch = stretches[newest.record.stretch]
    if stretch.to_offset is not None:
        newest.end, newest.lost = Point(stretch.to_offset, stretch.last_ms), True
