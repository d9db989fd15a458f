"""Places requests in the coordinator's log by the order of the requests on a connection, without a clock.

A broker takes the next request of a connection when it has sent and logged the answer to the one before
(SocketServer.Processor.processCompletedSends). So a request was decided after everything that the one before
wrote or was answered, and before everything that the next one wrote or was answered.
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
from fencepost.replay.entities import first_of_each, numbered_rows
from fencepost.replay.group_coordinator.records import ASSIGNMENT_TYPES, MEMBER_TYPES, GroupRecord
from fencepost.replay.logs import UNKNOWN, Longs


class Between(NamedTuple):
    """A place in a group's log: behind the record at offset ``after``, and before the record at offset
    ``before`` was written. Neither offset is included.
    """

    after: int = -1
    before: int = 2**63 - 1


ANYWHERE = Between()

Answer = HeartbeatAnswer | MemberLine


class Places(NamedTuple):
    """For each request, by its number, the offsets between which it was decided (see Between)."""

    after: Longs
    before: Longs

    def of(self, request: CommitRequest) -> Between:
        """The place of one request."""
        return Between(int(self.after[request.number]), int(self.before[request.number]))


class Lines(NamedTuple):
    """Lines of request logs as columns. ``connection``: a number for each connection of a group's clients, -1
    if the line does not name it. ``file``: the rank of the file's name. ``position``: the place in the file.
    """

    connection: Longs
    file: Longs
    position: Longs
    responded_ms: Longs


def lines_of(requests: Requests, numbers: Longs, answers: Sequence[Answer]) -> Lines:
    """The lines of the requests with these numbers, followed by those of the answers."""

    def both(of_requests: Longs, of_answers: Iterable[int]) -> Longs:
        return np.concatenate([of_requests, np.fromiter(of_answers, np.int64, len(answers))])

    files = requests.texts("file")
    names = sorted({*files.names, *(each.file for each in answers)})
    rank = {name: number for number, name in enumerate(names)}
    rank_of_file = np.array([rank[name] for name in files.names], dtype=np.int64)
    connection, numbers_of_names = _connections(requests, numbers)
    names_of_answers = ((each.group_id, each.broker_id, each.connection) for each in answers)
    connection = both(
        connection, (numbers_of_names.setdefault(each, len(numbers_of_names)) for each in names_of_answers)
    )
    nameless = [number for (*_, name), number in numbers_of_names.items() if name is None]
    return Lines(
        np.where(np.isin(connection, nameless), -1, connection),
        both(rank_of_file[files.values[numbers]], (rank[each.file] for each in answers)),
        both(requests["position"][numbers], (each.position for each in answers)),
        both(requests["responded_ms"][numbers], (each.responded_ms for each in answers)),
    )


def _connections(requests: Requests, numbers: Longs) -> tuple[Longs, dict[Any, int]]:
    """For each request a number for its group, broker and connection together; and what has which number."""
    group_id, connection = (requests.texts(name) for name in ("group_id", "connection"))
    broker_id = requests["broker_id"][numbers]
    number = numbered_rows(group_id.values[numbers], broker_id, connection.values[numbers])
    first = first_of_each(number)
    some = numbers[first]
    names = zip(group_id.objects(some), broker_id[first].tolist(), connection.objects(some), strict=True)
    return number, {each: at for at, each in enumerate(names)}


def is_behind(line: Answer, request: CommitRequest) -> bool | None:
    """Whether a line's request came after another one on the same connection; None if that is not known.

    As ``turns`` has it, for one pair: the two are of one group and one broker.
    """
    if line.connection is None or line.connection != request.connection:
        return None
    if line.file == request.file:
        return line.position > request.position
    return None if line.responded_ms == request.responded_ms else line.responded_ms > request.responded_ms


class Turns(NamedTuple):
    """Lines in the order in which their connections handled them.

    ``lines``: their numbers. Lines with the same number in ``chain`` certainly came one after the other.
    ``follows``: whether a line has another one of its chain before it.
    """

    lines: Longs
    chain: Longs
    follows: NDArray[np.bool_]

    def chains(self) -> Iterator[Longs]:
        """The lines of each chain that has more than one."""
        for chained in np.split(self.lines, np.flatnonzero(~self.follows)[1:]):
            if len(chained) > 1:
                yield chained


def turns(lines: Lines) -> Turns:
    """The turns of lines, for each group separately.

    A chain ends where the order is not known: between lines of two files, or where a clock went back.
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
    """The order of the requests to one coordinator's groups on their connections."""

    def __init__(
        self,
        requests: Requests,
        answers: Sequence[HeartbeatAnswer],
        epochs: Mapping[str, Mapping[tuple[str, int], Between]],
    ) -> None:
        """``epochs``: for each group where in its log each member had each epoch (``epochs_of``).
        ``is_last``: for each request, whether its line is the last one of its chain.
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
        self._answer_places = np.array([place or ANYWHERE for place in places], dtype=np.int64).reshape(-1, 2)
        places_are_known = np.array(
            [*repeat(True, len(requests)), *(place is not None for place in places)], np.bool_
        )
        has_place = places_are_known[lines]
        self._lines, self._chain, self._is_request = (
            lines[has_place],
            number[has_place],
            is_request[has_place],
        )

    def arrivals(self, requested_ms: Longs, numbers: Longs, late_ms: Longs | int, back_ms: int) -> Longs:
        """``arrival`` for the requests with these numbers, where the clock may have gone back by ``back_ms``
        since the line before was written.
        """
        arrival, since = requested_ms - late_ms, np.minimum(self._since[numbers], requested_ms)
        return np.where(self._since[numbers] == UNKNOWN, arrival, np.maximum(arrival, since - back_ms))

    def arrival(self, request: CommitRequest, late_ms: int) -> int:
        """The earliest arrival of a request whose line is at most ``late_ms`` late. It did not arrive before
        the line before it was written.
        """
        # a line of a time that passed twice was written by the end of that time
        since = min(int(self._since[request.number]), request.requested_ms)
        return max(request.requested_ms - late_ms, since)

    def between(self, decided: Places) -> Places:
        """Where each request was decided, as far as its neighbours on the connection show; otherwise
        ANYWHERE.

        ``decided``: the first and the last offset, both included, of a request's own records; ANYWHERE for a
        request without records.
        """
        places = Places(np.full(self._count, ANYWHERE.after), np.full(self._count, ANYWHERE.before))
        own = self._lines[self._is_request]
        after, before = (np.empty(len(self._lines), dtype=np.int64) for _ in range(2))
        for values, of_requests, of_answers in zip(
            (after, before), decided, self._answer_places.T, strict=True
        ):
            values[self._is_request] = of_requests[own]
            values[~self._is_request] = of_answers[self._lines[~self._is_request] - self._count]
        places.after[own] = _greatest_before(after, self._chain, ANYWHERE.after)[self._is_request]
        # the least value that follows, found as the greatest value before in reversed order
        least = ~_greatest_before(~before[::-1], -self._chain[::-1], ~ANYWHERE.before)[::-1]
        places.before[own] = least[self._is_request]
        return places


def _greatest_before(values: Longs, chains: Longs, none: int) -> Longs:
    """For each value the greatest one before it in its chain; ``none`` for the first. ``chains``
    is sorted.
    """
    if not len(values):
        return values
    # ranks instead of values, so that a chain's number and a rank fit into 64 bits
    distinct, rank = np.unique(values, return_inverse=True)
    newest = np.maximum.accumulate(chains * len(distinct) + rank) - chains * len(distinct)
    before: Longs = np.concatenate([[none], distinct[newest[:-1]]])
    before[1:][chains[1:] != chains[:-1]] = none
    return before


def epochs_of(records: Iterable[GroupRecord]) -> dict[tuple[str, int], Between]:
    """(member id, epoch) -> where in the log a member of a group that is not classic had the epoch: from its
    first record with the epoch to the record that ended it.

    ``records``: of one group, without a hole, in offset order. An epoch that a member id had twice, because
    the member left and came back, is left out.
    """
    places: dict[tuple[str, int], Between] = {}
    twice: set[tuple[str, int]] = set()
    now: dict[str, tuple[int, int]] = {}
    for record in records:
        member_id = record.member_id
        if member_id is None or not (
            record.type in ASSIGNMENT_TYPES or (record.tombstone and record.type in MEMBER_TYPES)
        ):
            continue
        epoch = None if record.tombstone else record.member_epoch
        previous = now.get(member_id)
        if previous is not None and previous[0] == epoch:
            continue
        if previous is not None:
            places[member_id, previous[0]] = Between(previous[1], record.offset)
            del now[member_id]
        if epoch is not None:
            if (member_id, epoch) in places:
                twice.add((member_id, epoch))
            now[member_id] = (epoch, record.offset)
    for member_id, (epoch, since) in now.items():
        places[member_id, epoch] = Between(since, ANYWHERE.before)
    return {key: place for key, place in places.items() if key not in twice}
