"""What the order of requests tells of where each was decided, without a clock.

A broker takes the next request of a connection when the answer to the one before has been sent and logged
(SocketServer.Processor.processCompletedSends). What the one before wrote, or was told, was so before the next
one was decided; and the other way round.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fencepost.protocols.offset_commit.member_lines import HeartbeatAnswer, MemberLine
from fencepost.protocols.offset_commit.request_columns import Requests
from fencepost.protocols.offset_commit.requests import CommitRequest
from fencepost.replay.entities import numbered_rows
from fencepost.replay.group_coordinator.records import ASSIGNMENT_TYPES, MEMBER_TYPES, GroupRecord
from fencepost.replay.logs import UNKNOWN, Longs


class Between(NamedTuple):
    """A place in a group's log: behind the record at ``after``, and before the one at ``before`` was written.

    Offsets, neither of them included.
    """

    after: int = -1
    before: int = 2**63 - 1


ANYWHERE = Between()

Answer = HeartbeatAnswer | MemberLine


class Places(NamedTuple):
    """Between which offsets each request was decided, as Between has it, by the request's number."""

    after: Longs
    before: Longs

    def of(self, request: CommitRequest) -> Between:
        """The place of one request."""
        return Between(int(self.after[request.number]), int(self.before[request.number]))


class Lines(NamedTuple):
    """Lines of request logs as columns: a number for each ``connection`` of a group's clients (-1 where that
    is not told), the place of each ``file`` in the order of their names.
    """

    connection: Longs
    file: Longs
    position: Longs
    responded_ms: Longs


def lines_of(requests: Requests, numbers: Longs, answers: Sequence[Answer]) -> Lines:
    """The requests with these numbers and, behind them, answers."""

    def both(of_requests: Longs, of_answers: Iterable[int]) -> Longs:
        return np.concatenate([of_requests, np.fromiter(of_answers, np.int64, len(answers))])

    files = requests.texts("file")
    names = sorted({*files.names, *(each.file for each in answers)})
    rank = {name: number for number, name in enumerate(names)}
    rank_of_file = np.array([rank[name] for name in files.names], dtype=np.int64)
    connection, known = _connections(requests, numbers)
    told = ((each.group_id, each.broker_id, each.connection) for each in answers)
    connection = both(connection, (known.setdefault(each, len(known)) for each in told))
    nameless = [number for (*_, name), number in known.items() if name is None]
    return Lines(
        np.where(np.isin(connection, nameless), -1, connection),
        both(rank_of_file[files.values[numbers]], (rank[each.file] for each in answers)),
        both(requests["position"][numbers], (each.position for each in answers)),
        both(requests["responded_ms"][numbers], (each.responded_ms for each in answers)),
    )


def _connections(requests: Requests, numbers: Longs) -> tuple[Longs, dict[Any, int]]:
    """Of each request the number of its group, broker and connection, and what has which number."""
    group_id, connection = (requests.texts(name) for name in ("group_id", "connection"))
    broker_id = requests["broker_id"][numbers]
    rows = numbered_rows(group_id.values[numbers], broker_id, connection.values[numbers])
    _, first, number = np.unique(rows, return_index=True, return_inverse=True)
    some = numbers[first]
    names = zip(group_id.objects(some), broker_id[first].tolist(), connection.objects(some), strict=True)
    return number, {each: at for at, each in enumerate(names)}


class Turns(NamedTuple):
    """Lines in the order in which their connections handled them: ``lines`` are their numbers. Those with the
    same number of ``chain`` came one after the other; ``follows``: behind another one of its chain.
    """

    lines: Longs
    chain: Longs
    follows: NDArray[np.bool_]

    def chains(self) -> Iterator[Longs]:
        """The lines of each chain; of those that have several."""
        for chained in np.split(self.lines, np.flatnonzero(~self.follows)[1:]):
            if len(chained) > 1:
                yield chained


def turns(lines: Lines) -> Turns:
    """The turns of lines, for each group by itself.

    A chain is cut where the lines of two files, or a clock that went back, do not tell the order.
    """
    connection, file, position, responded = lines
    order: Longs = np.lexsort((position, file, responded, connection))
    order = order[connection[order] >= 0]
    one, other = order[:-1], order[1:]
    in_turn = np.where(
        file[one] == file[other], position[one] < position[other], responded[one] < responded[other]
    )
    follows = np.concatenate([[False], (connection[one] == connection[other]) & in_turn])[: len(order)]
    return Turns(order, np.cumsum(~follows), follows)


class Order:
    """The requests of one coordinator's groups by the turn that they had on their connections."""

    def __init__(
        self,
        requests: Requests,
        answers: Sequence[HeartbeatAnswer],
        epochs: Mapping[str, Mapping[tuple[str, int], Between]],
    ) -> None:
        """``epochs``: by group, where each member had each of its epochs, as ``epochs_of`` has it.
        ``is_last``: of each request whether no line of its connection follows it.
        """
        self._count = len(requests)
        every = lines_of(requests, np.arange(len(requests)), answers)
        lines, number, follows = turns(every)
        is_request, responded = lines < len(requests), every.responded_ms
        self._since = np.full(len(requests), UNKNOWN)
        behind = np.flatnonzero(follows & is_request)
        self._since[lines[behind]] = responded[lines[behind - 1]]
        self.is_last = np.ones(len(requests), dtype=np.bool_)
        before = np.flatnonzero(follows) - 1
        self.is_last[lines[before[is_request[before]]]] = False
        places = [
            None
            if each.member_epoch is None
            else epochs.get(each.group_id, {}).get((each.member_id, each.member_epoch))
            for each in answers
        ]
        self._told = np.array([place or ANYWHERE for place in places], dtype=np.int64).reshape(-1, 2)
        tells = np.array([*repeat(True, len(requests)), *(place is not None for place in places)], np.bool_)
        known = tells[lines]
        self._lines, self._chain, self._is_request = lines[known], number[known], is_request[known]

    def arrivals(self, requested_ms: Longs, numbers: Longs, late_ms: Longs | int, back_ms: int) -> Longs:
        """``arrival`` of many requests, by their numbers."""
        arrival, since = requested_ms - late_ms, self._since[numbers]
        return np.where(since == UNKNOWN, arrival, np.maximum(arrival, since - back_ms))

    def arrival(self, request: CommitRequest, late_ms: int, back_ms: int = 0) -> int:
        """When a request arrived at the earliest, its line being ``late_ms`` late at most: not before the
        line of the one before it was written, if the clock did not go back since by more than ``back_ms``.
        """
        return max(request.requested_ms - late_ms, int(self._since[request.number]) - back_ms)

    def between(self, decided: Places) -> Places:
        """Where each request was decided, as far as its neighbours tell: ANYWHERE, where they do not.

        ``decided``: between which offsets, both included, a request's own records are; ANYWHERE of one that
        has none.
        """
        found = Places(np.full(self._count, ANYWHERE.after), np.full(self._count, ANYWHERE.before))
        own = self._lines[self._is_request]
        after, before = (np.empty(len(self._lines), dtype=np.int64) for _ in range(2))
        for values, of_requests, of_answers in zip((after, before), decided, self._told.T, strict=True):
            values[self._is_request] = of_requests[own]
            values[~self._is_request] = of_answers[self._lines[~self._is_request] - self._count]
        found.after[own] = _greatest_before(after, self._chain, ANYWHERE.after)[self._is_request]
        # the least that comes behind is the greatest before, the other way round
        least = ~_greatest_before(~before[::-1], -self._chain[::-1], ~ANYWHERE.before)[::-1]
        found.before[own] = least[self._is_request]
        return found


def _greatest_before(values: Longs, chains: Longs, none: int) -> Longs:
    """The greatest value before each one in its chain; ``none`` for the first. ``chains`` rise."""
    if not len(values):
        return values
    # ranks, not values: a chain's number goes before them in 64 bits
    known, rank = np.unique(values, return_inverse=True)
    newest = np.maximum.accumulate(chains * len(known) + rank) - chains * len(known)
    before: Longs = np.concatenate([[none], known[newest[:-1]]])
    before[1:][chains[1:] != chains[:-1]] = none
    return before


def epochs_of(records: Iterable[GroupRecord]) -> dict[tuple[str, int], Between]:
    """Where each member of a group that is not classic had each of its epochs: from its first record with it
    to the record that ended it.

    ``records`` of one group without a hole, in offset order. An epoch that a member had twice, in two lives
    of its id, is left out.
    """
    found: dict[tuple[str, int], Between] = {}
    twice: set[tuple[str, int]] = set()
    now: dict[str, tuple[int, int]] = {}
    for record in records:
        member_id = record.member_id
        if member_id is None or not (
            record.type in ASSIGNMENT_TYPES or (record.tombstone and record.type in MEMBER_TYPES)
        ):
            continue
        epoch = None if record.tombstone else record.member_epoch
        had = now.get(member_id)
        if had is not None and had[0] == epoch:
            continue
        if had is not None:
            found[member_id, had[0]] = Between(had[1], record.offset)
            del now[member_id]
        if epoch is not None:
            if (member_id, epoch) in found:
                twice.add((member_id, epoch))
            now[member_id] = (epoch, record.offset)
    for member_id, (epoch, since) in now.items():
        found[member_id, epoch] = Between(since, ANYWHERE.before)
    return {key: place for key, place in found.items() if key not in twice}
