"""What ended a delivery, as far as the evidence tells: the record that the share coordinator stored of it,
and the lines of the member that had the records.

A cause is given only if nothing else could have left the same evidence. A closed connection leaves no line
and the same record as a release whose line is missing, so it is told only of a client of which no line is
missing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field
from typing import NamedTuple

from fencepost.protocols.offset_commit.share_groups.lines import (
    CLOSED,
    GAP,
    OPENED,
    REJECT,
    RELEASE,
    RENEW,
    ShareLine,
)
from fencepost.protocols.offset_commit.share_groups.state_log import AVAILABLE, StateRecord
from fencepost.reasons import NOT_CAPTURED, NOT_LOGGED, OTHER_CLOCK

LOCK_EXPIRED, RELEASED, REJECTED = "lock_expired", "released", "rejected"
SESSION_CLOSED, CONNECTION_CLOSED = "session_closed", "connection_closed"
LEADER_MOVED, OFFSETS_ALTERED = "leader_moved", "offsets_altered"
REQUEST_LOG, GROUP_STATE = "request_log", "group_state"

SLACK_MS = 250
"""Clocks of brokers differ by at most so much, and a line is written at most so late; where acknowledgements
show another difference, nothing is told by the clock.
"""
PROMPT_MS = 1_000
"""A lock that expires is given back so soon, unless the broker is overloaded."""
EARLY_MS = 25
"""A lock that expires is given back at most so much earlier than lines say, by clocks that agree. Whatever is
given back earlier still may be of a request that has no line, or of a connection that was closed.
"""


class Ended(NamedTuple):
    """What ended a delivery. ``possible``: the causes that are left where it is unknown. ``locked_until_ms``:
    when its lock ended or would have ended, after ``renewals`` renewals that the log shows.
    """

    cause: str | None
    told_by: str | None = None
    reason: str | None = None
    possible: tuple[str, ...] = ()
    locked_until_ms: int | None = None
    renewals: int | None = None


NOTHING_KNOWN = Ended(None, None, NOT_CAPTURED)


@dataclass(frozen=True)
class MemberLines:
    """The lines of one share partition's members: by member what it acknowledged there, in the order of
    requests, and the sessions that it began and ended. ``is_whole``: whether of a client no line is missing
    between two. ``dated``: the brokers whose lines have the clock of the records, as acknowledgements show;
    ``undated``: those whose lines have another one.
    """

    acknowledged: dict[str, list[ShareLine]] = field(default_factory=dict)
    sessions: dict[str, list[ShareLine]] = field(default_factory=dict)
    is_whole: Callable[[ShareLine, ShareLine], bool] = lambda one, other: False
    dated: Set[int] = frozenset()
    undated: Set[int] = frozenset()


class GivenBack(NamedTuple):
    """Offsets of a delivery that a record made available again, or archived (``state``). ``until_ms``:
    until when a request may have acknowledged them.
    """

    delivery: ShareLine
    first_offset: int
    last_offset: int
    record: StateRecord
    state: int
    until_ms: int


def ended(of: GivenBack, lines: MemberLines) -> Ended | None:
    """What ended the delivery; None if the member said that there are no records (a gap)."""
    acknowledged = lines.acknowledged.get(of.delivery.member_id, ())
    # the request that fetched may also have acknowledged the delivery before
    begin, end = (
        bisect_right(acknowledged, ms, key=lambda each: each.requested_ms)
        for ms in (of.delivery.requested_ms, of.until_ms)
    )
    own = [
        each
        for each in acknowledged[begin:end]
        if each.first_offset <= of.last_offset and of.first_offset <= each.last_offset
    ]
    if _covers(own, GAP, of):
        return None
    renewed = [each for each in own if each.number == RENEW]
    lock = _Lock.of(of.delivery, renewed if _covers(own, RENEW, of) else ())
    if _covers(own, RELEASE, of):
        told = Ended(RELEASED, REQUEST_LOG)
    elif _covers(own, REJECT, of):
        told = Ended(REJECTED, REQUEST_LOG)
    elif len(own) > len(renewed):
        # of some offsets alone: the line of the others is missing
        told = Ended(None, None, NOT_CAPTURED, _possible(of.state, lock, of.record.timestamp_ms))
    else:
        told = _by_time(of, lock, lines)
    return told._replace(locked_until_ms=lock.ends_ms if lock else None, renewals=len(renewed))


def _covers(acknowledged: Sequence[ShareLine], kind: int, of: GivenBack) -> bool:
    """Whether acknowledgements of this type are about all offsets."""
    begin = of.first_offset
    for each in sorted(acknowledged, key=lambda each: each.first_offset):
        if each.number == kind and each.first_offset <= begin:
            begin = max(begin, each.last_offset + 1)
    return begin > of.last_offset


def _by_time(of: GivenBack, lock: _Lock | None, lines: MemberLines) -> Ended:
    """What ended a delivery of which no acknowledgement tells the end, by the time of the record."""
    stored_ms = of.record.timestamp_ms
    if of.delivery.broker_id in lines.undated:
        return Ended(None, None, OTHER_CLOCK, _possible(of.state, lock, None))
    sessions = [
        each
        for each in lines.sessions.get(of.delivery.member_id, ())
        if each.broker_id == of.delivery.broker_id and of.delivery.requested_ms <= each.requested_ms
    ]
    is_dated = of.delivery.broker_id in lines.dated
    slack_ms = EARLY_MS if is_dated else SLACK_MS
    is_locked = lock is not None and stored_ms < lock.ends_from_ms - slack_ms
    may_expire = lock is not None and not is_locked and stored_ms <= lock.ends_ms + PROMPT_MS
    if of.state == AVAILABLE and any(_closed_at(stored_ms, each) for each in sessions):
        if may_expire:
            return Ended(None, None, NOT_LOGGED, (LOCK_EXPIRED, SESSION_CLOSED))
        return Ended(SESSION_CLOSED, REQUEST_LOG)
    if lock is not None and may_expire and stored_ms >= lock.ends_ms - EARLY_MS:
        return Ended(LOCK_EXPIRED, GROUP_STATE)
    if of.state == AVAILABLE and is_locked and is_dated and _was_cut_off(of, sessions, lines):
        return Ended(CONNECTION_CLOSED, REQUEST_LOG)
    return Ended(None, None, NOT_LOGGED, _possible(of.state, lock, stored_ms if is_dated else None))


class _Lock(NamedTuple):
    """The acquisition lock of a delivery. It begins between the request and its answer, so it ends between
    ``ends_from_ms`` and ``ends_ms``: as a rule right before the latter, since a fetch waits for records.
    """

    ends_from_ms: int
    ends_ms: int

    @classmethod
    def of(cls, delivery: ShareLine, renewed: Sequence[ShareLine]) -> _Lock | None:
        newest = max(renewed, key=lambda each: each.responded_ms, default=delivery)
        lock_ms = newest.lock_ms or delivery.lock_ms
        if lock_ms is None:
            return None
        return cls(newest.requested_ms + lock_ms, newest.responded_ms + lock_ms)


def _closed_at(ms: int, session: ShareLine) -> bool:
    """Whether a record of this time is what the end of the session leaves."""
    return (
        session.number == CLOSED and session.requested_ms - SLACK_MS <= ms <= session.responded_ms + SLACK_MS
    )


def _was_cut_off(of: GivenBack, sessions: Sequence[ShareLine], lines: MemberLines) -> bool:
    """Whether the client's next session follows without a missing line: then it did not end the one
    before.
    """
    begun = [
        each for each in sessions if each.number == OPENED and each.responded_ms > of.delivery.responded_ms
    ]
    following = min(begun, key=lambda each: each.responded_ms, default=None)
    return (
        following is not None
        and following.responded_ms >= of.record.timestamp_ms - SLACK_MS
        and lines.is_whole(of.delivery, following)
    )


def _possible(state: int, lock: _Lock | None, ms: int | None) -> tuple[str, ...]:
    """What may have ended a delivery of which no line tells the end."""
    of_state = (CONNECTION_CLOSED, RELEASED, SESSION_CLOSED) if state == AVAILABLE else (REJECTED, RELEASED)
    may_expire = lock is None or ms is None or ms >= lock.ends_from_ms - EARLY_MS
    return tuple(sorted((*of_state, *((LOCK_EXPIRED,) if may_expire else ()))))
