"""The generations of a classic group in its log: when each was the newest, and which one came before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from fencepost.protocols.ownership_claim.records import GenerationRecord
from fencepost.reasons import CLEANED_AWAY, NOT_CAPTURED, Unknown
from fencepost.replay.coordinator_logs import ONLY, Incarnation, end_of_log
from fencepost.replay.group_coordinator.conversions import (
    Endings,
    batches_of,
    with_unwritten_ends,
)
from fencepost.replay.group_coordinator.lives import Lives
from fencepost.replay.group_coordinator.records import GroupRecord
from fencepost.replay.histories import Interval, Point, interval
from fencepost.replay.logs import Stretch

_CLEANED = Unknown(CLEANED_AWAY, "compaction left nothing of the group before this generation")
_HOLE = Unknown(NOT_CAPTURED, "the record before, or the group's beginning, was not captured")


@dataclass(eq=False)
class Generation:
    """A record of a classic group, current from ``begin`` to ``end`` (None if it is the newest).

    ``number``: its place among the group's known records, from 0. ``before`` is the record before it;
    ``is_first``: the group begins with this record. After a hole, and if the group was of another kind
    before, there is neither. ``is_conversion``: the record turned a group of another kind into a classic one;
    no rebalance made it, and its number is an epoch that its members were given before. ``is_before_hole``: a
    hole hides the next record.
    """

    number: int
    record: GenerationRecord
    life: int
    begin: Point
    end: Point | None = None
    before: Generation | None = None
    is_first: bool = False
    is_conversion: bool = False
    is_before_hole: bool = False

    @property
    def generation(self) -> int:
        """Kafka's number of it."""
        return self.record.epoch or 0

    @property
    def assignment_record(self) -> int:
        """The number of the first record of this generation; later ones were written when a static member was
        replaced.
        """
        earliest = self
        while earliest.before is not None and earliest.before.generation == earliest.generation:
            earliest = earliest.before
        return earliest.number

    @property
    def previous(self) -> int | None:
        """The generation before; -1 for the group's first, None if not known."""
        if self.is_first:
            return -1
        return None if self.before is None else self.before.generation

    @property
    def why_none_before(self) -> Unknown:
        """Why the generation before, or that this is the group's first, is not known."""
        return _CLEANED if self.record.based else _HOLE

    @cached_property
    def member_ids(self) -> frozenset[str]:
        """The ids of the members in its record."""
        return frozenset(member.member_id for member in self.record.members)

    @cached_property
    def instances(self) -> dict[str, str]:
        """The member id of each static member, by its instance id."""
        return {m.instance_id: m.member_id for m in self.record.members if m.instance_id is not None}

    @property
    def during(self) -> Interval | None:
        """The interval in which it was the newest; None if it never was."""
        return interval(self.begin, self.end)


class LifePieces:
    """The lives of a group as pieces of the log: (life, whether it is covered, interval)."""

    def __init__(self) -> None:
        self.pieces: list[tuple[int, bool, Interval]] = []

    def coverage(self, group_id: str, life: int, during: Interval, *, covered: bool) -> None:
        """Add a piece of a life, covered or not."""
        self.pieces.append((life, covered, during))


def replay(
    group_id: str,
    records: Sequence[GroupRecord],
    stretches: Mapping[int, Stretch],
    incarnation: Incarnation = ONLY,
    partition: int | None = None,
) -> tuple[list[Generation], LifePieces]:
    """The generations of a group, in the order of its log, and the group's lives. ``incarnation`` and
    ``partition``: as Lives takes them.
    """
    group = Lives[LifePieces](group_id, stretches, incarnation, partition)
    pieces, endings, log_end = LifePieces(), Endings(), end_of_log(stretches, incarnation)
    generations: list[Generation] = []
    newest: Generation | None = None
    for batch in batches_of(with_unwritten_ends(records)):
        stretch = batch[0].stretch
        if newest is not None and newest.record.stretch != stretch:
            _close(newest, stretches)
            newest = None
        begins, converts = not group.alive, group.alive and group.group_type != "classic"
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
            is_first = begins and not written[-1].based and group.is_known(stretch)
            is_conversion = converts and not begins and group.is_known(stretch)
            newest = Generation(
                len(generations), written[-1], group.life, at, None, before, is_first, is_conversion
            )
            generations.append(newest)
        elif not is_classic:
            newest = None
    if newest is not None:
        newest.end = log_end
        _close(newest, stretches)
    group.finish(pieces)
    return generations, pieces


def _close(newest: Generation, stretches: Mapping[int, Stretch]) -> None:
    """End the newest generation at the end of its stretch: there the log ends, or a hole begins."""
    stretch = stretches[newest.record.stretch]
    if stretch.to_offset is not None:
        newest.end, newest.is_before_hole = Point(stretch.to_offset, stretch.last_ms), True
