"""The generations of a classic group as its log has them: when each was the newest, and what came before."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fencepost.protocols.ownership_claim.records import GenerationRecord, MemberOfGeneration
from fencepost.protocols.ownership_claim.subscriptions import Topics, each_partition
from fencepost.replay.group_coordinator.conversions import Endings, batches_of
from fencepost.replay.group_coordinator.lives import Lives
from fencepost.replay.group_coordinator.records import GroupRecord
from fencepost.replay.histories import Interval, Point, interval
from fencepost.replay.logs import Stretch

Partition = tuple[str, int]
"""A topic's name and a partition's number: what members speak of."""


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


@dataclass(slots=True)
class Assignments:
    """What each member was assigned, generation after generation; a member's row is kept when it changes."""

    _of_member: dict[str, tuple[list[int], list[frozenset[Partition] | None]]] = field(default_factory=dict)
    _known_from: int | None = None
    _members: frozenset[str] = frozenset()

    def note(self, generation: Generation) -> None:
        """Take the next generation; after a hole, or in another life, nothing of before counts."""
        if generation.before is None:
            self._of_member = {}
            self._known_from = -1 if generation.first else generation.generation
            self._members = frozenset()
        now = {member.member_id: partitions_of(member.assigned) for member in generation.record.members}
        for member_id in self._members - now.keys():
            self._add(member_id, generation.generation, frozenset())
        for member_id, partitions in now.items():
            self._add(member_id, generation.generation, partitions)
        self._members = frozenset(now)

    def had(self, member_id: str, partition: Partition, generation: int) -> bool | None:
        """Whether the newest generation up to this one assigned the partition to the member; None where that
        is not known.
        """
        if self._known_from is None or generation < self._known_from:
            return None
        generations, partitions = self._of_member.get(member_id, ([], []))
        at = bisect_right(generations, generation) - 1
        if at < 0:
            return False
        found = partitions[at]
        return None if found is None else partition in found

    def _add(self, member_id: str, generation: int, partitions: frozenset[Partition] | None) -> None:
        generations, kept = self._of_member.setdefault(member_id, ([], []))
        if kept and kept[-1] == partitions:
            return
        if generations and generations[-1] == generation:
            # the same generation again: what counts is the newest
            kept[-1] = partitions
            return
        generations.append(generation)
        kept.append(partitions)


def partitions_of(topics: Topics | None) -> frozenset[Partition] | None:
    """The partitions that a message lists, each once; None of a message that could not be read."""
    return None if topics is None else frozenset(each_partition(topics))


def clients(members: Sequence[MemberOfGeneration]) -> dict[str, str | None]:
    """The client id of each member."""
    return {member.member_id: member.client_id for member in members}
