"""One share partition: which offsets were delivered to whom, and what became of each delivery.

Named after Kafka's SharePartition. The stored records are the backbone: they have an order of their own, and
a record that is missing leaves a hole in it. A range of offsets is followed in pieces, which deliveries and
records cut.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from fencepost.protocols.offset_commit.share_groups.causes import (
    GROUP_STATE,
    LEADER_MOVED,
    NOTHING_KNOWN,
    OFFSETS_ALTERED,
    SLACK_MS,
    Ended,
    GivenBack,
    MemberLines,
    ended,
)
from fencepost.protocols.offset_commit.share_groups.lines import ShareLine
from fencepost.protocols.offset_commit.share_groups.state_log import (
    ARCHIVED,
    AVAILABLE,
    StateBatch,
    StateRecord,
)
from fencepost.reasons import NOT_LOGGED, OTHER_CLOCK

_KEPT = 20_000
"""So many pieces are followed; of a busy partition the oldest ones below the start offset are forgotten."""


class Redelivery(NamedTuple):
    """A range of offsets that was delivered again (``to``), or that never will be (``to`` None): what ended
    the delivery ``before``, None if that is not known, by ``record``, None if none was stored.
    """

    first_offset: int
    last_offset: int
    before: ShareLine | None
    to: ShareLine | None
    record: StateRecord | None
    ended: Ended

    def continues(self, other: Redelivery) -> bool:
        """Whether it is the same as of the offsets right before."""
        return (
            other.last_offset + 1 == self.first_offset
            and other.before is self.before
            and other.to is self.to
            and other.ended == self.ended
            and (other.record is None) == (self.record is None)
            and (self.before is not None or self.to is not None)
        )


class _Transition(NamedTuple):
    record: StateRecord
    batch: StateBatch
    number: int


@dataclass
class _Piece:
    """Offsets with the same past. ``since``: the number of records applied before its newest delivery;
    ``hidden``: a record of it may have been merged into a snapshot.
    """

    first: int
    last: int
    delivery: ShareLine | None = None
    since: int = 0
    transitions: tuple[_Transition, ...] = ()
    stored: tuple[int, int] | None = None
    hidden: bool = False


@dataclass
class SharePartition:
    """Replays deliveries and stored records. ``holes``: the times, in ms, at which the log of the records
    goes on after a record is missing.
    """

    lines: MemberLines
    holes: Sequence[int] = ()
    _pieces: list[_Piece] = field(default_factory=list)
    _firsts: list[int] = field(default_factory=list)
    _applied: int = 0
    _taken: set[tuple[int, int]] = field(default_factory=set)
    _moved: list[int] = field(default_factory=list)
    _altered: list[_Mark] = field(default_factory=list)
    _leader_epoch: int | None = None
    _state_epoch: int | None = None
    _archived: list[Redelivery] = field(default_factory=list)

    def replay(self, deliveries: Sequence[ShareLine], records: Sequence[StateRecord]) -> list[Redelivery]:
        """The redeliveries of ``deliveries``, in the order of their answers, and what was archived;
        ``records`` are in the order of their log.
        """
        found: list[Redelivery] = []
        at = 0
        for delivery in deliveries:
            while (
                at < len(records)
                and records[at].timestamp_ms <= delivery.responded_ms
                and not _may_end(records[at], delivery)
            ):
                self._apply(records[at])
                at += 1
            self._take_ahead(delivery, records, at)
            found += self._deliver(delivery)
        for record in records[at:]:
            self._apply(record)
        return merged([*found, *self._archived])

    def _deliver(self, delivery: ShareLine) -> Iterator[Redelivery]:
        for piece in self._cut(delivery.first_offset, delivery.last_offset):
            if delivery.number > 1 or piece.delivery is not None or piece.transitions:
                before, record, of = self._ended(piece, delivery)
                yield Redelivery(piece.first, piece.last, before, delivery, record, of)
            piece.delivery, piece.since = delivery, self._applied
            piece.transitions, piece.hidden = (), False
        self._forget()

    def _ended(self, piece: _Piece, to: ShareLine) -> tuple[ShareLine | None, StateRecord | None, Ended]:
        """The delivery before, if it is known, the record that ended it, and how."""
        before, transitions = piece.delivery, piece.transitions
        altered = [each for each in self._altered if each.number > piece.since]
        moved = [number for number in self._moved if number > piece.since]
        of = NOTHING_KNOWN
        if altered and to.number == 1:
            since = altered[-1].number
            if any(number > since for number in (*moved, *(each.number for each in transitions))):
                # it may have been delivered since
                return None, None, of
            # what was given back before may have been delivered once more until then
            is_last = not moved and all(each.batch.state != AVAILABLE for each in transitions)
            is_last = is_last and len(transitions) <= 1 and self._is_whole(piece, to.responded_ms)
            return before if is_last else None, altered[-1].record, Ended(OFFSETS_ALTERED, GROUP_STATE)
        if before is None or not self._is_whole(piece, to.responded_ms):
            before = None
        elif self._altered and not transitions and to.number == 1 < before.number:
            # the leader delivered on until it learned of the alteration; nothing else begins the count anew
            return before, self._altered[-1].record, Ended(OFFSETS_ALTERED, GROUP_STATE)
        elif before.broker_id != to.broker_id and {before.broker_id, to.broker_id} & self.lines.undated:
            # nothing tells which of the two was the first
            before, of = None, Ended(None, None, OTHER_CLOCK)
        elif not transitions and to.number == before.number and not altered:
            of = Ended(LEADER_MOVED, GROUP_STATE) if moved else Ended(None, None, NOT_LOGGED)
            # with several leaders, another delivery between two of them leaves no record
            before = before if len(moved) == 1 else None
        elif _follow(before, transitions, to):
            record = transitions[0].record
            # what a member sends after its fetch is about what that got
            until_ms = to.requested_ms if to.member_id == before.member_id else to.responded_ms
            given = GivenBack(before, piece.first, piece.last, record, AVAILABLE, until_ms)
            told = ended(given, self.lines) or NOTHING_KNOWN
            if not moved:
                return before, record, told
            # it may have been delivered since, until the leader moved: no record tells that
            before, of = None, _or_moved(told)
        else:
            before = None
        return before, None, of

    def _is_whole(self, piece: _Piece, until_ms: int) -> bool:
        """Whether no record is missing since the piece's delivery."""
        if piece.hidden or piece.delivery is None:
            return False
        since_ms = piece.delivery.requested_ms
        return not any(
            since_ms - SLACK_MS <= ms + SLACK_MS and ms <= until_ms + SLACK_MS for ms in self.holes
        )

    def _apply(self, record: StateRecord) -> None:
        self._applied += 1
        if self._leader_epoch is not None and record.leader_epoch > self._leader_epoch:
            self._moved.append(self._applied)
        self._leader_epoch = max(record.leader_epoch, self._leader_epoch or 0)
        if record.state_epoch is not None:
            if self._state_epoch is not None and record.state_epoch > self._state_epoch:
                self._altered.append(_Mark(self._applied, record))
                for piece in self._pieces:
                    piece.stored = None
            self._state_epoch = record.state_epoch
        for batch in record.batches:
            if (record.offset, batch.first_offset) not in self._taken:
                self._transit(record, batch)
        if record.is_snapshot:
            for piece in self._pieces:
                # what a snapshot leaves out below its start was delivered: how, is not told
                if piece.first < record.start_offset and not piece.transitions:
                    piece.hidden = True

    def _transit(self, record: StateRecord, batch: StateBatch) -> None:
        for piece in self._cut(batch.first_offset, batch.last_offset):
            stored = (batch.state, batch.delivery_count)
            if record.is_snapshot and piece.stored == stored:
                piece.hidden = piece.hidden or not piece.transitions
                continue
            piece.stored = stored
            if batch.state == ARCHIVED:
                self._archive(piece, record, batch)
            piece.transitions = (*piece.transitions, _Transition(record, batch, self._applied))

    def _archive(self, piece: _Piece, record: StateRecord, batch: StateBatch) -> None:
        """Note that a piece will not be delivered again."""
        before, of = piece.delivery, NOTHING_KNOWN
        is_told = (
            before is not None
            and before.number == batch.delivery_count
            and not piece.transitions
            and not any(number > piece.since for number in self._moved)
            and not any(each.number > piece.since for each in self._altered)
            and self._is_whole(piece, record.timestamp_ms)
        )
        if before is not None and is_told:
            until_ms = record.timestamp_ms + SLACK_MS
            given = GivenBack(before, piece.first, piece.last, record, ARCHIVED, until_ms)
            told = ended(given, self.lines)
            if told is None:
                return
            of = told
        before = before if is_told else None
        self._archived.append(Redelivery(piece.first, piece.last, before, None, record, of))

    def _take_ahead(self, delivery: ShareLine, records: Sequence[StateRecord], at: int) -> None:
        """Apply what ended the delivery before: a lock's end is stored after the records are available."""
        for number in range(at, len(records) if delivery.number > 1 else at):
            record = records[number]
            if record.timestamp_ms > delivery.responded_ms + SLACK_MS:
                return
            if record.is_snapshot or self._leader_epoch not in (None, record.leader_epoch):
                # what it changes beside these offsets comes first
                return
            for batch in record.batches:
                if (
                    batch.state == AVAILABLE
                    and batch.delivery_count == delivery.number - 1
                    and (record.offset, batch.first_offset) not in self._taken
                    and self._awaits(batch, delivery)
                ):
                    self._taken.add((record.offset, batch.first_offset))
                    self._transit(record, batch)

    def _awaits(self, batch: StateBatch, delivery: ShareLine) -> bool:
        first = max(batch.first_offset, delivery.first_offset)
        last = min(batch.last_offset, delivery.last_offset)
        return first <= last and any(
            piece.delivery is not None
            and piece.delivery.number == batch.delivery_count
            and not piece.transitions
            for piece in self._cut(first, last)
        )

    def _cut(self, first: int, last: int) -> list[_Piece]:
        """The pieces of a range of offsets, which are cut at its ends; new ones where there is none."""
        self._split(first)
        self._split(last + 1)
        at = bisect_right(self._firsts, first - 1)
        end = bisect_right(self._firsts, last)
        inside, whole, begin = self._pieces[at:end], [], first
        for piece in inside:
            if piece.first > begin:
                whole.append(_Piece(begin, piece.first - 1))
            whole.append(piece)
            begin = piece.last + 1
        if begin <= last:
            whole.append(_Piece(begin, last))
        self._pieces[at:end] = whole
        self._firsts[at:end] = [piece.first for piece in whole]
        return whole

    def _split(self, offset: int) -> None:
        at = bisect_right(self._firsts, offset) - 1
        if at < 0 or self._pieces[at].first == offset or self._pieces[at].last < offset:
            return
        piece = self._pieces[at]
        self._pieces.insert(at + 1, replace(piece, first=offset))
        self._firsts.insert(at + 1, offset)
        piece.last = offset - 1

    def _forget(self) -> None:
        if len(self._pieces) > _KEPT:
            del self._pieces[: _KEPT // 2]
            del self._firsts[: _KEPT // 2]


def _may_end(record: StateRecord, delivery: ShareLine) -> bool:
    """Whether a record may have ended a delivery, and so came after it: a member may acknowledge within the
    millisecond, or before the line of its fetch is written.
    """
    return record.timestamp_ms >= delivery.requested_ms and any(
        batch.delivery_count == delivery.number
        and batch.first_offset <= delivery.last_offset
        and delivery.first_offset <= batch.last_offset
        for batch in record.batches
    )


class _Mark(NamedTuple):
    number: int
    record: StateRecord


def _or_moved(told: Ended) -> Ended:
    """That it was ended as told, or another delivery after that by the next leader."""
    causes = told.possible if told.cause is None else (told.cause,)
    return Ended(None, None, NOT_LOGGED, tuple(sorted((*causes, LEADER_MOVED)))) if causes else NOTHING_KNOWN


def _follow(before: ShareLine, transitions: Sequence[_Transition], to: ShareLine) -> bool:
    """Whether one delivery follows the other: the only record between them ended the first one."""
    return (
        len(transitions) == 1
        and transitions[0].batch.state == AVAILABLE
        and transitions[0].batch.delivery_count == before.number == to.number - 1
    )


def merged(redeliveries: Sequence[Redelivery]) -> list[Redelivery]:
    """The same, each range of offsets that has one past as one."""
    ordered = sorted(
        redeliveries, key=lambda each: (each.to.responded_ms if each.to else 0, each.first_offset)
    )
    whole: list[Redelivery] = []
    for each in ordered:
        if whole and each.continues(whole[-1]):
            whole[-1] = whole[-1]._replace(last_offset=each.last_offset, record=each.record)
        else:
            whole.append(each)
    return whole
