"""When the threads of an instance had reported lags and had no assignment yet, as its log shows it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from fencepost.protocols.lag_report.instance_logs import InstanceLog
from fencepost.protocols.lag_report.log_files import Line

ASSIGNED, FAILED = "assigned", "failed"
_MEMBER_ID = "need to re-join with the given member-id"
_ENDED = {"PENDING_SHUTDOWN", "DEAD"}


@dataclass(slots=True)
class Rebalance:
    """From a report (``begin``, a position) to its end: the assignment, or another one (``outcome``).

    ``end`` is None while it is open: at the end of the log, or where something is missing in it.
    """

    thread: str
    begin: int
    line: Line
    reason: str | None = None
    member_id: str | None = None
    generation: int | None = None
    refused: bool = False
    end: int | None = None
    ended_ms: int | None = None
    outcome: str | None = None

    @property
    def reported_ms(self) -> int | None:
        """When the thread reported, by the instance's clock."""
        ms: int | None = self.line["logged_at_ms"]
        return ms


@dataclass(slots=True)
class _Thread:
    open: Rebalance | None = None
    reason: str | None = None
    unknown_since: int | None = None  # its rebalances are not shown


@dataclass(slots=True)
class ThreadRebalances:
    """The rebalances of an instance, and the stretches (from, to) in which there may have been others."""

    rebalances: list[Rebalance] = field(default_factory=list)
    unknown: list[tuple[int, int | None]] = field(default_factory=list)
    starts: list[tuple[int, bool]] = field(default_factory=list)
    """Positions from which on the instance is known to use the streams protocol, or not to."""

    def is_streams_protocol(self, position: int) -> bool:
        """Whether its threads are members by the streams protocol (KIP-1071), which has no lag reports."""
        return next((streams for begin, streams in reversed(self.starts) if begin <= position), False)

    def open_at(self, position: int) -> tuple[bool | None, Rebalance | None]:
        """Whether a report of the instance waited for its assignment, and the first that did."""
        for each in self.rebalances:
            if each.end is not None and each.outcome == ASSIGNED and each.begin < position < each.end:
                return True, each
        unsure = any(begin <= position and (end is None or position < end) for begin, end in self.unknown)
        return (None if unsure else False), None

    def of_thread(self, thread: str | None, position: int) -> Rebalance | None:
        """The rebalance that an assignment at this position ends; None where its beginning is not shown."""
        begun = (each for each in self.rebalances if each.thread == thread and each.begin <= position)
        newest = max(begun, key=lambda each: each.begin, default=None)
        if newest is None or (newest.end is not None and newest.end < position):
            return None
        return newest


def thread_rebalances(log: InstanceLog) -> ThreadRebalances:
    """Every rebalance that a log shows.

    Before its first start of a process, and behind a hole, there may be others until each thread that is seen
    has joined and has got its assignment.
    """
    found = ThreadRebalances()
    threads: dict[str, _Thread] = {}
    # nothing is known of a thread that was there before the log begins and says nothing
    others_since: int | None = 0
    for position, line in enumerate(log.lines):
        event = None if line is None else line["event"]
        if line is None or event == "version":
            found.unknown += _left_open(threads, position)
            if line is None:
                for thread in threads.values():
                    thread.unknown_since = position
                others_since = position if others_since is None else others_since
                continue
            if others_since is not None:
                found.unknown.append((others_since, position))
            threads, others_since = {}, None
            found.starts.append((position, False))
        elif event == "streams_protocol":
            found.starts.append((position, True))
        elif line["thread"] is not None and not found.is_streams_protocol(position):
            thread = threads.setdefault(line["thread"], _Thread())
            found.unknown += _told(found, thread, position, line)
    found.unknown += _left_open(threads, None)
    if others_since is not None:
        found.unknown.append((others_since, None))
    return found


def _told(
    found: ThreadRebalances, thread: _Thread, position: int, line: Line
) -> Iterator[tuple[int, int | None]]:
    event, now = line["event"], thread.open
    if event == "join_requested":
        thread.reason = line["reason"]
        if now is not None and (line["reason"] or "").startswith(_MEMBER_ID):
            now.refused = True
    elif event == "joining":
        yield from _joins(found, thread, position, line)
    elif event == "joined" and now is not None:
        now.member_id, now.generation = line["member_id"], line["generation"]
    elif event == "thread_state":
        yield from _changes_state(thread, position, line)


def _joins(
    found: ThreadRebalances, thread: _Thread, position: int, line: Line
) -> Iterator[tuple[int, int | None]]:
    now = thread.open
    if now is not None and now.refused:
        now.refused = False  # the same report goes again, with the id
        return
    if now is not None:
        now.outcome = FAILED
        yield now.begin, position
    thread.open = Rebalance(line["thread"], position, line, thread.reason)
    thread.reason = None
    found.rebalances.append(thread.open)


def _changes_state(thread: _Thread, position: int, line: Line) -> Iterator[tuple[int, int | None]]:
    now, state = thread.open, line["to_state"]
    if state == "STARTING":
        # until it joins; a log that shows no joins never does
        thread.unknown_since = position
    elif state == "PARTITIONS_ASSIGNED" and now is None:
        # its joins are not shown
        thread.unknown_since = position if thread.unknown_since is None else thread.unknown_since
    elif now is not None and state == "PARTITIONS_ASSIGNED":
        now.end, now.ended_ms, now.outcome = position, line["logged_at_ms"], ASSIGNED
        if thread.unknown_since is not None:
            yield thread.unknown_since, now.begin
        thread.open = thread.unknown_since = None
    elif state in _ENDED:
        if now is not None:
            now.outcome = FAILED
        yield from _unknown_of(thread, position)


def _unknown_of(thread: _Thread, position: int | None) -> Iterator[tuple[int, int | None]]:
    if thread.open is not None:
        yield thread.open.begin, position
    if thread.unknown_since is not None:
        yield thread.unknown_since, position
    thread.open = thread.unknown_since = None


def _left_open(threads: dict[str, _Thread], position: int | None) -> Iterator[tuple[int, int | None]]:
    """What is not known of these threads when the log ends, has a hole, or their process starts again."""
    for thread in threads.values():
        yield from _unknown_of(thread, position)
