"""The lives of a group in one log, and up to where each of them is completely known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, Protocol, TypeVar

from fencepost.replay.coordinator_logs import ONLY, Incarnation, end_of_log
from fencepost.replay.group_coordinator.records import GROUP_TYPES, GroupRecord
from fencepost.replay.histories import Interval, Point, interval
from fencepost.replay.logs import Stretch

NO_LIFE = -1
"""The life of tombstones before the first known life, and of requests that met no group."""


class Coverage(Protocol):
    """Receives which parts of lives are known."""

    def coverage(self, group_id: str, life: int, during: Interval, *, covered: bool) -> None:
        """Called with a part of a life that is completely known, or with one that is not."""


Out = TypeVar("Out", bound=Coverage)


class Lives(Generic[Out]):
    """The lives of one group. For each of its records, in order, ``enter`` and then ``leave`` must be called.

    A life is known if the log has no hole from offset 0, from the end of compaction, or from the end of the
    life before it on, and if every assignment in it could be read. It ends with its log at the latest.
    """

    def __init__(
        self,
        group_id: str,
        stretches: Mapping[int, Stretch],
        incarnation: Incarnation = ONLY,
        partition: int | None = None,
    ) -> None:
        """``incarnation``: the one of ``__consumer_offsets`` whose log this is; ``partition``: as in
        Incarnation.first_life.
        """
        self.group_id = group_id
        self.no = 0
        """The number of the newest record within the group; 0 before the first."""
        self.life = NO_LIFE
        """The offset of the life's first record: more evidence, captured later, does not change it. In later
        incarnations of ``__consumer_offsets`` other numbers (Incarnation.first_life) are used.
        """
        self.position: int | None = None
        self.stretch: int | None = None
        """The offset and the stretch of the newest record (``position``, ``stretch``)."""
        self.alive = False
        self.known = False
        self.group_type: str | None = None
        self.ended: GroupRecord | None = None
        """The record that ended the newest life that is over."""
        self._stretches = stretches
        self._first_life = incarnation.first_life(partition)
        self._end_of_log = end_of_log(stretches, incarnation)
        self._shown_in: int | None = None
        self._over = False
        self._end_seen_in: int | None = None
        self._begun_known = False
        self._begun_in: int | None = None
        self._unread = False
        self._first: tuple[bool, Point] | None = None
        self._cut: Point | None = None

    def is_known(self, stretch: int) -> bool:
        """Whether the group's present state is completely known, as seen from a place in this stretch."""
        if not self.no:
            return stretch <= 0
        return self.known and self.stretch == stretch

    def enter(self, record: GroupRecord, out: Out) -> bool:
        """Begin the next record, which may begin another stretch or a life. Returns whether it begins a
        life.
        """
        self.no += 1
        self.position, self.stretch = record.offset, record.stretch
        begins = not record.tombstone and not self.alive
        if self._shown_in is not None and (begins or self._shown_in != record.stretch):
            self._leave_stretch(out)
        self._shown_in = record.stretch
        unread = any(member.topics is None for member in record.classic_members or ())
        if begins:
            self.life = self._first_life + record.offset
            self._over = self._unread = False
            self.alive = True
            self._begun_in = record.stretch
            self._begun_known = self._was_absent_before(record.stretch)
            at = Point(record.last_offset, record.timestamp_ms)
            self._first, self._cut = (self._begun_known and not unread, at), None
        if not self._over:
            self._unread = self._unread or unread
        if not record.tombstone:
            self.group_type = GROUP_TYPES[record.type]
        return begins

    def leave(self, record: GroupRecord, out: Out, *, ends: bool) -> None:
        """End the record. ``ends``: whether it ends a life (Endings)."""
        if self.alive and not ends:
            self.known = self._is_known_alive(record)
        else:
            self.alive = False
            self.known = ends or self._was_absent_before(record.stretch)
        if not ends:
            return
        if not self._over:
            at = Point(record.last_offset, record.timestamp_ms)
            self._leave_stretch(out, at)
            self._over = True
            self._write_coverage(at, out)
        self._end_seen_in, self.ended = record.stretch, record

    def finish(self, out: Out) -> None:
        """End the log: write what is still open."""
        if self._shown_in is not None:
            is_torn = self._end_of(self._shown_in) is not None
            self._leave_stretch(out, None if is_torn else self._end_of_log)
        self._write_coverage(self._end_of_log, out)

    def _was_absent_before(self, stretch: int) -> bool:
        """Whether nothing from before goes on in the stretch: it is the first, or a life ended in it."""
        return stretch <= 0 or self._end_seen_in == stretch

    def _is_known_alive(self, record: GroupRecord) -> bool:
        return self._begun_known and self._begun_in == record.stretch and not self._unread

    def _leave_stretch(self, out: Out, end: Point | None = None) -> None:
        """End what the stretch shows of the life: at ``end`` if the life ends, otherwise at the end of the
        stretch (if that has one).
        """
        if self._shown_in is None:
            return
        lost = False
        if end is None:
            end = self._end_of(self._shown_in)
            lost = end is not None
            if self._cut is None and self._begun_in == self._shown_in:
                self._cut = end
        self._write_histories(end, out, lost=lost)
        self._shown_in = None

    def _write_histories(self, end: Point | None, out: Out, *, lost: bool) -> None:
        """Called when the stretch or the life ends, for subclasses to write their histories. ``lost``: it
        ends at a hole.
        """

    def _end_of(self, stretch: int) -> Point | None:
        of_number = self._stretches[stretch]
        return None if of_number.to_offset is None else Point(of_number.to_offset, of_number.last_ms)

    def _write_coverage(self, end: Point | None, out: Out) -> None:
        """Write which part of the life is known: up to its first hole, not after it, because the hole may
        hide a member. The life begins with its first record in the log.
        """
        if self._first is None:
            return
        known, begin = self._first
        self._first = None
        pieces = [(known, begin, end)]
        if known and self._cut is not None:
            pieces = [(True, begin, self._cut), (False, self._cut, end)]
        for covered, since, until in pieces:
            during = interval(since, until)
            if during is not None:
                out.coverage(self.group_id, self.life, during, covered=covered)
