"""The rebalances of an instance's threads, from a lag report to its assignment, as the instance's log shows
them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from math import inf

from fencepost.protocols.lag_report.instance_logs import InstanceLog
from fencepost.protocols.lag_report.log_files import Line

ASSIGNED, FAILED = "assigned", "failed"
_MEMBER_ID = "need to re-join with the given member-id"
_ENDED = {"PENDING_SHUTDOWN", "DEAD"}


@dataclass(slots=True)
class Rebalance:
    """A rebalance from its report (at position ``begin``) to its assignment, or another ``outcome``.

    ``end`` is None if the rebalance is open at the end of the log or at a hole.
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
        """The time of the report, by the instance's clock."""
        ms: int | None = self.line["logged_at_ms"]
        return ms


@dataclass(slots=True)
class _Thread:
    open: Rebalance | None = None
    reason: str | None = None
    unknown_since: int | None = None  # from here on the log does not show its rebalances


@dataclass
class ThreadRebalances:
    """The rebalances of an instance, and the stretches (from, to) in which it may have had others."""

    rebalances: list[Rebalance] = field(default_factory=list)
    unknown: list[tuple[int, int | None]] = field(default_factory=list)
    starts: list[tuple[int, bool]] = field(default_factory=list)
    """Positions from which on the instance is known to use the streams protocol (True), or not to."""

    def is_streams_protocol(self, position: int) -> bool:
        """Whether its threads are members by the streams protocol (KIP-1071), which has no lag reports."""
        return next((streams for begin, streams in reversed(self.starts) if begin <= position), False)

    def open_at(self, position: int) -> tuple[bool | None, Rebalance | None]:
        """Whether a report of the instance was waiting for its assignment, and the first that was."""
        newest = (self._newest(thread, position - 1) for thread in self._of_threads)
        waiting = [
            each
            for each in newest
            if each is not None and each.outcome == ASSIGNED and each.end is not None and position < each.end
        ]
        if waiting:
            return True, min(waiting, key=lambda each: each.begin)
        begins, ends = self._unknown
        number = bisect_right(begins, position)
        return (None if number and position < ends[number - 1] else False), None

    @cached_property
    def _unknown(self) -> tuple[list[int], list[float]]:
        """The begins of the stretches in order, and for each the latest end of all stretches up to it."""
        ordered = sorted(self.unknown, key=lambda each: each[0])
        reach = accumulate((inf if end is None else end for _, end in ordered), max)
        return [begin for begin, _ in ordered], list(reach)

    def of_thread(self, thread: str | None, position: int) -> Rebalance | None:
        """The rebalance that an assignment at this position ends; None if the log does not show its begin."""
        newest = self._newest(thread, position)
        if newest is None or (newest.end is not None and newest.end < position):
            return None
        return newest

    def _newest(self, thread: str | None, position: int) -> Rebalance | None:
        """The last rebalance of a thread that began at this position or before: a thread has one
        at a time.
        """
        of_thread = self._of_threads.get(thread or "", [])
        number = bisect_right(of_thread, position, key=lambda each: each.begin)
        return of_thread[number - 1] if number else None

    @cached_property
    def _of_threads(self) -> Mapping[str, list[Rebalance]]:
        by_thread: defaultdict[str, list[Rebalance]] = defaultdict(list)
        for each in self.rebalances:
            by_thread[each.thread].append(each)
        return by_thread


def thread_rebalances(log: InstanceLog) -> ThreadRebalances:
    """Every rebalance that a log shows.

    Before the first start of a process, and behind a hole, there may be others, until each thread of the log
    has joined and got its assignment.
    """
    rebalances = ThreadRebalances()
    threads: dict[str, _Thread] = {}
    # a thread that started before the log begins may have rebalances that the log does not show
    others_since: int | None = 0
    for position, line in enumerate(log.lines):
        event = None if line is None else line["event"]
        if line is None or event == "version":
            rebalances.unknown += _close_all(threads, position)
            if line is None:
                for thread in threads.values():
                    thread.unknown_since = position
                others_since = position if others_since is None else others_since
                continue
            if others_since is not None:
                rebalances.unknown.append((others_since, position))
            threads, others_since = {}, None
            rebalances.starts.append((position, False))
        elif event == "streams_protocol":
            rebalances.starts.append((position, True))
        elif line["thread"] is not None and not rebalances.is_streams_protocol(position):
            thread = threads.setdefault(line["thread"], _Thread())
            rebalances.unknown += _read_line(rebalances, thread, position, line)
    rebalances.unknown += _close_all(threads, None)
    if others_since is not None:
        rebalances.unknown.append((others_since, None))
    return rebalances


def _read_line(
    rebalances: ThreadRebalances, thread: _Thread, position: int, line: Line
) -> Iterator[tuple[int, int | None]]:
    event, rebalance = line["event"], thread.open
    if event == "join_requested":
        thread.reason = line["reason"]
        if rebalance is not None and (line["reason"] or "").startswith(_MEMBER_ID):
            rebalance.refused = True
    elif event == "joining":
        yield from _read_joining(rebalances, thread, position, line)
    elif event == "joined" and rebalance is not None:
        rebalance.member_id, rebalance.generation = line["member_id"], line["generation"]
    elif event == "thread_state":
        yield from _read_state(thread, position, line)


def _read_joining(
    rebalances: ThreadRebalances, thread: _Thread, position: int, line: Line
) -> Iterator[tuple[int, int | None]]:
    rebalance = thread.open
    if rebalance is not None and rebalance.refused:
        rebalance.refused = False  # the thread sends the same report again, with its member id
        return
    if rebalance is not None:
        rebalance.outcome = FAILED
        yield rebalance.begin, position
    thread.open = Rebalance(line["thread"], position, line, thread.reason)
    thread.reason = None
    rebalances.rebalances.append(thread.open)


def _read_state(thread: _Thread, position: int, line: Line) -> Iterator[tuple[int, int | None]]:
    rebalance, state = thread.open, line["to_state"]
    if state == "STARTING":
        # this is ended by its join, unless the log shows no joins
        thread.unknown_since = position
    elif state == "PARTITIONS_ASSIGNED" and rebalance is None:
        # the log does not show its joins
        thread.unknown_since = position if thread.unknown_since is None else thread.unknown_since
    elif rebalance is not None and state == "PARTITIONS_ASSIGNED":
        rebalance.end, rebalance.ended_ms, rebalance.outcome = position, line["logged_at_ms"], ASSIGNED
        if thread.unknown_since is not None:
            yield thread.unknown_since, rebalance.begin
        thread.open = thread.unknown_since = None
    elif state in _ENDED:
        if rebalance is not None:
            rebalance.outcome = FAILED
        yield from _close_unknown(thread, position)


def _close_unknown(thread: _Thread, position: int | None) -> Iterator[tuple[int, int | None]]:
    if thread.open is not None:
        yield thread.open.begin, position
    if thread.unknown_since is not None:
        yield thread.unknown_since, position
    thread.open = thread.unknown_since = None


def _close_all(threads: dict[str, _Thread], position: int | None) -> Iterator[tuple[int, int | None]]:
    """The stretches that stay unknown when the log ends or has a hole, or the process starts again."""
    for thread in threads.values():
        yield from _close_unknown(thread, position)
